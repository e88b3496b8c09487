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
    Section,
    Terms,
    side_by_side,
)
from stackmap.document.layers import layers_table
from stackmap.document.stack_sentences import sentences
from stackmap.document.wording import sentence
from stackmap.model.metrics import LAYER_METRICS

MEANINGS = (
    *((metric.title, metric.help) for metric in LAYER_METRICS),
    ("~", "an estimate"),
    ("-", "unknown; it is not 0"),
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
    table = layers_table(stack)
    if table is None:
        return [Paragraph("No reads or writes in this interval.")]
    found = sentences(stack)
    return [table, *([Listing(tuple(map(sentence, found)))] if found else [])]
