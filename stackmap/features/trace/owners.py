"""The control groups and threads whose requests reach each layer, by kernel probes, during a measurement."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Self

from stackmap.errors import SourceError
from stackmap.features.trace import owner_probes
from stackmap.features.trace.instance import Tracing
from stackmap.features.trace.overhead import TICK, Overhead
from stackmap.features.trace.owner_figures import Owner, owners
from stackmap.model.owner_io import ControlGroup, OwnerIo
from stackmap.sources import cgroup_names

if TYPE_CHECKING:
    from stackmap.document.blocks import Block
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.topology import Topology


class OwnerSample(NamedTuple):
    """
    What was counted since the previous sample.

    ``groups``: control groups by number. ``dropped``: hits without room. ``overhead``: the share of all CPU time
    so far. ``stopped``: why the trace ended, in the first sample after that; else "".
    """

    rows: tuple[OwnerIo, ...] = ()
    groups: dict[int, ControlGroup] = {}  # noqa: RUF012 - a default that nothing changes
    dropped: int = 0
    overhead: float = 0.0
    stopped: str = ""

    def owners(self, topology: Topology, chosen: Iterable[str]) -> list[Owner]:
        """Return the owners at *chosen* and at all devices above and below."""
        return owners(topology, chosen, self.rows, self.groups)

    def json(self, topology: Topology, chosen: Iterable[str]) -> dict[str, object]:
        """Return the keys that a trace adds to the object of ``blame -J``."""
        from stackmap.features.trace.owners_json import owners_json

        return {
            **owners_json(self.owners(topology, chosen), self.dropped),
            "overhead": self.overhead,
            "stopped": self.stopped or None,
        }

    def blocks(self, topology: Topology, chosen: Iterable[str]) -> list[Block]:
        """Return the tables that a trace adds to ``blame``."""
        from stackmap.features.trace.owners_document import owner_blocks

        return owner_blocks(topology, self.owners(topology, chosen), self.dropped, self.overhead)


class OwnerTrace:
    """
    Counts while the context is entered; raises what ``Tracing`` and ``owner_probes.install`` raise.

    A thread looks at the overhead and ends the trace above the share *max_overhead* of CPU time, or after an hour.
    """

    def __init__(self, host: LiveTracingHost, max_overhead: float) -> None:
        self._host = host
        self._limit = max_overhead
        self._tracing = Tracing(host)
        self._groups: dict[int, ControlGroup] = {}
        self._installed: owner_probes.Installed | None = None
        self._overhead = Overhead(host)
        self._last = OwnerSample()
        self._lock = Lock()
        self._ended = Event()
        self._watch = Thread(target=self._watched, daemon=True)

    def __enter__(self) -> Self:
        self._tracing.__enter__()
        try:
            self._groups = self._named()
            self._installed = owner_probes.install(self._host, self._tracing)
            self._overhead = Overhead(self._host)
            self._watch.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self) -> OwnerSample:
        """Return what was counted since the previous call; a service that ended keeps its name."""
        with self._lock:
            self._look()
            sample, self._last = self._last, OwnerSample()
            return sample if self._installed is None else self._sample()

    def look(self) -> None:
        """End the trace if it takes too much, or too long; what was counted is in the next sample."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        if self._installed is None:
            return
        spent = owner_probes.spent(self._host, self._installed)
        stopped = self._overhead.look(spent, self._limit)
        if stopped:
            self._last = self._sample()._replace(stopped=stopped)
            self._installed = None
            self._tracing.clear()

    def _sample(self) -> OwnerSample:
        if self._installed is None:
            return OwnerSample()
        rows, dropped = owner_probes.read(self._tracing, self._installed)
        self._groups |= self._named()
        return OwnerSample(tuple(rows), self._groups, dropped, self._overhead.share)

    def _watched(self) -> None:
        with suppress(SourceError):  # the next reading raises it too
            while not self._ended.wait(TICK):
                self.look()

    def _end(self) -> None:
        self._ended.set()
        with self._lock:  # not while a look is under way
            self._installed = None
            self._tracing.__exit__()

    def _named(self) -> dict[int, ControlGroup]:
        return {
            number: ControlGroup(path, " ".join(cgroup_names.owner(path) or ()))
            for number, path in owner_probes.groups(self._host).items()
        }
