"""The words of findings: templates and evidence → sentences, thresholds → a list, a decision → what to do first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from stackmap.document.wording import (
    UNKNOWN,
    duration,
    listed,
    number,
    paragraph,
    percent,
    rate,
    sentence,
    size,
)
from stackmap.errors import OperandRefused
from stackmap.model.command_line import NO_COMMAND, quoted
from stackmap.model.operand import (
    BlockDevicePath,
    DeviceTitle,
    FilePath,
    KernelName,
    LvPath,
    MapName,
    Number,
    Word,
)
from stackmap.model.topology import ASK_FOR_IT, Topology
from stackmap.rules.rule import LIMIT_WORDS, Finding, Observation, Outcome, Rule

if TYPE_CHECKING:
    from stackmap.rules.decision import Decision
    from stackmap.rules.unjudged import Unjudged

UNITS: dict[str, Callable[[float], str]] = {
    "ms": lambda value: f"{number(value, 0 if value >= 100 else 1 if value >= 1 else 2)} ms",
    "bytes": size,
    "bytes/s": lambda value: f"{size(value)}/s",
    "requests/s": lambda value: f"{rate(value)} requests/s",
    "requests": lambda value: number(value, 1 if value < 100 else 0),
    "share": percent,
    "times": lambda value: number(value, 2 if value < 10 else 1),
    "s": duration,
    "count": lambda value: f"{value:g}",
}

LABELS = {"took": "await", "usual": "usual at most"}  # of evidence, beside those of its rule


def label(rule: Rule, key: str) -> str:
    """Return how a table of evidence shows *key*, which JSON keeps."""
    return rule.labels.get(key) or LABELS.get(key) or key.replace("_", " ")


def shown(value: float, unit: str) -> str:
    """
    Return *value* with its unit.

    >>> shown(434.31, "ms"), shown(65536, "bytes/s"), shown(1.25, "times")
    ('434 ms', '64 KiB/s', '1.25')
    """
    return UNITS[unit](value)


def figure(value: float, unit: str) -> str:
    """
    Return *value* with its unit or ×.

    >>> figure(1.25, "times")
    '1.25×'
    """
    return f"{shown(value, unit)}×" if unit == "times" else shown(value, unit)


# The types of the words that commands may have.
OPERANDS: Mapping[str, type[Word]] = {
    "device": DeviceTitle,
    "disk": DeviceTitle,
    "lv": LvPath,
    "full": LvPath,
    "lost": LvPath,
    "paths": MapName,
    "namespace": KernelName,
    "kernel_name": KernelName,
    "wanted": Number,
    "capture": FilePath,
    "below": BlockDevicePath,
    "array": KernelName,
}
BACKTICK = r"\x60"  # for "`", which ends a command in a sentence
PLACE = re.compile(r"\{(\w+)\}")
OPTIONAL = re.compile(r"\[([^]]*\{(\w+)\}[^]]*)\]")


class Words(dict[str, str]):
    """The names that a template may use; "-" for an unknown one."""

    def __missing__(self, key: str) -> str:
        return UNKNOWN


def words_of(topology: Topology, observed: Observation) -> Mapping[str, str]:
    """Return the names that the templates of a rule may use."""
    words = Words(device=topology[observed.device].title if observed.device else "")
    words.update(observed.words)
    for name, figure in observed.evidence.items():
        words[name] = shown(figure.value, figure.unit)
    return words


def filled(template: str, words: Mapping[str, str]) -> str:
    """
    Return *template* with *words* in it, quoted for a shell in its commands (in backticks).

    A part in square brackets is left out if its word is unknown or empty.

    >>> filled("{used} used. [Full in {days}.]", {"used": "80 %"})
    '80 % used.'
    >>> filled("{device}: run `lvs {device}`.", {"device": "vg/a;b"})
    "vg/a;b: run `lvs 'vg/a;b'`."
    """
    template = OPTIONAL.sub(lambda part: part[1] if words.get(part[2]) else "", template)
    shown = Words({name: word.replace("`", BACKTICK) for name, word in words.items()})
    parts = template.split("`")
    return "`".join(
        _command(part, words) if number % 2 else part.format_map(shown)
        for number, part in enumerate(parts)
    ).rstrip()


def _command(template: str, words: Mapping[str, str]) -> str:
    """Return a command with its operands; the reason instead if a name does not fit the type of its operand."""
    try:
        operands = {
            name: quoted((OPERANDS[name](words[name]),)) for name in PLACE.findall(template)
        }
    except OperandRefused:
        return NO_COMMAND
    if any("`" in operand for operand in operands.values()):
        return NO_COMMAND
    if operands.get("device", "").startswith(("-", "'-")):
        operands["device"] = f"-- {operands['device']}"
    return template.format_map(operands)


def title(topology: Topology, name: str) -> str:
    """Return a device's title, with its kernel name where that differs."""
    return topology[name].full_title if name in topology else name


