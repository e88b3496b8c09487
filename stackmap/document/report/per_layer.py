"""The section on what each layer of a stack makes of the I/O above it: the table, and what it says."""

from __future__ import annotations

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.report import Report
from stackmap.document.blocks import (
    Block,
    Folded,
    Listing,
    Paragraph,
    Part,
    Rows,
    Section,
    Table,
    Terms,
    side_by_side,
)
from stackmap.document.stack_sentences import findings
from stackmap.document.wording import known_directions, sentence
from stackmap.render.layers import COLUMNS, layer_rows

TITLES = {"read": "Reads", "write": "Writes", "total": "Reads and writes"}
HEADINGS = {
    "DEV": "Devices",
    "IO/s": "Requests/s",
    "KiB/s": "KiB/s",
    "KiB": "Mean KiB",
    "await": "Wait, ms",
    "xIOPS": "× requests",
    "xBYTES": "× bytes",
    "SHRINK": "Shrink",
    "COAL": "Coalescing",
    "CLOSURE": "Closure",
}
MEANINGS = (
    ("Requests/s", "requests completed a second; ~ marks an estimate"),
    ("Mean KiB", "mean size of a completed request, in KiB of 1024 bytes"),
    (
        "Wait, ms",
        "mean time from sending a request to its answer, on these devices, whoever sent it",
    ),
    ("× requests", "requests that arrived here for one completed at the top (IOPS amplification)"),
    ("× bytes", "bytes here for a byte at the top (byte amplification)"),
    (
        "Shrink",
        "mean size at the top ÷ mean size of what arrives here; × requests = × bytes × shrink",
    ),
    (
        "Coalescing",
        "requests that arrived ÷ requests completed; × requests ÷ coalescing is what disks really do",
    ),
    (
        "Closure",
        "requests that arrived ÷ sent from above; 1.000: nothing is missing, nobody else is at work",
    ),
    ("-", "cannot be known; it is not 0"),
)


def section(report: Report) -> Section:
    """Return a part a stack, and how to read them."""
    parts = [_part(stack) for stack in report.stacks]
    intro = Paragraph(
        "A row a layer, from the top down; it holds what belongs to this stack, even on disks that it "
        "shares. Reads that writes cause (for parity) stand among the reads of the layers below."
    )
    how = Folded("How to read the table", (Terms(MEANINGS),))
    return Section("ratios", "What each layer makes of the I/O", (intro, how, *side_by_side(parts)))


def _part(stack: StackFigures) -> Part:
    return Part(stack.top.full_title, tuple(_blocks(stack)))


def _blocks(stack: StackFigures) -> list[Block]:
    head = stack.layers[0]
    groups = tuple(
        Rows(tuple(rows), TITLES[direction])
        for direction in known_directions(head)
        if (rows := layer_rows(stack, direction))
    )
    if not groups:
        return [Paragraph("Nothing was read or written while it was measured.")]
    headings = ("Layer", *(HEADINGS[column] for column in COLUMNS))
    table = Table(f"layers-{stack.top.name}", headings, groups)
    said = findings(stack)
    return [table, *([Listing(tuple(map(sentence, said)))] if said else [])]
