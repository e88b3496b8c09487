"""Whose requests are at each layer, by kernel probes, while a measurement runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from stackmap.analysis.owners import Owner, owners
from stackmap.model.owner_io import ControlGroup, OwnerIo
from stackmap.sources import cgroup_names, owner_probes
from stackmap.sources.tracefs import Tracing, Trigger

if TYPE_CHECKING:
    from stackmap.host.tracing import TracingHost
    from stackmap.model.topology import Topology


class OwnerSample(NamedTuple):
    """
    What was counted since the previous sample.

    ``groups``: control groups by number. ``dropped``: hits without room.
    """

    rows: tuple[OwnerIo, ...] = ()
    groups: dict[int, ControlGroup] = {}  # noqa: RUF012 - a default that nothing changes
    dropped: int = 0

    def owners(self, topology: Topology, chosen: Iterable[str]) -> list[Owner]:
        """Return the owners at *chosen* and at all devices above and below."""
        return owners(topology, chosen, self.rows, self.groups)


class OwnerTrace:
    """Counts while the context is entered; raises what ``Tracing`` and ``owner_probes.install`` raise."""

    def __init__(self, host: TracingHost) -> None:
        self._host = host
        self._tracing = Tracing(host)
        self._groups: dict[int, ControlGroup] = {}
        self._counting: list[Trigger] = []

    def __enter__(self) -> Self:
        self._tracing.__enter__()
        try:
            self._groups = self._named()
            self._counting = owner_probes.install(self._host, self._tracing)
        except BaseException:
            self._tracing.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._tracing.__exit__()

    def read(self) -> OwnerSample:
        """Return what was counted since the previous call; a service that ended keeps its name."""
        rows, dropped = owner_probes.read(self._tracing, self._counting)
        self._groups |= self._named()
        return OwnerSample(tuple(rows), self._groups, dropped)

    def _named(self) -> dict[int, ControlGroup]:
        return {
            number: ControlGroup(path, " ".join(cgroup_names.owner(path) or ()))
            for number, path in owner_probes.groups(self._host).items()
        }
