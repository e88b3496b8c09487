"""
How long disks last at the rate at which each volume writes to them.

A disk says which share of its rated life is used and what hosts wrote since it was made. Their quotient is its own
rate of wear. The share is a whole percentage, which may be rounded either way: so each figure is a range of one
point, and below ``LEAST_USED`` the range is too wide to be worth a figure.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Traffic
from stackmap.ledger.causes import Cause
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Role
from stackmap.model.health import Health, Life
from stackmap.model.load import total_of
from stackmap.model.topology import Topology, computed_once

POINT = 0.01  # of the share of life: the rounding of the disk
LEAST_USED = 0.03
DAY = 86400.0
YEAR = 365.25 * DAY
# Of NVMe's controller, whose health is that of all its namespaces.
NAMESPACE = re.compile(r"(nvme[0-9]+)n[0-9]+")
WARRANTY = 5  # years that a datasheet's drive writes per day are for, unless it says so


class Years(NamedTuple):
    """How long a disk lasts, between ``low`` and ``high``."""

    low: float
    high: float


class DiskWear(NamedTuple):
    """
    What one volume writes to one disk with ``rest`` of its life: ``bytes`` per second, ``low`` and ``high`` its bounds, and its ``causes``.

    ``years``: how long the rest of the disk's life lasts if nothing else writes to it; ``all_bytes``: what all write
    to it, ``all_years``: how long it lasts then.
    """

    disk: str
    rest: Life
    bytes: float
    low: float
    high: float
    causes: Mapping[Cause, float]
    years: Years
    all_bytes: float | None
    all_years: Years | None


def life(health: Health) -> Life | None:
    """
    Return the rest of a disk's life by its own counters; None where they are missing or too coarse.

    A disk that used 10 % for 1,000 bytes lasts for 10,000 in all if that is exact. With 9 to 11 % it has between
    8,091 and 10,111 left.
    """
    if health.used is None or not health.written or health.used < LEAST_USED - 1e-9:
        return None
    most, least = health.used + POINT, health.used - POINT
    low, high = (max(0.0, health.written * (1 - share) / share) for share in (most, least))
    return Life(low, high, health.used)


def rated_life(life_bytes: float, used: float | None) -> Life:
    """Return the rest of a life of *life_bytes* that the user gives; the whole of it where the *used* share is not known."""
    if used is None:
        return Life(life_bytes, life_bytes, rated=True)
    low, high = (max(0.0, life_bytes * (1 - used - side)) for side in (POINT, -POINT))
    return Life(low, min(high, life_bytes), used, rated=True)


def years(rest: Life, low: float, high: float) -> Years | None:
    """Return how long *rest* lasts at between *low* and *high* bytes per second; None at 0."""
    return None if low <= 0 else Years(rest.low / high / YEAR, rest.high / low / YEAR)


def whole_disk(topology: Topology, name: str) -> str:
    """Return the disk of which *name* is a path; *name* itself if it is none."""
    heads = (edge.above for edge in topology.above(name) if edge.role is Role.PATH)
    return next(heads, name)


def life_of(topology: Topology, lives: Mapping[str, Life], disk: str) -> Life | None:
    """Return the life of *disk*, which it or one of its paths told."""
    told = (lives[name] for name in (disk, *topology.used_by(disk, Role.PATH)) if name in lives)
    return next(told, None)


def _names(topology: Topology, disk: str, rest: Life) -> list[str]:
    """Return the devices whose writes take of the *rest* of the life of *disk*: its paths, and the namespaces of its controller."""
    match = NAMESPACE.fullmatch(disk)
    # A rating is of the namespace alone: its size is all that is known of the disk's.
    disks = [disk] if match is None or rest.rated else _namespaces(topology, match[1])
    return [name for each in disks for name in topology.used_by(each, Role.PATH) or [each]]


@computed_once
def _namespaces(topology: Topology, controller: str) -> list[str]:
    matches = (NAMESPACE.fullmatch(name) for name in topology.devices)
    return [match[0] for match in matches if match is not None and match[1] == controller]


def wear(ledger: Ledger, top: str) -> list[DiskWear]:
    """
    Return the bytes that *top* writes to each disk of a known life, where they are known and not 0.

    What it writes over several paths wears out one disk.
    """
    disks: list[DiskWear] = []
    if not ledger.lives:
        return disks
    written: dict[str, list[tuple[str, Mapping[Cause, Traffic]]]] = {}
    for name, by_cause in ledger.written_to_disks(top).items():
        written.setdefault(whole_disk(ledger.topology, name), []).append((name, by_cause))
    for disk, paths in written.items():
        parts = [(cause, part) for _, causes in paths for cause, part in causes.items()]
        rest = life_of(ledger.topology, ledger.lives, disk)
        traffic = sum((part for _, part in parts), start=NOTHING)
        if rest is None or not traffic.bytes:
            continue
        low, high = (bound.bytes or traffic.bytes for bound in traffic.bounds)
        lasts = years(rest, low, high)
        if lasts is None:
            continue
        everything = total_of(
            ledger.load(name).write.bytes for name in _names(ledger.topology, disk, rest)
        )
        causes: dict[Cause, float] = {}
        for cause, part in parts:
            if part.bytes:
                causes[cause] = causes.get(cause, 0.0) + part.bytes
        all_years = years(rest, everything, everything) if everything else None
        disks.append(
            DiskWear(disk, rest, traffic.bytes, low, high, causes, lasts, everything, all_years)
        )
    return disks


def shortest(disks: Iterable[DiskWear]) -> DiskWear | None:
    """Return the disk that lasts the shortest."""
    return min(disks, key=lambda disk: disk.years.low, default=None)
