"""The figures of one interval as the screen needs them: what is not shown is not computed."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property

from stackmap.features.top.recent_load import RecentLoad
from stackmap.features.top.row import Event, GroupLoad, Row
from stackmap.features.top.verdict import NOT_YET
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.blame import Blame, blame
from stackmap.ledger.corrections import corrected
from stackmap.ledger.layers import counted_tops
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.totals import summed_devices
from stackmap.model.computed_once import computed_once
from stackmap.model.device import Role, Use
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load, sum_flows
from stackmap.model.topology import Topology
from stackmap.rules.rule import Finding

UNFOLDED = 40  # stacks; more of them are folded at first


class Scope:
    """
    The devices to show. They change only with the topology or with the devices that have counters.

    *chosen*: the devices that NAMEs mean; () for all. ``tops``: the stacks, in tree order.
    ``folded``: whether only their first rows are shown at first.
    ``part``: the stacks that hold them. ``users`` by the device that they use.
    """

    def __init__(
        self, topology: Topology, loads: Mapping[str, Load], chosen: Sequence[str]
    ) -> None:
        self.topology, self.chosen = topology, tuple(chosen)
        self.names = frozenset(loads)
        self.part = part = topology.select(chosen) if chosen else topology
        self.tops = list(chosen) or counted_tops(topology, loads)
        self.folded = len(self.tops) > UNFOLDED
        tops, self.disks = summed_devices(part, loads)
        self.summed_tops, self.summed_disks = frozenset(tops), frozenset(self.disks)
        self.rows: dict[tuple[str, bool], Row] = {}  # of the stacks, unfolded and folded
        self._suspects = frozenset(
            device.name
            for device in topology
            if device.queue.get("iostats") == "0"
            or any(edge.role is Role.PATH for edge in topology.below(device.name))
        )
        self.users: list[tuple[str, Use]] = [
            (device.name, use) for device in part for use in device.uses
        ]

    def corrected(self, measured: Interval) -> Interval:
        """Return *measured* with its counters corrected; all rules pass over other idle devices."""
        busy = {name for name, load in measured.loads.items() if load is not IDLE}
        return corrected(self.topology, measured, busy | self._suspects)

    def fits(self, topology: Topology, loads: Mapping[str, Load]) -> bool:
        """Whether it is still that of *topology* and of the devices in *loads*."""
        return topology is self.topology and loads.keys() == self.names


class Moment:
    """
    One corrected *interval*, and what is kept from earlier ones.

    ``recent``: for sparklines. ``findings``: those to show, the worst first. ``verdict``: the sentence
    where none is grave. ``groups``: the largest first; None if they were not read. ``events``: the newest last.
    """

    def __init__(self, scope: Scope, interval: Interval, *, recent: RecentLoad) -> None:
        self.scope, self.topology = scope, scope.topology
        self.interval, self.recent = interval, recent
        self.ledger = Ledger(self.topology, interval.loads, interval.seconds)
        self.findings: Sequence[Finding] = ()
        self.verdict = NOT_YET
        self.groups: Sequence[GroupLoad] | None = None
        self.events: Sequence[Event] = ()

    @property
    def host(self) -> str:
        """The name of the machine, "" if unknown."""
        return self.topology.machine.host

    def load(self, name: str) -> Load:
        """Return the corrected load of a device."""
        return self.ledger.load(name)

    @computed_once
    def stack(self, top: str) -> StackFigures:
        """Return the figures of the stack of *top*: those of ``iostat --per-layer``."""
        return StackFigures(self.ledger, self.topology[top])

    @computed_once
    def blame(self, disk: str) -> Blame:
        """Return what loads *disk*."""
        return blame(self.ledger, disk, idle=False)

    @cached_property
    def totals(self) -> tuple[tuple[float | None, float | None], tuple[float | None, float | None]]:
        """Requests and bytes per second at the tops, then at the disks."""
        busy = [(name, load) for name, load in self.interval.loads.items() if load is not IDLE]
        return _total(busy, self.scope.summed_tops), _total(busy, self.scope.summed_disks)


def _total(
    busy: Sequence[tuple[str, Load]], names: Container[str]
) -> tuple[float | None, float | None]:
    flow = sum_flows(load.total for name, load in busy if name in names)
    return flow.ios, flow.bytes
