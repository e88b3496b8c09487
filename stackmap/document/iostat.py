"""The figures of each device, in the order of the tree."""

from collections.abc import Sequence

from stackmap.document.blocks import Block, Column, Label, Paragraph, Row, Rows, Table, Value
from stackmap.document.interval import dated, span
from stackmap.document.wording import divided, plural
from stackmap.ledger.layers import Total
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS, TOGETHER, Load, Metric

INDENT = " "
JUDGED = {"read_await", "write_await", "await", "aqu"}  # metrics whose worst value is in colour
STANDS_OUT = 2.0  # times the median of its column
MIN_ROWS = 3  # with a figure, for a median that means something
DEVICE = Column("DEVICE", "name", ("label",), is_text=True)
UNITS = {"requests/s": "_per_s", "bytes/s": "_per_s", "bytes": "_bytes", "ms": "_ms", "share": "_share"}  # fmt: skip
IN_UNITS = {"bytes/s": ", in KiB per second", "bytes": ", in KiB", "ms": ", in milliseconds"}
MEANINGS = {
    metric.heading: f"{metric.help.removesuffix('.')}{IN_UNITS.get(metric.unit, '')}."
    for metric in (*METRICS, *TOGETHER)
}
# Headings where the figures are totals since boot.
TOTAL = {
    heading: f"{heading.removesuffix('/s')}-total" for heading in MEANINGS if heading.endswith("/s")
}
FIRST_EXTENDED = next(place for place, metric in enumerate(METRICS) if metric.extended)
# A metric of reads and writes together, and the metrics that it replaces where only it is known.
COMBINED = {
    "bytes": ("read_bytes", "write_bytes"), "size": ("read_size", "write_size"),
    "tps": ("reads", "writes"), "await": ("read_await", "write_await"),
}  # fmt: skip
ONLY_TOGETHER = {metric.key for metric in TOGETHER}


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
        (Label(INDENT * depth + name, (device.name, device.title)), load)
        for (device, depth), name in zip(rows, names(rows), strict=True)
        if (load := interval.loads.get(device.name)) and not (skip_idle and load.idle)
    ]
    summed = [
        (Label(name, ("", name)), total.load)
        for total in sums
        for name in [f"sum of {plural(len(total.devices), total.cut.removesuffix('s'))}"]
    ]
    metrics = _metrics([load for _, load in (*named, *summed)], extended=extended)
    groups = (Rows(_rows(named, metrics)), Rows(_rows(summed, metrics)))
    when = span(interval)
    columns = [column(metric) for metric in metrics]
    if interval.totals:
        columns = [
            shown._replace(heading=TOTAL.get(shown.heading, shown.heading)) for shown in columns
        ]
    table = Table("devices", (DEVICE, *columns), groups)
    blocks: list[Block] = [Paragraph(when, headline=True), table] if when else [table]
    return list(dated(blocks, interval, time=time, why=why))


def column(metric: Metric) -> Column:
    """Return the column of a metric; in CSV its key in JSON, with the unit."""
    unit = "" if metric.key == "tps" else UNITS.get(metric.unit, "")
    return Column(metric.heading, metric.key + unit)


def _rows(named: Sequence[tuple[Label, Load]], metrics: Sequence[Metric]) -> tuple[Row, ...]:
    """Return the rows of a table; an await or a queue depth that stands out in its column is marked."""
    columns = [_cells([load for _, load in named], metric) for metric in metrics]
    return tuple((name, *cells) for (name, _), *cells in zip(named, *columns, strict=True))


def _cells(loads: Sequence[Load], metric: Metric) -> list[Value]:
    write = divided(metric.divisor)
    cells = [Value(metric.value(load), write) for load in loads]
    place = worst([value.number for value in cells]) if metric.key in JUDGED else None
    if place is not None:
        cells[place] = cells[place]._replace(tone="warning")
    return cells


def worst(values: Sequence[float | None]) -> int | None:
    """
    Return the place of the highest value if it stands out from the others, else None.

    >>> worst([3.1, 70.0, 3.0, None]), worst([3.1, 3.0, 3.2]), worst([70.0, 3.0])
    (1, None, None)
    """
    known = sorted(value for value in values if value is not None)
    if len(known) < MIN_ROWS or known[-1] < STANDS_OUT * known[len(known) // 2]:
        return None
    return values.index(known[-1])


def _metrics(loads: Sequence[Load], *, extended: bool) -> list[Metric]:
    """Return the columns; figures of reads and writes together where the input has only these."""
    figures = (*METRICS[:FIRST_EXTENDED], *TOGETHER, *METRICS[FIRST_EXTENDED:])
    hidden = {m.key for m in figures if m.extended and not extended} | ONLY_TOGETHER
    by_key = {metric.key: metric for metric in figures}
    for combined, split in COMBINED.items():
        known = {
            key: any(by_key[key].value(load) is not None for load in loads if not load.idle)
            for key in (combined, *split)
        }
        if known[combined] and not any(known[key] for key in split):
            hidden = hidden - {combined} | (set() if extended else set(split))
    return [metric for metric in figures if metric.key not in hidden]


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


def cell(metric: Metric, load: Load) -> Value:
    """Return a figure of *load*, shown in the unit of its heading."""
    return Value(metric.value(load), divided(metric.divisor))
