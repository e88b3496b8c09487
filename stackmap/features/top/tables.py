"""The table of a view, and the panels that a large screen has below it in place of empty lines."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from stackmap.features.top.cells import (
    COLUMNS,
    NAME,
    Figure,
    Line,
    Span,
    aligned,
    chart,
    chosen,
    digits_of,
    filled,
    fitted,
    tone_of,
    tones,
    usual,
    widths,
)
from stackmap.features.top.moment import COLUMNS as INSTANTS
from stackmap.features.top.moment import Moment
from stackmap.features.top.rows import rows_of
from stackmap.features.top.state import MEASURES, VIEWS, Row, State, row_at
from stackmap.model.load import ratio
from stackmap.model.units import MIB
from stackmap.render.text import safe, width

SMALLEST = (60, 15)
INDENT = 2  # columns before a name
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
    longest = INDENT + max((_long(row.name) for row in rows), default=0)
    places = [*zip(columns, widths(columns, look.width, longest), strict=True)]
    severities = tones(moment)
    page = rows[state.offset : state.offset + look.page]
    cells = [
        filled(
            [column.fill(moment, state, row) for row in page],
            room,
            column,
            point=look.point,
            ascii_only=look.ascii,
        )
        for column, room in places
    ]
    heading = (
        aligned(shown.heading, room, shown.words, ascii_only=look.ascii) + " "
        for shown, room in places
    )
    lines: list[Line] = [[Span(text, "bold") for text in heading]]
    for number, row in enumerate(page):
        line: Line = []
        for (column, _), texts in zip(places, cells, strict=True):
            text = texts[number]
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


def _long(name: str) -> int:
    """Return the columns of a name: there may be thousands, most of them ASCII."""
    return len(name) if name.isascii() else width(safe(name))


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
WORD, FIGURE = 9, 8  # columns of its lines, beside the chart
HIGHEST = 12  # lines of a chart


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
    deep = free // 2 - 1  # of two panels above each other, each with an empty line
    below = [_in_short(moment, state, view, look, (room, deep)) for view in others[1:]]
    deep = free - 2 - max(map(len, below))  # the upper ones have what the lower ones leave
    high = min(HIGHEST, max(1, (deep - 1) // len(OVER_TIME)))
    first = _in_short(moment, state, others[0], look, (room, deep))
    lines: list[Line] = []
    for left, right in ((_over_time(moment, state, rows, look, (room, high)), first), below):
        empty: Line = []
        lines.append(empty)
        lines += [_beside(*pair, room) for pair in zip_longest(left, right, fillvalue=empty)]
    return lines[:free]


def _in_short(
    moment: Moment, state: State, view: int, look: Look, size: tuple[int, int]
) -> list[Line]:
    """Return the title, the headings and the first rows of *view* in *size*: columns and lines."""
    room, deep = size
    looking = replace(state, view=view, cursor="", offset=0, filter="")
    rows = rows_of(moment, looking)[: deep - 2]
    lines = table(moment, looking, rows, look._replace(width=room))
    return [[Span(tab(view), "bold")], *lines]


def _beside(left: Line, right: Line, room: int) -> Line:
    space = room + GAP - sum(width(span.text) for span in left)
    return [*left, Span(" " * space), *right]


def _over_time(
    moment: Moment, state: State, rows: Sequence[Row], look: Look, size: tuple[int, int]
) -> list[Line]:
    """
    Return rate, bytes and await of the stack or device of the row with the cursor over the last two minutes.

    *size*: columns of the panel and lines of each chart.
    """
    room, high = size
    row = row_at(state, rows)
    name = "" if row is None else row.stack or row.device
    if not name:
        return [[Span("no device in this row")]]
    room_left = max(1, room - WORD - 3 * FIGURE)
    title = aligned(moment.topology[name].title, WORD + room_left, NAME, ascii_only=look.ascii)
    headings = (
        aligned(text, FIGURE, "", ascii_only=look.ascii) for text in ("now", "usual", "most")
    )
    lines: list[Line] = [[Span(title + "".join(headings), "bold")]]
    for word, metric, unit in OVER_TIME:
        values = moment.recent.values(name, metric, state.direction)
        known = [value for value in values if value is not None]
        amounts = (values[-1] if values else None, usual(known), max(known, default=None))
        figures = [Figure(ratio(value, unit)) for value in amounts]
        digits = digits_of(figures, FIGURE - 1)
        texts = [figure.text(digits).replace(".", look.point).rjust(FIGURE) for figure in figures]
        broad = max(1, room_left // INSTANTS)
        first, *others = chart(values, (room_left, high), broad, ascii_only=look.ascii)
        lines.append([Span(word.ljust(WORD) + first + "".join(texts))])
        lines += [[Span(" " * WORD + bars)] for bars in others]
    return [fitted(line, room, ascii_only=look.ascii) for line in lines]
