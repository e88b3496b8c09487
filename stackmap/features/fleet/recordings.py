# ruff: noqa: S608 - queries are made of the constants here; names of files are quoted
"""
``fleet --recordings``: the volumes of a fleet from directories that ``export --parquet`` wrote, through DuckDB.

The figures are sums over each period, whose devices have counts for the same intervals; ``SUMS`` to ``VOLUMES`` are
what the recording rules compute from rates. A local directory is read by DuckDB, S3 by pyarrow's file system: nothing
is downloaded but data. A file that cannot be read is left out and named.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import unquote

from stackmap.document.wording import plural
from stackmap.errors import InputError
from stackmap.features.fleet.health import KINDS, Trouble
from stackmap.features.fleet.volumes import (
    RATES,
    Fleet,
    Group,
    Key,
    SlowestMember,
    Volume,
    worst_first,
)
from stackmap.render.text import safe

NEEDED = "--recordings needs DuckDB: in a venv, pip install duckdb (and pyarrow for s3://)"
# What DuckDB may take: this, and so many bytes per byte of the files; on disk the same again.
LEAST_MEMORY, MEMORY_PER_BYTE, MOST_MEMORY = 96 << 20, 8, 1 << 30
# Seconds of CPU: rows that all join with each other are no end of work. A fleet of 1 GB takes some 200.
LEAST_CPU, CPU_PER_BYTE = 5.0, 0.4e-6
# Rows that files may have: these, and so many per byte. A row of an idle device takes 0.25 bytes.
FREE_ROWS = 200_000
ROWS_PER_BYTE = {"sums": 5.0}
OTHER_ROWS_PER_BYTE = 0.25
TOO_MUCH = "refused: needs too much memory or time for its size; give a shorter --window"
S3 = "s3://"
NAMED = 5  # files that are left out, by name
DAY = 86400
SLOW, HUNG = "SM202", "SM305"
IN_WINDOW = "epoch(time) > $begin AND epoch(time) <= $end AND seconds > 0"
# A text may be long, and in all rows.
_TEXT, LEFT = re.compile(r"\w+::VARCHAR"), r"left(\g<0>, 1000)"
COUNTS = ("reads", "read_merges", "read_bytes", "read_ms", "writes", "write_merges", "write_bytes", "write_ms")  # fmt: skip


def _known(figure: str) -> str:
    """Return the sum of *figure*; NULL if one is unknown."""
    return f"CASE WHEN count({figure}) = count(*) THEN sum({figure}) END"


# By table: what is read of its files. Casts, as a foreign file may have other types.
STAGES = {
    "stacks": """SELECT period::BIGINT AS period, top::VARCHAR AS top, name::VARCHAR AS name, uuid::VARCHAR AS uuid,
        kind::VARCHAR AS kind, level::VARCHAR AS level, shared::BOOL AS shared, plain::BOOL AS plain,
        raid::VARCHAR AS raid, members::BIGINT AS members, parity::BIGINT AS parity, chunk::DOUBLE AS chunk,
        ideal::DOUBLE AS ideal, syncing::BOOL AS syncing, degraded::BOOL AS degraded FROM {source}""",
    "weights": """SELECT period::BIGINT AS period, top::VARCHAR AS top, layer::VARCHAR AS layer,
        device::VARCHAR AS device, disk::VARCHAR AS disk FROM {source}""",
    "devices": """SELECT period::BIGINT AS period, host::VARCHAR AS host, machine::VARCHAR AS machine,
        epoch_us("begin"::TIMESTAMPTZ) / 1e6 AS first, epoch_us("end"::TIMESTAMPTZ) / 1e6 AS last,
        device::VARCHAR AS device, name::VARCHAR AS name, kind::VARCHAR AS kind, model::VARCHAR AS model,
        serial::VARCHAR AS serial, trouble::VARCHAR AS trouble FROM {source}""",
    "findings": """SELECT period::BIGINT AS period, epoch_us("begin"::TIMESTAMPTZ) / 1e6 AS first,
        epoch_us("end"::TIMESTAMPTZ) / 1e6 AS last, id::VARCHAR AS id, severity::VARCHAR AS severity,
        device::VARCHAR AS device, [e.value FOR e IN evidence IF e.name = 'ratio'][1]::DOUBLE AS ratio
        FROM {source} WHERE id IN ('SM202', 'SM305')""",
    "sums": f"""SELECT period::BIGINT AS period, device::VARCHAR AS device, sum(seconds::DOUBLE) AS seconds,
        {", ".join(f"{_known(f'{name}::DOUBLE')} AS {name}" for name in COUNTS)}
        FROM {{source}} WHERE {IN_WINDOW} GROUP BY ALL""",
}  # fmt: skip
# Requests at the disks are counted by what sends them; the disk tells how many of them it merged.
PARTS = f"""CREATE TEMP TABLE parts AS
    SELECT w.period, w.top, w.layer, max(s.seconds) AS seconds,
        {_known("s.read_bytes")} AS read_bytes, {_known("s.write_bytes")} AS write_bytes,
        {_known("s.reads + s.read_merges")} AS reads, {
    _known("s.writes + s.write_merges")
} AS writes,
        {_known("s.read_ms + s.write_ms")} AS io_ms,
        {
    _known('''(s.reads + s.read_merges) * coalesce(d.reads / nullif(d.reads + d.read_merges, 0), d.reads * 0 + 1)
         + (s.writes + s.write_merges) * coalesce(d.writes / nullif(d.writes + d.write_merges, 0), d.writes * 0 + 1)''')
} AS requests
    FROM weights w LEFT JOIN sums s USING (period, device) LEFT JOIN sums d ON d.period = w.period AND d.device = w.disk
    WHERE layer IN ('volume', 'raid', 'members', 'disks') GROUP BY ALL"""


def _of(layer: str, figure: str) -> str:
    return f"max({figure}) FILTER (layer = '{layer}')"


VOLUMES = f"""CREATE TEMP TABLE volumes AS
    WITH seen AS (SELECT period, any_value(host) AS host, any_value(machine) AS machine, max(last) AS last
        FROM devices GROUP BY period),
    layered AS (SELECT period, top, max(seconds) AS seconds,
        {", ".join(f"{_of('volume', each)} AS {each}" for each in ("read_bytes", "write_bytes", "reads", "writes", "io_ms"))},
        {_of("raid", "read_bytes")} AS raid_read, {_of("raid", "write_bytes")} AS raid_written,
        {_of("members", "read_bytes + write_bytes")} AS member_bytes,
        {_of("disks", "read_bytes + write_bytes")} AS disk_bytes, {_of("disks", "requests")} AS disk_requests
        FROM parts GROUP BY ALL),
    known AS (SELECT *, parity > 0 AND NOT syncing AND NOT degraded AS is_whole,
        CASE WHEN raid = top THEN read_bytes ELSE raid_read END AS above_read,
        CASE WHEN raid = top THEN write_bytes ELSE raid_written END AS above_written
        FROM stacks JOIN layered USING (period, top) JOIN seen USING (period) WHERE NOT plain AND seconds > 0),
    figures AS (SELECT *, CASE WHEN is_whole THEN member_bytes - above_read END AS parity_bytes,
        CASE WHEN is_whole AND member_bytes IS NOT NULL THEN above_written END AS parity_write_bytes,
        CASE WHEN NOT coalesce(syncing, false) THEN greatest(disk_bytes - read_bytes - ideal * write_bytes, 0)
            + 0 * (disk_bytes + read_bytes + ideal * write_bytes) END AS wasted_bytes,
        CASE WHEN NOT coalesce(syncing, false) THEN greatest(disk_requests - greatest(reads, read_bytes / chunk)
            - ideal * greatest(writes, write_bytes / chunk), 0)
            + 0 * (disk_requests + reads + ideal * writes) END AS wasted_requests,
        io_ms / 1000 AS io_seconds FROM known)
    SELECT host, machine, CASE WHEN uuid = '' THEN name ELSE uuid END AS identity,
        arg_max(struct_pack(top, name, uuid, kind, level, shared, members, syncing, degraded, ideal), last) AS facts,
        count(DISTINCT name) AS names,
        {", ".join(f"sum({each}) / sum(seconds) FILTER ({each} IS NOT NULL) AS {each}" for each in sorted(RATES))}
    FROM figures GROUP BY ALL"""  # fmt: skip
SLOWEST = f"""WITH slow AS (SELECT w.period, w.top, f.device, max(f.ratio) AS ratio FROM findings f
        JOIN weights w ON w.period = f.period AND f.device IN (w.device, w.disk)
        WHERE f.id = '{SLOW}' AND f.last > $begin AND f.last <= $end AND w.layer IN ('members', 'disks') GROUP BY ALL)
    SELECT any_value(d.host), d.machine, CASE WHEN s.uuid = '' THEN s.name ELSE s.uuid END AS identity,
        arg_max(slow.device, slow.ratio), max(slow.ratio)
    FROM slow JOIN stacks s USING (period, top) JOIN (SELECT DISTINCT period, host, machine FROM devices) d USING (period)
    WHERE s.raid <> '' GROUP BY d.host, d.machine, identity"""
# What was wrong when the recording of a machine ended.
HEALTH = f"""WITH newest AS (SELECT host, machine, max(last) AS last FROM devices WHERE first < $end GROUP BY ALL),
    found AS (SELECT period, device, trouble AS what, NULL::DOUBLE AS value, first, last FROM devices WHERE trouble <> ''
        UNION ALL SELECT period, device, CASE id WHEN '{SLOW}' THEN 'sick' ELSE 'hung' END, ratio, first, last
        FROM findings WHERE id = '{SLOW}' OR severity = 'critical')
    SELECT what, d.host, d.device, d.name, any_value(d.model), any_value(d.serial), arg_max(value, found.last), min(found.first)
    FROM found JOIN devices d USING (period, device) JOIN newest n USING (host, machine)
    GROUP BY what, d.host, d.machine, d.device, d.name HAVING max(found.last) >= max(n.last) - 1"""
MODELS = """SELECT model, count(DISTINCT (host, machine)), count(DISTINCT (host, machine, serial, device)),
        sum(reads + writes) / any_value(total), sum(read_ms + write_ms) / 1000 / any_value(total)
    FROM sums JOIN devices USING (period, device), (SELECT $seconds AS total)
    WHERE kind = 'disk' AND model <> '' GROUP BY model"""


class Recordings(NamedTuple):
    """
    What is asked of the recordings at ``place``, a directory or s3://BUCKET/PREFIX.

    ``seconds``: the window, None for all; ``end``: None for the newest. ``host``: a shell pattern; ``level``: of volumes.
    ``by``: "level", "model", or "" for volumes.
    """

    place: str
    seconds: float | None
    end: float | None
    sort: str
    limit: int
    host: str = ""
    level: str = ""
    by: str = ""


def read_recordings(asked: Recordings) -> Fleet:
    """Return the fleet; ``InputError`` if nothing can be read."""
    try:
        import duckdb
    except ImportError as error:
        raise InputError(NEEDED) from error
    with TemporaryDirectory(prefix="stackmap-") as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "preserve_insertion_order": False, "temp_directory": spill, "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }  # fmt: skip
        with duckdb.connect(config=settings) as connection:
            try:
                return _Reader(connection, asked).read()
            except (duckdb.OutOfMemoryException, duckdb.InterruptException) as error:
                raise InputError(f"{asked.place}: {TOO_MUCH}") from error


@contextmanager
def _interrupted_after(seconds: float, connection: Any) -> Iterator[None]:
    """Interrupt the queries of *connection* once this process has used so many *seconds* of CPU in the block."""
    ended, end = threading.Event(), time.process_time() + seconds

    def watch() -> None:
        while not ended.wait(0.1):
            if time.process_time() > end:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


class _Reader:
    def __init__(self, connection: Any, asked: Recordings) -> None:
        self._connection = connection
        self._asked = asked
        self._left_out: list[str] = []
        self._sizes: dict[str, int] = {}
        self._scan, self._list = _s3(asked.place) if asked.place.startswith(S3) else _local(asked.place)  # fmt: skip

    def read(self) -> Fleet:
        wanted = [self._files(table) for table in ("devices", "stacks", "weights", "findings")]
        self._files("intervals")
        size = sum(self._sizes.values())
        memory = min(LEAST_MEMORY + MEMORY_PER_BYTE * size, MOST_MEMORY)
        for setting in ("memory_limit", "max_temp_directory_size"):
            self._connection.execute(f"SET {setting} = '{memory}B'")
        with _interrupted_after(LEAST_CPU + CPU_PER_BYTE * size, self._connection):
            return self._fleet(wanted)

    def _fleet(self, wanted: Sequence[Sequence[str]]) -> Fleet:
        asked = self._asked
        self._stage("devices", "devices", wanted[0])
        newest = self._rows("SELECT max(last) FROM devices")[0][0]
        if newest is None:
            raise InputError(f"{asked.place}: the recordings have no devices")
        end = newest if asked.end is None else asked.end
        seconds = end + 1 if asked.seconds is None else asked.seconds
        window = {"begin": end - seconds, "end": end}
        for table, files in zip(("stacks", "weights", "findings"), wanted[1:], strict=True):
            self._stage(table, table, files)
        days = range(int(window["begin"] // DAY), int(end // DAY) + 1)
        self._stage("sums", "intervals", [f for f in self._files("intervals") if _day(f) in days], window)  # fmt: skip
        self._connection.execute(PARTS)
        self._connection.execute(VOLUMES)
        volumes = [each for each in self._volumes(window) if asked.level in ("", each.level)]
        span = self._rows("SELECT count(DISTINCT (host, machine)), sum(seconds) FROM (SELECT host, machine, period, max(seconds) AS seconds FROM sums JOIN devices USING (period, device) GROUP BY ALL)")[0]  # fmt: skip
        if not span[0] or (not volumes and not asked.by):
            raise InputError(f"{asked.place}: no volumes with figures in the window")
        levels = _levels(volumes)
        groups = () if not asked.by else levels if asked.by == "level" else tuple(self._models(span[1] / span[0]))  # fmt: skip
        shown = worst_first(volumes, asked.sort)[: asked.limit or None]
        length = "all recordings" if asked.seconds is None else f"{asked.seconds:g}s"
        return Fleet(
            length, end, span[0], () if asked.by else tuple(shown), levels, tuple(self._partial()), tuple(self._notes()),
            tuple(self._health(window)), asked.by, groups,
        )  # fmt: skip

    def _files(self, table: str) -> list[str]:
        """Return the files of *table*; ``InputError`` if there are none."""
        sizes = self._list(table)
        files = [each for each in sizes if fnmatchcase(_host(each), self._asked.host or "*")]
        self._sizes |= {each: sizes[each] for each in files}
        if not files:
            raise InputError(f"{self._asked.place}: no recordings ({table}/host=*/day=*/*.parquet); stackmap export --parquet -o DIR/ writes them")  # fmt: skip
        return files

    def _rows(self, query: str, values: dict[str, float] | None = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values or {}).fetchall()  # type: ignore[no-any-return]

    def _stage(
        self, stage: str, table: str, files: Sequence[str], values: dict[str, float] | None = None
    ) -> None:
        """Make the temporary table *stage* of those *files* that can be read."""
        reason = self._failure(stage, files, values or {})
        if not reason:
            return
        damaged = dict(self._damaged(stage, files, values or {}))
        self._left_out += [f"{name}: {why}" for name, why in damaged.items()]
        good = [name for name in files if name not in damaged]
        if damaged and good:
            reason = self._failure(stage, good, values or {})
        if reason or not good:
            raise InputError(f"{self._asked.place}: {table} cannot be read: {reason}")

    def _damaged(
        self, stage: str, files: Sequence[str], values: dict[str, float]
    ) -> Iterator[tuple[str, str]]:
        """Yield the files that cannot be read with their reason, found by halves."""
        reason = self._failure(stage, files, values)
        if reason and len(files) == 1:
            yield files[0], reason
        elif reason:
            half = len(files) // 2
            yield from self._damaged(stage, files[:half], values)
            yield from self._damaged(stage, files[half:], values)

    def _failure(self, stage: str, files: Sequence[str], values: dict[str, float]) -> str:
        """Make the table *stage* of all *files*; return why it fails, "" if it does not."""
        import duckdb

        try:
            self._load(stage, files, values)
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except (duckdb.Error, OSError, ValueError) as error:
            return safe(str(error).partition("\n")[0])
        return ""

    def _load(self, stage: str, files: Sequence[str], values: dict[str, float]) -> None:
        with self._scan(self._connection, files) as source:
            ((rows,),) = self._rows(f"SELECT count(*) FROM {source}")
            size = sum(self._sizes[name] for name in files)
            if rows > FREE_ROWS + ROWS_PER_BYTE.get(stage, OTHER_ROWS_PER_BYTE) * size:
                raise ValueError(f"{rows} rows in {size} bytes are too many")
            query = _TEXT.sub(LEFT, STAGES[stage]).format(source=source)
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {stage} AS {query}", values)

    def _volumes(self, window: dict[str, float]) -> Iterator[Volume]:
        slowest = {tuple(row[:3]): SlowestMember(*row[3:]) for row in self._rows(SLOWEST, window)}
        fields = sorted(RATES)
        query = f"SELECT host, machine, identity, facts, {', '.join(fields)} FROM volumes"
        for host, machine, identity, facts, *figures in self._rows(query):
            words = [
                word
                for word, known in (("degraded", facts["degraded"]), ("sync", facts["syncing"]))
                if known
            ]
            yield Volume(
                Key("", "", host, facts["top"], facts["name"]),
                level=facts["level"] or facts["kind"], uuid=facts["uuid"], shared=facts["shared"], members=facts["members"],
                state=None if facts["degraded"] is None else " ".join(words) or "active",
                ideal=facts["ideal"], slowest=slowest.get((host, machine, identity)),
                **dict(zip(fields, figures, strict=True)),
            )  # fmt: skip

    def _models(self, seconds: float) -> Iterator[Group]:
        for model, hosts, disks, requests, waited in self._rows(MODELS, {"seconds": seconds}):
            yield Group(model, hosts=hosts, disks=disks, requests=requests, io_seconds=waited)

    def _health(self, window: dict[str, float]) -> list[Trouble]:
        found = [
            Trouble(what, host, "", device, name, "", model, serial, "", value, since)
            for what, host, device, name, model, serial, value, since in self._rows(HEALTH, {"end": window["end"]})
        ]  # fmt: skip
        return sorted(found, key=lambda each: (KINDS.index(each.what) if each.what in KINDS else len(KINDS), each[1:5]))  # fmt: skip

    def _partial(self) -> Iterator[str]:
        if self._left_out:
            files = plural(len(self._left_out), "file")
            yield f"{files} left out, which cannot be read"
            yield from self._left_out[:NAMED]
        same = self._rows(
            "SELECT host FROM devices GROUP BY host HAVING count(DISTINCT machine) > 1"
        )
        if same:
            yield f"several machines have the same name: {', '.join(sorted(host for (host,) in same)[:NAMED])}"

    def _notes(self) -> Iterator[str]:
        ((renamed,),) = self._rows("SELECT count(*) FROM volumes WHERE names > 1")
        if renamed:
            yield f"{plural(renamed, 'volume')} had another name earlier in the window; the figures are of all names of the same UUID"


def _host(path: str) -> str:
    found = re.search("/host=([^/]*)/", path)
    return unquote(found[1]) if found else ""


def _day(path: str) -> int | None:
    """Return the day of a file since the epoch; None without one."""
    from datetime import date

    found = re.search("/day=([0-9]{4}-[0-9]{2}-[0-9]{2})/", path)
    try:
        return (date.fromisoformat(found[1]) - date(1970, 1, 1)).days if found else None
    except ValueError:
        return None


def _levels(volumes: Iterable[Volume]) -> tuple[Group, ...]:
    """Return the sums by level; bytes and requests of volumes alone, waste also of what they share."""
    by_level: dict[str, list[Volume]] = {}
    for volume in volumes:
        by_level.setdefault(volume.level, []).append(volume)
    return tuple(_level(level, by_level[level]) for level in sorted(by_level))


def _level(level: str, volumes: Sequence[Volume]) -> Group:
    own = [each for each in volumes if not each.shared]
    saved = [each.raid10_saves for each in volumes if (each.raid10_saves or 0) > 0]
    return Group(
        level, hosts=len({each.key.host for each in volumes}), volumes=len(own), shared=len(volumes) - len(own),
        write_bytes=_sum(each.write_bytes for each in own), requests=_sum(each.iops for each in own),
        io_seconds=_sum(each.io_seconds for each in own), wasted_bytes=_sum(each.wasted_bytes for each in volumes),
        wasted_requests=_sum(each.wasted_requests for each in volumes),
        raid10_saves=_sum(saved), gaining=len(saved),
    )  # fmt: skip


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


Scan = Callable[[Any, Sequence[str]], Any]  # a context with the SQL of a source
Lister = Callable[[str], dict[str, int]]  # files with their bytes


def _local(place: str) -> tuple[Scan, Lister]:
    """Return how to read files of the directory *place*, and how to list those of a table."""
    from contextlib import nullcontext
    from glob import escape, glob

    def scan(_: Any, files: Sequence[str]) -> Any:
        names = ", ".join("'" + escape(name).replace("'", "''") + "'" for name in files)
        hive = "hive_partitioning = true, hive_types = {'host': VARCHAR, 'day': VARCHAR}"
        return nullcontext(f"read_parquet([{names}], {hive})")

    def listed(table: str) -> dict[str, int]:
        names = sorted(glob(f"{escape(place)}/{table}/*/*/*.parquet"))
        return {name: os.path.getsize(name) for name in names if os.path.exists(name)}

    return scan, listed


def _s3(place: str) -> tuple[Scan, Lister]:
    """Return the same for a prefix on S3, with the credentials and the endpoint that the AWS tools use."""
    try:
        import pyarrow as pa
        from pyarrow import dataset, fs
    except ImportError as error:
        raise InputError(NEEDED) from error
    try:
        system, prefix = fs.FileSystem.from_uri(place)
    except (OSError, ValueError) as error:
        raise InputError(f"{place}: {error}") from error

    @contextmanager
    def scan(connection: Any, files: Sequence[str]) -> Iterator[str]:
        fields = pa.schema([("host", pa.string()), ("day", pa.string())])
        source = dataset.dataset(
            list(files), filesystem=system, format="parquet", partitioning=dataset.partitioning(fields, flavor="hive")
        )  # fmt: skip
        connection.register("source", source)
        yield "source"
        connection.unregister("source")

    def listed(table: str) -> dict[str, int]:
        try:
            found = system.get_file_info(fs.FileSelector(f"{prefix}/{table}", recursive=True))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"{place}: {safe(str(error))}") from error
        files = {each.path: each.size or 0 for each in found if each.path.endswith(".parquet")}
        return dict(sorted(files.items()))

    return scan, listed
