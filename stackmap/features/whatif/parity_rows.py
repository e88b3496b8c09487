"""
Rows of RAID4, 5 and 6 in a simulation: which writes are in one row, and when md reads and writes it.

md's thread handles what came meanwhile at once (raid5.c, raid5d). A row for which nothing must be read is written;
one for which a program waits (REQ_SYNC) is read for at once; others are put off until no row is read for, so that
later writes may complete them (``add_stripe_bio``, ``raid5_activate_delayed``, IO_THRESHOLD). Parity is computed in
one turn and written in another, behind all rows that are ready (``ops_complete_reconstruct``).

Until md has handled a write, a program that writes some of the same sectors sleeps (``stripe_bio_overlaps``); a row
that is being written is not read or written for later writes (R5_LOCKED). A program sleeps as well while all stripes of
the cache are in use; each time md adds one (R5_ALLOC_MORE).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.features.whatif.disks import READ
from stackmap.features.whatif.geometry import Part, Rows
from stackmap.features.whatif.outcome import CAUSED
from stackmap.features.whatif.threads import Countdown, Job, Thread
from stackmap.model.raid import PAGE
from stackmap.model.units import KIB

if TYPE_CHECKING:
    from stackmap.features.whatif.simulation import Arrival, Simulation
    from stackmap.features.whatif.throttling import Hold, Then

NEAR = 64 * KIB  # bytes in which pending writes are looked for
# Share of the stripes below which those that wait for one are woken (raid5.c, raid5_get_active_stripe).
FREE = 3 / 4
HANDLING = 1e-4  # seconds until md's thread handles rows: what arrives at once is handled at once


@dataclass(slots=True)
class Update:
    """
    What is written to alike rows: the data chunks ``places``. ``ends``: of the writes; ``hold``: how throttling holds it.

    ``taken``: called when md takes the data, and later writes make an update of their own. ``parts``: bytes of the
    pages of which only a part is written, by chunk.
    """

    hold: Hold
    places: set[int] = field(default_factory=set)
    parts: Counter[int] = field(default_factory=Counter)
    ends: list[Then] = field(default_factory=list)
    taken: list[Then] = field(default_factory=list)

    @property
    def partial(self) -> set[int]:
        """The chunks of which only a part of the page is written: no two writes have the same sectors."""
        return {place for place, written in self.parts.items() if written < PAGE}


@dataclass(slots=True, eq=False)
class PendingWrite:
    """A write that md has not taken yet, up to ``end``; ``asleep``: the writes that wait for that."""

    offset: int
    end: int
    asleep: list[Then] = field(default_factory=list)


class PendingWrites:
    """The writes that md has not taken yet, by place."""

    def __init__(self) -> None:
        self._near: defaultdict[int, list[PendingWrite]] = defaultdict(list)

    def overlapping(self, offset: int, end: int) -> PendingWrite | None:
        """Return a write to some of the sectors from *offset* to *end*."""
        for place in _places(offset, end):
            for write in self._near.get(place, ()):
                if write.offset < end and offset < write.end:
                    return write
        return None

    def add(self, offset: int, end: int) -> PendingWrite:
        """Add a write, and return it."""
        pending = PendingWrite(offset, end)
        for place in _places(offset, end):
            self._near[place].append(pending)
        return pending

    def remove(self, pending: PendingWrite) -> None:
        """Remove a write that md took."""
        for place in _places(pending.offset, pending.end):
            self._near[place].remove(pending)


def _places(offset: int, end: int) -> range:
    return range(offset // NEAR, -(-end // NEAR))


class ParityRows:
    """The rows that a run writes; ``pace``: seconds that md's thread takes for a page of data."""

    def __init__(self, run: Simulation, pace: float) -> None:
        self._run, self._pace = run, pace
        self._rows: dict[Rows, Update] = {}
        self._fresh: list[Rows] = []
        self._plugged: defaultdict[int, list[Rows]] = defaultdict(list)  # by thread
        self._has_batch = False
        self._delayed: list[Rows] = []
        self._reading = 0  # rows for which pages are read before they are written
        self._pending = PendingWrites()
        # By rows that are being written: what waits for the end.
        self._locked: dict[Rows, list[Then]] = {}
        # Stripes of a page that are in use, how many there are, and what waits for some.
        self._active, self._most = 0, run.geometry.stripes
        self._waiting: list[Then] = []

    def write(self, request: Arrival, hold: Hold, end: Then, thread: Thread | None) -> None:
        """
        Add *request* to its rows: until these are written, later writes join, and less must be read.

        If ``more`` come under the same plug, md's thread sees it with these (raid5.c, release_stripe_plug). *thread*
        may have to sleep first.
        """
        until = request.offset + request.size
        if thread and (sleepers := self._sleepers(request.offset, until)) is not None:
            thread.is_blocked = True

            def wake() -> None:
                thread.is_blocked = False
                self.write(request, hold, end, thread)
                self._run.go_on(thread)

            sleepers.append(wake)
            self._unplug(request.thread)  # to sleep ends the plug
            return
        pending = self._pending.add(request.offset, until)
        touched = list(self._run.geometry.rows(request.offset, request.size))
        left = Countdown(len(touched), end)
        untaken = Countdown(len(touched), partial(self._taken, pending))
        for rows, places in touched:
            update = self._joined(rows, hold, request.thread)
            parts = self._run.geometry.parts_of_pages(rows, places, request.offset, request.size)
            update.parts.update(dict(parts))
            update.places |= places
            update.ends.append(left.one)
            update.taken.append(untaken.one)
        if not request.more:
            self._unplug(request.thread)

    def _sleepers(self, offset: int, end: int) -> list[Then] | None:
        """Return the list of those that wait until a write to these sectors may begin; None if it may."""
        earlier = self._pending.overlapping(offset, end)
        if earlier is not None:
            return earlier.asleep
        if self._active < self._most:
            return None
        self._most += 1
        return self._waiting

    def _joined(self, rows: Rows, hold: Hold, thread: int) -> Update:
        """Return the update of *rows* that a write joins."""
        update = self._rows.get(rows)
        if update is None:
            self._rows[rows] = update = Update(hold)
            self._plugged[thread].append(rows)
            if rows not in self._locked:
                self._active += rows.length // PAGE
        elif update.hold == "background":
            update.hold = hold
        return update

    def _taken(self, pending: PendingWrite) -> None:
        self._pending.remove(pending)
        self._wake(pending.asleep)

    def _wake(self, asleep: Sequence[Then]) -> None:
        for wake in asleep:
            self._run.at(self._run.now, wake)

    def _unplug(self, thread: int) -> None:
        self._fresh += self._plugged.pop(thread, ())
        if self._fresh and not self._has_batch:
            self._has_batch = True
            self._run.at(self._run.now + HANDLING, self._take_batch)

    def _take_batch(self) -> None:
        """Begin with all rows that came meanwhile: pages of several requests are under one plug."""
        batch, self._fresh = self._fresh, []
        pages = sum(rows.length * len(self._rows[rows].places) for rows in batch) // PAGE
        self._run.at(self._run.now + pages * self._pace, self._handle_batch, batch)

    def _handle_batch(self, batch: Sequence[Rows]) -> None:
        self._run.md.jobs.extend(Job(partial(self._handle, rows)) for rows in batch)
        self._run.go_on(self._run.md)
        self._has_batch = bool(self._fresh)
        if self._fresh:
            self._take_batch()

    def _do(self, job: Then) -> None:
        self._run.md.jobs.append(Job(job))
        self._run.go_on(self._run.md)

    def _handle(self, rows: Rows) -> None:
        """Write *rows*, or read for them: now, or when no others are read for."""
        if rows in self._locked:
            self._locked[rows].append(partial(self._handle, rows))
            return
        update = self._rows[rows]
        if not self._run.geometry.reads_for(rows, update.places, update.partial):
            self._compute(rows, read_before=False)
        elif update.hold == "background":
            self._delayed.append(rows)
            self._later()
        else:
            self._read(rows)

    def _later(self) -> None:
        if self._delayed and not self._reading:
            self._run.at(self._run.now + HANDLING, self._do, self._read_delayed)

    def _read_delayed(self) -> None:
        if self._reading:
            return
        waiting, self._delayed = self._delayed, []
        for rows in waiting:
            self._read(rows)

    def _read(self, rows: Rows) -> None:
        self._reading += 1
        update = self._rows[rows]
        parts = self._run.geometry.reads_for(rows, update.places, update.partial)
        job = partial(self._compute, rows, read_before=True)
        self._run.send(parts, READ, CAUSED, partial(self._do, job))

    def _compute(self, rows: Rows, *, read_before: bool) -> None:
        """Compute the parity of *rows*. md's thread does this, and writes them after all rows that are ready."""
        update = self._rows.pop(rows)
        self._locked[rows] = []
        for taken in update.taken:
            taken()
        write = partial(self._write, rows, update, read_before=read_before)
        self._run.md.jobs.append(Job(write))

    def _write(self, rows: Rows, update: Update, *, read_before: bool) -> None:
        parts = self._run.geometry.writes_of(rows, update.places)
        room = self._run.room(parts, update.hold)
        if room < rows.length // PAGE:
            parts = _in_turn(parts, int(room))

        def written() -> None:
            self._run.md.jobs.extend(map(Job, self._locked.pop(rows)))
            if rows not in self._rows:
                self._active -= rows.length // PAGE
                if self._waiting and self._active < FREE * self._most:
                    woken, self._waiting = self._waiting, []
                    self._wake(woken)
            for end in update.ends:
                end()

        def sent() -> None:
            self._reading -= 1
            self._later()

        left = Countdown(len(parts), partial(self._do, written))
        self._run.write_on(self._run.md, parts, update.hold, left)
        if read_before:  # done when the thread is through with these writes
            self._run.md.jobs.appendleft(Job(sent))


def _in_turn(parts: tuple[Part, ...], pages: int) -> tuple[Part, ...]:
    """
    Return the first *pages* of each of *parts*, then the next page of each, then the others.

    Where throttling stops md in between, they do not merge.
    """
    size = parts[0].size
    cuts = sorted({0, pages * PAGE, min(size, (pages + 1) * PAGE), size})
    return tuple(
        part._replace(offset=part.offset + low, size=high - low)
        for low, high in pairwise(cuts)
        for part in parts
    )
