"""
Parquet files, which need pyarrow: their columns as a table, and a writer of rows.

Counts over an interval compress best as a stream of each byte of them (BYTE_STREAM_SPLIT), sorted by device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

from stackmap.errors import InputError

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
    """``key``: the column by which the rows of a batch are sorted, "" for as they come."""

    name: str
    columns: tuple[Column, ...]
    key: str = ""


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
        TEXT: pa.dictionary(pa.int32(), pa.string()),
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
            each.name, forms[each.form], nullable=each.form != TIME,
            metadata={key: text for key, text in (("help", each.help), ("unit", each.unit)) if text} or None,
        )
        for each in table.columns
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
        rows = iter(rows)
        while batch := list(islice(rows, BATCH - len(self._held))):
            self._held += batch
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
        columns = [list(column) for column in zip(*self._held, strict=True)]
        for number, column in enumerate(self._table.columns):
            if column.form == TIME:
                columns[number] = [round(time * 1e6) for time in columns[number]]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.count += len(self._held)
        self._held = []


@contextmanager
def writing_rows(file: IO[bytes], table: Table) -> Iterator[RowWriter]:
    """Yield the writer of *table* to *file*, which is complete when this ends."""
    pa, schema = arrow(), schema_of(table)
    numbers = [each.name for each in table.columns if each.form == NUMBER]
    texts = [each.name for each in table.columns if each.form in (TEXT, TEXTS)]
    times = [each.name for each in table.columns if each.form == TIME]
    encodings = dict.fromkeys(numbers, "BYTE_STREAM_SPLIT") | dict.fromkeys(
        times, "DELTA_BINARY_PACKED"
    )
    with pa.parquet.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=texts, column_encoding=encodings
    ) as writer:
        rows = RowWriter(table, writer, schema)
        yield rows
        rows.flush()
