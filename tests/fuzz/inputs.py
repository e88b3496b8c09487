"""
Attacks on all inputs: captures, texts, a Prometheus server's answers, what tools print, and recordings as tables.

Of 200 of them: ``python -m tests.fuzz.campaign --cases 200 inputs``.
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz import budgets, hostile_recordings, hostile_servers, hostile_tickets, processes
from tests.fuzz.running import Tally

KINDS = {
    budgets.generated: 8,
    hostile_tickets.generated: 8,
    hostile_servers.answers: 4,
    processes.large_answers: 3,
    hostile_recordings.generated: 1,
}


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case of a random kind."""
    (case,) = chance.choices([*KINDS], [*KINDS.values()])
    case(tally, chance, folder)
