"""Counts, lists and figures as they appear in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stackmap.document.units import number, percent, size

if TYPE_CHECKING:
    from stackmap.document.blocks import Bar
    from stackmap.ledger.amplification import LayerFigures

UNCHANGED = 0.005  # a relative change that rounds to 0 %
REQUESTS = {"read": "reads", "write": "writes", "total": "requests"}
REQUEST = {"read": "read", "write": "write", "total": "request"}


def known_directions(head: LayerFigures) -> tuple[str, ...]:
    """Return ("read", "write"), or ("total",) where the counters do not separate them."""
    if head.share.read.ios is None and head.share.write.ios is None:
        return ("total",)
    return ("read", "write")


def await_directions(head: LayerFigures) -> tuple[str, ...]:
    """Return the directions with a known await; ("total",) where only their common await is known."""
    split = tuple(each for each in known_directions(head) if head.own[each].await_ms is not None)
    combined = () if head.own["total"].await_ms is None else ("total",)
    return split or combined


def sentence(words: str) -> str:
    """
    Return *words* with a capital letter and a full stop.

    >>> sentence("reads 12 to 60"), sentence("")
    ('Reads 12 to 60.', '')
    """
    stop = "." if words and not words.endswith(".") else ""
    return f"{words[:1].upper()}{words[1:]}{stop}"


def paragraph(sentences: Iterable[str]) -> str:
    """Return *sentences* separated by spaces; empty ones are skipped."""
    return " ".join(filter(None, sentences))


def short(value: float) -> str:
    """
    Return a rate or a ratio with about three significant digits.

    >>> short(173.61), short(5.4183), short(0.0651), short(18841.6)
    ('174', '5.42', '0.07', '18842')
    """
    return number(value, 0 if value >= 100 else 1 if value >= 10 else 2)


def amount(value: float, unit: str) -> str:
    """
    Return a figure, with its unit for bytes per second only.

    >>> amount(173.61, "requests/s"), amount(1536, "bytes/s")
    ('174', '1.5 KiB/s')
    """
    return rate_of_bytes(value) if unit == "bytes/s" else short(value)


def with_band(unit: str, bar: Bar) -> str:
    """Return a bar's figure, followed by its range if it has one."""
    if bar.low is None or bar.high is None:
        return amount(bar.value, unit)
    return f"{amount(bar.value, unit)} ({amount(bar.low, unit)} to {amount(bar.high, unit)})"


def rate_of_bytes(value: float | None) -> str:
    """Return bytes per second; "-" if unknown."""
    return "-" if value is None else f"{size(value)}/s"


def change(now: float, then: float, less: str = "less") -> str:
    """
    Return the relative change from *now* to *then*; *less* may be "fewer".

    >>> change(774.1, 356.0, "fewer"), change(100, 100.2), change(100, 250)
    ('54 % fewer', 'no change', '150 % more')
    """
    if not now:
        return "previously 0" if then else "no change"
    changed = abs(then / now - 1)
    if changed < UNCHANGED:
        return "no change"
    return f"{percent(changed, 0)} {'more' if then > now else less}"


def listed(words: Sequence[str]) -> str:
    """
    Return *words* as a list in a sentence.

    >>> listed(["sda", "sdb", "sdc"])
    'sda, sdb and sdc'
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def plural(count: float, one: str) -> str:
    """
    Return a count with its noun.

    >>> plural(1, "interval"), plural(5, "interval"), plural(2_034_567, "volume")
    ('1 interval', '5 intervals', '2034567 volumes')
    """
    return f"{count:.12g} {one if count == 1 else one + 's'}"
