"""A report → its page: every section in its order."""

from __future__ import annotations

from stackmap import __version__
from stackmap.analysis.report import Report
from stackmap.render.page import course, findings, methods, ratios, raw, sizes, stacks, summary
from stackmap.render.page.blocks import Page
from stackmap.render.page.names import named

SECTIONS = (summary, stacks, ratios, findings, course, sizes, methods, raw)


def page_of(report: Report) -> Page:
    """Return the page."""
    return Page(
        _title(report),
        (methods.when(report), _made(report)),
        tuple(module.section(report) for module in SECTIONS),
    )


def _title(report: Report) -> str:
    first, *others = report.stacks
    host = f" on {report.topology.machine.host}" if report.topology.machine.host else ""
    more = f" and {len(others)} more" if others else ""
    return f"Storage report: {named(first.top)}{more}{host}"


def _made(report: Report) -> str:
    machine = report.topology.machine
    system = f"Linux {machine.kernel}. " if machine.kernel else ""
    return f"{system}Made by stackmap {__version__}, which reads counters and changes nothing."
