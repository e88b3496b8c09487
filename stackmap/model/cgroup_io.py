"""I/O of control groups on devices and of processes: what the kernel counted, and the caps of a group, libvirt or a disk."""

from collections.abc import Mapping
from typing import NamedTuple


class CgroupCounters(NamedTuple):
    """Requests and bytes since both the group and the device exist."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0


# By group ("/system.slice/x.service") and device number.
CgroupSample = Mapping[tuple[str, str], CgroupCounters]


class CgroupLoad(NamedTuple):
    """
    Requests and bytes per second that *group* sent to the device *number*.

    They are counted at that device, before any layer below multiplies them. ``owner``: the kind and the name
    of the service or container, None without one. ``waited``: the share of time in which some of its tasks waited
    for I/O, of any device; None if unknown.
    """

    group: str
    number: str
    ios: float
    bytes: float
    owner: tuple[str, str] | None = None
    waited: float | None = None


class ProcessIo(NamedTuple):
    """
    What the process ``pid`` reads and writes, all devices together: bytes per second.

    ``group``: its control group, "" if unknown; ``owner``: the kind and the name of its service or container.
    """

    pid: str
    name: str
    read: float
    written: float
    group: str = ""
    owner: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        """The name, the PID, and the service or container that it runs in."""
        inside = f" in {self.owner[1]}" if self.owner else ""
        return f"{self.name or '?'} ({self.pid}){inside}"


def cgroup_loads(earlier: CgroupSample, later: CgroupSample, seconds: float) -> list[CgroupLoad]:
    """Return the load of each group between two samples, largest first; a new group has no rate."""
    loads = []
    for (group, number), now in later.items():
        before = earlier.get((group, number))
        if before is None or now.reads < before.reads or now.writes < before.writes:
            continue
        ios = now.reads + now.writes - before.reads - before.writes
        moved = now.read_bytes + now.write_bytes - before.read_bytes - before.write_bytes
        if ios > 0:
            loads.append(CgroupLoad(group, number, ios / seconds, moved / seconds))
    return sorted(loads, key=lambda load: -load.ios)


# Kinds of caps that are no rates: the budget of io.cost, in seconds of a disk's time per second; and the requests in
# flight that io.latency allows now.
COST, DEPTH = "cost", "depth"


class CappedUse(NamedTuple):
    """
    What the owner of a cap did in an interval: ``done`` per second, by kind of cap.

    ``stalled``: the share of time in which some of its tasks waited for I/O, of any device; None if unknown.
    ``speed``: at which io.cost's model of a disk runs; 1 is as it was set. None for another cap.
    """

    done: Mapping[str, float]
    stalled: float | None = None
    speed: float | None = None


class IoLimit(NamedTuple):
    """
    The most that *owner* may do on *device* (a kernel name).

    ``caps``: pairs of what is capped ("read_ios", "write_ios", "total_ios",
    "read_bytes", "write_bytes", "total_bytes", or one of those above) and the limit per second.
    ``source``: the file that sets it. ``uses``: what the control group did, per interval; () if unknown.
    ``over``: pairs of a limit that the disk itself counts and the seconds above it, in the ``watched`` seconds of
    the measurement; how high that limit is, is not known.
    """

    device: str
    owner: str
    source: str
    caps: tuple[tuple[str, float], ...]
    uses: tuple[CappedUse, ...] = ()
    over: tuple[tuple[str, float], ...] = ()
    watched: float = 0.0
