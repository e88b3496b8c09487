"""
sysstat's columns: the metric and the unit behind every name they ever had.

iostat, its JSON, sar and sadf print the same few metrics under a hundred names;
which ones, and in what order, depends on version and options. So columns are
looked up by name.
"""

from __future__ import annotations

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
