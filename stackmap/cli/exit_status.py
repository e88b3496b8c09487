"""The exit status of ``--exit-code``, for monitoring: 0 clean, 10 warning, 11 critical, 12 could not judge."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.rules.rule import Severity

STATUSES = {Severity.WARNING: 10, Severity.CRITICAL: 11}
NOT_JUDGED = 12


def status_of(severities: Iterable[Severity], *, judged: bool) -> int:
    """Return the status of the worst of *severities*; without a problem, whether all was *judged*."""
    worst = max((STATUSES.get(each, 0) for each in severities), default=0)
    return worst or (0 if judged else NOT_JUDGED)
