"""The columns of each view, and the figures in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from stackmap.document.blame import source_name
from stackmap.document.wording import number, rate
from stackmap.features.top.moment import Moment
from stackmap.features.top.row import GroupLoad, Row
from stackmap.features.top.rows import row_figure
from stackmap.features.top.state import VIEWS, State
from stackmap.model.device import Use
from stackmap.model.load import ratio
from stackmap.model.units import MIB
from stackmap.rules.rule import Finding, Severity

NAME, SENTENCE = "name", "sentence"  # what words are: only a name is cut in the middle


class Spark(NamedTuple):
    """The values of a sparkline, the newest last."""

    values: tuple[float | None, ...]


class Shares(NamedTuple):
    """The parts of a bar, the largest first, with the name of each; they sum to 1."""

    parts: Sequence[tuple[str, float]]


Cell = str | Spark | Shares
Fill = Callable[[Moment, State, Row], Cell]


class Column(NamedTuple):
    """
    ``width``: in columns of the terminal, at least; 0: what is left. ``rank``: the highest is
    left out first on a narrow terminal. ``rules``: the first digits of the rules that judge it.
    ``words``: ``NAME`` or ``SENTENCE``, "" for figures. ``most``: its width if there is room.
    """

    heading: str
    width: int
    fill: Fill
    rank: int = 0
    rules: tuple[str, ...] = ()
    words: str = ""
    most: int = 0


def _flow(metric: str, divisor: float = 1) -> Fill:
    def fill(moment: Moment, state: State, row: Row) -> str:
        return rate(ratio(_value(moment, state, row, metric), divisor))

    return fill


def _value(moment: Moment, state: State, row: Row, metric: str) -> float | None:
    """Return a figure of what *row* is about: a layer's share of its stack, as in ``iostat -l``."""
    if row.layer is not None:
        layer = moment.stack(row.stack).layers[row.layer]
        if metric == "await":
            return layer.own[state.direction].await_ms
        part = layer.share.part(state.direction)
        return part.ios if metric == "iops" else part.bytes
    return row_figure(moment, state, row, metric)


def _queue(moment: Moment, _: State, row: Row) -> str:
    if isinstance(row.about, GroupLoad):
        return rate(None)
    if row.layer is not None:
        return rate(moment.stack(row.stack).layers[row.layer].aqu)
    return rate(moment.load(row.device).aqu)


def _amplification(kind: str) -> Fill:
    """Return IOPS or byte amplification at a layer; a stack has that at its disks."""

    def fill(moment: Moment, state: State, row: Row) -> str:
        if moment.load(row.stack).idle:
            return ""
        layer = moment.stack(row.stack).layers[-1 if row.layer is None else row.layer]
        return number(getattr(layer, kind)[state.direction], 2)

    return fill


def _cost(moment: Moment, _: State, row: Row) -> str:
    """Return disk bytes per byte at the top, everything included."""
    if row.layer is not None or moment.load(row.stack).idle:
        return ""
    cost = moment.stack(row.stack).cost
    return "~" * (cost.estimated and cost.bytes_per_byte is not None) + number(
        cost.bytes_per_byte, 2
    )


def _spark(moment: Moment, state: State, row: Row) -> Cell:
    if row.layer is not None or isinstance(row.about, GroupLoad):
        return ""
    return Spark(moment.recent.values(row.device, state.metric, state.direction))


def _name(_: Moment, __: State, row: Row) -> str:
    if row.layer is not None:
        return f"  {row.name}"
    return f"{'+' if row.folded else '-'} {row.name}" if row.stack else row.name


def _blame(moment: Moment, _: State, row: Row) -> Cell:
    if moment.load(row.device).idle:
        return ""
    found = moment.blame(row.device)
    parts = [
        (source_name(moment.topology, each, found.unseen), share)
        for each in found.loaders
        if (share := found.share(each))
    ]
    return Shares(parts)


def _kind(_: Moment, __: State, row: Row) -> str:
    return row.about.kind if isinstance(row.about, Use | GroupLoad) else ""


def _device(moment: Moment, _: State, row: Row) -> str:
    return moment.topology[row.device].title


def _severity(_: Moment, __: State, row: Row) -> str:
    return str(row.about.severity) if isinstance(row.about, Finding) else ""


IOPS = Column("IOPS", 7, _flow("iops"))
RATE = Column("MiB/s", 7, _flow("bytes", MIB))
AWAIT = Column("await ms", 8, _flow("await"), 1, ("SM2", "SM4"))
QUEUE = Column("queue", 6, _queue, 2, ("SM4",))
SPARK = Column("2 min", 8, _spark, 3, most=24)

COLUMNS: dict[str, tuple[Column, ...]] = {
    "volumes": (
        Column("STACK", 0, _name, words=NAME),
        IOPS, RATE, AWAIT, QUEUE,
        Column("IOPS×", 6, _amplification("iops_amplification"), 5),
        Column("bytes×", 6, _amplification("byte_amplification"), 6),
        Column("cost", 6, _cost, 4, ("SM1", "SM5")),
        SPARK,
    ),
    "disks": (Column("DISK", 14, _name, words=NAME), IOPS, RATE, AWAIT, QUEUE, SPARK._replace(rank=6),
              Column("LOADED BY", 0, _blame, words=NAME)),
    "services": (
        Column("USER", 0, _name, words=NAME), Column("KIND", 9, _kind, 5, words=NAME), Column("DEVICE", 24, _device, 6, words=NAME),
        IOPS, RATE, AWAIT, QUEUE, SPARK,
    ),
    "findings": (Column("SEVERITY", 8, _severity, words=NAME), Column("FINDING", 0, _name, words=SENTENCE)),
    "events": (Column("EVENT", 0, _name, words=SENTENCE),),
}  # fmt: skip


def columns_of(state: State) -> tuple[Column, ...]:
    """Return all columns of the view."""
    return COLUMNS[VIEWS[state.view]]


def tones(moment: Moment) -> dict[tuple[str, str], str]:
    """
    Return the severity of the findings shown, by device and rule: the only reason for a colour.

    A finding on peers is one on each of them.
    """
    return {
        (device, each.rule.id): str(each.severity)
        for each in reversed(moment.findings)
        if each.is_grave
        for device in (each.device, *each.peers)
    }


def tone_of(column: Column, moment: Moment, row: Row, found: Mapping[tuple[str, str], str]) -> str:
    """Return the severity in whose colour a cell is shown, "" for none."""
    if isinstance(row.about, Finding):
        grave = column.heading == "SEVERITY" and row.about.is_grave
        return str(row.about.severity) if grave else ""
    if not column.rules or not found:
        return ""
    layers = () if row.layer is None else moment.stack(row.stack).layers[row.layer].layer.devices
    judged = {
        tone
        for (device, rule), tone in found.items()
        if (device == row.device or device in layers) and rule.startswith(column.rules)
    }
    return next((str(each) for each in Severity if str(each) in judged), "")
