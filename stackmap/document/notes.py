"""Corrections, events and notes of an interval."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.corrections import RULES
from stackmap.document.blocks import Paragraph
from stackmap.model.interval import Interval


def notes(interval: Interval, corrections: Iterable[str], *, why: bool) -> list[Paragraph]:
    """Return a paragraph per correction, event and note; *why* adds the reason of a correction."""
    reasons = {rule.name: rule.why for rule in RULES} if why else {}
    corrected = [
        f"{what} ({reason})" if (reason := reasons.get(what.partition(":")[0])) else what
        for what in corrections
    ]
    return [
        *(Paragraph(what, "corrected:") for what in corrected),
        *(Paragraph(event, "event:") for event in interval.events),
        *(Paragraph(note, "note:") for note in interval.notes),
    ]
