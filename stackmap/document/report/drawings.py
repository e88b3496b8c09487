"""The section that draws each stack."""

from __future__ import annotations

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Paragraph, Section, Stack
from stackmap.document.picture import picture
from stackmap.document.report.stack_summary import description

INTRO = (
    "Tops are on the left, disks on the right. A solid line carries data; a dashed line carries "
    "metadata, a journal or a cache. LVM's sub-LVs share one box. A red box is not healthy or has "
    "a finding."
)


def section(report: Report) -> Section:
    """Return one drawing per stack."""
    return Section(
        "stack", "The stack", (Paragraph(INTRO), *(_drawing(report, s) for s in report.stacks))
    )


def _drawing(report: Report, stack: StackFigures) -> Block:
    part = report.topology.subset(report.topology.with_all_below(stack.top.name))
    suspects = {each.device for each in report.findings if each.is_grave}
    title = description(report.topology, stack)
    return Stack(picture(part, suspects=suspects), part, title)
