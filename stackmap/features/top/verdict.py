"""The sentence of the header while no finding needs action."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.document.findings import not_judged
from stackmap.document.rule_words import filled, words_of
from stackmap.features.top.lasting_findings import APPEARS
from stackmap.model.topology import Topology
from stackmap.rules.unjudged import LOAD, Unjudged

NOT_YET = f"Not judged yet: a finding needs {APPEARS} intervals."
CLEAR = "No finding that needs action."


def verdict(topology: Topology, questions: Sequence[Unjudged]) -> str:
    """Return the sentence for a round without a grave finding; it names the open *questions*."""
    for each in questions:
        if each.question is LOAD:
            return f"Not judged: {filled(LOAD.reason, words_of(topology, each.observed))}"
    return " ".join(filter(None, (CLEAR, not_judged(questions))))
