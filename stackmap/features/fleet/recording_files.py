"""
The files of recordings in a directory or on S3: a list of them, how DuckDB reads them, and the limits of a query.

A local directory is read by DuckDB, S3 by pyarrow's file system: nothing is downloaded but data.
"""

import os
import re
import resource
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from glob import escape, glob
from typing import Any, NamedTuple
from urllib.parse import unquote

from stackmap.errors import InputError
from stackmap.render.text import safe

NEEDED = "--recordings needs DuckDB: in a venv, pip install duckdb (and pyarrow for s3://)"
S3 = "s3://"
LOOKS = 0.02  # seconds between looks at what a query took


class File(NamedTuple):
    """``size``: bytes; ``written``: when, seconds since the epoch; None for what is no regular file."""

    path: str
    size: int
    written: float | None

    @property
    def host(self) -> str:
        """The host whose recording it is."""
        return unquote(self._part("host"))

    @property
    def day(self) -> str:
        """The day of its intervals, as 2026-11-27."""
        return self._part("day")

    @property
    def recording(self) -> str:
        """What identifies it among the files of a table, whatever host it lies under."""
        return self.path.partition("/day=")[2]

    def _part(self, name: str) -> str:
        match = re.search(f"/{name}=([^/]*)/", self.path)
        return match[1] if match else ""


Scan = Callable[[Any, Sequence[str]], Any]  # a context with the SQL of a source
Lister = Callable[[str], list[File]]


def incomplete(files: Mapping[str, Iterable[File]]) -> list[str]:
    """Return each recording that lacks the file of a table, with the tables; *files*: by table."""
    tables: dict[tuple[str, ...], set[str]] = {}
    for table, of_table in files.items():
        for file in of_table:
            tables.setdefault((f"host={file.host}", f"day={file.recording}"), set()).add(table)
    return [
        f"{safe('/'.join(recording))}: no file in {', '.join(sorted(files.keys() - having))}"
        for recording, having in sorted(tables.items())
        if having != files.keys()
    ]


def source_of(place: str) -> tuple[Scan, Lister]:
    """Return how to read files of *place*, and how to list those of a table."""
    return _s3(place) if place.startswith(S3) else _local(place)


def _local(place: str) -> tuple[Scan, Lister]:
    """Return how to read files of the directory *place*, and how to list those of a table."""

    def scan(_: Any, files: Sequence[str]) -> Any:
        names = ", ".join("'" + escape(name).replace("'", "''") + "'" for name in files)
        hive = "hive_partitioning = true, hive_types = {'host': VARCHAR, 'day': VARCHAR}"
        return nullcontext(f"read_parquet([{names}], {hive})")

    def listed(table: str) -> list[File]:
        names = sorted(glob(f"{escape(place)}/{table}/host=*/day=*/*.parquet"))
        return [File(name, *_state(name)) for name in names]

    return scan, listed


def _state(path: str) -> tuple[int, float | None]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, None
    return status.st_size, status.st_mtime if stat.S_ISREG(status.st_mode) else None


def _s3(place: str) -> tuple[Scan, Lister]:
    """Return how to read and list files below a prefix on S3, with the credentials and endpoint of the AWS tools."""
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
        try:
            yield "source"
        finally:
            connection.unregister("source")

    def listed(table: str) -> list[File]:
        try:
            listing = system.get_file_info(fs.FileSelector(f"{prefix}/{table}", recursive=True))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{place}: {safe(str(error))}") from error
        return sorted(
            File(entry.path, entry.size or 0, entry.mtime.timestamp())
            for entry in listing
            if re.search("/host=[^/]*/day=[^/]*/[^/]*[.]parquet$", entry.path)
        )

    return scan, listed


@contextmanager
def interrupted_beyond(seconds: float, memory: float, connection: Any) -> Iterator[None]:
    """Interrupt the queries of *connection* once they took *seconds* of CPU, or the process grew by *memory* bytes."""
    ended, end, most = threading.Event(), time.process_time() + seconds, _resident() + memory

    def watch() -> None:
        while not ended.wait(LOOKS):
            if time.process_time() > end or _resident() > most:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _resident() -> int:
    """Return the bytes of memory that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
