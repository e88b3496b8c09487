"""
The metrics of a device: key, heading, unit, help and formula.

Tables, JSON, help and man pages take them from this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stackmap.model.load import Load


class Metric(NamedTuple):
    """
    ``key`` in JSON, in the unit ``unit`` there; ``heading`` in tables.

    ``divisor`` converts the value to the unit of the heading (KiB). ``extended``:
    only with --extended.
    """

    key: str
    heading: str
    unit: str
    help: str
    value: Callable[[Load], float | None]
    divisor: float = 1
    extended: bool = False


METRICS = (
    Metric("reads", "r/s", "requests/s", "Reads completed.", lambda load: load.read.ios),
    Metric("writes", "w/s", "requests/s", "Writes completed; an empty flush counts as one.", lambda load: load.write.ios),
    Metric("read_bytes", "rKiB/s", "bytes/s", "Bytes read.", lambda load: load.read.bytes, 1024),
    Metric("write_bytes", "wKiB/s", "bytes/s", "Bytes written.", lambda load: load.write.bytes, 1024),
    Metric("read_size", "rKiB", "bytes", "Mean size of a completed read.", lambda load: load.read.size, 1024),
    Metric("write_size", "wKiB", "bytes", "Mean size of a completed write.", lambda load: load.write.size, 1024),
    Metric("read_await", "r_await", "ms", "Mean time per read, queueing included.", lambda load: load.read.await_ms),
    Metric("write_await", "w_await", "ms", "Mean time per write, queueing included.", lambda load: load.write.await_ms),
    Metric("aqu", "aqu", "requests", "Requests in flight, on average.", lambda load: load.aqu),
    Metric("tps", "tps", "requests/s", "Reads and writes completed together.", lambda load: load.total.ios, extended=True),
    Metric("await", "await", "ms", "Mean time per read or write.", lambda load: load.total.await_ms, extended=True),
    Metric("read_merges", "rmrg/s", "requests/s", "Reads merged into others on arrival.", lambda load: load.read.merges, extended=True),
    Metric("write_merges", "wmrg/s", "requests/s", "Writes merged into others on arrival.", lambda load: load.write.merges, extended=True),
    Metric("discards", "d/s", "requests/s", "Discards completed.", lambda load: load.discard.ios, extended=True),
    Metric("discard_bytes", "dKiB/s", "bytes/s", "Bytes discarded.", lambda load: load.discard.bytes, 1024, extended=True),
    Metric("flushes", "f/s", "requests/s", "Flush requests completed by the disk.", lambda load: load.flush.ios, extended=True),
    Metric("flush_await", "f_await", "ms", "Mean time per flush.", lambda load: load.flush.await_ms, extended=True),
    Metric(
        "busy", "busy%", "share", "Time with a request in flight: busy, not saturated.",
        lambda load: load.busy, 0.01, extended=True,
    ),
)  # fmt: skip


def on_one_line(heading: str) -> str:
    r"""
    Return a heading of two lines as one.

    >>> on_one_line("size\nKiB")
    'size KiB'
    """
    return heading.replace("\n", " ")
