"""Words that are numbers, in any locale, with the units of ``--human``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackmap.model.units import KIB, SECTOR
from stackmap.text.columns import MAX_RATE, Column

# "2.4M", "5,4%", "-nan". Letters are sysstat's, base 1024; "?" is its overflow mark.
NUMBER = re.compile(r"-?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,3})?([sBkMGTP?%]?)$")
NOT_A_NUMBER = re.compile(r"[+-]?(?:nan|inf)$", re.IGNORECASE)

SUFFIXES = {"s": SECTOR, "B": 1} | {letter: KIB**n for n, letter in enumerate("kMGTP", start=1)}


def is_number(word: str) -> bool:
    """Whether sysstat prints *word* as a number."""
    return NUMBER.match(word) is not None or NOT_A_NUMBER.match(word) is not None


def is_fraction(word: str) -> bool:
    """Whether *word* is a number with a decimal point; device names such as 3600508… have none."""
    return ("." in word or "," in word) and is_number(word)


def parse_plain_numbers(words: Sequence[str]) -> list[float] | None:
    """Return the numbers of an ordinary row; None if it needs ``parse_numbers``."""
    try:
        row = [*map(float, words)]
    except ValueError:
        return None
    # float() also accepts "inf" and "nan"; their sum is never below the limit.
    return row if row and min(row) >= 0 and sum(row) < MAX_RATE else None


def parse_numbers(words: Sequence[str], columns: Sequence[Column]) -> list[float | None] | None:
    """Return the numbers in their columns' units; None if a word is not a number."""
    row: list[float | None] = []
    for word, column in zip(words, columns, strict=False):
        match = NUMBER.match(word)
        if match is None:
            if NOT_A_NUMBER.match(word) is None:
                return None
            row.append(None)
            continue
        row.append(_number(word, match[1], column))
    return row


def is_rounded(words: Sequence[str]) -> bool:
    """Whether ``--human`` printed them: one decimal and a letter."""
    return any(word[-1:] in SUFFIXES and is_number(word) for word in words)


def _number(word: str, suffix: str, column: Column) -> float | None:
    if suffix == "?":
        return None
    number = float(word.removesuffix(suffix).replace(",", "."))
    return number * SUFFIXES[suffix] / column.unit if suffix in SUFFIXES else number
