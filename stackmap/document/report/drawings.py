"""The section that draws each stack."""

from __future__ import annotations

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
    blocks: list[Block] = [Paragraph(INTRO)]
    suspects = {each.device for each in report.findings if each.is_grave}
    for stack in report.stacks:
        part = report.topology.subset(report.topology.with_all_below(stack.top.name))
        title = description(report.topology, stack)
        blocks.append(Stack(picture(part, suspects=suspects), part, title))
    return Section("stack", "The stack", tuple(blocks))
