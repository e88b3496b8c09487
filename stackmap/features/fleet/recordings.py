# ruff: noqa: S608 - queries are made of the constants here; names of files are quoted
"""
``fleet --recordings``: the volumes of a fleet from directories that ``export --parquet`` wrote, through DuckDB.

The figures are sums over each period, whose devices have counts for the same intervals; ``SUMS`` to ``VOLUMES`` are
what the recording rules compute from rates. A file that cannot be read is left out and named.
"""

import atexit
import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from stackmap.document.interval import instant
from stackmap.document.wording import plural
from stackmap.errors import InputError
from stackmap.features.fleet import health
from stackmap.features.fleet.health import Trouble
from stackmap.features.fleet.recording_files import (
    NEEDED,
    File,
    incomplete,
    interrupted_beyond,
    source_of,
)
from stackmap.features.fleet.volumes import (
    RATES,
    Fleet,
    Group,
    Key,
    SlowestMember,
    Volume,
    sums_by_level,
    worst_first,
)
from stackmap.model.exported import HUNG, SLOW
from stackmap.render.text import safe

# What DuckDB may take: this, and so many bytes per byte of the files; on disk the same again.
LEAST_MEMORY, MEMORY_PER_BYTE, MOST_MEMORY = 96 << 20, 8, 1 << 30
# DuckDB does not count all that it unpacks: a text of 1 MB, in each column of each block. How far this process may grow:
MORE_GROWTH = 16 << 20  # bytes more than that memory
# Bytes of files below which one thread reads: each thread has the newest texts of all columns.
ONE_THREAD = 32 << 20
# Seconds of CPU: rows that all join with each other are no end of work. A fleet of 1 GB takes some 200.
LEAST_CPU, CPU_PER_BYTE = 5.0, 0.4e-6
# Rows that files may have: these, and so many per byte. A row of an idle device takes 0.25 bytes.
FREE_ROWS = 200_000
ROWS_PER_BYTE = {"intervals": 5.0}
OTHER_ROWS_PER_BYTE = 0.25
TOO_MUCH = "refused: needs too much memory or time for its size; give a shorter --window"
NOTHING = "{place}: no volumes{of} with figures in the window; the newest recording ends at {newest}: choose --at or --window"
NAMED = 5  # files that are left out, by name
DAY = 86400
FULL = 0.95  # used share, as the rules' poolFull.critical
AHEAD = 60  # seconds by which a recording may end after its file was written, as the rules' clockSkewSeconds
EARLIEST = -6e10  # in the year 68
QUIET = 3600  # seconds without a recording before the window's end, of a silent host; or so many of its intervals:
QUIET_INTERVALS = 3
AHEAD_OF_FILE = "its recording ends after the file was written"
LAPSE = 3600  # seconds: a shorter time without a trouble does not end it
COUNTS = ("reads", "read_merges", "read_bytes", "read_ms", "writes", "write_merges", "write_bytes", "write_ms")  # fmt: skip


def _known(figure: str) -> str:
    """Return the sum of *figure*; NULL if one is unknown."""
    return f"CASE WHEN count({figure}) = count(*) THEN sum({figure}) END"


# By table: the columns that are read of its files. Types, as a foreign file may have others.
COLUMNS = {
    "stacks": {
        "BIGINT": "period members parity", "VARCHAR": "top name uuid kind level raid", "DOUBLE": "chunk ideal",
        "BOOL": "shared plain syncing degraded",
    },
    "weights": {"BIGINT": "period", "VARCHAR": "top layer device disk"},
    "devices": {
        "BIGINT": "period", "VARCHAR": "host day machine device name kind model serial trouble space",
        "DOUBLE": "used", "TIMESTAMPTZ": "begin end",
    },
    "findings": {
        "BIGINT": "period", "VARCHAR": "id severity device", "DOUBLE": "ratio", "TIMESTAMPTZ": "begin end",
    },
}  # fmt: skip
TIMES = {"begin": "first", "end": "last"}  # as seconds since the epoch


def _columns(table: str) -> str:
    casts = {
        "TIMESTAMPTZ": 'epoch_us("{0}"::TIMESTAMPTZ) / 1e6',
        "VARCHAR": "left({0}::VARCHAR, 1000)",  # a text may be long, and in all rows
    }
    return ", ".join(
        f"{casts.get(form, f'{{0}}::{form}').format(name)} AS {TIMES.get(name, name)}"
        for form, names in COLUMNS[table].items()
        for name in names.split()
    )


