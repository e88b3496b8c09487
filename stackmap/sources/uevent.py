"""
The kernel's events of devices that come, change and go.

``/sys/kernel/uevent_seqnum`` counts the events of all devices since boot: while it
stays the same, no device came or went. A device's ``uevent`` file has its
DISKSEQ, the kernel's sequence number of disks (5.15).
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from stackmap.host import EVENTS_LOST, Host
from stackmap.sources.sysfs import attribute, kernel_name, list_names, parse_uevent

COUNT = "/sys/kernel/uevent_seqnum"
DEVICES = "/sys/class/block"


@dataclass(frozen=True, slots=True)
class UeventDelta:
    """
    The events between two readings.

    ``added`` and ``removed``: counts by kernel name. ``changed``: names of devices with other events.
    ``unknown``: anything may have changed; ``lost``: because events were missed.
    """

    added: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    unknown: bool = False
    lost: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.unknown)

    def __add__(self, other: "UeventDelta") -> "UeventDelta":
        return UeventDelta(
            Counter(self.added) + Counter(other.added),
            Counter(self.removed) + Counter(other.removed),
            self.changed | other.changed,
            self.unknown or other.unknown,
            self.lost or other.lost,
        )

    def without(self, names: Container[str]) -> "UeventDelta":
        """Return this without the devices *names*."""
        return replace(
            self,
            added={name: count for name, count in self.added.items() if name not in names},
            removed={name: count for name, count in self.removed.items() if name not in names},
        )

    @property
    def touched(self) -> frozenset[str]:
        """The names under which a device came or went."""
        return frozenset(self.added) | frozenset(self.removed)

    @property
    def names(self) -> frozenset[str]:
        """The names of all devices with events."""
        return self.touched | self.changed


NO_CHANGES = UeventDelta()
ANYTHING_CHANGED = UeventDelta(unknown=True)


def read(host: Host) -> UeventDelta:
    """Return the events since the previous reading; ``SourceError`` if listening is impossible."""
    events = host.uevents()
    return parse(events) if events else NO_CHANGES


def parse(events: Iterable[Mapping[str, str]]) -> UeventDelta:
    """Return the *events* as a delta."""
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    changed: set[str] = set()
    unknown = lost = False
    for event in events:
        action = event.get("ACTION", "")
        name = event.get("DEVNAME", "").removeprefix("/dev/")
        if not name or action == "move":  # renamed: its old name is not kept
            unknown = True
            lost |= action == EVENTS_LOST["ACTION"]
        elif action == "add":
            added[name] += 1
        elif action == "remove":
            removed[name] += 1
        else:
            changed.add(name)
    return UeventDelta(added, removed, frozenset(changed), unknown, lost)


def count(host: Host) -> str:
    """Return the number of events since boot, "" if unknown."""
    return attribute(host, COUNT)


def names(host: Host) -> frozenset[str]:
    """Return the names of the present block devices."""
    return frozenset(kernel_name(name) for name in list_names(host, DEVICES))


def diskseq(host: Host, name: str) -> str:
    """Return the present diskseq of device *name*, "" if unknown."""
    text = attribute(host, f"{DEVICES}/{name.replace('/', '!')}/uevent")
    return parse_uevent(text).get("DISKSEQ", "")
