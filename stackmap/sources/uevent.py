"""
What the kernel tells udev of devices, as far as it shows whether one was replaced.

``/sys/kernel/uevent_seqnum`` counts all that was told since boot: while it
stands still no device came or went, and none needs to be looked at. A
device's ``uevent`` has its DISKSEQ, the kernel's count of disks ever made
(5.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.sources.sysfs import attribute, parse_uevent

if TYPE_CHECKING:
    from stackmap.host import Host

COUNT = "/sys/kernel/uevent_seqnum"
DEVICES = "/sys/class/block"


def count(host: Host) -> str:
    """Return how many events there were, "" where the kernel does not say."""
    return attribute(host, COUNT)


def diskseq(host: Host, name: str) -> str:
    """Return the diskseq of the device that bears *name* now, "" if none does."""
    text = attribute(host, f"{DEVICES}/{name.replace('/', '!')}/uevent")
    return parse_uevent(text).get("DISKSEQ", "")
