"""
A rule, what it observes on a device, and the finding that results.

The sentences of a rule are templates. Every number in them is evidence, so a
finding cannot state a number that was neither measured nor calculated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stackmap.ledger.amplification import StackFigures
    from stackmap.rules.context import Context

# A value and its unit; the third is the device it belongs to, where that is not the observed one.
Figure = tuple[float | None, str] | tuple[float | None, str, str]
Limits = Mapping[str, float]  # the values of the thresholds of a rule
# A value, its unit, and what it limits; without the words, those of its name in LIMIT_WORDS.
Threshold = tuple[float, str] | tuple[float, str, str]
LIMIT_WORDS = {
    "busy": "busy {}",
    "bytes": "{} written",
    "cost": "{} full-stripe cost",
    "intervals": "{} intervals",
    "mix_difference": "read shares within {}",
    "queue": "queue depth {}",
    "requests": "{} requests",
    "size_ratio": "sizes within {}",
}
# Thresholds of rules about a cost. Below this queue depth on every disk, no request waits for parity,
# so its cost is a remark; the other costs are remarks below both thresholds.
SHORT: Mapping[str, Threshold] = {
    "light_queue": (1.0, "requests", "info if no disk has a queue depth above {}")
}
LIGHT: Mapping[str, Threshold] = {
    "light_rate": (50.0, "requests/s", "info below {}"),
    "light_queue": (1.0, "requests", "and with no disk's queue depth above {}"),
}


class Severity(StrEnum):
    """How much a finding matters, the worst first; ``good`` means that it works as it should."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    GOOD = "good"


class Outcome(StrEnum):
    """
    What a finding says is wrong, in the order in which causes are acted on.

    hung: nothing completes. state: the stack is broken, busy with itself or nearly full. sick: a disk is slow
    by itself. throttled: a cap. remote: the far side of a network. neighbour: the load of others. layout: how
    the stack is set up. overloaded: its own load is more than it can serve.
    """

    HUNG = "hung"
    STATE = "state"
    SICK = "sick"
    THROTTLED = "throttled"
    REMOTE = "remote"
    NEIGHBOUR = "neighbour"
    LAYOUT = "layout"
    OVERLOADED = "overloaded"


class Evidence(NamedTuple):
    """
    A number that supports a finding, its unit and its device.

    Units: "ms", "bytes", "bytes/s", "requests/s", "requests", "share" (0…1),
    "times" (a ratio), "count".
    """

    value: float
    unit: str
    device: str


class Observation(NamedTuple):
    """
    What a rule observed on a device.

    ``evidence`` and ``words`` (texts) fill the rule's templates, by name.
    ``weight`` orders the observations of one rule, the worst highest.
    ``severity`` replaces the rule's, unless None.
    """

    device: str
    evidence: Mapping[str, Evidence]
    words: Mapping[str, str]
    weight: float
    severity: Severity | None


Observations = Iterator[Observation]  # what the condition of a rule yields


def observe(
    device: str,
    figures: Mapping[str, Figure] | None = None,
    words: Mapping[str, str] | None = None,
    *,
    weight: float = 0.0,
    severity: Severity | None = None,
) -> Observation:
    """Return an observation on *device*; unknown *figures* (None) are left out."""
    evidence = {
        name: Evidence(value, unit, *(owner or (device,)))
        for name, (value, unit, *owner) in (figures or {}).items()
        if value is not None
    }
    return Observation(device, evidence, words or {}, weight, severity)


