"""
Figures over time, from the table of metrics: as OpenMetrics text, and as Parquet, which needs pyarrow.

In OpenMetrics all are gauges: rates and means of the interval that ends at the timestamp. An unknown figure has no
sample. OpenMetrics groups samples by metric and then by device, but figures arrive by time. A store holds them, eight
bytes each, and is read per device. Reading the recording once per metric would take as many times as long, and is
impossible for a live machine. Parquet has one row per device and interval.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import IO

from stackmap.errors import InputError
from stackmap.features.export.parquet import NUMBER, TEXT, TIME, Column, Table, writing_rows
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS, Load, Metric
from stackmap.model.topology import Topology
from stackmap.render.text import safe

# OpenMetrics requires base units: its name for ours, and the factor to it.
UNITS = {
    "requests/s": ("per_second", 1.0),
    "bytes/s": ("bytes_per_second", 1.0),
    "bytes": ("bytes", 1.0),
    "ms": ("seconds", 0.001),
    "requests": ("requests", 1.0),
    "share": ("ratio", 1.0),
}
END = "# EOF\n"
NO_TIME = "the input has reports without date and time; use iostat -t"
SIZE = 8  # bytes per figure
HELD = 2_000_000  # figures in memory before they are stored: 16 MB
TEXTS = ("host", "device", "name", "kind")


@dataclass(slots=True)
class TimeSeries:
    """
    The time series of a device: a value per metric and instant, NaN if unknown.

    ``stored``: offset and number of instants of earlier parts; ``times`` and
    ``values``: the later part.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    values: list[array[float]] = field(default_factory=lambda: [array("d") for _ in METRICS])
    stored: list[tuple[int, int]] = field(default_factory=list)

    def add(self, time: float, load: Load) -> None:
        """Add the figures of the interval that ends at *time*."""
        self.times.append(time)
        for values, metric in zip(self.values, METRICS, strict=True):
            value = metric.value(load)
            values.append(nan if value is None else value)

    def put(self, store: IO[bytes]) -> None:
        """Append the figures to *store*, and drop them here."""
        content = b"".join(column.tobytes() for column in (self.times, *self.values))
        end = store.seek(0, 2)
        self.stored.append((end, len(self.times)))
        store.write(content)
        for column in (self.times, *self.values):
            del column[:]

    def of(self, metric: int, store: IO[bytes]) -> Iterator[tuple[array[float], array[float]]]:
        """Yield the instants and values of a metric, part by part."""
        for place, count in self.stored:
            size = count * SIZE
            store.seek(place)
            times = array("d", store.read(size))
            store.seek(place + (1 + metric) * size)
            yield times, array("d", store.read(size))
        yield self.times, self.values[metric]


SeriesByLabels = dict[str, TimeSeries]  # by the labels of a device


def time_series(reports: Iterable[tuple[Topology, Interval]], store: IO[bytes]) -> SeriesByLabels:
    """Return the time series of each device; a renamed device starts a new one."""
    series_by_labels: SeriesByLabels = {}
    held = 0
    for time, _, who, load in _loads(reports):
        of = labels(dict(zip(TEXTS, who, strict=True)))
        series_by_labels.setdefault(of, TimeSeries()).add(time, load)
        held += len(METRICS)
        if held > HELD:
            held = 0
            for series in series_by_labels.values():
                series.put(store)
    return series_by_labels


def _loads(
    reports: Iterable[tuple[Topology, Interval]],
) -> Iterator[tuple[float, float | None, tuple[str, ...], Load]]:
    """
    Yield the load of each device over each interval: its end, its seconds, and the texts of ``TEXTS``.

    ``InputError`` for an interval without time.
    """
    for topology, interval in reports:
        if interval.time is None:
            raise InputError(NO_TIME)
        host = topology.machine.host
        for device in topology:
            if (load := interval.loads.get(device.name)) is not None:
                who = host, device.name, device.title, str(device.kind)
                yield interval.time, interval.seconds, who, load


def openmetrics(series_by_labels: SeriesByLabels, store: IO[bytes]) -> Iterator[str]:
    """Yield the text, one metric at a time."""
    for place, metric in enumerate(METRICS):
        name, unit, factor = named(metric)
        yield f"# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {escaped(metric.help)}\n"
        for of, series in series_by_labels.items():
            for times, values in series.of(place, store):
                yield "".join(
                    f"{name}{of} {value * factor:.12g} {time:.6f}\n"
                    for time, value in zip(times, values, strict=True)
                    if not isnan(value)
                )
    yield END


def named(metric: Metric) -> tuple[str, str, float]:
    """
    Return a metric's OpenMetrics name, its unit, and the factor to that unit.

    >>> named(METRICS[2])
    ('stackmap_read_bytes_per_second', 'bytes_per_second', 1.0)
    """
    unit, factor = UNITS[metric.unit]
    key = metric.key
    if key.endswith("_" + unit.partition("_")[0]):  # read_bytes, bytes_per_second
        key = key.rpartition("_")[0]
    return f"stackmap_{key}_{unit}", unit, factor


def labels(names: Mapping[str, str]) -> str:
    r"""
    Return labels in braces, escaped: names come from the system.

    >>> labels({"device": 'a"b\\c'})
    '{device="a\\"b\\\\c"}'
    """
    return "{" + ",".join(f'{key}="{escaped(value)}"' for key, value in names.items()) + "}"


def escaped(text: str) -> str:
    """Return *text* without characters that end a label or a line or control a terminal."""
    return safe(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def write_parquet(file: IO[bytes], reports: Iterable[tuple[Topology, Interval]]) -> int:
    """Write *reports* to *file*, one row per device and interval; return the number of rows."""
    with writing_rows(file, FIGURES, described=False) as writer:
        writer.add(
            (time, seconds, *who, *(metric.value(load) for metric in METRICS))
            for time, seconds, who, load in _loads(reports)
        )
    return writer.count


FIGURES = Table(
    "figures",
    (
        Column("time", TIME),
        Column("seconds", NUMBER, "Length of the interval."),
        *(Column(name, TEXT) for name in TEXTS),
        *(Column(metric.key, NUMBER, metric.help, metric.unit) for metric in METRICS),
    ),
)
