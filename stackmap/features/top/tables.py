"""The table of a view, and the panels that a large screen has below it in place of empty lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from stackmap.document.wording import rate
from stackmap.features.top.cells import (
    COLUMNS,
    Line,
    Span,
    aligned,
    chosen,
    filled,
    fitted,
    sparkline,
    tone_of,
    tones,
    usual,
    widths,
)
from stackmap.features.top.moment import Moment
from stackmap.features.top.rows import rows_of
from stackmap.features.top.state import MEASURES, VIEWS, Row, State, row_at
from stackmap.model.load import ratio
from stackmap.model.units import MIB
from stackmap.render.text import width

SMALLEST = (60, 15)
HEADER, FOOTER = 5, 1  # lines
TIMELINE = 2


class TimeLine(NamedTuple):
    """A recording: the load of each part of ``begin`` to ``end``, where events are, and the present ``time``."""

    begin: float
    end: float
    loads: Sequence[float | None]
    events: frozenset[int]
    time: float


class Look(NamedTuple):
    """The size of the terminal, whether it shows ASCII only, and the interval in seconds; ``timeline`` of a recording; ``point``: of decimals."""

    width: int
    height: int
    ascii: bool = False
    seconds: float | None = None
    timeline: TimeLine | None = None
    point: str = "."

    @property
    def page(self) -> int:
        """How many rows fit."""
        below = FOOTER + (TIMELINE if self.timeline else 0)
        return max(1, self.height - HEADER - below)

    def fitted(self, line: Line) -> Line:
        """Return *line* without what does not fit."""
        return fitted(line, self.width, ascii_only=self.ascii)


def table(moment: Moment, state: State, rows: Sequence[Row], look: Look) -> list[Line]:
    """Return the headings and those of *rows* that fit, or why there are none."""
    columns = chosen(COLUMNS[VIEWS[state.view]], look.width, MEASURES[state.measure])
    places = [*zip(columns, widths(columns, look.width), strict=True)]
    severities = tones(moment)
    heading = (
        aligned(each.heading, room, each.words, ascii_only=look.ascii) + " "
        for each, room in places
    )
    lines: list[Line] = [[Span(text, "bold") for text in heading]]
    for row in rows[state.offset : state.offset + look.page]:
        line: Line = []
        for column, room in places:
            cell = column.fill(moment, state, row)
            if isinstance(cell, str) and not column.words:
                cell = cell.replace(".", look.point)
            text = filled(cell, room, column, ascii_only=look.ascii)
            tone = tone_of(column, moment, row, severities)
            if not line and row.key == state.cursor:
                tone = tone or "reverse"
            line += [Span(text, tone), Span(" ")]
        lines.append(line)
    if not rows:
        view = VIEWS[state.view]
        why = moment.verdict if view == "findings" else NOTHING[view]
        lines.append([Span(f"nothing matches {state.filter!r}" if state.filter else why)])
        return [look.fitted(line) for line in lines]
    # Below the smallest size, the columns that cannot be left out do not fit.
    return lines if look.width >= SMALLEST[0] else [look.fitted(line) for line in lines]


NOTHING = {
    "volumes": "no device with counters",
    "disks": "no disk with counters",
    "services": "no mount, VM or service is known to use a device here",
    "events": "no device came, went or changed, and no stack became slow",
}


PANELS_FROM = 120  # columns, for two panels beside each other
LEAST_FREE = 8  # lines
GAP = 3  # columns between two panels
OVER_TIME = (("IOPS", "iops", 1.0), ("MiB/s", "bytes", MIB), ("await ms", "await", 1.0))
WORD, CHART, FIGURE = 9, 24, 8  # columns of its lines


def tab(view: int) -> str:
    """Return the title of a view with the key that opens it."""
    return f"[{view + 1}] {VIEWS[view].capitalize()}"


def panels(moment: Moment, state: State, rows: Sequence[Row], look: Look, free: int) -> list[Line]:
    """
    Return at most *free* lines: the row with the cursor over time, and the views that are not shown, in short.

    Nothing where the screen is small or full.
    """
    if look.width < PANELS_FROM or free < LEAST_FREE:
        return []
    room = (look.width - GAP) // 2
    others = [view for view in range(VIEWS.index("events")) if view != state.view][-3:]
    shown = [_over_time(moment, state, rows, look, room)]
    deep = free // 2 - 2  # of two panels above each other, each with an empty line and a title
    for view in others:
        looking = replace(state, view=view, cursor="", offset=0, filter="")
        lines = table(
            moment, looking, rows_of(moment, looking)[: deep - 1], look._replace(width=room)
        )
        shown.append([[Span(tab(view), "bold")], *lines])
    lines = []
    for left, right in (shown[:2], shown[2:]):
        empty: Line = []
        lines.append(empty)
        lines += [_beside(*pair, room) for pair in zip_longest(left, right, fillvalue=empty)]
    return lines[:free]


def _beside(left: Line, right: Line, room: int) -> Line:
    space = room + GAP - sum(width(span.text) for span in left)
    return [*left, Span(" " * space), *right]


def _over_time(
    moment: Moment, state: State, rows: Sequence[Row], look: Look, room: int
) -> list[Line]:
    """Return rate, bytes and await of the stack or device of the row with the cursor over the last two minutes."""
    row = row_at(state, rows)
    name = "" if row is None else row.stack or row.device
    if not name:
        return [[Span("no device in this row")]]
    title = aligned(moment.topology[name].title, WORD + CHART, "name", ascii_only=look.ascii)
    headings = (
        aligned(text, FIGURE, "", ascii_only=look.ascii) for text in ("now", "usual", "most")
    )
    lines: list[Line] = [[Span(title + "".join(headings), "bold")]]
    for word, metric, unit in OVER_TIME:
        values = moment.recent.values(name, metric, state.direction)
        known = [value for value in values if value is not None]
        figures = (values[-1] if values else None, usual(known), max(known, default=None))
        texts = [rate(ratio(value, unit)).replace(".", look.point) for value in figures]
        chart = sparkline(values, CHART, ascii_only=look.ascii)
        lines.append(
            [Span(word.ljust(WORD) + chart + "".join(text.rjust(FIGURE) for text in texts))]
        )
    return [fitted(line, room, ascii_only=look.ascii) for line in lines]
