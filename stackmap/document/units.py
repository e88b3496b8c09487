"""Numbers → text with units; None → "-"."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

UNKNOWN = "-"
SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
KIB = 1024


@lru_cache(maxsize=1024)  # thousands of volumes have few sizes
def size(value: float | None) -> str:
    """
    Return bytes in powers of 1024.

    >>> size(1536), size(629145600), size(None)
    ('1.5 KiB', '600 MiB', '-')
    """
    if value is None:
        return UNKNOWN
    for unit in SIZES:
        if abs(value) < KIB or unit == SIZES[-1]:
            break
        value /= KIB
    digits = 0 if unit == "B" or round(value, 1) == round(value) else 1
    return f"{value:.{digits}f} {unit}"


def number(value: float | None, digits: int = 1) -> str:
    """
    Return a number with *digits* decimals.

    >>> number(3.1416, 2), number(None)
    ('3.14', '-')
    """
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def kib(value: float | None) -> str:
    """
    Return bytes as a number of KiB.

    >>> kib(65536)
    '64.0'
    """
    return number(None if value is None else value / KIB)


def percent(share: float | None, digits: int = 1) -> str:
    """
    Return a share 0…1 as a percentage; only nothing is 0 %, and only everything is 100 %.

    >>> percent(0.6883), percent(0.0), percent(1.0), percent(0.0002), percent(0.9999)
    ('68.8 %', '0 %', '100 %', '< 0.1 %', '> 99.9 %')
    """
    if share is None:
        return UNKNOWN
    least = 10.0**-digits / 100
    if 0 < share < least / 2:
        return f"< {least * 100:.{digits}f} %"
    if 1 - least / 2 < share < 1:
        return f"> {100 - least * 100:.{digits}f} %"
    return f"{share * 100:.{0 if share in (0.0, 1.0) else digits}f} %"


def change_percent(ratio: float, digits: int = 1) -> str:
    """
    Return after ÷ before as a signed percentage.

    >>> change_percent(0.304), change_percent(1.5, 0), change_percent(0.9999)
    ('-69.6 %', '+50 %', '0.0 %')
    """
    changed = round((ratio - 1) * 100, digits)
    return f"{changed:+.{digits}f} %" if changed else f"{0:.{digits}f} %"


def rate(value: float | None) -> str:
    """
    Return a rate or time with fewer decimals the larger it is, to keep columns narrow.

    >>> rate(0.5), rate(431.25), rate(18841.6)
    ('0.50', '431.2', '18842')
    """
    if value is None:
        return UNKNOWN
    return f"{value:.{2 if value < 100 else 1 if value < 10000 else 0}f}"


@cache  # a column of a table has one
def divided(divisor: float, digits: int | None = None) -> Callable[[float | None], str]:
    """
    Return a function that writes a number in units of *divisor*; without *digits* as a rate.

    >>> divided(1024)(2048), divided(0.01, 1)(0.5), divided(1024)(None)
    ('2.00', '50.0', '-')
    """

    def write(value: float | None) -> str:
        shown = None if value is None else value / divisor
        return rate(shown) if digits is None else number(shown, digits)

    return write


def duration(seconds: float) -> str:
    """
    Return *seconds* in the largest unit that is at least 2 of it.

    >>> duration(90), duration(11520), duration(10)
    ('90 s', '3.2 h', '10 s')
    """
    units = (("days", 86400), ("h", 3600), ("min", 60))
    unit, length = next((each for each in units if seconds >= 2 * each[1]), ("s", 1))
    value = seconds / length
    return f"{value:.{0 if round(value, 1) == round(value) or value >= 10 else 1}f} {unit}"
