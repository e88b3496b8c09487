"""Findings that a screen shows: one appears when it lasts, and stays for a while when it is gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stackmap.rules.rule import Finding, Severity

WORST_FIRST = list(Severity)
APPEARS, STAYS = 3, 10  # intervals


@dataclass
class _Seen:
    finding: Finding
    found: int = 0  # intervals in a row in which it was found
    missing: int = 0  # intervals in a row in which it was not
    shown: bool = False


class LastingFindings:
    """The findings that were found in 3 intervals in a row, until 10 intervals in a row lack them."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = {}

    def judge(self, found: Iterable[Finding], intervals: int = 1) -> None:
        """Take what was *found* in the last *intervals* intervals together."""
        now = {(each.rule.id, each.device): each for each in found}
        for key, finding in now.items():
            seen = self._seen.setdefault(key, _Seen(finding))
            seen.finding = finding
            seen.found += intervals
            seen.missing = 0
            seen.shown |= seen.found >= APPEARS
        for key in self._seen.keys() - now.keys():
            seen = self._seen[key]
            seen.found = 0
            seen.missing += intervals
            if not seen.shown or seen.missing > STAYS:
                del self._seen[key]

    def forget(self, names: Iterable[str]) -> None:
        """Drop the findings on the devices *names*."""
        gone = set(names)
        self._seen = {key: seen for key, seen in self._seen.items() if key[1] not in gone}

    @property
    def shown(self) -> list[Finding]:
        """The findings to show, the worst first."""
        found = [each.finding for each in self._seen.values() if each.shown]
        return sorted(found, key=lambda each: WORST_FIRST.index(each.severity))
