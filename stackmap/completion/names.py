"""What a NAME may be: VGs, LVs, other device-mapper devices, disks, partitions and mount points."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.errors import StackmapError
from stackmap.host import Host
from stackmap.sources import lvm_names, mountinfo
from stackmap.sources.sysfs import ROOT, attribute

DISKSTATS = "/proc/diskstats"
UNUSED = ("loop", "ram", "zram", "nbd")  # many of these exist, and most have never done I/O
PATHS = "/dev/"  # where the source of a mount is a device


def names(capture: str) -> list[str]:
    """Return the names on this machine or in *capture*, each once; [] if it cannot be read."""
    try:
        return list(dict.fromkeys(_names(_host(capture))))
    except StackmapError:
        return []


def _host(capture: str) -> Host:
    if capture:
        from stackmap.host.capture import CapturedHost

        return CapturedHost(capture)
    from stackmap.host.live import LiveHost

    return LiveHost()


def _names(host: Host) -> Iterator[str]:
    """Yield VGs before LVs, and kernel names last."""
    kernel = [words[2] for words in _counters(host) if not _is_unused(words)]
    lvs = []
    for name in kernel:
        if not name.startswith("dm-"):
            continue
        called = lvm_names.unmangle(attribute(host, f"{ROOT}/{name}/dm/name"))
        lv = lvm_names.parse(called, attribute(host, f"{ROOT}/{name}/dm/uuid"))
        if lv is None:
            yield called
        elif not lv.ending:
            lvs.append(lv)
    yield from (lv.vg for lv in lvs)
    yield from (f"{lv.vg}/{lv.lv}" for lv in lvs)
    yield from (lv.lv for lv in lvs)
    yield from (each.point for each in mountinfo.read(host) if each.source.startswith(PATHS))
    yield from kernel


def _counters(host: Host) -> list[list[str]]:
    lines = [line.split() for line in attribute(host, DISKSTATS).splitlines()]
    return [words for words in lines if len(words) > 3]


def _is_unused(words: list[str]) -> bool:
    return words[2].startswith(UNUSED) and not any(word != "0" for word in words[3:])
