"""What a case of a rule is: the machine on which it reports, a change after which it does not, its thresholds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.rules.scripted import Scripted

STEP = 0.1  # just below and just above: this share of the threshold away
REPORTED = "reported"  # with any severity
SILENT = ""
Knobs = Mapping[str, object]


@dataclass(frozen=True)
class Edge:
    """
    A threshold: what is reported where the quantity is just below *value* and just above it.

    *value* is typed here, not read from the rule, so that a changed threshold fails. An outcome is a
    severity, ``REPORTED`` or ``SILENT``. *low*, *high*: quantities for thresholds that are whole
    numbers. *knobs*: what else the machine needs.
    """

    value: float
    below: str
    above: str
    knobs: Knobs = field(default_factory=dict)
    low: float | None = None
    high: float | None = None

    @property
    def sides(self) -> tuple[tuple[float, str], ...]:
        """Each quantity, with the expected outcome."""
        low = self.value * (1 - STEP) if self.low is None else self.low
        high = self.value * (1 + STEP) if self.high is None else self.high
        return (low, self.below), (high, self.above)


def least(
    value: float, low: float | None = None, high: float | None = None, **knobs: object
) -> Edge:
    """A minimum: nothing is reported below it."""
    return Edge(value, SILENT, REPORTED, knobs, low, high)


def most(
    value: float, low: float | None = None, high: float | None = None, **knobs: object
) -> Edge:
    """A maximum: nothing is reported above it."""
    return Edge(value, REPORTED, SILENT, knobs, low, high)


def turns(value: float, below: str, above: str, **knobs: object) -> Edge:
    """A threshold that changes the severity."""
    low, high = knobs.pop("low", None), knobs.pop("high", None)
    return Edge(value, below, above, knobs, low, high)  # type: ignore[arg-type]


# Both in force: the load of the disks is light below both, and a cost is then a remark.
LIGHT = {
    "light_rate": turns(50.0, "info", "warning", light_queue=0.5),
    "light_queue": turns(1.0, "info", "warning", light_rate=20.0),
}


@dataclass(frozen=True)
class Case:
    """*draw* returns the machine; its parameters are called as the thresholds are, and its defaults report."""

    draw: Callable[..., Scripted]
    silent: Knobs
    edges: Mapping[str, Edge]


CASES: dict[str, Case] = {}


def case(
    name: str, silent: Knobs, **edges: Edge
) -> Callable[[Callable[..., Scripted]], Callable[..., Scripted]]:
    """Enter the decorated function as the case of rule *name*; *silent*: the parameters that change."""

    def enter(draw: Callable[..., Scripted]) -> Callable[..., Scripted]:
        assert name not in CASES, f"two cases of {name}"
        CASES[name] = Case(draw, silent, edges)
        return draw

    return enter
