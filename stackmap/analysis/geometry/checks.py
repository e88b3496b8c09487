"""All checks, and what they say of a machine."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.findings.finding import Severity
from stackmap.analysis.geometry import members, sizes, starts
from stackmap.analysis.geometry.check import Check, Ground, Line

CHECKS: tuple[Check, ...] = (*starts.CHECKS, *members.CHECKS, *sizes.CHECKS)


def lines(ground: Ground) -> list[Line]:
    """Return what the checks say of each device: top down, of one device the worst first."""
    place = {device.name: number for number, (device, _) in enumerate(ground.topology.rows())}
    found = list(_all(ground))
    return sorted(found, key=lambda line: (place[line.device], _rank(line.severity)))


def _all(ground: Ground) -> Iterator[Line]:
    for check in CHECKS:
        for seen in check.find(ground, check.limits):
            yield Line(check, seen)


def _rank(severity: Severity) -> int:
    return list(Severity).index(severity)
