"""The section with the table of each stack: one row per layer, and what it means."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.layer_metrics import COLUMNS
from stackmap.analysis.report import Report
from stackmap.document import blocks as doc
from stackmap.document.layers import layers_table
from stackmap.document.stack_sentences import sentences
from stackmap.document.wording import sentence

INTRO = (
    "One row per layer, from the top down. Each row counts only what belongs to this stack, on shared "
    "disks too. Reads that writes cause (for parity) count as reads of the layers below."
)
MEANINGS = (
    *((metric.title, metric.help) for metric in COLUMNS),
    ("~", "an estimate"),
    ("-", "unknown; it is not 0"),
)
NOT_RATIOS = frozenset(range(1, 5))  # rates, size and await: the columns that a phone leaves out


def section(report: Report) -> doc.Section:
    """Return one part per stack, and an explanation of the columns."""
    parts = [doc.Part(stack.top.full_title, tuple(_blocks(stack))) for stack in report.stacks]
    how = doc.Folded("How to read the table", (doc.Terms(MEANINGS),), printed=False)
    blocks = (doc.Paragraph(INTRO), how, *doc.side_by_side(parts))
    return doc.Section("ratios", "What each layer does to the I/O", blocks)


def _blocks(stack: StackFigures) -> Iterator[doc.Block]:
    table = layers_table(stack)
    if table is None:
        yield doc.Paragraph("No reads or writes in this interval.")
        return
    yield table._replace(minor=NOT_RATIOS)
    yield doc.Listing(tuple(map(sentence, sentences(stack))))
