"""What the checks say, layer by layer: as text, as Markdown and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.templates import filled, literal, title, words_of
from stackmap.model.topology import Topology
from stackmap.render.text import WIDTH

SCHEMA = "stackmap.check/1"
MARKS = {
    Severity.CRITICAL: "CRITICAL",
    Severity.WARNING: "WARNING",
    Severity.INFO: "info",
    Severity.GOOD: "ok",
}
NOTHING = "Nothing to check: no start, chunk or stripe is known of these devices.\n"


def check_text(topology: Topology, lines: Sequence[Finding], *, width: int = WIDTH) -> str:
    """Return the devices top down, each with its lines; what is not right says why and what to do."""
    if not lines:
        return NOTHING
    parts = []
    for name, group in groupby(lines, key=lambda line: line.device):
        parts.append(title(topology, name))
        parts += [_line(topology, line, width) for line in group]
    return "\n".join(parts) + "\n"


def _line(topology: Topology, line: Finding, width: int) -> str:
    words = words_of(topology, line.observed)
    mark = f"  {MARKS[line.severity]:<8} "
    says = _wrapped(mark, f"{filled(line.sentence, words)} ({line.rule.id})", width)
    if line.severity is Severity.GOOD:
        return says
    rest = (
        ("should be: ", line.rule.expected),
        ("because: ", line.rule.reason),
        ("do: ", line.rule.advice),
    )
    indent = " " * len(mark)
    more = (_wrapped(indent + what, filled(text, words), width) for what, text in rest)
    return "\n".join([says, *more])


def _wrapped(mark: str, text: str, width: int) -> str:
    indent = " " * (len(mark) - len(mark.lstrip()) + 2) if mark.startswith("     ") else " " * 11
    return textwrap.fill(
        text, width, initial_indent=mark, subsequent_indent=indent, break_on_hyphens=False
    )


def check_markdown(topology: Topology, lines: Sequence[Finding]) -> str:
    """Return *lines* as a table for a ticket."""
    rows = ["| device | | is | should be | why | do |", "|---|---|---|---|---|---|"]
    for line in lines:
        words, rule = words_of(topology, line.observed), line.rule
        good = line.severity is Severity.GOOD
        texts = (line.sentence, *(() if good else (rule.expected, rule.reason, rule.advice)))
        cells = [literal(filled(text, words)) for text in texts]
        device = literal(title(topology, line.device))
        mark = f"{MARKS[line.severity]} {rule.id}"
        rows.append("| " + " | ".join([device, mark, *cells, *[""] * (4 - len(cells))]) + " |")
    return "\n".join(rows) + "\n"


def check_json(topology: Topology, lines: Iterable[Finding]) -> dict[str, object]:
    """Return the object of ``check -J``."""
    return {"schema": SCHEMA, "checks": [_json(topology, line) for line in lines]}


def _json(topology: Topology, line: Finding) -> dict[str, object]:
    words, rule = words_of(topology, line.observed), line.rule
    return {
        "id": rule.id,
        "name": rule.name,
        "severity": "ok" if line.severity is Severity.GOOD else str(line.severity),
        "device": line.device,
        "label": topology[line.device].title,
        "is": filled(rule.sentence, words),
        "should": filled(rule.expected, words),
        "why": filled(rule.reason, words),
        "advice": filled(rule.advice, words),
        "evidence": [
            {"name": name, "device": it.device, "value": it.value, "unit": it.unit}
            for name, it in line.observed.evidence.items()
        ],
    }
