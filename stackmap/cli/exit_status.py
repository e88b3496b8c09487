"""The exit status of ``--exit-code``, for monitoring: 0 clean, 10 warning, 11 critical."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.findings.rule import Severity

STATUSES = {Severity.WARNING: 10, Severity.CRITICAL: 11}


def status_of(severities: Iterable[Severity]) -> int:
    """Return the status of the worst of *severities*."""
    return max((STATUSES.get(each, 0) for each in severities), default=0)