STAGES = {table: f"SELECT {_columns(table)} FROM {{source}}" for table in COLUMNS} | {
    "intervals": f"""SELECT period::BIGINT AS period, left(device::VARCHAR, 1000) AS device, sum(seconds::DOUBLE) AS seconds,
        max(seconds::DOUBLE) AS pace, count(*) AS rows, {", ".join(f"{_known(f'{name}::DOUBLE')} AS {name}" for name in COUNTS)}
        FROM {{source}} WHERE seconds > 0 {{within}} GROUP BY period, device""",
}
STAGES["findings"] += f" WHERE id = '{HUNG}' AND severity = 'critical' OR id = '{SLOW}' AND severity IN ('warning', 'critical')"  # fmt: skip
WITHIN = "AND time::TIMESTAMPTZ > to_timestamp($begin) AND time::TIMESTAMPTZ <= to_timestamp($end)"
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
    FROM weights w LEFT JOIN intervals s USING (period, device) LEFT JOIN intervals d ON d.period = w.period AND d.device = w.disk
    WHERE layer IN ('volume', 'raid', 'members', 'disks') GROUP BY ALL"""


def _of(layer: str, figure: str) -> str:
    return f"max({figure}) FILTER (layer = '{layer}')"


VOLUMES = f"""CREATE TEMP TABLE volumes AS
    WITH seen AS (SELECT period, any_value(host) AS host, any_value(machine) AS machine, max(last) AS last
        FROM devices GROUP BY period),
    layered AS (SELECT period, top, max(seconds) AS seconds,
        {", ".join(f"{_of('volume', figure)} AS {figure}" for figure in ("read_bytes", "write_bytes", "reads", "writes", "io_ms"))},
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
        {", ".join(f"sum({rate}) / sum(seconds) FILTER ({rate} IS NOT NULL) AS {rate}" for rate in sorted(RATES))}
    FROM figures GROUP BY ALL"""  # fmt: skip
SLOWEST = f"""WITH slow AS (SELECT w.period, w.top, f.device, max(f.ratio) AS ratio FROM findings f
        JOIN weights w ON w.period = f.period AND f.device IN (w.device, w.disk)
        WHERE f.id = '{SLOW}' AND f.last > $begin AND f.last <= $end AND w.layer IN ('members', 'disks') GROUP BY ALL)
    SELECT any_value(d.host), d.machine, CASE WHEN s.uuid = '' THEN s.name ELSE s.uuid END AS identity,
        arg_max(slow.device, slow.ratio), max(slow.ratio)
    FROM slow JOIN stacks s USING (period, top) JOIN (SELECT DISTINCT period, host, machine FROM devices) d USING (period)
    WHERE s.raid <> '' GROUP BY d.host, d.machine, identity"""
# What was wrong, from when to when, and the end of the host's recordings.
TROUBLES = f"""WITH hosts AS (SELECT host, machine, max(last) AS ended FROM devices WHERE first < $end GROUP BY ALL),
    found AS (SELECT period, device, trouble AS what, NULL::DOUBLE AS value, first, last FROM devices WHERE trouble <> ''
        UNION ALL SELECT period, device, 'full', used, first, last FROM devices WHERE used > {FULL}
        UNION ALL SELECT period, device, CASE id WHEN '{SLOW}' THEN 'sick' ELSE 'hung' END, ratio, first, last FROM findings)
    SELECT what, host, machine, d.device, name, CASE what WHEN 'full' THEN space ELSE '' END, model, serial, value,
        found.first, found.last, ended
    FROM found JOIN devices d USING (period, device) JOIN hosts USING (host, machine)
    WHERE found.first < $end ORDER BY found.first, value"""
SILENT = f"""WITH hosts AS (SELECT host, machine, max(last) AS ended FROM devices WHERE first < $end GROUP BY ALL),
    paces AS (SELECT host, machine, max(pace) AS pace FROM intervals JOIN devices USING (period, device) GROUP BY ALL)
    SELECT host, ended FROM hosts JOIN paces USING (host, machine)
    WHERE ended < $end - greatest({QUIET}, {QUIET_INTERVALS} * pace)"""
WRONG_CLOCKS = f"""SELECT host, max(last - written) FROM devices JOIN written USING (host, day)
    WHERE last > $begin AND last > written + {AHEAD} GROUP BY host, machine"""
NEWEST = f"""SELECT coalesce(max(last) FILTER (last <= written + {AHEAD}), max(last))
    FROM devices JOIN written USING (host, day)"""
MODELS = """SELECT model, count(DISTINCT (host, machine)), count(DISTINCT (host, machine, serial, device)),
        sum(reads + writes) / any_value(total), sum(read_ms + write_ms) / 1000 / any_value(total)
    FROM intervals JOIN devices USING (period, device), (SELECT $seconds AS total)
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
    # __main__ freezes all objects at the end. DuckDB's would outlive Python: it then aborts, or reports leaks.
    atexit.register(gc.unfreeze)
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


class _Reader:
    def __init__(self, connection: Any, asked: Recordings) -> None:
        self._connection = connection
        self._asked = asked
        self._left_out: list[str] = []
        self._scan, self._list = source_of(asked.place)  # fmt: skip

    def read(self) -> Fleet:
        files = {table: self._files(table) for table in STAGES}
        self._incomplete = incomplete(files)
        size = sum(file.size for of_table in files.values() for file in of_table)
        memory = min(LEAST_MEMORY + MEMORY_PER_BYTE * size, MOST_MEMORY)
        for setting in ("memory_limit", "max_temp_directory_size"):
            self._connection.execute(f"SET {setting} = '{memory}B'")
        if size < ONE_THREAD:
            self._connection.execute("SET threads = 1")
        cpu, grown = LEAST_CPU + CPU_PER_BYTE * size, memory + MORE_GROWTH
        with interrupted_beyond(cpu, grown, self._connection):
            return self._fleet(files)

    def _fleet(self, files: dict[str, list[File]]) -> Fleet:
        asked = self._asked
        self._stage("devices", files["devices"])
        written = [(file.host, file.day, file.written) for file in files["devices"]]
        self._connection.execute(
            "CREATE TEMP TABLE written AS SELECT host, day, max(written) AS written FROM (SELECT unnest(?::VARCHAR[]) AS host, unnest(?::VARCHAR[]) AS day, unnest(?::DOUBLE[]) AS written) GROUP BY ALL",
            [list(column) for column in zip(*written, strict=True)],
        )  # fmt: skip
        newest = self._rows(NEWEST)[0][0]
        if newest is None:
            raise InputError(f"{asked.place}: the recordings have no devices")
        of = f" of level {asked.level}" if asked.level else ""
        nothing = NOTHING.format(place=asked.place, of=of, newest=instant(newest))
        end = newest if asked.end is None else asked.end
        window = {"begin": EARLIEST if asked.seconds is None else end - asked.seconds, "end": end}
        for table in ("stacks", "weights", "findings"):
            self._stage(table, files[table])
        days = [f"{datetime.fromtimestamp(max(0, time), UTC):%Y-%m-%d}" for time in window.values()]
        inside = [
            f for f in files["intervals"] if window["begin"] <= 0 or days[0] <= f.day <= days[1]
        ]
        if files["intervals"] and not inside:
            raise InputError(nothing)
        self._stage("intervals", inside, window)
        self._connection.execute(PARTS)
        self._connection.execute(VOLUMES)
        volumes = [volume for volume in self._volumes(window) if asked.level in ("", volume.level)]
        span = self._rows("SELECT count(DISTINCT (host, machine)), sum(seconds) FROM (SELECT host, machine, period, max(seconds) AS seconds FROM intervals JOIN devices USING (period, device) GROUP BY ALL)")[0]  # fmt: skip
        if not span[0] or (not volumes and not asked.by):
            raise InputError(nothing)
        levels = sums_by_level(volumes)
        troubles = health.worst_first(self._troubles(window))
        groups = () if not asked.by else levels if asked.by == "level" else tuple(self._models(span[1] / span[0], troubles))  # fmt: skip
        shown = worst_first(volumes, asked.sort)[: asked.limit or None]
        length = "all recordings" if asked.seconds is None else f"{asked.seconds:g}s"
        return Fleet(
            length, end, span[0], () if asked.by else tuple(shown), levels, tuple(self._partial(troubles)),
            tuple(self._notes()), tuple(troubles), asked.by, groups,
        )  # fmt: skip

    def _files(self, table: str) -> list[File]:
        """Return the files of *table*; ``InputError`` if there are none."""
        kept: list[File] = []
        listed = [file for file in self._list(table) if fnmatchcase(file.host, self._asked.host or "*")]  # fmt: skip
        if not listed:
            raise InputError(f"{self._asked.place}: no recordings ({table}/host=*/day=*/*.parquet); stackmap export --parquet -o DIR/ writes them")  # fmt: skip
        hosts: dict[str, str] = {}  # by recording and day: the first that has it
        for file in listed:
            if file.written is None:
                self._left_out.append(f"{safe(file.path)}: no regular file")
            elif hosts.setdefault(file.recording, file.host) != file.host:
                self._left_out.append(f"{safe(file.path)}: a copy of a recording of {safe(hosts[file.recording])}")  # fmt: skip
            else:
                kept.append(file)
        return kept

    def _rows(self, query: str, values: dict[str, float] | None = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values or {}).fetchall()  # type: ignore[no-any-return]

    def _stage(
        self, table: str, files: Sequence[File], window: dict[str, float] | None = None
    ) -> None:
        """Make the temporary table *table* of those *files* that can be read; ``InputError`` if none can."""
        bounded = window is not None and (self._asked.seconds, self._asked.end) != (None, None)
        query = STAGES[table].replace("{within}", WITHIN if bounded else "")
        before = len(self._left_out)
        made = self._load(table, query, files, (bounded and window) or {}, made=False)
        if not made:
            reason = self._left_out[before] if self._left_out[before:] else "no regular file"
            raise InputError(f"{self._asked.place}: {table} cannot be read: {reason}")

    def _load(
        self, table: str, query: str, files: Sequence[File], values: dict[str, float], *, made: bool
    ) -> bool:
        """Load *files*, by halves where one cannot be read, which is left out; return whether *table* is made."""
        import duckdb

        if not files:
            return made
        into = f"INSERT INTO {table}" if made else f"CREATE TEMP TABLE {table} AS"
        try:
            with self._scan(self._connection, [file.path for file in files]) as source:
                self._put(
                    into, table, query.format(source=source), values, _most_rows(table, files)
                )
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except (duckdb.Error, OSError, ValueError) as error:
            half = len(files) // 2
            if not half:
                reason = safe(str(error).partition("\n")[0])
                self._left_out.append(f"{safe(files[0].path)}: {reason}")
                return made
            for part in (files[:half], files[half:]):
                made = self._load(table, query, part, values, made=made)
            return made
        return True

    def _put(
        self, into: str, table: str, query: str, values: dict[str, float], most: float
    ) -> None:
        """Put the rows of *query* into *table*, at most *most* of the files; ``ValueError`` and none for more."""
        counted = "sum(rows)" if table == "intervals" else "count(*)"
        before = (
            self._rows(f"SELECT {counted} FROM {table}")[0][0] if into.startswith("INSERT") else 0
        )
        self._connection.begin()
        with ExitStack() as undoing:
            undoing.callback(self._connection.rollback)
            self._connection.execute(f"{into} {query} LIMIT {most + 1:.0f}", values)
            ((rows,),) = self._rows(f"SELECT {counted} FROM {table}")
            if (rows or 0) - before > most:
                raise ValueError(f"more than {most:.0f} rows are too many for its bytes")
            undoing.pop_all()
        self._connection.commit()

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

    def _models(self, seconds: float, troubles: Iterable[Trouble]) -> Iterator[Group]:
        of_models = [trouble.model for trouble in troubles]
        for model, hosts, disks, requests, waited in self._rows(MODELS, {"seconds": seconds}):
            yield Group(model, hosts, disks=disks, requests=requests, io_seconds=waited, troubles=of_models.count(model))  # fmt: skip

    def _troubles(self, window: dict[str, float]) -> Iterator[Trouble]:
        """Yield the troubles at the end of each host's recordings."""
        spans: dict[tuple[str, str, str, str], tuple[float, float]] = {}
        newest: dict[tuple[str, str, str, str], tuple[Any, ...]] = {}
        end = {"end": window["end"]}
        for what, host, machine, device, *more, first, last, ended in self._rows(TROUBLES, end):
            key = (what, host, machine, device)
            since, until = spans.get(key, (first, last))
            spans[key] = since if first <= until + LAPSE else first, max(until, last)
            newest[key] = *more, ended
        for key, (since, until) in spans.items():
            what, host, _, device = key
            name, space, model, serial, value, ended = newest[key]
            if until >= ended - 1:
                yield Trouble(what, host, "", device, name, space, model, serial, "", value, since)
        for host, ended in self._rows(SILENT, end):
            yield Trouble("silent", host, reason="nothing later is recorded", since=ended)
        for host, ahead in self._rows(WRONG_CLOCKS, {"begin": window["begin"]}):
            yield Trouble("clock", host, reason=AHEAD_OF_FILE, value=ahead)

    def _partial(self, troubles: Iterable[Trouble]) -> Iterator[str]:
        yield from filter(None, (health.doubtful(troubles),))
        if self._left_out:
            files = plural(len(self._left_out), "file")
            yield f"{files} left out"
            yield from self._left_out[:NAMED]
        if self._incomplete:
            yield f"{plural(len(self._incomplete), 'recording')} without all files, of which figures are missing"
            yield from self._incomplete[:NAMED]
        same = self._rows(
            "SELECT host FROM devices GROUP BY host HAVING count(DISTINCT machine) > 1"
        )
        if same:
            yield f"several machines have the same name: {', '.join(sorted(host for (host,) in same)[:NAMED])}"

    def _notes(self) -> Iterator[str]:
        ((renamed,),) = self._rows("SELECT count(*) FROM volumes WHERE names > 1")
        if renamed:
            yield f"{plural(renamed, 'volume')} had another name earlier in the window; the figures are of all names of the same UUID"


def _most_rows(table: str, files: Iterable[File]) -> float:
    """Return how many rows *files* of *table* may have."""
    size = sum(file.size for file in files)
    return FREE_ROWS + ROWS_PER_BYTE.get(table, OTHER_ROWS_PER_BYTE) * size
