"""
The files with the kernel's counts of errors, of SCSI disks, SATA links, md arrays and btrfs.

SCSI's ``ioerr_cnt`` counts every command without a clean end: an unsupported one, and each ATA
command of ``smartctl``, too. Both SCSI counts are 32 bits, in hexadecimal. md's ``errors`` are the
sectors of read errors that it corrected. ``bad_blocks`` has a line per range, start and length, and at most one page
of them. btrfs does not say which device a number of ``devinfo`` is, so its counts are of all its
devices. dm targets count in their status: ``sources/dm_targets``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from stackmap.host import Host
from stackmap.model.device import Counts, Device, Kind
from stackmap.model.topology import Edge
from stackmap.sources.sysfs import ROOT, attribute, kernel_name, link, list_names, parse_int

BTRFS = "/sys/fs/btrfs"
SPEEDS = ("1.5 Gbps", "3.0 Gbps", "6.0 Gbps")  # of a link; "<unknown>": without a limit
_ATA_PORT = re.compile(r"/ata(\d+)/")


class ErrorFile(NamedTuple):
    """A file, and the device that its counts are of."""

    device: str
    path: str
    parse: Callable[[str], Counts]


def files(host: Host, devices: Iterable[Device], edges: Iterable[Edge]) -> Iterator[ErrorFile]:
    """Yield the files of *devices* and of the members of their arrays."""
    arrays = set()
    for device in devices:
        path = f"{ROOT}/{_entry(device.name)}"
        if device.kind is Kind.DISK and device.name.startswith("sd"):
            for name, key in (("ioerr_cnt", "command_errors"), ("iotmo_cnt", "timeouts")):
                yield ErrorFile(device.name, f"{path}/device/{name}", partial(_hexadecimal, key))
            port = _ATA_PORT.search(link(host, path))
            if port is not None:
                place = f"/sys/class/ata_link/link{port[1]}"
                most = attribute(host, f"{place}/hw_sata_spd_limit")
                yield ErrorFile(device.name, f"{place}/sata_spd_limit", partial(_lowered, most))
        elif device.kind is Kind.ARRAY:
            arrays.add(device.name)
            count = partial(_decimal, "mismatched_sectors")
            yield ErrorFile(device.name, f"{path}/md/mismatch_cnt", count)
    for above, below in dict.fromkeys((edge.above, edge.below) for edge in edges):
        if above in arrays:
            member = f"{ROOT}/{_entry(above)}/md/dev-{_entry(below)}"
            yield ErrorFile(below, f"{member}/errors", partial(_decimal, "corrected_sectors"))
            yield ErrorFile(below, f"{member}/bad_blocks", _bad_blocks)
    yield from _btrfs(host)


def parse(wanted: Iterable[ErrorFile], texts: Mapping[str, str | None]) -> Mapping[str, Counts]:
    """
    Return the counts of each device that has any; those of several files with one key are added.

    *texts*: of each file by path. None is unknown; an empty ``bad_blocks`` has no bad sector.
    """
    counts: dict[str, Counter[str]] = {}
    for file in wanted:
        known = texts[file.path]
        for key, number in file.parse(known).items() if known is not None else ():
            counts.setdefault(file.device, Counter())[key] += number
    return counts


def _entry(name: str) -> str:
    return name.replace("/", "!")


def _btrfs(host: Host) -> Iterator[ErrorFile]:
    for uuid in list_names(host, BTRFS):
        place = f"{BTRFS}/{uuid}"
        numbers = list_names(host, f"{place}/devinfo") if "-" in uuid else []
        names = list_names(host, f"{place}/devices") if numbers else []
        for name in map(kernel_name, names):
            for number in numbers:
                yield ErrorFile(name, f"{place}/devinfo/{number}/error_stats", _device_stats)


def _hexadecimal(key: str, text: str) -> Counts:
    digits = text.removeprefix("0x")
    known = digits != text and len(digits) <= 8 and re.fullmatch("[0-9a-f]+", digits)
    return {key: int(digits, 16)} if known else {}


def _decimal(key: str, text: str) -> Counts:
    number = parse_int(text)
    return {} if number is None or number < 0 else {key: number}


def _bad_blocks(text: str) -> Counts:
    r"""
    Return the sectors in the ranges of *text*.

    >>> _bad_blocks("8 8\n4096 1")
    {'bad_sectors': 9}
    """
    lengths = (parse_int(line.partition(" ")[2]) for line in text.splitlines())
    return {"bad_sectors": sum(length or 0 for length in lengths)}


def _lowered(most: str, limit: str) -> Counts:
    """
    Return 1 if the kernel keeps the link at a lower speed, *limit*, than its port's *most*; else 0.

    >>> _lowered("6.0 Gbps", "1.5 Gbps"), _lowered("<unknown>", "<unknown>")
    ({'link_lowered': 1}, {'link_lowered': 0})
    """
    order = dict(zip(SPEEDS, range(len(SPEEDS)), strict=True))
    return {"link_lowered": int(order.get(limit, len(SPEEDS)) < order.get(most, len(SPEEDS)))}


def _device_stats(text: str) -> Counts:
    r"""
    Return the sums of a file ``error_stats``.

    >>> _device_stats("write_errs 1\nread_errs 2\nflush_errs 0\ncorruption_errs 4\ngeneration_errs 8")
    {'btrfs_io_errors': 3, 'btrfs_corruptions': 12}
    """
    words = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    known = {name: parse_int(number) or 0 for name, number in words.items()}
    if not known:
        return {}
    io = ("write_errs", "read_errs", "flush_errs")
    wrong = ("corruption_errs", "generation_errs")
    return {
        "btrfs_io_errors": sum(known.get(name, 0) for name in io),
        "btrfs_corruptions": sum(known.get(name, 0) for name in wrong),
    }
