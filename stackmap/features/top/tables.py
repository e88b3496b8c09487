"""The table of a view, and the panels that a large screen has below it in place of empty lines."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from stackmap.features.top import cells as cell
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

    def fitted(self, line: cell.Line) -> cell.Line:
        """Return *line* without what does not fit."""
        return cell.fitted(line, self.width, ascii_only=self.ascii)


def table(moment: Moment, state: State, rows: Sequence[Row], look: Look) -> list[cell.Line]:
    """Return the headings and those of *rows* that fit, or why there are none."""
    columns = cell.chosen(cell.COLUMNS[VIEWS[state.view]], look.width, MEASURES[state.measure])
    longest = INDENT + max((_long(row.name) for row in rows), default=0)
    places = [*zip(columns, cell.widths(columns, look.width, longest), strict=True)]
    severities = cell.tones(moment)
    page = rows[state.offset : state.offset + look.page]
    cells = [
        cell.filled(
            [column.fill(moment, state, row) for row in page],
            room,
            column,
            point=look.point,
            ascii_only=look.ascii,
        )
        for column, room in places
    ]
    heading = (
        cell.aligned(shown.heading, room, shown.words, ascii_only=look.ascii) + " "
        for shown, room in places
    )
    lines: list[cell.Line] = [[cell.Span(text, "bold") for text in heading]]
    for number, row in enumerate(page):
        line: cell.Line = []
        for (column, _), texts in zip(places, cells, strict=True):
            text = texts[number]
            tone = cell.tone_of(column, moment, row, severities)
            if not line and row.key == state.cursor:
                tone = tone or "reverse"
            line += [cell.Span(text, tone), cell.Span(" ")]
        lines.append(line)
    if not rows:
        view = VIEWS[state.view]
        why = moment.verdict if view == "findings" else NOTHING[view]
        lines.append([cell.Span(f"nothing matches {state.filter!r}" if state.filter else why)])
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


def panels(
    moment: Moment, state: State, rows: Sequence[Row], look: Look, free: int
) -> list[cell.Line]:
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
    lines: list[cell.Line] = []
    for left, right in ((_over_time(moment, state, rows, look, (room, high)), first), below):
        empty: cell.Line = []
        lines.append(empty)
        lines += [_beside(*pair, room) for pair in zip_longest(left, right, fillvalue=empty)]
    return lines[:free]


def _in_short(
    moment: Moment, state: State, view: int, look: Look, size: tuple[int, int]
) -> list[cell.Line]:
    """Return the title, the headings and the first rows of *view* in *size*: columns and lines."""
    room, deep = size
    looking = replace(state, view=view, cursor="", offset=0, filter="")
    rows = rows_of(moment, looking)[: deep - 2]
    lines = table(moment, looking, rows, look._replace(width=room))
    return [[cell.Span(tab(view), "bold")], *lines]


def _beside(left: cell.Line, right: cell.Line, room: int) -> cell.Line:
    space = room + GAP - sum(width(span.text) for span in left)
    return [*left, cell.Span(" " * space), *right]


def _over_time(
    moment: Moment, state: State, rows: Sequence[Row], look: Look, size: tuple[int, int]
) -> list[cell.Line]:
    """
    Return rate, bytes and await of the stack or device of the row with the cursor over the last two minutes.

    *size*: columns of the panel and lines of each chart.
    """
    room, high = size
    row = row_at(state, rows)
    name = "" if row is None else row.stack or row.device
    if not name:
        return [[cell.Span("no device in this row")]]
    room_left = max(1, room - WORD - 3 * FIGURE)
    title = cell.aligned(
        moment.topology[name].title, WORD + room_left, cell.NAME, ascii_only=look.ascii
    )
    headings = (
        cell.aligned(text, FIGURE, "", ascii_only=look.ascii) for text in ("now", "usual", "most")
    )
    lines: list[cell.Line] = [[cell.Span(title + "".join(headings), "bold")]]
    for word, metric, unit in OVER_TIME:
        values = moment.recent.values(name, metric, state.direction)
        known = [value for value in values if value is not None]
        amounts = (values[-1] if values else None, cell.usual(known), max(known, default=None))
        figures = [cell.Figure(ratio(value, unit)) for value in amounts]
        digits = cell.digits_of(figures, FIGURE - 1)
        texts = [figure.text(digits).replace(".", look.point).rjust(FIGURE) for figure in figures]
        broad = max(1, room_left // INSTANTS)
        first, *others = cell.chart(values, (room_left, high), broad, ascii_only=look.ascii)
        lines.append([cell.Span(word.ljust(WORD) + first + "".join(texts))])
        lines += [[cell.Span(" " * WORD + bars)] for bars in others]
    return [cell.fitted(line, room, ascii_only=look.ascii) for line in lines]