def thresholds(rule: Rule) -> str:
    """Return the thresholds of *rule* in words with their units: ``chunk up to 32 KiB; 500 requests``; "" for none."""
    said = "; ".join(
        (words[0] if words else LIMIT_WORDS[name]).format(figure(value, unit))
        for name, (value, unit, *words) in rule.thresholds.items()
    )
    return said.replace("; and ", " and ")  # two parts of one condition


FIRST = "Do first:"
NOTHING = "Nothing. No finding needs action."
NO_LAYOUT = (
    "Nothing in these figures. For the layout, add to the text what "
    f"{ASK_FOR_IT} prints on that host."
)
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z`])")


def heading(topology: Topology, finding: Finding) -> str:
    """Return the title of *finding*: "sda is 12.9× as slow as its peers"."""
    words = filled(finding.rule.title, words_of(topology, finding.observed))
    return words[:1].upper() + words[1:] if finding.rule.title.startswith("{what}") else words


def action(topology: Topology, finding: Finding) -> str:
    """Return the first sentence of the advice of *finding*."""
    advice = filled(finding.rule.advice, words_of(topology, finding.observed))
    return sentence(SENTENCE_END.split(advice, maxsplit=1)[0])


def what_to_do_first(
    topology: Topology,
    decision: Decision,
    open_questions: Sequence[Unjudged] = (),
    *,
    time: str = "",
) -> str:
    """
    Return the first cause and what to do about it, then what has to wait; without a cause, what to look at or measure.

    *time*: when the cause held, if not all the time.
    """
    if not decision.causes:
        from stackmap.rules.unjudged import LAYOUT

        asked = [q.question for q in open_questions if q.question is not LAYOUT]
        if asked and decision.doubtful:
            doubt = decision.doubtful[0]
            return paragraph((f"{heading(topology, doubt)}.", action(topology, doubt)))
        if asked:
            return asked[0].advice
        return NO_LAYOUT if open_questions else NOTHING
    first = decision.causes[0]
    cause = f"{heading(topology, first)} ({time})." if time else f"{heading(topology, first)}."
    return paragraph((cause, action(topology, first), _then(topology, decision)))


def _then(topology: Topology, decision: Decision) -> str:
    """Return the layouts to decide about once the first cause is mended; "" if none has to wait."""
    waiting = [finding for finding in decision.causes if has_to_wait(topology, decision, finding)]
    if decision.causes[0] not in decision.before_layout or not waiting:
        return ""
    names = listed(list(dict.fromkeys(topology[finding.device].title for finding in waiting)))
    return f"Then measure again, and only then decide about the layout of {names}."


def has_to_wait(topology: Topology, decision: Decision, finding: Finding) -> bool:
    """Whether *finding* is about the layout, while a device below slows the load on any layout."""
    if finding.rule.outcome is not Outcome.LAYOUT or not finding.rule.needs_load:
        return False
    stack = topology.with_all_below(finding.device) if finding.device in topology else ()
    return any(cause.device in stack for cause in decision.before_layout)


def before_converting(topology: Topology, decision: Decision) -> str:
    """Return the steps before a decision about the layout; "" if none is needed."""
    if not decision.before_layout:
        return ""
    first = decision.before_layout[0]
    others = [title(topology, finding.device) for finding in decision.before_layout[1:]]
    more = f"Also look at {listed(list(dict.fromkeys(others)))}." if others else ""
    again = (
        "Measure again after that, and only then decide: another layout does not remove this wait."
    )
    return paragraph((f"{heading(topology, first)}.", action(topology, first), more, again))
