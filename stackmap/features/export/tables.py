"""The tables of a recording in Parquet: their columns, and the files that describe them."""

from __future__ import annotations

import json

from stackmap.features.export.parquet import (
    COUNT,
    EVIDENCE,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    TIME,
    Column,
    Table,
)
from stackmap.model.exported import RECORDINGS

PERIOD = Column("period", COUNT, "A time of one day with the same devices and settings; joins tables.")  # fmt: skip
MACHINE = Column("machine", TEXT, "Salted hash of the machine-id; empty if unknown.")
ENDS = (
    Column("time", TIME, "End of the interval."),
    Column("seconds", NUMBER, "Length of the interval.", "s"),
)
TOP = Column("top", TEXT, "Kernel name of the stack's top.")
SPAN = (Column("begin", TIME, "Begin."), Column("end", TIME, "End."))


def _counts(*names: str) -> tuple[Column, ...]:
    """Return the columns of counts in an interval; the unit is the end of the name."""
    units = {"bytes": "bytes", "ms": "ms"}
    return tuple(
        Column(name, NUMBER, "In the interval, corrected.", units.get(name.rpartition("_")[2], "requests"))
        for name in names
    )  # fmt: skip


DIRECTED = (
    "reads", "read_merges", "read_bytes", "read_ms", "writes", "write_merges", "write_bytes", "write_ms",
)  # fmt: skip
TABLES = (
    Table("devices", (
        PERIOD, *SPAN, MACHINE,
        Column("boot", TEXT, "The kernel's id of the boot."),
        Column("kernel", TEXT, "The kernel's release."),
        Column("device", TEXT, "The kernel's name."),
        Column("name", TEXT, "The name that people use."),
        Column("kind", TEXT, "As in tree --json."),
        Column("target", TEXT, "The device-mapper target."),
        Column("uuid", TEXT, "UUID of LVM or md, or WWN."),
        Column("model", TEXT), Column("serial", TEXT),
        Column("size", COUNT, "", "bytes"),
        Column("rotational", FLAG),
        Column("level", TEXT, "RAID level."),
        Column("members", COUNT), Column("parity", COUNT),
        Column("chunk", COUNT, "", "bytes"),
        Column("state", TEXT, "Without its progress."),
        Column("trouble", TEXT, "failed, hung or degraded, as check says; else empty."),
        Column("mounts", TEXTS),
    )),
    Table("edges", (
        PERIOD, Column("above", TEXT), Column("below", TEXT), Column("role", TEXT),
        Column("start", COUNT, "First byte used below.", "bytes"), Column("length", COUNT, "", "bytes"),
    )),
    Table("stacks", (
        PERIOD, TOP, Column("name", TEXT), Column("uuid", TEXT, "UUID of LVM or md."),
        Column("kind", TEXT), Column("level", TEXT),
        Column("shared", FLAG, "Whether several stacks use it."),
        Column("plain", FLAG, "A disk or partition, which is no volume."),
        Column("raid", TEXT, "The device that spreads its data."),
        Column("members", COUNT), Column("parity", COUNT), Column("chunk", COUNT, "", "bytes"),
        Column("ideal", NUMBER, "Least bytes written at the disks per byte written."),
        Column("syncing", FLAG), Column("degraded", FLAG),
    )),
    Table("weights", (
        PERIOD, TOP, Column("layer", TEXT, "volume, raid, members, disks, or one between."),
        Column("role", TEXT, "data or metadata."),
        Column("device", TEXT, "Its counts belong to the layer of the stack."),
        Column("disk", TEXT, "The only disk that it sends to; empty for several."),
    )),
    Table("intervals", (
        PERIOD, *ENDS, Column("device", TEXT),
        *_counts(*DIRECTED, "discards", "discard_bytes", "discard_ms", "flushes", "flush_ms", "weighted_ms", "busy_ms"),
    ), "device"),
    Table("layers", (
        PERIOD, *ENDS, TOP, Column("layer", COUNT, "0 is the top."), Column("role", TEXT),
        Column("devices", TEXT, "Separated by spaces."),
        *_counts("reads", "read_arrivals", "read_bytes", "writes", "write_arrivals", "write_bytes"),
        Column("estimated", FLAG),
    ), "top"),
    Table("causes", (
        PERIOD, *ENDS, TOP, Column("cause", TEXT), Column("direction", TEXT),
        *_counts("requests", "bytes"),
    ), "top"),
    Table("findings", (
        PERIOD, *SPAN, Column("id", TEXT), Column("rule", TEXT), Column("severity", TEXT), Column("outcome", TEXT),
        Column("device", TEXT), Column("name", TEXT), Column("title", TEXT), Column("sentence", TEXT),
        Column("setup", FLAG, "A finding of check, which needs no load."),
        Column("evidence", EVIDENCE),
    )),
    Table("episodes", (
        PERIOD, *SPAN, TOP, Column("name", TEXT), Column("devices", TEXTS), Column("changed", TEXT),
        Column("factor", NUMBER, "await during it ÷ before."),
        Column("await_usual", NUMBER, "", "ms"), Column("await_during", NUMBER, "", "ms"),
        Column("findings", TEXTS, "Their ids."),
    )),
    Table("events", (PERIOD, Column("time", TIME), Column("event", TEXT))),
)  # fmt: skip
# How DuckDB reads them from their directory; names of hosts and days stay what they are.
VIEW = (
    "CREATE VIEW {0} AS FROM read_parquet('{0}/*/*/*.parquet', hive_partitioning = true, "
    "hive_types = {{'host': VARCHAR, 'day': DATE}});\n"
)
SCHEMA_FILE, VIEWS_FILE = "schema.json", "views.sql"


def schema_json() -> str:
    """Return the description of all tables."""
    tables = {table.name: [column._asdict() for column in table.columns] for table in TABLES}
    return json.dumps({"schema": RECORDINGS, "partitions": ["host", "day"], "tables": tables}, indent=1) + "\n"  # fmt: skip


def views_sql() -> str:
    """Return the views of all tables that were written; DuckDB refuses a view without files."""
    return "".join(VIEW.format(table.name) for table in TABLES)
