"""
sysstat's columns, and the numbers in them.

iostat, its JSON, sar and sadf print the same few metrics under a hundred names;
which ones, and in what order, depends on version and options. So columns are
looked up by name. Numbers come in any locale, with the units of ``--human``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stackmap.model.units import GIB, KIB, MIB, SECTOR

# Units in the names of size columns: rsec/s, rkB/s, Blk_read/s.
SIZES = {"sec": SECTOR, "Blk": SECTOR, "kB": KIB, "MB": MIB, "GB": GIB}

FLOWS = ("read", "write", "discard", "flush", "whole")  # of a load
READ, WRITE, DISCARD, FLUSH, COMBINED = FLOWS
INITIALS = {"r": READ, "w": WRITE, "d": DISCARD}

# No device reaches this per second: a counter went back and the difference wrapped.
MAX_RATE = 1e9


@dataclass(frozen=True, slots=True)
class Column:
    """
    The metric of one column.

    ``flow``: a field of ``Load``. ``field``: a field of ``Flow``, or ``await`` (a mean,
    converted to ``wait``), or ``size`` (a mean, used if there are no bytes), or of the
    device (``aqu``, ``busy``); "" if the column adds nothing.
    """

    flow: str = ""
    field: str = ""
    unit: float = 1.0


IGNORED = Column()


def _named() -> dict[str, Column]:
    """Return the columns named by a direction's letter and a word: rkB/s, w_await, dareq-sz."""
    columns = {"f/s": Column(FLUSH, "ios"), "f_await": Column(FLUSH, "await")}
    for letter, flow in INITIALS.items():
        columns[f"{letter}/s"] = Column(flow, "ios")
        columns[f"{letter}rqm/s"] = Column(flow, "merges")
        columns[f"%{letter}rqm"] = IGNORED
        columns[f"{letter}_await"] = Column(flow, "await")
        columns[f"{letter}areq-sz"] = Column(flow, "size", KIB)
        for prefix, unit in SIZES.items():
            columns[f"{letter}{prefix}/s"] = Column(flow, "bytes", unit)
    return columns


def _totals() -> dict[str, Column]:
    """Return the columns of plain iostat: rates are used, totals since the last report are not."""
    columns = {}
    for prefix, unit in SIZES.items():
        columns[f"{prefix}/s"] = Column(COMBINED, "bytes", unit)
        for word, flow in (("read", READ), ("wrtn", WRITE), ("dscd", DISCARD), ("w+d", WRITE)):
            columns[f"{prefix}_{word}/s"] = Column(flow, "bytes", unit)
            columns[f"{prefix}_{word}"] = IGNORED
    return columns


COLUMNS = {
    **_named(),
    **_totals(),
    "tps": Column(COMBINED, "ios"),
    "rqm/s": Column(COMBINED, "merges"),
    "await": Column(COMBINED, "await"),
    "avgrq-sz": Column(COMBINED, "size", SECTOR),
    "areq-sz": Column(COMBINED, "size", KIB),
    "avgqu-sz": Column("", "aqu"),
    "aqu-sz": Column("", "aqu"),
    "%util": Column("", "busy"),
    "svctm": IGNORED,  # not measured: busy time divided by requests
    # sar
    "rd_sec/s": Column(READ, "bytes", SECTOR),
    "wr_sec/s": Column(WRITE, "bytes", SECTOR),
    "sect/s": Column(COMBINED, "bytes", SECTOR),
}

# Names in JSON and XML only; "rrqm" is a percentage except in sysstat 11.5.1 to 11.5.6.
KEYS = {
    **COLUMNS,
    "util": COLUMNS["%util"],
    "rrqm": IGNORED,
    "wrqm": IGNORED,
    "drqm": IGNORED,
    "util-percent": COLUMNS["%util"],
    "rd_sec": COLUMNS["rd_sec/s"],
    "wr_sec": COLUMNS["wr_sec/s"],
    "dc_sec": Column(DISCARD, "bytes", SECTOR),
    "rkB": COLUMNS["rkB/s"],
    "wkB": COLUMNS["wkB/s"],
    "dkB": COLUMNS["dkB/s"],
}

# JSON keys of sysstat 11.5.1 to 11.5.6, recognised by "r" or "kB_read_per_sec".
EARLY_KEYS = {
    **KEYS,
    "r": COLUMNS["r/s"],
    "w": COLUMNS["w/s"],
    "rrqm": COLUMNS["rrqm/s"],
    "wrqm": COLUMNS["wrqm/s"],
    "kB_read_per_sec": COLUMNS["kB_read/s"],
    "kB_wrtn_per_sec": COLUMNS["kB_wrtn/s"],
}


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
