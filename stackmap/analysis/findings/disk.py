"""
Is a disk slow by itself, whatever the load? Compared with the most time that a healthy one needs.

Spinning disks: a seek and half a rotation take 12 to 15 ms at 5,400 to 7,200
rpm, and the slowest zones transfer 100 MB/s. Flash: reads and cached writes
take 0.1 ms, but a slow SATA drive needs 5 ms during garbage collection and
still transfers 200 MB/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Limits, Observation, Rule, Severity, observe
from stackmap.model.device import Device
from stackmap.model.load import Load, ratio


class Medium(NamedTuple):
    """A kind of storage: the most milliseconds to the first byte, and its slowest transfer rate."""

    name: str
    access_ms: float
    bytes_per_ms: float


SPINNING = Medium("a spinning disk", 15.0, 100_000.0)
FLASH = Medium("flash", 5.0, 200_000.0)
UNKNOWN = Medium("a disk of unknown type", SPINNING.access_ms, SPINNING.bytes_per_ms)


def medium(device: Device) -> Medium:
    """Return the medium that the kernel reports for *device*."""
    if device.rotational is None:
        return UNKNOWN
    return SPINNING if device.rotational else FLASH


def expected_ms(device: Device, size: float) -> float:
    """Return the milliseconds that one request of *size* bytes may need on an idle, healthy device."""
    kind = medium(device)
    return kind.access_ms + size / kind.bytes_per_ms


def ms_per_request(load: Load) -> float | None:
    """
    Return the milliseconds per request without the time in the queue; None if unknown.

    This is await ÷ queue depth (by Little's law, 1 ÷ rate), and never more than await.
    """
    return ratio(load.total.await_ms, None if load.aqu is None else max(1.0, load.aqu))


@Rule(
    "SM201",
    Severity.CRITICAL,
    sentence="{device} needs {service} per {size} request (await ÷ queue depth); {medium} needs at "
    "most {usual}. Queue depth was only {queue}, so the disk is slow, not overloaded.",
    caveat="Standby, a USB bridge, a bad cable or an IOPS limit of a hypervisor or cloud looks the same. An "
    "average hides whether all requests were slow or only a few.",
    advice="Move the data off first. Then check the kernel log and `smartctl -a` (pending, "
    "reallocated, CRC).",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue",
    thresholds={"slower": (4.0, "times"), "requests": (10, "count")},
)
def sick_disk(context: Context, limits: Limits) -> Iterator[Observation]:
    """Yield disks that need far more time per request than its size and the medium explain."""
    for device in context.disks:
        load = context.load(device.name)
        needed, size = ms_per_request(load), load.total.size
        enough = context.enough(load.total.ios, limits["requests"])
        if needed is None or size is None or not enough:
            continue
        expected = expected_ms(device, size)
        if needed >= limits["slower"] * expected:
            figures = {
                "service": (needed, "ms"),
                "usual": (expected, "ms"),
                "size": (size, "bytes"),
                "await": (load.total.await_ms, "ms"),
                "queue": (load.aqu, "requests"),
                "rate": (load.total.ios, "requests/s"),
            }
            words = {"medium": medium(device).name}
            yield observe(device.name, figures, words, weight=needed / expected)
