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
    return Page(_title(report), (methods.when(report), _made(report)), sections)


def _title(report: Report) -> str:
    first, *others = report.stacks
    host = f" on {report.topology.machine.host}" if report.topology.machine.host else ""
    more = f" and {len(others)} more" if others else ""
    return f"Storage report: {first.top.full_title}{more}{host}"


def _made(report: Report) -> str:
    machine = report.topology.machine
    system = f"Linux {machine.kernel}. " if machine.kernel else ""
    return f"{system}Made by stackmap {__version__}, which only reads."
