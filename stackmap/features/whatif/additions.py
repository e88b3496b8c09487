"""Headroom: by what factor each stack's load may grow until its first disk is at its knee, as measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from stackmap.cli.output import print_blocks
from stackmap.document.blocks import Block, Column, Label, Paragraph, Rows, Table, Value
from stackmap.document.wording import UNKNOWN, short
from stackmap.ledger.corrections import corrected
from stackmap.ledger.layers import carriers

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.measurement.source import Measurement
    from stackmap.model.interval import Interval
    from stackmap.model.load import Load
    from stackmap.model.topology import Topology

FLAT = 0.9  # of the highest rate: where the throughput no longer grows
DEEPER = 2.0  # times the queue at the knee: a recording without deeper queues did not see the knee
BUSY = 0.9  # share of time: in less, the disk could have served more
FEWEST = 6  # intervals
COLUMNS = (
    Column("STACK", "stack", is_text=True),
    Column("headroom", "headroom"),
    Column("disk", "disk", is_text=True),
    Column("requests/s", "rate"),
    Column("at the knee", "knee_rate"),
)
UNSEEN = (
    "Headroom is - where no disk was seen to serve all it can: `stackmap whatif NAME` simulates it."
)


def iostat_headroom(command: Callable[..., None]) -> Callable[..., None]:
    """Give ``iostat`` the option --headroom."""

    @click.option(
        "--headroom", is_flag=True, help="With -l: how far the disks are below their limit."
    )
    @wraps(command)
    def run(*, headroom: bool, **more: Any) -> None:
        if headroom and (more["as_json"] or more["form"] or not more["per_layer"]):
            raise click.UsageError("--headroom needs --per-layer, and cannot be combined with JSON")
        additions = (*more.pop("additions", ()), *((_after_reports,) if headroom else ()))
        command(additions=additions, **more)

    return run


@contextmanager
def _after_reports(_: Session, measured: Measurement) -> Iterator[None]:
    yield
    topology = measured.topology
    intervals = (corrected(topology, part) for part in measured.repeatable()())
    tops = measured.devices or [device.name for device in topology.tops]
    print_blocks(headroom_blocks(topology, intervals, tops))


def headroom_blocks(
    topology: Topology, intervals: Iterable[Interval], tops: Iterable[str]
) -> list[Block]:
    """Return a table of the stacks of *tops*; *intervals*: corrected. Rates are of those with load, on average."""
    series: dict[str, list[Load]] = {}
    for interval in intervals:
        for name, load in interval.loads.items():
            series.setdefault(name, []).append(load)
    rows = tuple(_row(topology, name, series) for name in tops)
    blocks: list[Block] = [Table("headroom", COLUMNS, (Rows(rows),))]
    if any(isinstance(row[1], Value) and row[1].number is None for row in rows):
        blocks.append(Paragraph(UNSEEN))
    return blocks


def _row(topology: Topology, top: str, series: dict[str, list[Load]]) -> tuple[Any, ...]:
    """Return the row of a stack: its disk that is nearest to its knee."""
    knees = []
    for name in carriers(topology, top):
        if not topology.below(name) and (knee := knee_rate(series.get(name, ()))) is not None:
            rates = [load.total.ios for load in series[name] if load.total.ios]
            rate = sum(rates) / len(rates)
            knees.append((knee / rate, name, rate, knee))
    title = topology[top].title
    if not knees:
        return (Label(title, (title,)), *_values(None), UNKNOWN, *_values(None, None))
    factor, disk, rate, knee = min(knees)
    return (Label(title, (title,)), *_values(factor), disk, *_values(rate, knee))


def _values(*numbers: float | None) -> Iterator[Value]:
    for number in numbers:
        yield Value(number, lambda value: UNKNOWN if value is None else short(value))


def knee_rate(loads: Iterable[Load]) -> float | None:
    """
    Return the requests per second from which a disk's throughput no longer grows; None if the intervals do not show it.

    Little: at a constant rate, await grows with the queue.
    """
    points = sorted(
        (load.aqu, load.total.ios, 1.0 if load.busy is None else load.busy)
        for load in loads
        if load.aqu and load.total.ios
    )
    if len(points) < FEWEST:
        return None
    highest = max(rate for _, rate, _ in points)
    queue, _, busy = next(point for point in points if point[1] >= FLAT * highest)
    deepest, rate, busiest = points[-1]
    saturated = min(busy, busiest) >= BUSY and rate >= FLAT * highest
    return highest if saturated and deepest >= DEEPER * queue else None
