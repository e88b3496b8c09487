"""The figures of a machine when it was healthy, to compare others with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stackmap.errors import InputError
from stackmap.host.capture import CapturedHost
from stackmap.host.file_tree import is_capture, open_text
from stackmap.ledger.averages import average
from stackmap.ledger.corrections import corrected
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.source import IntervalSelection
from stackmap.model.machine import Machine, of_another
from stackmap.text.device_names import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackmap.measurement.source import Note
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

CHUNK = 65536


def read_baseline(topology: Topology, path: str, note: Note) -> Interval:
    """Return the average of the capture or text at *path*, under the device names of *topology*."""
    baseline = next((_of_capture if is_capture(path) else _of_text)(topology, path, note), None)
    if baseline is None:
        raise InputError(f"{path}: no interval to compare with")
    another = of_another(Machine(topology.machine.host), Machine(baseline.machine.host))
    if another:  # another kernel may well be that of an earlier boot
        note(f"the baseline may not fit: {path} is of {another}")
    return corrected(topology, baseline)


def _of_capture(topology: Topology, path: str, note: Note) -> Iterator[Interval]:
    """Yield the average of a capture: devices are matched by label, for kernel names change."""
    source = CaptureSource(CapturedHost(path, note))
    before = source.topology()
    now = {device.title: name for name, device in topology.devices.items()}
    for interval in source.select_steady(IntervalSelection(which="average")):
        loads = {
            now[before[name].title]: load
            for name, load in interval.loads.items()
            if name in before and before[name].title in now
        }
        yield replace(interval, loads=loads, machine=before.machine)


def _of_text(topology: Topology, path: str, note: Note) -> Iterator[Interval]:
    from stackmap import text as statistics  # 15 ms, which only a text pays for

    with open_text(path) as text:
        chunks = iter(lambda: text.read(CHUNK), b"")
        for interval in average(statistics.intervals(chunks, path, note)):
            yield resolved(topology, interval)[0]
