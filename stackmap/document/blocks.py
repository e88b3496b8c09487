"""
The blocks of a document: what a command says, whichever writer shows it.

Texts are plain and hold untrusted names: the writers escape them. ``None`` in a
chart means unknown and leaves a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stackmap.document.pictured_load import PicturedLoad
    from stackmap.model.topology import Topology


class Headline(NamedTuple):
    """The title of a document or of one of its tables; empty ``parts`` are left out."""

    parts: tuple[str, ...]


class Paragraph(NamedTuple):
    """
    A few sentences; ``lead``: a word before them, such as "note:", "But:" or "Do:".

    ``headline``: the conclusion before a table, left out where headings are.
    """

    text: str
    lead: str = ""
    headline: bool = False


class Command(NamedTuple):
    """
    A command to copy, of one or more lines: writers never fold them and put nothing else on them.

    ``aside``: not one of those to run in order, such as a roll-back.
    """

    line: str
    aside: bool = False


class Listing(NamedTuple):
    """Sentences, one per item."""

    items: tuple[str, ...]


class Terms(NamedTuple):
    """Words and their meanings."""

    pairs: tuple[tuple[str, str], ...]


class Value(NamedTuple):
    """
    A figure in a cell: its ``number`` in the unit of JSON, None if unknown, and how a table writes it.

    ``low`` and ``high``: the range it lies in, None without one. ``estimated``: marked with ~. ``tone``: the
    severity in whose colour it is shown.
    """

    number: float | None
    write: Callable[[float | None], str]
    low: float | None = None
    high: float | None = None
    estimated: bool = False
    tone: str = ""

    def __str__(self) -> str:
        text = self.write(self.number)
        return f"~{text}" if self.estimated else text


class Label(NamedTuple):
    """A text in a cell, which may lean on the rows around it, and what CSV has instead, in columns of its own."""

    text: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.text


Cell = str | Value | Label
Row = tuple[Cell, ...]
RANGE = ("low", "high")
ESTIMATE = (*RANGE, "estimated")


class Column(NamedTuple):
    """
    A column: its heading, where a line break splits it into two lines on a terminal.

    ``key``: its name in CSV with the unit, "" if CSV leaves it out. ``beside``: the names of further columns
    of CSV: of the names of a ``Label``, or of ``low``, ``high`` and ``estimated`` of a figure. ``is_text``:
    aligned to the left. ``minor``: left out on a phone.
    """

    heading: str
    key: str = ""
    beside: tuple[str, ...] = ()
    is_text: bool = False
    minor: bool = False


def plain_columns(headings: Iterable[str], words: int = 1) -> tuple[Column, ...]:
    """Return the columns of a table that no command prints as CSV; the first *words* are text."""
    return tuple(Column(text, is_text=place < words) for place, text in enumerate(headings))


class Rows(NamedTuple):
    """Rows of a table that belong together, with their heading; ``name``: of the group in CSV."""

    rows: tuple[Row, ...]
    title: str = ""
    name: str = ""


class Table(NamedTuple):
    """
    A table. A row whose first cell begins with a space details the row before it.

    ``legend`` explains the headings in one paragraph. ``about``: names and values that CSV has in every row,
    as it has no headlines; ``group``: its column for the names of the groups, "" without them.
    """

    key: str
    columns: tuple[Column, ...]
    groups: tuple[Rows, ...]
    caption: str = ""
    legend: str = ""
    about: tuple[tuple[str, str | None], ...] = ()
    group: str = ""

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return tuple(column.heading for column in self.columns)

    @property
    def words(self) -> int:
        """The number of columns of text, which are the first ones."""
        places = (n for n, column in enumerate(self.columns) if not column.is_text)
        return next(places, len(self.columns))


def with_columns(table: Table, places: Sequence[int]) -> Table:
    """Return *table* with the columns at *places*, in their order; a row may end early."""
    groups = tuple(
        group._replace(
            rows=tuple(tuple(row[n] for n in places if n < len(row)) for row in group.rows)
        )
        for group in table.groups
    )
    return table._replace(columns=tuple(table.columns[n] for n in places), groups=groups)


class Code(NamedTuple):
    """Text to copy as it is. ``name``: a file name for it."""

    text: str
    name: str = ""


class Stack(NamedTuple):
    """A drawing of ``topology``, which is also shown as a tree; ``suspects``: devices to mark; ``load``: to write at it."""

    topology: Topology
    title: str
    suspects: frozenset[str] = frozenset()
    load: PicturedLoad | None = None


class Node(NamedTuple):
    """A box of a ``Diagram``: its lines; ``marked``: with another colour."""

    key: str
    lines: tuple[str, ...]
    marked: bool = False


class Diagram(NamedTuple):
    """
    Boxes and arrows between them, from the left to the right, drawn in HTML alone: a table beside it has all in words.

    ``links``: from, to, and the word beside the arrow.
    """

    title: str
    nodes: tuple[Node, ...]
    links: tuple[tuple[str, str, str], ...]


class Line(NamedTuple):
    """A time series of means; ``low`` and ``high``: its extremes, () for none."""

    label: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


class Chart(NamedTuple):
    """
    ``lines`` over ``x``, in ``unit``: "requests/s", "bytes/s", "ms", "times", "share".

    ``axis``: "time" (seconds since the epoch), "number" (of a report), "hour"
    (of the day) or "size" (bytes, the lower end of a class). The last two are
    bars. ``words``: the chart in a sentence. ``shaded``: from where to where on ``x`` something was unusual.
    """

    key: str
    title: str
    unit: str
    axis: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]
    words: str = ""
    shaded: tuple[tuple[float, float], ...] = ()


class Tile(NamedTuple):
    """A key figure: its name, its value, and what to compare it with."""

    label: str
    value: str
    beside: str = ""


class Tiles(NamedTuple):
    """Key figures."""

    tiles: tuple[Tile, ...]


class Bar(NamedTuple):
    """A figure to compare with others; ``low`` and ``high``: its band, None for none."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


