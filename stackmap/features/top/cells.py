"""The columns of each view, the figures in them, and their texts: widths, sparklines and bars."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from stackmap.document.blame import FILE_SYSTEM, source_on_disk
from stackmap.document.wording import number
from stackmap.features.top.moment import GroupLoad, Moment
from stackmap.features.top.rows import device_title, row_figure
from stackmap.features.top.state import Row, State
from stackmap.model.cgroup_io import ProcessIo
from stackmap.model.load import ratio
from stackmap.model.units import MIB
from stackmap.render.text import padded_to, safe, shortened, width
from stackmap.rules.rule import Finding, Severity

NAME, SENTENCE = "name", "sentence"  # what words are: only a name is cut in the middle


class Figure(NamedTuple):
    """A number, None if unknown; a column has the same decimals in each row."""

    value: float | None
    estimated: bool = False

    def text(self, digits: int) -> str:
        """Return the figure with *digits* decimals."""
        mark = "~" if self.estimated and self.value is not None else ""
        return mark + number(self.value, digits)


class Spark(NamedTuple):
    """The values of a sparkline, the newest last."""

    values: tuple[float | None, ...]


class Shares(NamedTuple):
    """The parts of a bar, the largest first, with the name of each; they sum to 1."""

    parts: Sequence[tuple[str, float]]


Cell = str | Figure | Spark | Shares
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
    def fill(moment: Moment, state: State, row: Row) -> Figure:
        return Figure(ratio(row_figure(moment, state, row, metric), divisor))

    return fill


def _queue(moment: Moment, _: State, row: Row) -> Figure:
    if isinstance(row.about, GroupLoad | ProcessIo):
        return Figure(None)
    if row.layer is not None:
        return Figure(moment.stack(row.stack).layers[row.layer].aqu)
    return Figure(moment.load(row.device).aqu)


def _amplification(kind: str) -> Fill:
    """Return IOPS or byte amplification at a layer; a stack has that at its disks."""

    def fill(moment: Moment, state: State, row: Row) -> Cell:
        if moment.load(row.stack).idle:
            return ""
        layer = moment.stack(row.stack).layers[-1 if row.layer is None else row.layer]
        return Figure(getattr(layer, kind)[state.direction])

    return fill


def _cost(moment: Moment, _: State, row: Row) -> Cell:
    """Return disk bytes per byte at the top, everything included."""
    if row.layer is not None or moment.load(row.stack).idle:
        return ""
    cost = moment.stack(row.stack).cost
    return Figure(cost.bytes_per_byte, cost.estimated)


def _spark(moment: Moment, state: State, row: Row) -> Cell:
    if row.layer is not None or isinstance(row.about, GroupLoad | ProcessIo):
        return ""
    return Spark(moment.recent.values(row.device, state.metric, state.direction))


def _name(_: Moment, __: State, row: Row) -> str:
    if row.layer is not None:
        return f"  {row.name}"
    return f"{'+' if row.folded else '-'} {row.name}" if row.stack else row.name


def _blame(moment: Moment, _: State, row: Row) -> Cell:
    if moment.load(row.device).idle:
        return ""
    loads = moment.blame(row.device)
    parts = [
        (source_on_disk(moment.topology, loads, loader).removeprefix(f"{FILE_SYSTEM} on "), share)
        for loader in loads.loaders
        if (share := loads.share(loader))
    ]
    return Shares(parts)


IOPS = Column("IOPS", 7, _flow("iops"))
RATE = Column("MiB/s", 7, _flow("bytes", MIB))
AWAIT = Column("await ms", 8, _flow("await"), 1, ("SM2", "SM4"))
QUEUE = Column("queue", 6, _queue, 2, ("SM4",))
SPARK = Column("2 min", 8, _spark, 3, most=24)
SHOWS = {"latency": (AWAIT.heading, QUEUE.heading), "cost": ("IOPS×", "bytes×", "cost")}

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
        Column("USER", 0, _name, words=NAME),
        Column("KIND", 9, lambda _, __, row: getattr(row.about, "kind", "process"), 5, words=NAME),
        Column("DEVICE", 24, lambda moment, _, row: device_title(moment.topology, row), 6, words=NAME),
        IOPS, RATE, AWAIT, QUEUE, SPARK,
    ),
    "findings": (Column("SEVERITY", 8, lambda _, __, row: str(getattr(row.about, "severity", "")), words=NAME), Column("FINDING", 0, _name, words=SENTENCE)),
    "events": (Column("EVENT", 0, _name, words=SENTENCE),),
}  # fmt: skip


def tones(moment: Moment) -> dict[tuple[str, str], str]:
    """
    Return the severity of the findings shown, by device and rule: the only reason for a colour.

    A finding on peers is one on each of them.
    """
    return {
        (device, finding.rule.id): str(finding.severity)
        for finding in reversed(moment.findings)
        if finding.is_grave
        for device in (finding.device, *finding.peers)
    }


def tone_of(
    column: Column, moment: Moment, row: Row, severities: Mapping[tuple[str, str], str]
) -> str:
    """Return the severity in whose colour a cell is shown, "" for none."""
    if isinstance(row.about, Finding):
        grave = column.heading == "SEVERITY" and row.about.is_grave
        return str(row.about.severity) if grave else ""
    if not column.rules or not severities:
        return ""
    layers = () if row.layer is None else moment.stack(row.stack).layers[row.layer].layer.devices
    judged = {
        tone
        for (device, rule), tone in severities.items()
        if (device == row.device or device in layers) and rule.startswith(column.rules)
    }
    return next((str(severity) for severity in Severity if str(severity) in judged), "")


NARROWEST_NAME, WIDE_NAME = 16, 36
SPARKS = {False: "▁▂▃▄▅▆▇█", True: "_.-=+*#@"}
BARS = {False: "█▓▒░", True: "#=-."}
ASCII = str.maketrans({"×": "x", "…": "~", "÷": "/", "–": "-", "→": ">", "·": "."})


class Span(NamedTuple):
    """A text in one style; ``tone``: a severity, "bold", "reverse" or ""."""

    text: str
    tone: str = ""


Line = list[Span]


def chosen(columns: tuple[Column, ...], room: int, measure: str = "") -> tuple[Column, ...]:
    """
    Return the columns that fit beside a name of ``NARROWEST_NAME``; the highest rank is left out first.

    Those of *measure* are not left out.
    """
    kept = tuple(
        column._replace(rank=0) if column.heading in SHOWS.get(measure, ()) else column
        for column in columns
    )
    while sum((column.width or NARROWEST_NAME) + 1 for column in kept) > room:
        worst = max(column.rank for column in kept)
        if not worst:
            break
        kept = tuple(column for column in kept if column.rank != worst)
    return kept


def widths(columns: Sequence[Column], room: int, longest: int = WIDE_NAME) -> list[int]:
    """
    Return the width of each column: room that is left widens the name, then the sparkline.

    More than the *longest* name takes is left empty at the right, beside the figures; a bar or a sentence fills it.
    """
    left = max(0, room - sum((column.width or NARROWEST_NAME) + 1 for column in columns))
    is_name = not columns[0].width and columns[0].words == NAME
    longest = max(longest if is_name else room, NARROWEST_NAME)
    name = min(left, min(longest, WIDE_NAME) - NARROWEST_NAME)
    spark = min(left - name, max(column.most - column.width for column in columns))
    name = min(left - spark, longest - NARROWEST_NAME)
    return [
        NARROWEST_NAME + name if not c.width else c.width + spark if c.most else c.width
        for c in columns
    ]


DIGITS = 2  # as in iostat


def digits_of(cells: Iterable[Cell], room: int) -> int:
    """Return the decimals of a column: ``DIGITS``, or fewer if its largest figure has no room for them."""
    longest = max((len(cell.text(0)) for cell in cells if isinstance(cell, Figure)), default=0)
    return min(DIGITS, max(0, room - longest - 1))


def filled(
    cells: Sequence[Cell], room: int, column: Column, *, point: str, ascii_only: bool
) -> list[str]:
    """Return the *cells* of a column in *room* columns each, figures with the same decimals."""
    digits = digits_of(cells, room)
    return [
        _filled(
            cell.text(digits).replace(".", point) if isinstance(cell, Figure) else cell,
            room,
            column,
            ascii_only=ascii_only,
        )
        for cell in cells
    ]


def _filled(cell: str | Spark | Shares, room: int, column: Column, *, ascii_only: bool) -> str:
    if isinstance(cell, Spark):
        return sparkline(cell.values, room, ascii_only=ascii_only)
    if isinstance(cell, Shares):
        return _bar(cell, room, ascii_only=ascii_only)
    return aligned(cell, room, column.words, ascii_only=ascii_only)


def aligned(text: str, room: int, words: str, *, ascii_only: bool) -> str:
    """Return *text* in *room* columns: words to the left, names cut in the middle, figures to the right."""
    text = _plain(text, ascii_only=ascii_only)
    if words != SENTENCE:
        text = shortened(text, room)
    text = padded_to(room, text, right=not words)
    return text.translate(ASCII) if ascii_only else text  # it may have been cut


def _plain(text: str, *, ascii_only: bool) -> str:
    """Return untrusted *text* with nothing that controls a terminal, and in ASCII if need be."""
    text = safe(text)
    if ascii_only:
        text = text.translate(ASCII).encode("ascii", "backslashreplace").decode()
    return text


def sparkline(values: tuple[float | None, ...], room: int, *, ascii_only: bool = False) -> str:
    """
    Return *values* as bars from 0, the newest at the right; unknown ones are blank.

    A full bar is their maximum, at least twice the usual value: so a constant load has bars of half the height.

    >>> sparkline((0, 1, None, 4), 6), sparkline((2, 4, 1, 1), 2), sparkline((7, 7, 7), 3)
    ('  ▁▃ █', '█▃', '▅▅▅')
    """
    return chart(values, (room, 1), ascii_only=ascii_only)[0]


def chart(
    values: tuple[float | None, ...],
    size: tuple[int, int],
    broad: int = 1,
    *,
    ascii_only: bool = False,
) -> list[str]:
    """
    Return ``sparkline`` with bars of several lines: *size* in columns and lines; each bar is *broad* columns.

    >>> chart((0, 1, 4), (6, 2), 2)
    ['    ██', '▁▁▅▅██']
    """
    room, high = size
    steps = SPARKS[ascii_only]
    per_bar = max(1, -(-len(values) * broad // max(1, room)))
    groups = [values[max(0, end - per_bar) : end] for end in range(len(values), 0, -per_bar)][::-1]
    highest = [max((v for v in group if v is not None), default=None) for group in groups]
    known = [value for value in highest if value is not None]
    most = max([*known, 2 * (usual(known) or 0.0)])
    levels = [None if v is None else v / most if most else 0.0 for v in highest]
    lines = (
        "".join(_bar_part(level, line, high, steps) * broad for level in levels)
        for line in range(high - 1, -1, -1)
    )
    return [line.rjust(room) for line in lines]


def _bar_part(level: float | None, line: int, high: int, steps: str) -> str:
    """Return the character of a bar of *level* (0…1) in *line* of *high* lines, from below; the lowest is never empty."""
    if level is None:
        return " "
    step = round(level * (high * len(steps) - 1)) - line * len(steps)
    return " " if step < 0 else steps[min(step, len(steps) - 1)]


def usual(values: Sequence[float]) -> float | None:
    """Return the median of *values*, the lower one of two; None without values."""
    return sorted(values)[(len(values) - 1) // 2] if values else None


def _bar(shares: Shares, room: int, *, ascii_only: bool) -> str:
    """Return a bar of a third of *room*, then the names of the largest parts with their percentages."""
    glyphs = BARS[ascii_only]
    long = min(40, room // 3)
    bar, end = "", 0.0
    for place, (_, share) in enumerate(shares.parts):
        end += share
        bar += glyphs[min(place, len(glyphs) - 1)] * (round(end * long) - len(bar))
    names = ", ".join(f"{share:.0%} {name}" for name, share in shares.parts[:3])
    return f"{bar.ljust(long)} {aligned(names, room - long - 1, SENTENCE, ascii_only=ascii_only)}"


def fitted(line: Line, room: int, *, ascii_only: bool) -> Line:
    """Return *line* without what does not fit; a text is cut at its end."""
    kept = []
    for span in line:
        text = _plain(span.text, ascii_only=ascii_only)
        if width(text) > room:
            text = aligned(span.text, room, SENTENCE, ascii_only=ascii_only)
        room -= width(text)
        if text:
            kept.append(Span(text, span.tone))
    return kept
