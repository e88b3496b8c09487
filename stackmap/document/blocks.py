"""
What a page is made of, whatever draws it.

Texts are plain: names in them are untrusted, and made harmless by what draws
them. ``None`` in a chart is "not known" and leaves a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stackmap.render.picture import Picture


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences; ``lead``: the words before them that say what they are about."""

    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Items; ``ordered``: their order matters."""

    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """Words and what they mean."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table that belong together, with their heading."""

    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """
    ``words``: the first columns, which stand to the left; the others are numbers.

    A row whose first cell begins with a blank belongs to the one before it.
    """

    key: str
    headings: tuple[str, ...]
    groups: tuple[Rows, ...]
    words: int = 1
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy as it is. ``name``: the file it would be."""

    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Stack:
    """A drawing of devices; ``text``: the same as a tree, for who cannot see it."""

    picture: Picture
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A course; ``low`` and ``high``: the extremes beside the mean in ``values``, () for none."""

    label: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """
    ``lines`` over ``x``, in ``unit``: "requests/s", "bytes/s", "ms", "times", "share".

    ``axis``: "time" (seconds since the epoch), "number" (of a report), "hour"
    (of the day) or "size" (bytes, the least of a class). The last two are
    bars. ``words``: the chart in a sentence, for who cannot see it.
    """

    key: str
    title: str
    unit: str
    axis: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]
    words: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure to remember: what it is, the figure, and what it is to be compared with."""

    label: str
    value: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Figures to remember."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure to be seen beside others: ``low`` and ``high`` the ends of its band, None for none."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Figures beside each other, in ``unit``; the first is what the others are compared with."""

    title: str
    unit: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """
    Something that stands out, as grave as the severity ``tone``.

    ``key``: where it can be linked to. ``label``: a word before its title.
    """

    tone: str
    title: str
    blocks: tuple[Block, ...]
    key: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a section, under a heading of its own."""

    title: str
    blocks: tuple[Block, ...]


def side_by_side(parts: Sequence[Part]) -> tuple[Block, ...]:
    """Return *parts*; of one alone its blocks, for then the section's heading is enough."""
    return parts[0].blocks if len(parts) == 1 else tuple(parts)


@dataclass(frozen=True, slots=True)
class Folded:
    """What only some will want to read; never what the page rests on."""

    title: str
    blocks: tuple[Block, ...]


Block = (
    Paragraph | Listing | Terms | Table | Code | Stack | Chart | Bars | Tiles | Card | Part | Folded
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section; ``key`` is its anchor."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page; ``about``: whose, when, how long, in a few lines below its title."""

    title: str
    about: tuple[str, ...]
    sections: Sequence[Section] = field(default_factory=tuple)
