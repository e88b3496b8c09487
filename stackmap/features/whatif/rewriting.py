"""
Rows of RAID4, 5 and 6 in a simulation: which writes are in one row, and when md reads and writes it.

md's thread handles what came meanwhile at once (raid5.c, raid5d). A row for which nothing must be read is written;
one for which a program waits (REQ_SYNC) is read for at once; others are put off until no row is read for, so that
later writes may complete them (``add_stripe_bio``, ``raid5_activate_delayed``, IO_THRESHOLD). Parity is computed in
one turn and written in another, behind all rows that are ready (``ops_complete_reconstruct``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.features.whatif.disks import READ
from stackmap.features.whatif.geometry import Part, Rows
from stackmap.features.whatif.outcome import CAUSED
from stackmap.features.whatif.threads import Countdown, Job
from stackmap.model.raid import PAGE

if TYPE_CHECKING:
    from stackmap.features.whatif.simulation import Simulation
    from stackmap.features.whatif.throttling import Hold, Then

HANDLING = 1e-4  # seconds until md's thread handles rows: what arrives at once is handled at once


class Update:
    """What is written to alike rows: the data chunks ``places``. ``ends``: of the writes; ``hold``: how throttling holds it."""

    __slots__ = ("ends", "hold", "places")

    def __init__(self, places: set[int], hold: Hold) -> None:
        self.places, self.hold = places, hold
        self.ends: list[Then] = []


class Rewriting:
    """
    The rows that a run writes.

    ``pace``: seconds that md's thread takes for a page of a row. ``in_one_turn``: it computes and writes parity in
    the same turn.
    """

    def __init__(self, run: Simulation, pace: float, *, in_one_turn: bool) -> None:
        self._run, self._pace, self._in_one_turn = run, pace, in_one_turn
        self._rows: dict[Rows, Update] = {}
        self._fresh: list[Rows] = []
        self._has_batch = False
        self._delayed: list[Rows] = []
        self._reading = 0  # rows for which pages are read before they are written

    def join(
        self, rows: Rows, places: set[int], hold: Hold, then: Then, *, is_plugged: bool = False
    ) -> None:
        """
        Add a write to its rows: until these are written, later ones join, and less must be read.

        *is_plugged*: more come under the same plug before md's thread sees them (raid5.c, release_stripe_plug).
        """
        update = self._rows.get(rows)
        if update is None:
            self._rows[rows] = update = Update(places, hold)
            self._fresh.append(rows)
        elif update.hold == "background":
            update.hold = hold
        update.places |= places
        update.ends.append(then)
        if self._fresh and not (is_plugged or self._has_batch):
            self._has_batch = True
            self._run.at(self._run.now + HANDLING, self._take_batch)

    def _take_batch(self) -> None:
        """Begin with all rows that came meanwhile: pages of several requests are under one plug."""
        batch, self._fresh = self._fresh, []
        pages = sum(rows.length for rows in batch) // PAGE
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
        update = self._rows[rows]
        if not self._run.geometry.reads_for(rows, update.places):
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
        """Read for all rows that wait."""
        if self._reading:
            return
        waiting, self._delayed = self._delayed, []
        for rows in waiting:
            self._read(rows)

    def _read(self, rows: Rows) -> None:
        self._reading += 1
        parts = self._run.geometry.reads_for(rows, self._rows[rows].places)
        job = partial(self._compute, rows, read_before=True)
        self._run.send(parts, READ, CAUSED, partial(self._do, job))

    def _compute(self, rows: Rows, *, read_before: bool) -> None:
        """Compute the parity of *rows*: md's thread, which does this, writes them when it has handled all that is ready."""
        update = self._rows.pop(rows)
        if self._in_one_turn:
            self._write(rows, update, read_before=read_before)
        else:
            write = partial(self._write, rows, update, read_before=read_before)
            self._run.md.jobs.append(Job(write))

    def _write(self, rows: Rows, update: Update, *, read_before: bool) -> None:
        parts = self._run.geometry.writes_of(rows, update.places)
        room = self._run.room(parts, update.hold)
        if room < rows.length // PAGE:
            parts = _in_turn(parts, int(room))

        def written() -> None:
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
