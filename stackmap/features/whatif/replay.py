"""
Requests and bytes below a volume by replay: the traced requests, sent through a layout one by one.

A trace shows more than counters: where requests are, which of them meet in a row or follow each other, and which
regions of the bitmap they touch. It does not show the queues of other disks and the speed of md's thread, so how much
merges: the band has a range for that. The present layout is replayed first, and compared with its counters. If it
differs by more than ``OFF``, no count of the replay is used.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from stackmap.features.whatif import bitmap as bitmaps
from stackmap.features.whatif.disks import READ, WRITE
from stackmap.features.whatif.fitting import OFF, Fit, Fitting
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.outcome import CAUSED, MARK, SUPERBLOCK, BelowCounts
from stackmap.features.whatif.projection import CountCheck, DeviceLoad, LayoutLoad, SelfCheck
from stackmap.features.whatif.quantities import Band, exact, spanning
from stackmap.features.whatif.simulation import Simulation, Stack
from stackmap.features.whatif.timing import Scenario
from stackmap.features.whatif.traced_loads import Load, grown, pauses_after_ends
from stackmap.features.whatif.volume_context import VolumeContext, usable_bytes
from stackmap.model.raid import Layout
from stackmap.model.reason import Reason

WARM = 0.2  # of the requests: those before fill the stripe cache, and are not counted
ERROR = 0.05  # of each count: the model's own, of lab runs
CHANCE = 0.5  # divided by the root of the requests: another run has others
# Share of merged parts; error of the disks' requests where all merge, of lab runs.
FEW, MERGING = 0.75, 0.35
PACES = (1.0, 0.25, 4.0)  # of md's thread, the likely one first
NO_REQUESTS = Reason(
    "no-requests",
    "the input has no trace of the requests, so the counts are a range: record it with `stackmap record --trace`",
)


class Counts(NamedTuple):
    """
    What a load causes below per second: requests at members and disks, and bytes. ``pages``: writes of the bitmap's
    pages on all members together; ``superblocks``: of these.
    """

    members_read: float
    members_write: float
    disks_read: float
    disks_write: float
    read_bytes: float
    write_bytes: float
    pages: float
    superblocks: float

    @classmethod
    def of(cls, below: BelowCounts, load: Measured) -> "Counts":
        """Return the counts of *load*: those of the replay, scaled by bytes."""
        read = load.read.bytes / (below.moved[READ] or 1)
        write = load.write.bytes / (below.moved[WRITE] or 1)

        def both(counts: Mapping[str, int]) -> tuple[float, float]:
            return counts[READ] * read + counts[CAUSED] * write, counts[WRITE] * write

        marked = (below.members[cause] * write for cause in (MARK, SUPERBLOCK))
        return cls(*both(below.members), *both(below.disks), *both(below.bytes), *marked)


class Replay(NamedTuple):
    """
    The traced requests on ``layout``: ``runs``, the likely one first. ``error``: by what share each count may be off.

    ``seconds``: of the trace, so that pages of the bitmap are known within chance; ``per_page``: as of ``Measured``.
    ``superblocks``: writes of these per member and byte written on the present layout, if the program pauses after
    its writes; None if it does not.
    """

    layout: Layout
    context: VolumeContext
    runs: Sequence[BelowCounts]
    error: float
    seconds: float
    per_page: int
    superblocks: float | None

    def at(self, load: Measured) -> LayoutLoad:
        """Return the projection of *load*."""
        counts = [Counts.of(below, load) for below in self.runs]
        context, layout = self.context, self.layout
        flushes = load.known_flushes * layout.members
        done = flushes if context.flushes_counted else 0.0

        def band(name: str, error: float = self.error) -> Band:
            values = [float(getattr(count, name)) for count in counts]
            return spanning(values, values[0]).widened(error)

        merging = self.error + MERGING * self.merged
        # Copies move the bytes of the load; which pages meet in a row of parity depends on what merging does.
        of_rows = merging if layout.parity else 0.0
        carried = band("read_bytes", of_rows) + band("write_bytes", of_rows)
        members, disks = self._added(
            band("pages"), self._paused(band("superblocks"), load.write.bytes)
        )
        moved = counts[0].read_bytes, counts[0].write_bytes
        read, written = band("disks_read", merging), band("disks_write", merging) + exact(done)
        members_written, count = band("members_write") + exact(flushes), layout.members
        return LayoutLoad(
            layout,
            DeviceLoad(
                count, band("members_read"), members_written, *moved, members, carried=carried
            ),
            DeviceLoad(count, read, written, *moved, disks, carried=carried),
            usable_bytes(layout, context.member_bytes),
        )

    @property
    def merged(self) -> float:
        """How much depends on merging, from 0 to 1: the likely run merges fewer than ``FEW`` of its parts, or all."""
        below = self.runs[0]
        done, parts = (
            sum(of[direction] for direction in below.parts) for of in (below.disks, below.parts)
        )
        return max(0.0, 1 - done / parts - FEW) / (1 - FEW) if parts else 0.0

    def _paused(self, superblocks: Band, written: float) -> Band:
        """Return *superblocks*, of which there are likely no more than now if the program's pauses stay as they are."""
        if self.superblocks is None:
            return superblocks
        now = self.superblocks * self.layout.members * written
        return spanning((superblocks.low, superblocks.high, now), min(now, superblocks.likely))

    def _added(self, pages: Band, superblocks: Band) -> bitmaps.AtMembersAndDisks:
        """Return the load of *pages* and *superblocks* at the members' metadata, and at the disks."""
        bitmap, members = bitmaps.default_bitmap(self.layout, self.context), self.layout.members
        if bitmap is None:
            return None, None
        # On copies nothing but a pause wakes the daemon, and without it bits stay set (``may_sleep``).
        least = pages.low if self.layout.parity else 0.0
        low, high = (
            bitmaps.count_range(end / members, self.seconds) for end in (least, pages.high)
        )
        pages = Band(low[0] * members, pages.likely, high[1] * members) + superblocks
        return bitmaps.added_by(pages, bitmap, self.per_page, self.context)


