"""
Parquet files, which need pyarrow: a writer of rows, and the tables of a recording with the files that describe them.

Counts over an interval compress best as a stream of each byte of them (BYTE_STREAM_SPLIT), sorted by device.
A file with few rows is read by the thousand: its footer, dictionaries and zstd's buffers would cost more than its rows.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from stackmap.errors import InputError
from stackmap.model.exported import RECORDINGS

# Debian 12 has no package of it.
NEEDED = (
    "Parquet needs pyarrow: dnf install python3-pyarrow (Fedora), or in a venv: pip install pyarrow"
)
BATCH = 50_000  # rows held at once: some 20 MB
TEXT, TEXTS, COUNT, NUMBER, TIME, FLAG, EVIDENCE = (
    "text", "texts", "count", "number", "time", "flag", "evidence",
)  # fmt: skip


class Column(NamedTuple):
    """
    ``form``: one of the forms above; a time is in seconds since the epoch. ``help`` and ``unit`` are in the file.

    A number that may be a fraction is a double: counts are too, as a corrected one may be half.
    """

    name: str
    form: str
    help: str = ""
    unit: str = ""


class Table(NamedTuple):
    """``key``: the column by which the rows of a batch are sorted, "" for as they come. ``few``: rows per file."""

    name: str
    columns: tuple[Column, ...]
    key: str = ""
    few: bool = False


Row = Sequence[Any]


def arrow() -> Any:
    """Return the module pyarrow; ``InputError`` without it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(NEEDED) from error
    return pyarrow


def schema_of(table: Table) -> Any:
    """Return the schema of *table*; the metadata of each column has its meaning and unit."""
    pa = arrow()
    forms = {
        TEXT: pa.string() if table.few else pa.dictionary(pa.int32(), pa.string()),
        TEXTS: pa.list_(pa.string()),
        COUNT: pa.int64(),
        NUMBER: pa.float64(),
        TIME: pa.timestamp("us", "UTC"),
        FLAG: pa.bool_(),
        EVIDENCE: pa.list_(
            pa.struct([("name", pa.string()), ("device", pa.string()), ("value", pa.float64()), ("unit", pa.string())])
        ),
    }  # fmt: skip
    return pa.schema([
        pa.field(
            column.name, forms[column.form], nullable=column.form != TIME,
            metadata={key: text for key, text in (("help", column.help), ("unit", column.unit)) if text} or None,
        )
        for column in table.columns
    ])  # fmt: skip


class RowWriter:
    """Writes the rows of one table to an open file, a batch at a time; ``count``: how many."""

    def __init__(self, table: Table, writer: Any, schema: Any) -> None:
        self._table = table
        self._writer = writer
        self._schema = schema
        self._held: list[Row] = []
        self._names = [column.name for column in table.columns]
        self.count = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Add *rows*."""
        for row in rows:
            self._held.append(row)
            if len(self._held) == BATCH:
                self.flush()

    def flush(self) -> None:
        """Write the rows that are held."""
        if not self._held:
            return
        pa = arrow()
        if self._table.key:
            place = self._names.index(self._table.key)
            self._held.sort(key=lambda row: row[place])
        columns: list[Sequence[Any]] = [*zip(*self._held, strict=True)]
        for number, column in enumerate(self._table.columns):
            if column.form == TIME:
                columns[number] = [round(time * 1e6) for time in columns[number]]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.count += len(self._held)
        self._held = []


@contextmanager
def writing_rows(file: IO[bytes], table: Table, *, described: bool) -> Iterator[RowWriter]:
    """Yield the writer of *table* to *file*, which is complete when this ends. *described*: by another file."""
    pa, schema = arrow(), schema_of(table)
    numbers = [column.name for column in table.columns if column.form == NUMBER]
    texts = [column.name for column in table.columns if column.form in (TEXT, TEXTS)]
    times = [column.name for column in table.columns if column.form == TIME]
    encodings = dict.fromkeys(numbers, "BYTE_STREAM_SPLIT") | dict.fromkeys(
        times, "DELTA_BINARY_PACKED"
    )
    packing: dict[str, Any] = (
        {"compression": "snappy", "use_dictionary": False}
        if table.few
        else {"compression": "zstd", "use_dictionary": texts, "column_encoding": encodings}
    )
    with pa.parquet.ParquetWriter(
        file, schema, store_schema=not described, write_statistics=times, **packing
    ) as writer:
        rows = RowWriter(table, writer, schema)
        yield rows
        rows.flush()


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
        Column("used", NUMBER, "Share of its space that a thin pool or a snapshot uses."),
        Column("space", TEXT, "Which space that is: data, metadata or space; else empty."),
        Column("life_used", NUMBER, "Share of its rated life that a disk used, as it said last in this period."),
        Column("life_written", NUMBER, "What hosts wrote to it since it was made, as it said then.", "bytes"),
    ), few=True),
    Table("edges", (
        PERIOD, Column("above", TEXT), Column("below", TEXT), Column("role", TEXT),
        Column("start", COUNT, "First byte used below.", "bytes"), Column("length", COUNT, "", "bytes"),
    ), few=True),
    Table("stacks", (
        PERIOD, TOP, Column("name", TEXT), Column("uuid", TEXT, "UUID of LVM or md."),
        Column("kind", TEXT), Column("level", TEXT),
        Column("shared", FLAG, "Whether several stacks use it."),
        Column("plain", FLAG, "A disk or partition, which is no volume."),
        Column("raid", TEXT, "The device that spreads its data."),
        Column("members", COUNT), Column("parity", COUNT), Column("chunk", COUNT, "", "bytes"),
        Column("ideal", NUMBER, "Least bytes written at the disks per byte written."),
        Column("syncing", FLAG), Column("degraded", FLAG),
    ), few=True),
    Table("weights", (
        PERIOD, TOP, Column("layer", TEXT, "volume, raid, members, disks, or one between."),
        Column("role", TEXT, "data or metadata."),
        Column("device", TEXT, "Its counts belong to the layer of the stack."),
        Column("disk", TEXT, "The only disk that it sends to; empty for several."),
    ), few=True),
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
        Column("ratio", NUMBER, "await ÷ the median of its peers, of a slow member."),
        Column("evidence", EVIDENCE),
    ), few=True),
    Table("episodes", (
        PERIOD, *SPAN, TOP, Column("name", TEXT), Column("devices", TEXTS), Column("changed", TEXT),
        Column("factor", NUMBER, "await during it ÷ before."),
        Column("await_usual", NUMBER, "", "ms"), Column("await_during", NUMBER, "", "ms"),
        Column("findings", TEXTS, "Their ids."),
    ), few=True),
    Table("events", (PERIOD, Column("time", TIME), Column("event", TEXT)), few=True),
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
