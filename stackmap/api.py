"""
The Python API: ``import stackmap``; see stackmap-api(7).

>>> import stackmap
>>> machine = stackmap.open("sample_topologies/vghdd")
>>> topology, interval = next(machine.intervals(which="average"))
>>> (stack,) = stackmap.layers(topology, interval, "vm-disk1")
>>> round(stack.layers[1].iops_amplification["write"], 2)
4.0
>>> [finding.rule.name for finding in stackmap.findings(machine.intervals(), "vm-disk1")]
['slow-member', 'partial-stripe']

What a function returns is a frame of pandas or polars by its method ``frame``, if that library is installed.
"""

import logging
from collections.abc import Iterable
from typing import Any

from stackmap.commands import added_names, additions
from stackmap.discover.find import find_all
from stackmap.document.blame import BlameReport, matrix
from stackmap.document.blocks import Block, Table
from stackmap.document.findings import findings_table
from stackmap.document.interval import dated
from stackmap.document.iostat import iostat_document
from stackmap.document.layers import layers_table
from stackmap.errors import InputError
from stackmap.host.capture import CapturedHost
from stackmap.host.file_tree import is_capture, open_text
from stackmap.host.live import LiveHost
from stackmap.ledger import blame as blaming
from stackmap.ledger.amplification import StackFigures, figures_of, with_shared
from stackmap.ledger.blame import Blame
from stackmap.ledger.corrections import corrected as without_errors
from stackmap.ledger.ledger import Ledger
from stackmap.measurement.capture_part import CapturePart
from stackmap.measurement.machines import CaptureSource, LiveSource
from stackmap.measurement.source import NoteOnce, Source
from stackmap.measurement.text import TextSource
from stackmap.measurement.ticket import told_machine
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.model.topology import Topology
from stackmap.render.frames import Results
from stackmap.rules import table as rules
from stackmap.rules.context import measured_context
from stackmap.rules.rule import Finding
from stackmap.sampling.snapshots import with_first_topology

note = logging.getLogger("stackmap").warning


def live() -> Source:
    """Return this machine as a source of figures."""
    return LiveSource(LiveHost(), geometry=True)


def open(path: str, machine: Source | None = None, **part: str) -> Source:
    """
    Open a capture (a directory or a tar) or a statistics text.

    *part* of a capture: ``since``, ``until`` and ``every``, as on the command line. The names in a text are those
    of the machine of which lsblk and others tell in it, or else of *machine*; without both, they are all
    that is known. ``InputError`` if *path* cannot be opened.
    """
    if not isinstance(path, str):
        raise InputError(f"{path!r} is no path: give that of a capture or a text, a str")
    if is_capture(path):
        return CaptureSource(CapturedHost(path, note), CapturePart(**part), geometry=True)
    try:
        text = open_text(path)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise InputError(f"{path!r}: {getattr(error, 'strerror', error)}") from error
    once = NoteOnce(note)
    if text.seekable():  # a pipe is not read ahead
        text, told = told_machine(text, once)
        machine = machine if told is None else CaptureSource(told, geometry=True)
    return TextSource(text, machine, once)


def corrected(topology: Topology, interval: Interval) -> Interval:
    """Return *interval* without the known errors of the kernel's counters; the functions below do so themselves."""
    return without_errors(topology, interval)


def loads(topology: Topology, interval: Interval, *names: str) -> Results[tuple[Device, Load]]:
    """Return the load of each device of the stacks of *names*, by default of all, in the order of the tree."""
    right = corrected(topology, interval)
    part = topology.select(find_all(topology, names)) if names else topology
    rows = [(device, depth) for device, depth in part.rows() if device.name in right.loads]
    device_loads = ((device, right.loads[device.name]) for device, _ in rows)
    return Results(device_loads, lambda: _tables(iostat_document(rows, right, extended=True)))


def layers(topology: Topology, interval: Interval, *names: str) -> Results[StackFigures]:
    """Return the figures of each layer, for the stacks of *names*; by default for all stacks."""
    ledger = _ledger(topology, interval)
    figures = list(with_shared(figures_of(ledger, find_all(topology, names) or ledger.tops)))
    return Results(
        figures, lambda: _tables(dated(filter(None, map(layers_table, figures)), interval))
    )


def blame(topology: Topology, interval: Interval, name: str) -> Results[Blame]:
    """Return the volumes that load each of the devices that *name* means."""
    ledger = _ledger(topology, interval)
    devices = find_all(topology, [name])
    blames = [blaming.blame(ledger, device) for device in devices]
    report = BlameReport(topology, devices, corrected(topology, interval), blames)
    return Results(blames, lambda: _tables(dated(matrix(report), interval)))


def findings(intervals: Iterable[tuple[Topology, Interval]], *names: str) -> Results[Finding]:
    """Return the findings, the worst first; with *names*, only those in their stacks."""
    topology, steady = with_first_topology(intervals)
    part = topology.select(find_all(topology, names)) if names else topology
    results = rules.findings(measured_context(topology, list(steady)), part)
    return Results(results, lambda: [findings_table(topology, results)])


def __getattr__(name: str) -> Any:
    """Import a function that a feature adds, such as ``whatif``."""
    if name not in added_names("api"):
        raise AttributeError(f"module 'stackmap.api' has no attribute {name!r}")
    return next(added for added in additions("api") if added.__name__ == name)


def _tables(blocks: Iterable[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def _ledger(topology: Topology, interval: Interval) -> Ledger:
    return Ledger(topology, corrected(topology, interval).loads, interval.seconds)
