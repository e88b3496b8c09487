"""Figures over time as Parquet, one row per device and interval; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS
from stackmap.model.topology import Topology

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    raise InputError("Parquet needs pyarrow: pip install stackmap[parquet]") from error

BATCH = 50_000  # rows held at once: some 20 MB
TEXTS = ("host", "device", "name", "kind")

Row = tuple[float | str | None, ...]


def write(file: IO[bytes], reports: Iterable[tuple[Topology, Interval]]) -> int:
    """Write *reports* to *file*; return the number of rows."""
    schema = _schema()
    rows = _rows(reports)
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(islice(rows, BATCH)):
            columns = [list(column) for column in zip(*batch, strict=True)]
            columns[0] = [round(time * 1e6) for time in columns[0]]
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(batch)
    return count


def _schema() -> Any:
    """Return the columns; the metadata of each has its meaning and unit."""
    fields = [pa.field("time", pa.timestamp("us", "UTC"), nullable=False)]
    fields.append(pa.field("seconds", pa.float64(), metadata={"help": "Length of the interval."}))
    fields += [pa.field(name, pa.dictionary(pa.int32(), pa.string())) for name in TEXTS]
    fields += [
        pa.field(metric.key, pa.float64(), metadata={"help": metric.help, "unit": metric.unit})
        for metric in METRICS
    ]
    return pa.schema(fields)


def _rows(reports: Iterable[tuple[Topology, Interval]]) -> Iterator[Row]:
    for topology, interval in reports:
        host = topology.machine.host
        for device in topology:
            load = interval.loads.get(device.name)
            if load is None or interval.time is None:
                continue
            who = host, device.name, device.title, str(device.kind)
            yield (interval.time, interval.seconds, *who, *(m.value(load) for m in METRICS))
