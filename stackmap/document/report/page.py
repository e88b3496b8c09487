"""A report → its page: every section in its order."""

from __future__ import annotations

from stackmap import __version__
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.document.blocks import Page
from stackmap.document.report import (
    course,
    findings,
    methods,
    plan,
    projection,
    ratios,
    raw,
    sizes,
    stacks,
    summary,
)


def page_of(report: Report, proposals: tuple[Proposal, ...] = ()) -> Page:
    """Return the page."""
    sections = (
        summary.section(report, proposals),
        stacks.section(report),
        ratios.section(report),
        findings.section(report),
        course.section(report),
        sizes.section(report),
        projection.section(report, proposals),
        plan.section(report, proposals),
        methods.section(report),
        raw.section(report, proposals),
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
    return f"{system}Made by stackmap {__version__}, which reads counters and changes nothing."
