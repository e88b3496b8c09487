"""Instants and intervals as people read them: when, how long, and what to know about the figures."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain

from stackmap.document.blocks import Block, Paragraph, Table
from stackmap.model.interval import Interval

LAST_INSTANT = 253402300800.0  # 10000-01-01, beyond which there is no datetime


def is_instant(time: float | None) -> bool:
    """Whether *time* is seconds since the epoch: a capture without a clock counts from 0."""
    return time is not None and 0 < time < LAST_INSTANT


def instant(time: float | None) -> str | None:
    """
    Return an instant in UTC; None if *time* is not one.

    >>> instant(1795257552.7860978)
    '2026-11-21 10:39:12 UTC'
    """
    if not is_instant(time):
        return None
    return datetime.fromtimestamp(time or 0.0, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def span(interval: Interval) -> str:
    """Return the interval's stamp and length, "" if it has neither."""
    parts = [interval.stamp.removesuffix(":")] if interval.stamp else []
    if interval.totals:
        parts.append(interval.totals)
    elif interval.since_boot:
        length = f" ({interval.seconds:.1f} s)" if interval.seconds else ""
        parts.append(f"averages since boot{length}, not a current rate")
    elif interval.seconds:
        parts.append(f"{interval.seconds:.1f} s")
    return ", ".join(parts)


def end_time(interval: Interval) -> str | None:
    """Return the end of the interval as ISO 8601; else the stamp of the input; None for neither."""
    if not is_instant(interval.time):
        return interval.stamp or None
    return datetime.fromtimestamp(interval.time or 0.0, UTC).isoformat().replace("+00:00", "Z")


def dated(
    tables: Iterable[Block], interval: Interval, *, time: bool = False, why: bool = False
) -> Iterator[Block]:
    """Yield *tables* between the end of *interval*, if *time*, and its corrections, events and notes."""
    end = end_time(interval)
    above = [Paragraph(end or "-")] if time else []
    # Reports repeat: each row of CSV has the time.
    blocks = (
        block._replace(about=(("time", end), *block.about)) if isinstance(block, Table) else block
        for block in tables
    )
    return chain(above, blocks, corrections(interval, why=why), notes(interval))


def corrections(interval: Interval, *, why: bool = False) -> list[Paragraph]:
    """Return a paragraph per correction; *why* adds the reason."""
    reasons = {}
    if why:
        from stackmap.ledger.corrections import RULES  # check corrects nothing

        reasons = {rule.name: f" ({rule.why})" for rule in RULES}
    return [
        Paragraph(what + reasons.get(what.partition(":")[0], ""), "corrected:")
        for what in interval.corrections
    ]


def notes(interval: Interval) -> list[Paragraph]:
    """Return a paragraph per event and note."""
    events = (Paragraph(event, "event:") for event in interval.events)
    return [*events, *(Paragraph(note, "note:") for note in interval.notes)]
