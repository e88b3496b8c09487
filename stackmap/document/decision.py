"""The decision in sentences: what to do first, and what a conversion has to wait for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stackmap.document.rule_words import filled, title, words_of
from stackmap.document.wording import listed, paragraph, sentence
from stackmap.model.topology import Topology
from stackmap.rules.rule import Finding, Outcome

if TYPE_CHECKING:
    from stackmap.rules.decision import Decision, Judged
    from stackmap.rules.unjudged import Unjudged

FIRST = "Do first:"
NOTHING = "Nothing. No finding needs action."
UNEXPLAINED = (
    "No finding explains the episodes of slow I/O. Compare their load with the usual one, below."
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


def first_line(judged: Judged) -> str:
    """Return the first line of ``explain``; an episode without a cause is no all-clear."""
    topology, decision = judged.context.topology, judged.decide()
    if not decision.causes and judged.times and judged.times.found:
        return UNEXPLAINED
    return what_to_do_first(topology, decision, judged.open_questions)


def what_to_do_first(
    topology: Topology, decision: Decision, open_questions: Sequence[Unjudged] = ()
) -> str:
    """Return the first cause and what to do about it, then what has to wait; without a cause, what to measure."""
    if not decision.causes:
        from stackmap.rules.unjudged import LAYOUT

        asked = [each.question for each in open_questions if each.question is not LAYOUT]
        return asked[0].advice if asked else NOTHING
    first = decision.causes[0]
    return paragraph(
        (f"{heading(topology, first)}.", action(topology, first), _then(topology, decision))
    )


def _then(topology: Topology, decision: Decision) -> str:
    """Return the layouts to decide about once the first cause is mended; "" if none has to wait."""
    waiting = [each for each in decision.causes if has_to_wait(topology, decision, each)]
    if decision.causes[0] not in decision.before_layout or not waiting:
        return ""
    names = listed(list(dict.fromkeys(topology[each.device].title for each in waiting)))
    return f"Then measure again, and only then decide about the layout of {names}."


def has_to_wait(topology: Topology, decision: Decision, finding: Finding) -> bool:
    """Whether *finding* is about the layout, while a device below slows the load on any layout."""
    if finding.rule.outcome is not Outcome.LAYOUT or not finding.rule.needs_load:
        return False
    stack = topology.with_all_below(finding.device) if finding.device in topology else ()
    return any(each.device in stack for each in decision.before_layout)


def before_converting(topology: Topology, decision: Decision) -> str:
    """Return what to do before a change of layout is decided; "" if nothing is in the way."""
    if not decision.before_layout:
        return ""
    first = decision.before_layout[0]
    others = [title(topology, each.device) for each in decision.before_layout[1:]]
    more = f"Also look at {listed(list(dict.fromkeys(others)))}." if others else ""
    again = (
        "Measure again after that, and only then decide: another layout does not remove this wait."
    )
    return paragraph((f"{heading(topology, first)}.", action(topology, first), more, again))