class Bars(NamedTuple):
    """Figures in ``unit`` to compare with the first."""

    title: str
    unit: str
    bars: tuple[Bar, ...]


class Card(NamedTuple):
    """
    One finding or check. ``tone``: its severity, ``label``: the word for that.

    ``key``: an anchor for links.
    """

    tone: str
    title: str
    blocks: tuple[Block, ...]
    key: str = ""
    label: str = ""


class Checklist(NamedTuple):
    """Cards in short form, under the title of the device that they are about."""

    groups: tuple[tuple[str, tuple[Card, ...]], ...]


class Part(NamedTuple):
    """Blocks under a heading of their own."""

    title: str
    blocks: tuple[Block, ...]


def side_by_side(parts: Sequence[Part]) -> tuple[Block, ...]:
    """Return *parts*, or the blocks of a single part, which needs no heading of its own."""
    return parts[0].blocks if len(parts) == 1 else tuple(parts)


class Folded(NamedTuple):
    """Details that a reader may skip; not ``printed``: paper leaves them out."""

    title: str
    blocks: tuple[Block, ...]
    printed: bool = True


Block = (
    Headline
    | Paragraph
    | Command
    | Listing
    | Terms
    | Table
    | Code
    | Stack
    | Diagram
    | Chart
    | Bars
    | Tiles
    | Card
    | Checklist
    | Part
    | Folded
)


class Section(NamedTuple):
    """
    A section of a page; ``key`` is its anchor.

    ``folded``: a screen shows its title until a reader opens it. Not ``printed``: paper leaves it out.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    folded: bool = True
    printed: bool = True


class Page(NamedTuple):
    """A whole page; ``about``: the host, the time and the duration, below the title."""

    title: str
    about: tuple[str, ...]
    sections: tuple[Section, ...] = ()