class PerStack:
    """A condition that judges one stack at a time, as *judge* does; called without a stack, it judges all."""

    __name__: str

    def __init__(self, judge: Callable[[Context, StackFigures, Limits], Observations]) -> None:
        self.judge = judge
        update_wrapper(self, judge)

    def __call__(self, context: Context, limits: Limits) -> Observations:
        """Yield the observations on all stacks."""
        for stack in context.stacks():
            yield from self.judge(context, stack, limits)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rule:
    """
    A condition on a device and what to report when it holds.

    A rule decorates the function that looks for its condition, or the ``PerStack`` of it, and has its name
    unless ``name`` is given; ``detects`` is its docstring. Rules that differ in a key alone give ``name``,
    ``detects`` and ``find`` instead. ``title`` (at most eight words), ``sentence``, ``caveat`` (what may speak against
    it) and ``advice`` are templates; the first sentence of the advice can stand alone after the title.
    Rules of ``check`` (``needs_load`` false) say instead what is ``expected`` and the ``reason``;
    ``good_sentence`` replaces ``sentence`` where all is well. Rules of ``explain`` that judge a state
    (``is_state``) need no interval, and ``check`` reports them too. ``outcome``: what is wrong. ``slows``:
    whether requests wait because of it, so that it comes before a risk of the same severity.
    ``thresholds`` by name. ``labels``: names of evidence in tables. ``source``: where the rule comes from.
    ``superseded_by``: ids of rules that explain the same device better. ``joins_peers``: one finding is enough
    for all peers of an array. ``compares_peers``: it holds for averages since boot too, which peers share.
    """

    id: str
    severity: Severity
    title: str
    sentence: str
    advice: str
    source: str
    caveat: str = ""
    expected: str = ""
    reason: str = ""
    good_sentence: str = ""
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    needs_load: bool = True
    is_state: bool = False
    superseded_by: tuple[str, ...] = ()
    joins_peers: bool = False
    compares_peers: bool = False
    outcome: Outcome = Outcome.LAYOUT
    slows: bool = True
    find: Callable[[Context, Limits], Observations] = lambda _, __: iter(())
    name: str = ""
    detects: str = ""

    def __call__(self, find: Callable[[Context, Limits], Observations]) -> Rule:
        """Return this rule with *find* as its condition, which its docstring describes."""
        words = " ".join((find.__doc__ or "").split("\n\n")[0].split())
        name = self.name or find.__name__.replace("_", "-")
        return replace(self, find=find, name=name, detects=words.removeprefix("Yield "))

    @property
    def limits(self) -> Limits:
        """The values of the thresholds."""
        return {name: value for name, (value, *_) in self.thresholds.items()}


check = partial(Rule, needs_load=False)


class Finding(NamedTuple):
    """A rule and what it observed on one device; ``peers``: other devices with the same finding, the worst first."""

    rule: Rule
    observed: Observation
    peers: tuple[str, ...] = ()

    def joined_by(self, other: Finding, title: str) -> Finding:
        """Return this finding extended to the device of *other*, whose title is *title*."""
        also = ", ".join(filter(None, (self.observed.words.get("also"), title)))
        words = {**self.observed.words, "also": also}
        peers = (*self.peers, other.device)
        return self._replace(observed=self.observed._replace(words=words), peers=peers)

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.observed.severity or self.rule.severity

    @property
    def is_grave(self) -> bool:
        """Whether it needs action: critical or warning."""
        return self.severity in (Severity.CRITICAL, Severity.WARNING)

    @property
    def is_last(self) -> bool:
        """Whether it follows those of the load: a problem of the setup that is not critical."""
        return not self.rule.needs_load and self.severity is not Severity.CRITICAL

    @property
    def device(self) -> str:
        """The kernel name of the device."""
        return self.observed.device

    @property
    def sentence(self) -> str:
        """The template that states it."""
        good = self.severity is Severity.GOOD
        return (good and self.rule.good_sentence) or self.rule.sentence


def rank(finding: Finding) -> tuple[int, bool, bool, int]:
    """Return the sort key of *finding*: its severity, the load before the setup, waits before risks, the outcome."""
    severity, rule = list(Severity).index(finding.severity), finding.rule
    return severity, finding.is_last, not rule.slows, list(Outcome).index(rule.outcome)
