"""
The write-intent bitmap in a simulation: which writes wait for its page, and how often that is written.

md sets the bit of a clean region on every member before the first write to it, and clears it some runs of its
daemon after the last (md-bitmap.c: startwrite, daemon_work, unplug).
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain
from math import ceil, exp, log
from typing import TYPE_CHECKING

from stackmap.features.whatif.bitmap import CLEAN_AFTER, PERIOD, page_of, regions_of
from stackmap.features.whatif.outcome import MARK, SUPERBLOCK
from stackmap.features.whatif.threads import nothing
from stackmap.features.whatif.throttling import Then

if TYPE_CHECKING:
    from stackmap.features.whatif.simulation import Arrival, Simulation

MARKED = (CLEAN_AFTER + 0.5) * PERIOD  # seconds after a write
SAFE_MODE = 0.2  # seconds, safe_mode_delay: the timer ends 0.2 … 0.4 s after the last write
STREAMS = 16  # of the last writes, one may go on with another
NEVER = -CLEAN_AFTER - 1  # the daemon's run before which a region was written that is clean


class SimulatedBitmap:
    """The bits of a run, each of ``covers`` bytes of the volume. ``is_busy``: pages or superblocks are written."""

    def __init__(
        self, run: "Simulation", covers: float, write: Callable[[str, int, Then], None]
    ) -> None:
        """*write*: writes pages on all members: the cause, how many, and what follows."""
        self._run, self.covers, self._write = run, covers, write
        self.is_busy = False
        self._written: dict[int, int] = {}  # region → runs of the daemon before its last write
        self._waiting: list[tuple[Collection[int], bool, Then]] = []
        self._starting: list[Then] = []  # what waits for the superblocks
        self._cleared: set[int] = set()  # pages with bits that the daemon cleared, not written yet
        self._in_flight = 0  # writes
        self._is_idle = False  # the superblocks say that no write is under way
        self._clean_at = 0.0
        self._is_timed = False

    def start(self, writes: "Sequence[Arrival]", rate: float) -> None:
        """Mark the regions that were marked before *writes*, which come at *rate* per second; start the daemon."""
        ends: deque[int] = deque(maxlen=STREAMS)
        visits = []
        for write in writes:
            # A write that continues another one is no visit of its own.
            if write.offset not in ends:
                visits.append(regions_of(write.offset, write.size, self.covers))
            ends.append(write.offset + write.size)
        # As many went on before. How often a region is written shows in the other visits to it: one that is visited
        # once may be new.
        for region, count in Counter(chain.from_iterable(visits)).items():
            own = (count - 1) * rate / max(1, len(writes))
            drawn = self._run.random()
            if drawn > exp(-own * MARKED):
                self._written[region] = int(log(drawn) / own / PERIOD)
        self._run.at(PERIOD, self._clear)

    def _clear(self) -> None:
        """Write the pages whose bits the last run of the daemon cleared, and clear those that are due."""
        if self._cleared:
            self._write(MARK, len(self._cleared), nothing)
        due = [
            region
            for region, passes in self._written.items()
            if self._passes - passes > CLEAN_AFTER
        ]
        for region in due:
            del self._written[region]
        self._cleared = {page_of(region) for region in due}
        self._run.at(self._run.now + PERIOD, self._clear)

    @property
    def _passes(self) -> int:
        """How often the daemon ran."""
        return int(self._run.now / PERIOD)

    def ended(self, regions: range) -> None:
        """A write to *regions* is done; after a pause, the superblocks say so (md.c, md_write_end)."""
        self._written.update(dict.fromkeys(regions, self._passes))
        self._in_flight -= 1
        self._clean_at = (ceil(self._run.now / SAFE_MODE) + 1) * SAFE_MODE
        if not self._is_timed:
            self._is_timed = True
            self._run.at(self._clean_at, self._pause)

    def _pause(self) -> None:
        if self._run.now < self._clean_at:
            self._run.at(self._clean_at, self._pause)
            return
        self._is_timed = False
        if not self._in_flight and not self.is_busy:
            self._is_idle = True
            self._mark_superblocks(nothing)

    def _mark_superblocks(self, then: Then) -> None:
        """Write the bitmap's superblock on all members, then md's own (md.c, md_update_sb)."""
        self._write(SUPERBLOCK, 1, partial(self._write, SUPERBLOCK, 1, then))

    def starts(self, then: Then) -> bool:
        """Whether a write waits until the superblocks say that writes are under way; *then* it goes on (md_write_start)."""
        self._in_flight += 1
        if self._is_idle:
            self._is_idle, self.is_busy = False, True
            self._starting.append(then)
            self._mark_superblocks(self._started)
            return True
        if self._starting:
            self._starting.append(then)
        return bool(self._starting)

    def _started(self) -> None:
        starting, self._starting = self._starting, []
        self._go_on()
        for then in starting:
            then()

    def waits(self, regions: Collection[int], then: Then) -> bool:
        """Whether writes to *regions* wait for their bits, and *then* go on."""
        passes = self._passes
        is_clean = any(
            passes - self._written.get(region, NEVER) > CLEAN_AFTER for region in regions
        )
        self._written.update(dict.fromkeys(regions, passes))
        if not is_clean and not self.is_busy:
            return False
        self._waiting.append((regions, is_clean, then))
        if not self.is_busy:
            self._mark()
        return True

    def _mark(self) -> None:
        """Write the pages of what waits; what comes meanwhile waits, for md's thread does."""
        self.is_busy = True
        waiting, self._waiting = self._waiting, []
        pages = {
            page_of(region) for regions, is_clean, _ in waiting if is_clean for region in regions
        }
        self._cleared -= pages

        def marked() -> None:
            self._go_on()
            for _, _, then in waiting:
                then()

        self._write(MARK, len(pages), marked)

    def _go_on(self) -> None:
        """Mark what came meanwhile; let it go on if there is nothing to mark."""
        self.is_busy = False
        late = self._waiting
        if any(is_clean for _, is_clean, _ in late):
            self._mark()
            return
        self._waiting = []
        for _, _, then in late:
            then()
