"""The result of a projection: a volume's measured load, and what it would be on another layout."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from stackmap.features.whatif.bitmap import BitmapLoad, Region
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.quantities import Band, Levels, Stream, exact
from stackmap.features.whatif.volume_context import SINGLE_DEVICE, MembersNeeded, SpaceBeside
from stackmap.ledger.wear import Years, life_of, whole_disk, years
from stackmap.model.device import Device
from stackmap.model.health import Life
from stackmap.model.raid import Layout
from stackmap.model.reason import Reason
from stackmap.model.topology import Topology

if TYPE_CHECKING:
    from stackmap.features.whatif.timing import Scenario, TimeProjection


@dataclass(frozen=True, slots=True)
class DeviceLoad:
    """
    The load of ``count`` devices together, per second; None where not known.

    ``read``, ``write``: without ``metadata``, what the bitmap adds, None if there is none or it is not known.
    ``total``: both together, where the input does not separate them. ``carried``: bytes of both together, a range
    where they depend on what the load may be.
    """

    count: int
    read: Band | None = None
    write: Band | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None
    metadata: BitmapLoad | None = None
    total: Band | None = None
    carried: Band | None = None

    @property
    def data(self) -> Band | None:
        """Requests without metadata."""
        if self.total is not None:
            return self.total
        return None if self.read is None or self.write is None else self.read + self.write

    @property
    def requests(self) -> Band | None:
        """All requests, with metadata where known."""
        if self.data is None or self.metadata is None:
            return self.data
        return self.data + self.metadata.requests

    @property
    def moved(self) -> Band | None:
        """All bytes, with metadata where known."""
        data = self.carried
        return data if data is None or self.metadata is None else data + self.metadata.bytes

    @property
    def bytes(self) -> float | None:
        """The likely value of ``moved``."""
        return None if self.moved is None else self.moved.likely


class SelfCheck(NamedTuple):
    """A figure of the present layout, measured and simulated; None where not measured."""

    measured: float | None
    simulated: float


class CountCheck(NamedTuple):
    """
    The present layout's requests per second by layer and direction, replayed and counted.

    ``reason``: why no count is replayed, "" if all are. ``requests``: that were replayed.
    """

    layers: Mapping[str, Mapping[str, SelfCheck]]
    reason: str
    requests: int

    @property
    def sums(self) -> Iterator[tuple[str, float, float]]:
        """Each layer with its requests per second, counted and replayed."""
        for layer, checks in self.layers.items():
            counted = sum(check.measured or 0.0 for check in checks.values())
            yield layer, counted, sum(check.simulated for check in checks.values())


class LayoutLoad(NamedTuple):
    """A layout with the load of its members and disks; ``usable``: its bytes on members of the present size."""

    layout: Layout | None
    members: DeviceLoad
    disks: DeviceLoad
    usable: int | None


class WearChange(NamedTuple):
    """Years that the disks last ``now`` and ``projected``; ``rated``: by a rating of the user's."""

    now: Years
    projected: Years
    rated: bool = False


