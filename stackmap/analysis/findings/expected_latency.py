"""
What a request should take on a device, by its medium and its size.

A disk that turns: a seek and half a turn take 12 to 15 ms at 5,400 to 7,200
rpm, and the slowest zones of the slowest give 100 MB/s. Flash: reads 0.1 ms,
writes behind a cache the same; 5 ms is what a slow SATA drive takes while it
collects garbage, 200 MB/s what it still gives.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.model.device import Device
from stackmap.model.load import Load, ratio


@dataclass(frozen=True, slots=True)
class Medium:
    """What people call it; the most milliseconds to a request's first byte, and bytes a millisecond after."""

    name: str
    access: float
    bytes_per_ms: float


TURNING = Medium("a disk that turns", 15.0, 100_000.0)
FLASH = Medium("flash", 5.0, 200_000.0)
UNSAID = Medium("a disk of any kind", TURNING.access, TURNING.bytes_per_ms)


def medium(device: Device) -> Medium:
    """Return what *device* stores on, as far as the kernel says."""
    if device.rotational is None:
        return UNSAID
    return TURNING if device.rotational else FLASH


def usual(device: Device, size: float) -> float:
    """Return the milliseconds one request of *size* bytes may take, alone on a healthy device."""
    kind = medium(device)
    return kind.access + size / kind.bytes_per_ms


def service(load: Load) -> float | None:
    """
    Return the milliseconds a request took of the device, waiting behind others left out.

    With aqu requests in flight each waits for those before it: await ÷ aqu,
    which by Little's law is 1 ÷ rate; never more than await itself.
    """
    return ratio(load.total.await_ms, None if load.aqu is None else max(1.0, load.aqu))
