"""The marks of an axis and their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from stackmap.document.blocks import Chart
from stackmap.document.wording import KIB, SIZES, size

MARKS = 5  # about so many per axis
NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
# Seconds between marks of a time axis.
PACES = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
    172800, 604800,
)  # fmt: skip
DAY = 86400


class Scale(NamedTuple):
    """The unit that a chart shows, and its size in the chart's own unit."""

    unit: str
    factor: float


def scale_of(chart: Chart) -> Scale:
    """Return the unit that fits the largest value; for bytes a power of 1024."""
    if chart.unit == "share":
        return Scale("%", 0.01)
    if chart.unit != "bytes/s":
        return Scale(chart.unit, 1.0)
    power, rest = 0, largest(chart)
    while rest >= KIB and power < len(SIZES) - 1:
        power, rest = power + 1, rest / KIB
    return Scale(f"{SIZES[power]}/s", float(KIB**power))


def largest(chart: Chart) -> float:
    """Return the largest value of any line, extremes included."""
    every = (v for line in chart.lines for v in (*line.values, *line.high) if v is not None)
    return max(every, default=0.0)


def ticks(most: float, count: int = MARKS) -> tuple[float, ...]:
    """
    Return marks from 0 to at least *most*, at round numbers.

    >>> ticks(140.3)
    (0.0, 50.0, 100.0, 150.0)
    """
    if most <= 0:
        return (0.0, 1.0)
    rough = most / (count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in NICE if nice * power >= rough * (1 - 1e-9))
    return tuple(step * place for place in range(math.ceil(most / step - 1e-9) + 1))


def time_ticks(start: float, end: float, count: int = MARKS + 1) -> list[tuple[float, str]]:
    """
    Return marks between two instants, with labels in UTC.

    >>> time_ticks(1795257542.8, 1795257552.8, 4)
    [(1795257545.0, '10:39:05'), (1795257550.0, '10:39:10')]
    """
    pace = next((p for p in PACES if (end - start) / p <= count), PACES[-1])
    first = math.ceil(start / pace) * pace
    form = "%H:%M:%S" if pace < 60 else "%H:%M" if pace < DAY else "%m-%d"
    marks = range(first, math.floor(end) + 1, pace)
    return [(float(at), datetime.fromtimestamp(at, UTC).strftime(form)) for at in marks]


def x_ticks(chart: Chart) -> list[tuple[float, str]]:
    """Return the marks of a chart's x axis; bars count from 0."""
    if chart.axis == "time":
        return time_ticks(chart.x[0], chart.x[-1])
    if chart.axis == "number":
        step = max(1, math.ceil(len(chart.x) / 8))
        return [(x, f"{x:g}") for x in chart.x[::step]]
    step = max(1, math.ceil(len(chart.x) / 12))
    return [(float(place), label(chart, place)) for place in range(0, len(chart.x), step)]


def label(chart: Chart, place: int) -> str:
    """Return the label of the bar at *place*."""
    if chart.axis == "hour":
        return f"{chart.x[place]:02.0f}"
    return size(chart.x[place]) if chart.x[place] else "0"


def places(chart: Chart) -> Sequence[float]:
    """Return the x positions; bars count from 0."""
    return chart.x if chart.axis in ("time", "number") else range(len(chart.x))
