"""
What a disk of Amazon counts of its own limits: NVMe log page 0xD0 of EBS volumes and of EC2's instance store.

The page is vendor-specific, so only a disk whose model says so is asked, by ``nvme get-log``, which prints it in
hexadecimal. It opens the disk as the questions of ``health`` do. Layout, little-endian: magic and version (32 bits);
requests, bytes and microseconds, each read and written; microseconds over the volume's IOPS and throughput and over
the instance's; the queue length (64 bits each); at 512 and 2056 the latency of reads and writes as a histogram: a
count of bins, then per bin its bounds in microseconds (64 bits), its requests (32 bits) and 32 reserved.
Source: amazon-ec2-utils, ebsnvme; nvme-cli, plugins/amzn.
"""

import re
import struct
from collections.abc import Iterable

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Device
from stackmap.model.health import Exceeded

EBS, INSTANCE_STORE = "Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"
MAGIC = {0x3C23B510: EBS, 0xEC2C0D7E: INSTANCE_STORE}
QUESTION = ("nvme", "get-log", "--log-id=208", "--log-len=4096", "--namespace-id=1")
SOURCE = "NVMe log page 0xD0"
PAGE = 4096
HISTOGRAMS = (512, 2056)  # of reads, of writes
MOST_BINS = 64
MICRO = 1e-6

_HEAD = struct.Struct("<2I11Q")
_COUNT = struct.Struct("<Q")
_BIN = struct.Struct("<2QI4x")
_ROW = re.compile(r"^([0-9a-f]{4,8}):((?: [0-9a-f]{2}){1,16})", re.MULTILINE | re.IGNORECASE)


def of_amazon(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return the disks of Amazon among *devices*."""
    makes = tuple(MAGIC.values())  # what follows differs
    return tuple(device for device in devices if device.model.strip().startswith(makes))


def read(host: Host, devices: Iterable[Device]) -> dict[str, Exceeded]:
    """Return the log page of each Amazon disk among *devices*, by kernel name; others are not asked."""
    pages = {}
    for device in of_amazon(devices):
        try:
            page = parse(printed(host.run(*QUESTION, f"/dev/{device.name}")))
        except SourceError:
            continue
        if page is not None:
            pages[device.name] = page
    return pages


def printed(text: str) -> bytes:
    r"""
    Return the bytes that nvme-cli printed, up to the first that is missing.

    >>> printed('Device:nvme1n1 log-id:208\n       0  1\n0000: 10 b5 "..."\n0010: 01 "."')
    b'\x10\xb5'
    """
    page = b""
    for row in _ROW.finditer(text):
        if int(row[1], 16) != len(page) or len(page) >= PAGE:
            break
        page += bytes.fromhex(row[2])
    return page


def parse(page: bytes) -> Exceeded | None:
    """Return the counts in *page*; None if it is another page, or not whole."""
    if len(page) < PAGE:
        return None
    magic, _, *counts = _HEAD.unpack_from(page)
    if magic not in MAGIC:
        return None
    seconds = [count * MICRO for count in counts[6:10]]
    is_volume = MAGIC[magic] == EBS
    return Exceeded(
        volume_iops=seconds[0] if is_volume else None,
        volume_bytes=seconds[1] if is_volume else None,
        instance_iops=seconds[2],
        instance_bytes=seconds[3],
        queue=counts[10],
        reads=_histogram(page, HISTOGRAMS[0]),
        writes=_histogram(page, HISTOGRAMS[1]),
    )


def _histogram(page: bytes, start: int) -> tuple[tuple[int, int, int], ...]:
    """Return the bins: bounds in microseconds, and requests."""
    (bins,) = _COUNT.unpack_from(page, start)
    first = start + _COUNT.size
    return tuple(
        _BIN.unpack_from(page, first + _BIN.size * number) for number in range(min(bins, MOST_BINS))
    )
