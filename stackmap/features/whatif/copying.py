"""
Writes to copies in a simulation: by the thread that submits them, when its plug ends.

Until then nothing is sent (raid1-10.c, raid1_add_bio_to_plug); the bitmap is written once for all of them
(raid10_unplug, md-bitmap.c, unplug).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from stackmap.features.whatif.threads import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from stackmap.features.whatif.simulation import Arrival, Simulation
    from stackmap.features.whatif.threads import Thread


class Copying:
    """The copies that a run writes; *most*: so many writes are under a plug until it is pulled."""

    def __init__(self, run: Simulation, most: float) -> None:
        self._run, self._most = run, most

    def add(
        self,
        request: Arrival,
        regions: Collection[int],
        write: Callable[[Thread], None],
        thread: Thread,
    ) -> None:
        """Add *request*, which *write* sends, in these *regions* of the bitmap, to what is under the plug of *thread*."""
        plug = thread.plug
        plug.writes.append(write)
        plug.regions.update(regions)
        plug.apart += request.offset != plug.end
        plug.end = request.offset + request.size
        # One stream merges in the plug of the block layer, which its thread goes on to fill.
        if not request.more or (len(plug.writes) >= self._most and plug.apart > 1):
            self.unplug(thread, thread)

    def unplug(self, thread: Thread, by: Thread) -> None:
        """Let the thread *by*, md's where *thread* sleeps, send what is under its plug when the bitmap is written."""
        plug = thread.take_plug()
        if not plug.writes:
            return
        jobs = [Job(partial(write, by)) for write in plug.writes]

        def marked() -> None:
            if by is thread:
                by.is_blocked = False
            by.jobs.extendleft(reversed(jobs))
            self._run.go_on(by)

        marking = self._run.marking
        if marking and marking.waits(plug.regions, marked):
            by.is_blocked = by.is_blocked or by is thread
        elif by is thread:
            by.jobs.extendleft(reversed(jobs))
        else:
            marked()
