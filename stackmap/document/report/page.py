"""The report as a page: its sections in order."""

from __future__ import annotations

from stackmap import __version__
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Page
from stackmap.document.report import (
    drawings,
    findings,
    load_over_time,
    methods,
    per_layer,
    proposals,
    raw_numbers,
    request_sizes,
    summary,
)


def page_of(report: Report, proposed: tuple[Proposal, ...], data: tuple[Block, ...]) -> Page:
    """Return the page; *data* is the machine-readable part of its last section."""
    sections = (
        summary.section(report, proposed),
        drawings.section(report),
        per_layer.section(report),
        findings.section(report),
        load_over_time.section(report),
        request_sizes.section(report),
        proposals.projection_section(report, proposed),
        proposals.plan_section(report, proposed),
        methods.section(report),
        raw_numbers.section(report, data),
    )
    machine = report.topology.machine
    first, *others = report.stacks
    host = f" on {machine.host}" if machine.host else ""
    more = f" and {len(others)} more" if others else ""
    system = f"Linux {machine.kernel}. " if machine.kernel else ""
    made = f"{system}Made by stackmap {__version__}, which only reads."
    title = f"Storage report: {first.top.full_title}{more}{host}"
    return Page(title, (methods.when(report), made), sections)
