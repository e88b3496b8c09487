"""Do the reports of a text have different workloads, so that their average describes none of them?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from stackmap.model.interval import Interval
from stackmap.model.load import ratio

MIXED = "the average mixes different workloads"
FEW = 20  # reports; a text with more is a time series, in which the load varies
ENDS = 3  # reports; in a longer text, a load may begin in the first and end in the last
# The read share differs by this much; size and rate by these factors.
READ_SHARE, SIZE, RATE = 0.3, 4.0, 4.0

Differs = Callable[[float, float], bool]  # of the lowest and the highest value


def mixed(reports: Sequence[Interval]) -> tuple[str, ...]:
    """Return a note if a few *reports* of a text have clearly different workloads, otherwise ()."""
    rates = [report for report in reports if not report.since_boot and not report.summary]
    if not 1 < len(rates) <= FEW or any(report.seconds for report in rates):
        return ()
    differences = list(_differences(_whole(rates)))
    if not differences:
        return ()
    return (
        f"{MIXED}: {', '.join(differences)}; use --report 1 to --report {len(rates)} for one of them",
    )


def _whole(reports: Sequence[Interval]) -> Sequence[Interval]:
    """Return *reports* without a first or last one that only a part of the load was in, of four or more."""
    if len(reports) <= ENDS:
        return reports
    first = 1 if _less(reports[0], reports[1]) else 0
    last = -1 if _less(reports[-1], reports[-2]) else None
    return reports[first:last]


def _less(end: Interval, neighbour: Interval) -> bool:
    """Whether *end* has both fewer requests and fewer bytes than its *neighbour*."""
    totals = [[load.total for load in report.loads.values()] for report in (end, neighbour)]
    requests = [_sum(flow.ios for flow in each) or 0.0 for each in totals]
    moved = [_sum(flow.bytes for flow in each) or 0.0 for each in totals]
    return requests[0] < requests[1] and moved[0] < moved[1]


def _differences(reports: Sequence[Interval]) -> Iterator[str]:
    """Yield how read share, request size and rate differ, over all devices of each report."""
    loads = [[load for load in report.loads.values() if not load.idle] for report in reports]
    requests = [_sum(load.total.ios for load in each) for each in loads]
    moved = [_sum(load.total.bytes for load in each) for each in loads]
    read = [_sum(load.read.bytes for load in each) for each in loads]
    shares = list(map(ratio, read, moved))
    sizes = list(map(ratio, moved, requests))
    found: tuple[tuple[str, Sequence[float | None], float, Differs], ...] = (
        (
            "reads are {:.0f} to {:.0f} % of the bytes",
            shares,
            100,
            lambda a, b: b - a >= READ_SHARE,
        ),
        ("requests of {:.1f} to {:.1f} KiB", sizes, 1 / 1024, lambda a, b: b >= SIZE * a),
        ("{:.1f} to {:.1f} requests/s", requests, 1, lambda a, b: b >= RATE * a),
    )
    for words, values, unit, differs in found:
        known = [value for value in values if value is not None]
        if len(known) > 1 and differs(min(known), max(known)):
            yield words.format(min(known) * unit, max(known) * unit)


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the known *values*; None for none, as of an idle report."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
