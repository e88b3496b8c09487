"""An interval of the same machine when it was well, to judge another by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from stackmap.analysis.averages import average
from stackmap.analysis.corrections import corrected
from stackmap.analysis.device_names import of_another, resolved
from stackmap.errors import InputError
from stackmap.model.machine import Machine
from stackmap.render.text import safe

if TYPE_CHECKING:
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

CHUNK = 65536
TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")


def baseline_of(topology: Topology, path: str) -> Interval:
    """Return the average of the capture or text at *path*, its devices by their names in *topology*."""
    recorded = os.path.isdir(path) or path.endswith(TARS)
    found = next(iter(_recorded(topology, path) if recorded else _text(topology, path)), None)
    if found is None:
        raise InputError(f"{path}: no interval to compare with")
    _tell_another(topology.machine, found.machine, path)
    return corrected(topology, found)[0]


def _tell_another(ours: Machine, theirs: Machine, path: str) -> None:
    """Say so where the baseline is another host's: a machine may well have had another kernel."""
    what = of_another(Machine(ours.host), Machine(theirs.host))
    if what:
        told = f"stackmap: {safe(path)} says little of what is usual here: it is of {safe(what)}"
        click.echo(told, err=True)


def _recorded(topology: Topology, path: str) -> Iterator[Interval]:
    """Yield a capture's average: a number may have changed since, a label has not."""
    from stackmap.cli import tell
    from stackmap.cli.measuring import ends
    from stackmap.discover import discover
    from stackmap.host.capture import CapturedHost
    from stackmap.sampling.snapshots import only_same_devices

    host = CapturedHost(path, tell)
    before = discover(host)
    now = {device.title: name for name, device in topology.devices.items()}
    for interval in average(only_same_devices(before, ends(host, before, discover))):
        loads = {
            now[before[name].title]: load
            for name, load in interval.loads.items()
            if name in before and before[name].title in now
        }
        yield replace(interval, loads=loads, machine=before.machine)


def _text(topology: Topology, path: str) -> Iterator[Interval]:
    from stackmap.cli import tell
    from stackmap.sources import statistics

    with open(path, "rb") as text:
        reports = statistics.intervals(iter(partial(text.read, CHUNK), b""), path, tell)
        for interval in average(reports):
            yield resolved(topology, interval)[0]
