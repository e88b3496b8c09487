"""
What the kernel tells of devices that come, change and go.

``/sys/kernel/uevent_seqnum`` counts all that was told since boot, of devices
of every sort: while it stands still no device came or went. A device's
``uevent`` has its DISKSEQ, the kernel's count of disks ever made (5.15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stackmap.host import EVENTS_LOST
from stackmap.sources.sysfs import attribute, kernel_name, names_in, parse_uevent

if TYPE_CHECKING:
    from stackmap.host import Host

COUNT = "/sys/kernel/uevent_seqnum"
DEVICES = "/sys/class/block"


@dataclass(frozen=True, slots=True)
class UeventDelta:
    """
    What was told since it was last asked for.

    ``added`` and ``removed``: how often, by kernel name. ``other``: whether
    anything else changed. ``unknown``: whether anything may have changed, and
    ``lost``: because some of it was missed.
    """

    added: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    other: bool = False
    unknown: bool = False
    lost: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.other or self.unknown)

    def __add__(self, other: UeventDelta) -> UeventDelta:
        return UeventDelta(
            Counter(self.added) + Counter(other.added),
            Counter(self.removed) + Counter(other.removed),
            self.other or other.other,
            self.unknown or other.unknown,
            self.lost or other.lost,
        )

    def without(self, names: Container[str]) -> UeventDelta:
        """Return this without what came or went under *names*."""
        return replace(
            self,
            added={name: count for name, count in self.added.items() if name not in names},
            removed={name: count for name, count in self.removed.items() if name not in names},
        )

    @property
    def touched(self) -> frozenset[str]:
        """The names under which a device came or went."""
        return frozenset(self.added) | frozenset(self.removed)


NO_CHANGES = UeventDelta()
ANYTHING_CHANGED = UeventDelta(unknown=True)


def read(host: Host) -> UeventDelta:
    """Ask what was told of block devices; ``SourceError`` where nobody listens."""
    events = host.uevents()
    return parse(events) if events else NO_CHANGES


def parse(events: Iterable[Mapping[str, str]]) -> UeventDelta:
    """Return what *events* tell."""
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    other = unknown = lost = False
    for event in events:
        action = event.get("ACTION", "")
        name = event.get("DEVNAME", "").removeprefix("/dev/")
        if not name:
            unknown = True
            lost |= action == EVENTS_LOST["ACTION"]
        elif action == "add":
            added[name] += 1
        elif action == "remove":
            removed[name] += 1
        else:
            other = True
    return UeventDelta(added, removed, other, unknown, lost)


def count(host: Host) -> str:
    """Return how many events there were, "" where the kernel does not say."""
    return attribute(host, COUNT)


def names(host: Host) -> frozenset[str]:
    """Return the names of the block devices that there are now."""
    return frozenset(kernel_name(name) for name in names_in(host, DEVICES))


def diskseq(host: Host, name: str) -> str:
    """Return the diskseq of the device that bears *name* now, "" if none does."""
    text = attribute(host, f"{DEVICES}/{name.replace('/', '!')}/uevent")
    return parse_uevent(text).get("DISKSEQ", "")
