"""Findings are judged in steps: a caller may pause between them, and no stack's figures are kept."""

from __future__ import annotations

from itertools import zip_longest

import stackmap
from stackmap.rules.context import measured_context
from stackmap.rules.table import Judging, findings
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies/vghdd"


def contexts():
    machine = stackmap.open(str(SAMPLE))
    topology, intervals = machine.topology(), [interval for _, interval in machine.intervals()]
    return topology, [measured_context(topology, intervals) for _ in range(3)]


def test_two_judged_in_turns_find_the_same():
    """What one finds does not depend on when its steps are taken."""
    topology, (first, second, whole) = contexts()
    one, other = Judging(first, topology), Judging(second, topology)

    for _ in zip_longest(one.steps(), other.steps()):
        pass

    assert one.findings() == other.findings() == findings(whole, topology)


def test_the_figures_of_a_stack_are_freed_after_it_was_judged():
    """Only those of the stack under way are held, however many there are."""
    _, (context, *_) = contexts()

    held = [len(vars(context.ledger).get("_known_shares", {})) for _ in Judging(context).steps()]

    assert len(list(context.stacks())) == 2
    assert max(held) == 1
