"""The figures of each device, in the order of the tree."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.document.blocks import Block, Paragraph, Rows, Table
from stackmap.document.interval import dated, span
from stackmap.document.tone import Toned, worst
from stackmap.document.units import rate
from stackmap.document.wording import plural
from stackmap.ledger.totals import Total
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS, Load, Metric

INDENT = " "
JUDGED = {"read_await", "write_await", "await", "aqu"}  # metrics whose worst value is in colour
# A metric of reads and writes together, and the metrics that it replaces where only it is known.
COMBINED = {"tps": ("reads", "writes"), "await": ("read_await", "write_await")}


def iostat_document(
    rows: Sequence[tuple[Device, int]],
    interval: Interval,
    sums: Sequence[Total] = (),
    *,
    extended: bool = False,
    skip_idle: bool = False,
    time: bool = False,
    why: bool = False,
) -> list[Block]:
    """
    Return a table with a row per device; *rows*: devices with their depth in the tree.

    *sums* are further rows, each over the devices of one level of the tree. *time*:
    with the end of the interval. *why*: with the reasons of corrections.
    """
    named = [
        (INDENT * depth + name, load)
        for (device, depth), name in zip(rows, names(rows), strict=True)
        if (load := interval.loads.get(device.name)) and not (skip_idle and load.idle)
    ]
    summed = [
        (f"sum of {plural(len(total.devices), total.cut.removesuffix('s'))}", total.load)
        for total in sums
    ]
    metrics = _metrics([load for _, load in (*named, *summed)], extended=extended)
    groups = (Rows(_rows(named, metrics)), Rows(_rows(summed, metrics)))
    table = Table("devices", ("DEVICE", *(m.heading for m in metrics)), groups)
    when = span(interval)
    blocks: list[Block] = [Paragraph(when), table] if when else [table]
    return list(dated(blocks, interval, time=time, why=why))


def _rows(
    named: Sequence[tuple[str, Load]], metrics: Sequence[Metric]
) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table; an await or a queue depth that stands out in its column is marked."""
    columns = [_column([load for _, load in named], metric) for metric in metrics]
    return tuple((name, *cells) for (name, _), *cells in zip(named, *columns, strict=True))


def _column(loads: Sequence[Load], metric: Metric) -> list[str]:
    cells = [cell(metric, load) for load in loads]
    place = worst([metric.value(load) for load in loads]) if metric.key in JUDGED else None
    if place is not None:
        cells[place] = Toned(cells[place], "warning")
    return cells


def _metrics(loads: Sequence[Load], *, extended: bool) -> list[Metric]:
    """Return the columns; figures of reads and writes together where the input has only these."""
    hidden = set() if extended else {metric.key for metric in METRICS if metric.extended}
    by_key = {metric.key: metric for metric in METRICS}
    for combined, split in COMBINED.items():
        known = {
            key: any(by_key[key].value(load) is not None for load in loads if not load.idle)
            for key in (combined, *split)
        }
        if known[combined] and not any(known[key] for key in split) and not extended:
            hidden = hidden - {combined} | set(split)
    return [metric for metric in METRICS if metric.key not in hidden]


def names(rows: Sequence[tuple[Device, int]]) -> list[str]:
    """Return each device's name; a sub-LV below its LV is named by its role."""
    names = []
    top = ""
    for device, depth in rows:
        title = device.title
        if not depth:
            top = title
        elif device.kind is Kind.MEMBER:
            title = title.removeprefix(f"{top}_")
        names.append(title if title == device.name else f"{title} ({device.name})")
    return names


def cell(metric: Metric, load: Load) -> str:
    """Return a figure of *load* in the unit of its heading."""
    value = metric.value(load)
    return rate(None if value is None else value / metric.divisor)