class Projection(NamedTuple):
    """
    A volume now and on another layout, averaged over ``intervals`` in ``seconds``.

    ``read``, ``write``: its load; ``flushes``: None if they cannot be separated from
    writes. ``levels``: percentiles of volume, members and disks, now and projected. ``regions``:
    what other bitmaps would add, the default first; () if none matters.
    ``unmodelled``: what the figures leave out, in sentences. ``total``: the load where the input
    does not separate reads and writes; ``read`` and ``write`` are then its likely mix, and
    ``bytes_known`` says whether their bytes are known. ``room``: space by the sizes of PVs.
    ``notes``: what makes the average doubtful. ``growth``: the projected load as a multiple of the measured one.
    ``time``: how long requests take, None if not asked. ``scenario``: what else the projection changes.
    ``wear``: how long the disks last, None if their life is not known. ``replayed``: how counts were replayed, None
    without a trace.
    """

    device: Device
    read: Stream
    write: Stream
    flushes: float | None
    pattern: Pattern
    now: LayoutLoad
    projected: LayoutLoad
    seconds: float | None = None
    intervals: int = 1
    need: MembersNeeded | None = None
    levels: Mapping[str, Levels] = MappingProxyType({})
    regions: tuple[Region, ...] = ()
    unmodelled: tuple[Reason, ...] = ()
    corrections: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    total: Stream | None = None
    bytes_known: bool = True
    room: SpaceBeside | None = None
    growth: float = 1.0
    time: "TimeProjection | None" = None
    scenario: "Scenario | None" = None
    wear: WearChange | None = None
    replayed: CountCheck | None = None

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """The columns that each of its tables has in CSV."""
        return (("device", self.device.name), ("label", self.device.title))

    def frame(self, library: str = "pandas") -> Any:
        """Return the table of ``whatif`` as a data frame of *library*, "pandas" or "polars"."""
        from stackmap.features.whatif.document import comparison_table
        from stackmap.render.frames import frame

        return frame([comparison_table(self, "projection")], library)

    @property
    def idle(self) -> bool:
        """Whether the volume had no load."""
        return not (self.read.requests or self.write.requests or self.flushes)

    @property
    def costs(self) -> tuple[float, Band] | None:
        """
        Disk bytes per byte written, now and projected: all but the volume's own reads.

        None if nothing is written, or one of them is unknown.
        """
        written = self.write.bytes
        if not written or not self.bytes_known:
            return None
        for where in ("disks", "members"):
            now, then = (getattr(side, where).moved for side in (self.now, self.projected))
            if now is not None and then is not None:
                below = self.scenario.reads_below.likely if self.scenario else 1.0
                read = -self.read.bytes
                grown = then.scaled(1 / self.growth) + exact(read * below)
                return (now + exact(read)).likely / written, grown.scaled(1 / written)
        return None

    @property
    def needs_larger(self) -> bool:
        """Whether the layout needs larger members, not more of them, for the present data."""
        now, then, need = self.now.usable, self.projected.usable, self.need
        if need is None or now is None or then is None:
            return False
        return need.members == self.projected.members.count and then < now

    @property
    def is_check(self) -> bool:
        """Whether the layout is the present one, so that the projection checks the model."""
        now, then = self.now.layout, self.projected.layout
        same = now == then or (now is None and then == SINGLE_DEVICE)
        other = self.scenario is not None and (self.scenario.disks or self.scenario.cache)
        return same and self.growth == 1 and not other


def wear_change(
    projection: Projection, topology: Topology, names: Collection[str], lives: Mapping[str, Life]
) -> WearChange | None:
    """
    Return the life of disks under the mean of their writes; None if the writes or a life is not known.

    *names*: the disks now, or paths to them. Of disks with different lives, the shortest counts.
    """
    disks = {whole_disk(topology, name) for name in names}
    all_lives = [life_of(topology, lives, disk) for disk in disks]
    known = [life for life in all_lives if life is not None]
    if not known or len(known) < len(all_lives):
        return None
    shortest = Life(min(life.low for life in known), min(life.high for life in known))
    for where in ("disks", "members"):
        now, then = (getattr(side, where) for side in (projection.now, projection.projected))
        written, projected = _per_device(now), _per_device(then)
        if written is not None and now.count == len(names):
            written = written.scaled(len(names) / len(disks))
        if written is not None and projected is not None:
            before = years(shortest, written.low, written.high)
            after = years(shortest, projected.low, projected.high)
            rated = any(life.rated for life in known)
            return None if before is None or after is None else WearChange(before, after, rated)
    return None


def _per_device(load: DeviceLoad) -> Band | None:
    """Return the bytes written per second to one of the devices, with metadata."""
    if load.moved is None or load.read_bytes is None or not load.count:
        return None
    return (load.moved + exact(-load.read_bytes)).scaled(1 / load.count)
