"""What a check is made of, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from stackmap.analysis.findings.finding import Evidence, Seen, Severity
from stackmap.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Ground:
    """A topology, and the super options of what is mounted, by the device's kernel name."""

    topology: Topology
    mounted: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """
    One thing to look at in a stack.

    ``says``: what is; ``should``: what should be; ``why`` it matters;
    ``advice``: how to put it right. All are templates over what was seen,
    which is ``good`` where it is as it should be; ``fine`` says that, where
    ``says`` would not.
    """

    id: str
    name: str
    severity: Severity
    says: str
    should: str
    why: str
    advice: str
    source: str
    find: Callable[[Ground, Mapping[str, float]], Iterator[Seen]]
    limits: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    fine: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One check of one device."""

    check: Check
    seen: Seen

    @property
    def severity(self) -> Severity:
        """How much it matters; good where all is as it should be."""
        return self.seen.severity or self.check.severity

    @property
    def device(self) -> str:
        """The kernel name of the device it is about."""
        return self.seen.device


def numbers(device: str, unit: str = "bytes", /, **values: float) -> dict[str, Evidence]:
    """Return *values* as evidence of *device*, all in one *unit*."""
    return {name: Evidence(float(value), unit, device) for name, value in values.items()}
