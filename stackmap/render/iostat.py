"""The counters of each device, in the order of the tree: as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.analysis.totals import Total
from stackmap.document.units import rate
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.model.metrics import METRICS, Metric
from stackmap.render.intervals import interval_json, span
from stackmap.render.table import table
from stackmap.render.text import safe

SCHEMA = "stackmap.iostat/1"
INDENT = " "


def iostat_table(
    rows: Sequence[tuple[Device, int]],
    interval: Interval,
    sums: Sequence[Total] = (),
    *,
    extended: bool = False,
    skip_idle: bool = False,
    heading: bool = True,
) -> str:
    """
    Return a row a device; *rows* are devices with their depth in the tree.

    *sums* are rows at the end, each over one cut of the tree, which it names.
    """
    metrics = [metric for metric in METRICS if extended or not metric.extended]
    named = [
        (INDENT * depth + name, load)
        for (device, depth), name in zip(rows, names(rows), strict=True)
        if (load := interval.loads.get(device.name)) and not (skip_idle and load.idle)
    ]
    named += [(f"sum of {len(total.devices)} {total.cut}", total.load) for total in sums]
    shown = [[name, *(cell(metric, load) for metric in metrics)] for name, load in named]
    text = table(["DEVICE", *(m.heading for m in metrics)], shown, words=1, heading=heading)
    return "\n".join(filter(None, (span(interval), text))) + "\n"


def iostat_json(
    rows: Sequence[tuple[Device, int]],
    interval: Interval,
    corrections: Sequence[str],
    sums: Sequence[Total] = (),
) -> dict[str, object]:
    """Return the object of ``iostat -J``; values in the units of ``METRICS``."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "corrections": list(corrections),
        "devices": [
            {
                "name": device.name,
                "label": device.title,
                "kind": str(device.kind),
                **_values(interval.loads.get(device.name, Load())),
            }
            for device, _ in rows
        ],
        "totals": {
            total.cut: {"devices": list(total.devices), **_values(total.load)} for total in sums
        },
    }


def _values(load: Load) -> dict[str, float | None]:
    return {metric.key: metric.value(load) for metric in METRICS}


def names(rows: Sequence[tuple[Device, int]]) -> list[str]:
    """Return what people call each device; below its LV, a hidden one is known by its role."""
    names = []
    top = ""
    for device, depth in rows:
        title = safe(device.title)
        if not depth:
            top = title
        elif device.kind is Kind.MEMBER and title.startswith(f"{top}_"):
            title = title.removeprefix(f"{top}_")
        names.append(title if title == device.name else f"{title} ({device.name})")
    return names


def cell(metric: Metric, load: Load) -> str:
    """Return a figure of *load* in the unit of its heading."""
    value = metric.value(load)
    return rate(None if value is None else value / metric.divisor)
