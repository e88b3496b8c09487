"""The exit status of ``--exit-code``, for monitoring: 0 clean, 10 warning, 11 critical."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NoReturn

from stackmap.analysis.findings.rule import Severity

STATUSES = {Severity.WARNING: 10, Severity.CRITICAL: 11}


def exit_with(severities: Iterable[Severity], otherwise: int = 0) -> NoReturn:
    """Exit with the status of the worst of *severities*; *otherwise* if none has one."""
    worst = max((STATUSES.get(each, 0) for each in severities), default=0)
    sys.exit(worst or otherwise)
