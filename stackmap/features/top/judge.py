"""
Judges the newest intervals for ``top``, in rounds of small steps, so that no interval costs much.

A finding appears when it lasts, and stays for a while when it is gone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stackmap.document.findings import not_judged
from stackmap.document.rule_words import filled, words_of
from stackmap.ledger.averages import average
from stackmap.ledger.corrections import corrected
from stackmap.ledger.device_state import readings_of, stalled_share
from stackmap.model.load import IDLE
from stackmap.model.topology import Topology
from stackmap.rules.context import Context
from stackmap.rules.rule import Finding, Severity
from stackmap.rules.table import Judging
from stackmap.rules.unjudged import LOAD, Unjudged, unjudged
from stackmap.sources.limits import CapMeter

if TYPE_CHECKING:
    from stackmap.features.top.moment import Scope
    from stackmap.host import Host
    from stackmap.model.cgroup_io import IoLimit
    from stackmap.model.device import Stalled
    from stackmap.model.interval import Interval

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

    def judge(self, findings: Iterable[Finding], intervals: int = 1) -> None:
        """Take the *findings* of the last *intervals* intervals together."""
        now = {(current.rule.id, current.device): current for current in findings}
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
        shown = [seen.finding for seen in self._seen.values() if seen.shown]
        return sorted(shown, key=lambda finding: WORST_FIRST.index(finding.severity))


JUDGED = 10  # intervals that are judged together, as explain does
LIMITS_EVERY = 10.0  # seconds between two readings of the I/O limits in force
FIRST, SAVED = 0.15, 0.05  # seconds of CPU that judging may take at the start, and may save up


class Judge:
    """
    The findings that last, judged in rounds. ``verdict``: the sentence for a screen without a grave finding.

    *host*: a live machine, where a round may take several intervals. None: each round is completed at once.
    """

    def __init__(self, host: Host | None) -> None:
        self._host = host
        self._lasting = LastingFindings()
        # As measured, and corrected.
        self._series: deque[tuple[Interval, Interval]] = deque(maxlen=JUDGED)
        self._fresh = 0  # intervals since the present round began
        self._round: Iterator[None] | None = None
        self._gone: set[str] = set()  # devices that went away during this round
        self._judged = False
        self.verdict = NOT_YET
        self._credit = FIRST
        self._limits: tuple[IoLimit, ...] = ()
        self._caps: CapMeter | None = None
        self._limits_read = -LIMITS_EVERY

    @property
    def findings(self) -> list[Finding]:
        """The findings to show, the worst first."""
        return self._lasting.shown

    @property
    def stalled(self) -> Stalled | None:
        """The shares of time in which tasks waited for I/O, over the intervals that are judged; None if unknown."""
        return stalled_share(readings_of(measured for measured, _ in self._series))

    def take(self, measured: Interval, right: Interval) -> None:
        """Take the next interval, as *measured* and corrected."""
        self._series.append((measured, right))
        self._fresh += 1

    def forget(self, names: AbstractSet[str]) -> None:
        """Forget the devices *names*, which went away or were replaced."""
        self._gone |= names
        self._lasting.forget(names)
        self._series = deque(
            ((_without(raw, names), _without(right, names)) for raw, right in self._series), JUDGED
        )

    def run_for(self, share: float, scope: Scope) -> None:
        """Judge for at most *share* of an interval, on average; complete the round at once without a live host."""
        if self._fresh < APPEARS and not self._judged and self._round is None:
            return  # none could have lasted
        if self._host is None:
            for _ in self._steps(scope):
                pass
            return
        self._credit = min(
            max(self._credit, SAVED), self._credit + share * (self._series[-1][0].seconds or 0.0)
        )
        while self._credit > 0:
            begin = time.thread_time()
            self._round = self._round or self._steps(scope)
            is_over = next(self._round, self) is self
            self._credit -= time.thread_time() - begin
            if is_over:
                self._round = None
                return

    def _steps(self, scope: Scope) -> Iterator[None]:
        """Judge the intervals so far together; a caller may pause at each step."""
        self._gone = set()
        count, self._fresh = self._fresh, 0
        raw, right = zip(*self._series, strict=True)
        now = time.monotonic()
        if self._host is not None and now - self._limits_read >= LIMITS_EVERY:
            if self._caps is not None:
                self._caps.count(now - self._limits_read)
                self._limits = self._caps.limits
            self._caps, self._limits_read = CapMeter(self._host, scope.topology), now
        yield
        whole = corrected(scope.topology, _average(raw)) if len(raw) > 1 else right[0]
        series = right if len(right) > 1 else ()
        context = Context(scope.topology, whole, series, None, whole.corrections, self._limits)
        judging = Judging(context, scope.part)
        yield
        yield from judging.steps()
        lasting = [
            finding
            for finding in judging.findings()
            if self._gone.isdisjoint((finding.device, *finding.peers))
        ]
        self._lasting.judge(lasting, count)
        yield
        questions = unjudged(context, lasting, scope.part.devices)
        self.verdict = verdict(scope.topology, questions)
        self._judged = True


def _average(intervals: Sequence[Interval]) -> Interval:
    """Return the average; devices that were idle throughout are not added up, for there may be thousands."""
    known = set.intersection(*(set(interval.loads) for interval in intervals))
    idle = dict.fromkeys(known, IDLE)
    for interval in intervals:
        for name, load in interval.loads.items():
            if load is not IDLE:
                idle.pop(name, None)
    whole = next(average(_without(interval, idle.keys()) for interval in intervals))
    return replace(whole, loads={**idle, **whole.loads})


def _without(interval: Interval, names: AbstractSet[str]) -> Interval:
    return replace(interval, loads={n: x for n, x in interval.loads.items() if n not in names})


NOT_YET = f"Not judged yet: a finding needs {APPEARS} intervals."
CLEAR = "No finding that needs action."


def verdict(topology: Topology, questions: Sequence[Unjudged]) -> str:
    """Return the sentence for a round without a grave finding; it names the open *questions*."""
    for question in questions:
        if question.question is LOAD:
            return f"Not judged: {filled(LOAD.reason, words_of(topology, question.observed))}"
    return " ".join(filter(None, (CLEAR, not_judged(questions))))
