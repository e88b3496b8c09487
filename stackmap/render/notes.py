"""What a reader must know beside the figures: corrections, events, doubts."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.corrections import RULES
from stackmap.model.interval import Interval
from stackmap.render.text import safe


def notes(interval: Interval, corrections: Iterable[str], *, why: bool) -> str:
    """Return a line for each correction, event and doubt, the reason with it if *why*; "" for none."""
    reasons = {rule.name: rule.why for rule in RULES}
    lines = [f"corrected: {what}" + _reason(what, reasons, why=why) for what in corrections]
    lines += [f"event: {event}" for event in interval.events]
    lines += [f"note: {note}" for note in interval.notes]
    return "".join(f"{safe(line)}\n" for line in lines)


def _reason(correction: str, reasons: dict[str, str], *, why: bool) -> str:
    return f" ({reasons[correction.partition(':')[0]]})" if why else ""
