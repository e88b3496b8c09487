"""What devices and directions are called on a page, and figures in its sentences."""

from __future__ import annotations

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.document.blocks import Bar
from stackmap.document.units import number, size

REQUESTS = {"read": "reads", "write": "writes", "total": "requests"}


def known_directions(head: LayerFigures) -> tuple[str, ...]:
    """Return the directions that can be told apart: reads and writes, or both together."""
    if head.share.read.ios is None and head.share.write.ios is None:
        return ("total",)
    return ("read", "write")


def sentence(words: str) -> str:
    """
    Return *words* as a sentence begins and ends.

    >>> sentence("reads 12 to 60"), sentence("")
    ('Reads 12 to 60.', '')
    """
    stop = "." if words and not words.endswith(".") else ""
    return f"{words[:1].upper()}{words[1:]}{stop}"


def short(value: float) -> str:
    """
    Return a rate or a ratio as it is said in a sentence.

    >>> short(173.61), short(5.4183), short(0.0651), short(18841.6)
    ('174', '5.42', '0.07', '18,842')
    """
    if value >= 1000:
        return f"{value:,.0f}"
    return number(value, 0 if value >= 100 else 1 if value >= 10 else 2)


def amount(value: float, unit: str) -> str:
    """
    Return a figure as it is said in a sentence, with its unit where that is short.

    >>> amount(173.61, "requests/s"), amount(1536, "bytes/s")
    ('174', '1.5 KiB/s')
    """
    return rate_of_bytes(value) if unit == "bytes/s" else short(value)


def with_band(unit: str, bar: Bar) -> str:
    """Return a bar's figure, and its band where it has one."""
    if bar.low is None or bar.high is None:
        return amount(bar.value, unit)
    return f"{amount(bar.value, unit)} ({amount(bar.low, unit)} to {amount(bar.high, unit)})"


def rate_of_bytes(value: float | None) -> str:
    """Return bytes a second."""
    return "-" if value is None else f"{size(value)}/s"


def listed(words: list[str]) -> str:
    """
    Return words as a sentence lists them.

    >>> listed(["sda", "sdb", "sdc"])
    'sda, sdb and sdc'
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def disks_of(stack: StackFigures) -> tuple[str, ...]:
    """Return the kernel names of the stack's last layer."""
    return stack.layers[-1].layer.devices


def plural(count: float, one: str, many: str = "") -> str:
    """
    Return a count with its noun.

    >>> plural(1, "interval"), plural(5, "interval")
    ('1 interval', '5 intervals')
    """
    return f"{count:g} {one if count == 1 else many or one + 's'}"
