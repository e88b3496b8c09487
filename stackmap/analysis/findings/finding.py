"""
What a finding is made of: a rule, and what it saw.

A sentence is a template of the rule; every number in it is one of the evidence,
so nothing can be said that was not measured or worked out from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.analysis.findings.context import Context


class Severity(StrEnum):
    """How much it matters, the worst first; ``good`` is what works as it should."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    GOOD = "good"


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    A number a finding rests on: of which *device*, in which *unit*.

    Units: "ms", "bytes", "bytes/s", "requests/s", "requests", "share" (0…1),
    "times" (a ratio), "count".
    """

    value: float
    unit: str
    device: str


@dataclass(frozen=True, slots=True)
class Seen:
    """
    What a rule saw on a device.

    ``evidence`` by the names that the rule's sentence uses; ``words``: the
    same for what is no number. ``weight``: the greater, the worse, among what
    one rule saw. ``severity``: where it is not the rule's.
    """

    device: str
    evidence: Mapping[str, Evidence]
    words: Mapping[str, str] = field(default_factory=dict)
    weight: float = 0.0
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A stable *id* and *name*, when it applies, and what it says.

    ``limits``: the thresholds by name, with ``units``; ``source``: where the
    rule comes from. ``says``, ``against`` and ``advice`` are templates over
    what was seen; ``against`` is what would speak against the finding.
    ``yields_to``: rules that say the same of a device with more reason.
    """

    id: str
    name: str
    severity: Severity
    says: str
    against: str
    advice: str
    source: str
    find: Callable[[Context, Mapping[str, float]], Iterator[Seen]]
    limits: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    yields_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule on one device."""

    rule: Rule
    seen: Seen

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.seen.severity or self.rule.severity

    @property
    def is_grave(self) -> bool:
        """Whether something is to be done about it."""
        return self.severity in (Severity.CRITICAL, Severity.WARNING)

    @property
    def device(self) -> str:
        """The kernel name of the device it is about."""
        return self.seen.device
