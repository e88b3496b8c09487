"""
Small recordings as tables that would take much: ``fleet --recordings`` stays within the limits of memory and time.

``python -m tests.fuzz.hostile_recordings DIR NAME`` makes one, in a process of its own: otherwise its memory
would be measured with that of the next command.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.fuzz.running import Tally
from tests.paths import ROOT

SIZE = 10_000_000  # bytes of both together
TABLES = ("devices", "stacks", "weights", "findings", "intervals")
PART = 100_000  # rows that are written at once
Change = Callable[[int], Mapping[str, list[object]]]  # columns of the rows from a number on


def _same(_: int) -> Mapping[str, list[object]]:
    return {}


def _periods(start: int) -> Mapping[str, list[object]]:
    return {"period": [*range(start, start + PART)]}


def _tops(start: int) -> Mapping[str, list[object]]:
    return {"top": [f"t{n}" for n in range(start, start + PART)]}


# By name: rows by table, how they differ, and bytes of a column that nobody reads.
ATTACKS: Mapping[str, tuple[Mapping[str, tuple[int, Change]], int]] = {
    **{f"rows of {table}": ({table: (10_000_000, _same)}, 0) for table in TABLES},
    **{f"padded {table}": ({table: (2_500_000, _same)}, 9_900_000) for table in TABLES},
    "intervals of idle devices": ({"intervals": (40_000_000, _same)}, 9_900_000),
    "periods": ({"intervals": (3_000_000, _periods)}, 1_000_000),
    "findings of each top": ({"findings": (PART, _same), "weights": (PART, _tops)}, 4_900_000),
    "findings of each device": ({"findings": (PART, _same), "devices": (PART, _same)}, 4_900_000),
}  # fmt: skip
# By name: a table, how many letters each of its texts has in all rows, and the rows.
LONG_TEXTS: Mapping[str, tuple[str, int, int]] = {
    **{f"texts of 1 MB in {t}": (t, 1_000_000, PART) for t in ("devices", "stacks", "weights")},
    "texts of 8 MB in devices": ("devices", 8_000_000, PART // 5),
}
BLOCK = 1000  # rows of long texts in a row group: each has all texts again


def make(place: Path, name: str) -> None:
    """Write the recordings of the attack *name* to *place*; others there stay."""
    from click.testing import CliRunner

    from stackmap.cli import stackmap

    sample = ROOT / "sample_topologies" / "vghdd"
    words = ["--from", str(sample), "export", "--parquet", "-o", f"{place}/"]
    assert place.exists() or CliRunner().invoke(stackmap, words).exit_code == 0
    if name in LONG_TEXTS:
        table, letters, rows = LONG_TEXTS[name]
        (path,) = (place / table).glob("*/*/*.parquet")
        _lengthen(path, _first_row(path), letters, rows)
        return
    tables, padding = ATTACKS[name]
    for table, (rows, change) in tables.items():
        (path,) = (place / table).glob("*/*/*.parquet")
        _repeat(path, _first_row(path), rows, change, padding)


def _first_row(path: Path) -> Any:
    """Return the first row, without the padding of an attack that was made before."""
    import pyarrow.parquet as pq

    first = pq.read_table(path, partitioning=None).slice(0, 1)
    return first.select([name for name in first.column_names if name != "unread"])


def _repeat(path: Path, first: Any, rows: int, change: Change, padding: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = first.schema.append(pa.field("unread", pa.binary()))
    same = first.take(pa.array([0] * PART))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, rows, PART):
            part = same
            for column, values in change(start).items():
                place = part.schema.get_field_index(column)
                field = schema.field(place)
                part = part.set_column(place, field, pa.array(values).cast(field.type))
            unread = [os.urandom(padding) if start == 0 and n == 0 else b"" for n in range(PART)]
            writer.write_table(part.append_column(schema.field("unread"), pa.array(unread)))


def _lengthen(path: Path, first: Any, letters: int, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = first.take(pa.array([0] * BLOCK))
    for place, field in enumerate(first.schema):
        if field.type == pa.string():
            text = pa.array(["a" * letters + field.name])
            texts = pa.DictionaryArray.from_arrays(pa.array([0] * BLOCK, pa.int32()), text)
            part = part.set_column(place, pa.field(field.name, texts.type), texts)
    unread = [os.urandom(9_000_000), *[b""] * (BLOCK - 1)]
    padded = part.append_column("unread", pa.array(unread))
    with pq.ParquetWriter(path, padded.schema, compression="zstd") as writer:
        writer.write_table(padded)
        for _ in range(rows // BLOCK - 1):
            writer.write_table(part.append_column("unread", pa.array([b""] * BLOCK)))


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: one of ``ATTACKS``, of which some tables are those of another; both together have 10 MB."""
    place = folder / f"recordings-{chance.randrange(1 << 60)}"
    names = chance.sample([*ATTACKS], 2)
    while True:
        for name in names:
            made = [sys.executable, "-m", "tests.fuzz.hostile_recordings", str(place), name]
            subprocess.run(made, check=True, cwd=ROOT)
        if len(names) == 1 or sum(path.stat().st_size for path in place.rglob("*.parquet")) <= SIZE:
            break
        shutil.rmtree(place)
        names = names[:1]
    tally.attack(f"recordings: {' + '.join(names)}", ("fleet", "--recordings", str(place)))
    shutil.rmtree(place)


def named(tally: Tally, folder: Path) -> None:
    """Each of ``ATTACKS`` and ``LONG_TEXTS``."""
    for number, name in enumerate((*ATTACKS, *LONG_TEXTS)):
        place = folder / str(number)
        made = [sys.executable, "-m", "tests.fuzz.hostile_recordings", str(place), name]
        subprocess.run(made, check=True, cwd=ROOT)
        tally.attack(f"recordings: {name}", ("fleet", "--recordings", str(place)))


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2])
