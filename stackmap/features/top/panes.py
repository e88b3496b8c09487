"""The panes over the rows: help, the per-layer table of a stack, or the findings on a row."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.document.blocks import Block, Headline, Paragraph, Terms
from stackmap.document.findings import finding_card
from stackmap.document.layers import layers_document
from stackmap.features.top.moment import Moment
from stackmap.features.top.row import Event, Row
from stackmap.features.top.state import State
from stackmap.features.top.verdict import CLEAR
from stackmap.rules.rule import Finding

KEYS = (
    ("1 2 3 4 5", "volumes, disks, services and VMs, findings, events"),
    ("arrows j k page home end", "move"),
    ("space", "fold or unfold a stack"),
    ("enter", "show the layers of a stack, as iostat -l"),
    ("e", "explain the row: its findings"),
    ("r w b", "reads, writes, both"),
    ("s", "sort: stack order, IOPS, bytes, await, cost"),
    ("/", "filter by name, VM or mount; an empty filter shows all"),
    ("n", "next match"),
    ("y", "show the command line for the row"),
    ("i", "change the interval"),
    ("z", "pause and go on"),
    ("W", "write the last five minutes as a capture"),
    ("t T", "next and previous interval of a recording"),
    ("B", "jump to a time of a recording"),
    (".", "play a recording"),
    ("Ctrl-Z", "suspend; fg resumes"),
    ("? h", "this help"),
    ("q", "close this, or quit"),
)
NONE_HERE = "No finding on it or on a device below it lasted three intervals."
WORDS = (
    ("IOPS, MiB/s", "completed per second; of a layer, what belongs to the stack"),
    ("await ms", "mean time per request on these devices, queueing included"),
    ("queue", "requests in flight, on average"),
    ("IOPS×, bytes×", "arriving at a layer per request or byte at the top; of a stack: at its disks"),
    ("cost", "disk bytes per byte at the top, everything included; ~ estimate"),
    ("2 min", "the metric sorted by over two minutes, each row scaled to its own maximum"),
    ("-", "cannot be known"),
)  # fmt: skip


def pane(moment: Moment, state: State, row: Row | None) -> Iterator[Block]:
    """Yield the blocks of the pane that *state* has open, on *row*."""
    if state.pane == "help" or row is None:
        yield Headline(("KEYS",))
        yield Terms(KEYS)
        yield Headline(("COLUMNS",))
        yield Terms(WORDS)
    elif state.pane == "layers":
        yield from _layers(moment, row)
    else:
        yield from _explained(moment, row)


def _layers(moment: Moment, row: Row) -> Iterator[Block]:
    """Yield the tables of ``iostat --per-layer`` for the stack of *row*, or for the stacks on its device."""
    if isinstance(row.about, Finding):
        yield from _explained(moment, row)
        return
    if isinstance(row.about, Event):
        yield Paragraph(row.name)
        return
    tops = [row.stack] if row.stack else _stacks_of(moment, row)
    stacks = (moment.stack(top) for top in tops)
    yield from layers_document(stacks, moment.interval, time=True)


def _stacks_of(moment: Moment, row: Row) -> list[str]:
    """Return the busy stacks that use the device of *row*, all if none is busy."""
    tops = [top for top in moment.scope.tops if top in moment.topology.tops_of(row.device)]
    return [top for top in tops if not moment.load(top).idle] or tops or [row.device]


def _explained(moment: Moment, row: Row) -> Iterator[Block]:
    """Yield the findings on the devices of *row*, with evidence, caveat and advice."""
    start = row.stack or row.device
    devices = set(moment.topology.with_all_below(start)) if start else set()
    found = [
        each
        for each in moment.findings
        if each is row.about or devices.intersection((each.device, *each.peers))
    ]
    if isinstance(row.about, Finding):
        found = [row.about]
    yield Headline((row.name,))
    for number, each in enumerate(found):
        yield finding_card(moment.topology, each, number)
    if not found:
        judged = moment.verdict.startswith(CLEAR)
        yield Paragraph(NONE_HERE if judged else moment.verdict)
    if row.command:
        yield Paragraph(f"For more intervals, run `{row.command}`.")
