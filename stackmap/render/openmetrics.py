"""
Figures over time as OpenMetrics text, from the one table of metrics.

All are gauges: rates and means of the interval that ends at the sample's
timestamp. What is unknown has no sample. The specification has a family's
samples in one place, and in it those of one device, in order of time; the
figures come instant by instant. So they are turned: eight bytes a figure, in a
store from where they are read device by device. Reading a recording once for
each family would take as many times as long, and would not do for a live one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import IO

from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.model.metrics import METRICS, Metric
from stackmap.model.topology import Topology
from stackmap.render.text import safe

# In base units, as OpenMetrics wants them: its name for one of ours, and what ours is of it.
UNITS = {
    "requests/s": ("per_second", 1.0),
    "bytes/s": ("bytes_per_second", 1.0),
    "bytes": ("bytes", 1.0),
    "ms": ("seconds", 0.001),
    "requests": ("requests", 1.0),
    "share": ("ratio", 1.0),
}
END = "# EOF\n"
SIZE = 8  # bytes of a figure
HELD = 2_000_000  # figures, until they are stored: 16 MB


@dataclass(slots=True)
class Course:
    """
    The figures of a device: the instants, and for each metric a value at each, NaN where unknown.

    ``stored``: the places of those that came first, and of how many instants
    each is; ``times`` and ``values``: the others.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    values: list[array[float]] = field(default_factory=lambda: [array("d") for _ in METRICS])
    stored: list[tuple[int, int]] = field(default_factory=list)

    def add(self, time: float, load: Load) -> None:
        """Take what the device did until *time*."""
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
        """Yield the instants and the values of a metric, in parts."""
        for place, count in self.stored:
            size = count * SIZE
            store.seek(place)
            times = array("d", store.read(size))
            store.seek(place + (1 + metric) * size)
            yield times, array("d", store.read(size))
        yield self.times, self.values[metric]


Courses = dict[str, Course]  # by the labels of a device


def courses(reports: Iterable[tuple[Topology, Interval]], store: IO[bytes]) -> Courses:
    """Gather what *reports* say of each device; one that is renamed begins anew under its name."""
    found: Courses = {}
    held = 0
    for topology, interval in reports:
        for device in topology:
            load = interval.loads.get(device.name)
            if load is None or interval.time is None:
                continue
            names = {
                "host": topology.machine.host,
                "device": device.name,
                "name": device.title,
                "kind": str(device.kind),
            }
            found.setdefault(labels(names), Course()).add(interval.time, load)
            held += 1
        if held * len(METRICS) > HELD:
            held = 0
            for course in found.values():
                course.put(store)
    return found


def openmetrics(found: Courses, store: IO[bytes]) -> Iterator[str]:
    """Yield the text, a family at a time, to its end."""
    for place, metric in enumerate(METRICS):
        name, unit, factor = named(metric)
        yield f"# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {escaped(metric.help)}\n"
        for of, course in found.items():
            for times, values in course.of(place, store):
                yield "".join(
                    f"{name}{of} {value * factor:.12g} {time:.6f}\n"
                    for time, value in zip(times, values, strict=True)
                    if not isnan(value)
                )
    yield END


def named(metric: Metric) -> tuple[str, str, float]:
    """
    Return a metric's name, which ends with its unit, that unit, and the factor to it.

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
    Return labels as they stand behind a name; names come from the system, and are escaped.

    >>> labels({"device": 'a"b\\c'})
    '{device="a\\"b\\\\c"}'
    """
    return "{" + ",".join(f'{key}="{escaped(value)}"' for key, value in names.items()) + "}"


def escaped(text: str) -> str:
    """Return *text* with what would end a label, or a line, or control a terminal, spelled out."""
    return safe(text).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