class Replays:
    """The replays of one volume. ``reason``: why no count is replayed, "" if all are."""

    def __init__(self, fitting: Fitting) -> None:
        self._fitting = fitting
        self._error = 0.0
        self._superblocks: float | None = None
        self._layers: dict[str, dict[str, SelfCheck]] = {}
        self.reason = ""
        fits = fitting.fits_to_replay() if fitting.requests else []
        if fits:
            self._compare(fits[0])
        else:
            self.reason = fitting.reason if fitting.requests else NO_REQUESTS

    @property
    def checked(self) -> CountCheck:
        """The present layout, replayed and counted."""
        return CountCheck(self._layers, self.reason, len(self._fitting.requests))

    def _compare(self, fit: Fit) -> None:
        """Replay the present layout, and compare its requests with the measured ones."""
        fitting, load = self._fitting, self._fitting.load
        counts = Counts.of(_run(fitting.stack(fitting.present, fit.services), fit.load), load)
        flushes = load.known_flushes * fitting.present.members
        done, per_page = (flushes, load.per_page) if fitting.context.flushes_counted else (0.0, 1)
        _, marks = bitmaps.present_metadata(load, fitting.context)
        compared = (
            ("members", READ, load.members_read, counts.members_read),
            ("members", WRITE, load.members_write, counts.members_write + flushes),
            ("disks", READ, load.disks_read, counts.disks_read),
            ("disks", WRITE, load.disks_write, counts.disks_write + done),
            ("disks", MARK, marks, (counts.pages + counts.superblocks) * per_page),
        )
        for layer, direction, counted, replayed in compared:
            known = counted.requests if counted else None
            if isinstance(known, Band):
                known = known.likely
            self._layers.setdefault(layer, {})[direction] = SelfCheck(known, replayed)
        if load.write.bytes and pauses_after_ends(fitting.requests):
            self._superblocks = counts.superblocks / fitting.present.members / load.write.bytes
        off = max(map(_off, self._layers.values()))
        if off > OFF:
            checks = "; ".join(
                f"{layer}: {counted:.3g} requests/s counted, {replayed:.3g} replayed"
                for layer, counted, replayed in self.checked.sums
            )
            self.reason = Reason(
                "replay-check",
                f"the replayed present layout differs from its counters ({checks}), so the counts are a range",
            )
        self._error = ERROR + off / 2 + CHANCE / sqrt(len(fitting.requests))

    def on(self, layout: Layout, scenario: Scenario) -> Replay:
        """Return the replays on *layout*."""
        fitting = self._fitting
        factor = scenario.growth * fitting.drift
        runs: list[BelowCounts] = []
        for fit in fitting.fits_to_replay():
            disks = (scenario.disks,) if scenario.disks else fit.services
            stack = fitting.stack(layout, disks, projected=True)
            # How fast md's thread is decides how much it handles at once.
            paces = PACES if layout.parity and not runs else PACES[:1]
            load = grown(fit.load, factor)
            runs += [_run(stack._replace(pace=stack.pace * multiple), load) for multiple in paces]
        seconds = fitting.requests[-1].time - fitting.requests[0].time
        return Replay(
            layout,
            fitting.context,
            runs,
            self._error,
            seconds * (1 - WARM),
            fitting.load.per_page,
            self._superblocks,
        )


def _off(checked: Mapping[str, SelfCheck]) -> float:
    """Return the difference of a layer's replayed requests as a share of the counted ones; 0 if these are not known."""
    counted = sum(check.measured or 0.0 for check in checked.values())
    replayed = sum(check.simulated for check in checked.values() if check.measured is not None)
    return abs(replayed / counted - 1) if counted else 0.0


def _run(stack: Stack, load: Load) -> BelowCounts:
    """Return the requests that *load* causes below."""
    return Simulation(stack).run(load.arrivals, skipped=int(WARM * len(load.arrivals))).below
