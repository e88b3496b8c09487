"""The section that draws each stack, from what is used down to the disks."""

from __future__ import annotations

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Paragraph, Section, Stack
from stackmap.document.report.figures import what_it_is
from stackmap.render.picture import picture
from stackmap.render.tree import render_tree


def section(report: Report) -> Section:
    """Return a drawing a stack, and the same as text."""
    intro = Paragraph(
        "What is used stands on the left, the disks on the right; a line leads from a device to what "
        "it stands on, dashed where that holds no data but metadata, a journal or a cache. What LVM "
        "made for its own use is folded into one box. A red box is not in order, or a finding speaks of it."
    )
    return Section("stack", "The stack", (intro, *(_drawn(report, s) for s in report.stacks)))


def _drawn(report: Report, stack: StackFigures) -> Block:
    part = report.topology.subset(report.topology.with_all_below(stack.top.name))
    title = what_it_is(report.topology, stack)
    accused = {each.device for each in report.findings if each.is_grave}
    return Stack(picture(part, accused=accused), render_tree(part), title)
