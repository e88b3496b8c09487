"""
Device rows pasted without a heading, identified by their figures.

Bytes are requests times their mean size. A heading is accepted if this product
holds in every row and no other heading fits; if several fit, only figures on
which they agree are used. (Queue = requests × wait does not hold on every kernel.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.table_headings import MAX_PREFIX_WORDS
from stackmap.text.columns import COLUMNS
from stackmap.text.flow_columns import FlowColumns
from stackmap.text.headings import Heading
from stackmap.text.numbers import parse_plain_numbers
from stackmap.text.report_builder import ReportBuilder
from stackmap.text.table_layout import TableLayout

BY_FLOW = " ".join(f"{x}/s {x}*/s {x}rqm/s %{x}rqm {x}_await {x}areq-sz" for x in "rwd")

# Headings; * stands for the unit that an option selects: sec, kB, MB, GB.
IOSTAT = (
    "tps *B/s rqm/s await aqu-sz areq-sz %util",
    "tps *B/s rqm/s await areq-sz aqu-sz %util",
    "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await svctm %util",
    "rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "r/s w/s r*/s w*/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util",
    f"{BY_FLOW} aqu-sz %util",
    f"{BY_FLOW} f/s f_await aqu-sz %util",
)
SAR = (
    "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "tps rkB/s wkB/s areq-sz aqu-sz await svctm %util",
    "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
)
UNITS = ("sec", "kB", "MB", "GB")

ROWS = 1000  # read at most this many
ROUNDING = 0.006  # a little more than half of the last decimal

INFERRED = "no heading: the columns were inferred from the figures"
NO_SIZES = "the input has no heading, and several column layouts fit; only figures that they share are used"


def is_row(line: str) -> bool:
    """Whether *line* looks like a device's row."""
    words = line.split()
    return any(
        len(words) > width
        and parse_plain_numbers(words[-width:]) is not None
        and parse_plain_numbers(words[-width - 1 :]) is None
        for width in WIDTHS
    )


def intervals(lines: Sequence[str]) -> list[Interval]:
    """Return the intervals in *lines*; none if no heading fits, or too many do."""
    told = [_read(lines, heading) for heading in _headings() if _fits(lines, heading)]
    if not told or not told[0]:
        return []
    note = INFERRED if len(told) == 1 else NO_SIZES
    return [
        replace(reports[0], loads=_common_loads(reports), notes=(note,))
        for reports in zip(*told, strict=False)
    ]


def _headings() -> Iterator[Heading]:
    for columns in IOSTAT:
        for unit in UNITS if "*" in columns else ("",):
            names = columns.replace("*B", unit).replace("*", unit).split()
            if all(name in COLUMNS for name in names):
                yield Heading(TableLayout(names))
    for columns in SAR:
        yield Heading(TableLayout(columns.split()), sar=True)


WIDTHS = sorted({heading.layout.width for heading in _headings()})


def _read(lines: Iterable[str], heading: Heading) -> list[Interval]:
    reports = ReportBuilder()
    for line in lines:
        row = heading.row(line.split())
        if row is not None:
            reports.row(row, heading)
    reports.end()
    return reports.take_done()


def _fits(lines: Iterable[str], heading: Heading) -> bool:
    """Whether the product holds in every row of this width, and is not zero in all of them."""
    proved = False
    for line in lines:
        row = heading.row(line.split()[-heading.layout.width - MAX_PREFIX_WORDS :])
        if row is None:
            continue
        for holds, is_proof in _products(heading.layout, row.values):
            if not holds:
                return False
            proved = proved or is_proof
    return proved


def _products(layout: TableLayout, row: Sequence[float | None]) -> Iterator[tuple[bool, bool]]:
    """Yield for each product in the row whether it holds and whether it is evidence."""
    figures = [0.0 if figure is None else figure for figure in row]
    spots = layout.spots
    read, write, whole = (spots.get(flow, FlowColumns()) for flow in ("read", "write", "whole"))
    for flow in (read, write, spots.get("discard", FlowColumns())):
        yield from _size_product(figures, [flow], [flow], flow)
    sent = [whole] if whole.ios is not None else [read, write]
    size = [whole] if whole.bytes is not None else [read, write]
    size += [spots["discard"]] if whole.size is not None and "discard" in spots else []
    yield from _size_product(figures, sent, size, whole)


def _size_product(
    row: Sequence[float], ios: list[FlowColumns], sizes: list[FlowColumns], mean: FlowColumns
) -> Iterator[tuple[bool, bool]]:
    """Check that bytes are requests times their mean size."""
    counts = [row[spot.ios] for spot in ios if spot.ios is not None]
    shown = [row[spot.bytes] * spot.unit for spot in sizes if spot.bytes is not None]
    if mean.size is None or not counts or not shown:
        return
    unit = max(spot.unit for spot in sizes)
    size = row[mean.size] * mean.size_unit
    error = ROUNDING * (len(shown) * unit + len(counts) * size + sum(counts) * mean.size_unit)
    yield abs(sum(shown) - sum(counts) * size) <= error, sum(shown) > 10 * error


def _common_loads(reports: Sequence[Interval]) -> dict[str, Load]:
    """Return for each device the figures on which all readings of its row agree."""
    return {
        name: reduce(_common, (report.loads[name] for report in reports))
        for name in reports[0].loads
        if all(name in report.loads for report in reports)
    }


def _common(one: Any, other: Any) -> Any:
    """Return the figure if both have it, else None; of loads and flows, figure by figure."""
    if not isinstance(one, (Load, Flow)) or other is None:
        return one if one == other else None
    return type(one)(*map(_common, one, other))
