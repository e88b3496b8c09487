"""
The screen of ``top``: a moment, the user's choices and a size in, styled lines out.

With the panes over the rows: help, the per-layer table of a stack, or the findings on a row.
"""

from collections.abc import Iterator, Sequence

from stackmap.commands import additions
from stackmap.document.blame import LIMITS
from stackmap.document.blocks import Block, Headline, Paragraph, Terms
from stackmap.document.findings import finding_card
from stackmap.document.interval import instant
from stackmap.document.layers import layers_document
from stackmap.document.wording import percent, plural, rate
from stackmap.features.top.cells import Line, Span, sparkline
from stackmap.features.top.judge import CLEAR
from stackmap.features.top.moment import Event, Moment
from stackmap.features.top.rows import finding_text
from stackmap.features.top.state import MEASURES, PROMPTS, SORTS, VIEWS, Row, State, row_at
from stackmap.features.top.tables import HEADER, Look, TimeLine, panels, tab, table
from stackmap.model.cgroup_io import ProcessIo
from stackmap.model.load import ratio
from stackmap.model.units import MIB
from stackmap.render.terminal import Style, rendered
from stackmap.render.text import safe, width
from stackmap.rules.rule import Finding

KEYS = (
    ("1 2 3 4 5", "volumes, disks, services, findings, events"),
    ("arrows j k page home end", "move"),
    ("space", "fold or unfold a stack"),
    ("enter", "show the layers of a stack, as iostat -l"),
    ("e", "explain the row: its findings"),
    ("r w b", "reads, writes, both"),
    ("s", "sort: stack order, IOPS, bytes, await, cost"),
    ("m", "show rate, latency or cost over time, and first where columns are few"),
    ("/", "filter by name, VM or mount; an empty filter shows all"),
    ("n", "next match"),
    ("y", "show the command line for the row"),
    ("i", "change the interval"),
    ("z", "pause and go on"),
    ("W", "write the last five minutes as a capture"),
    ("t T", "next and previous interval of a recording"),
    ("B", "jump to a time of day, or another time of a recording"),
    (".", "play a recording"),
    ("Ctrl-Z", "suspend; fg resumes"),
    ("? h", "this help"),
    ("q", "close this, or quit"),
)
NONE_HERE = "No finding on it or on a device below it lasted three intervals."
WORDS = (
    ("IOPS, MiB/s", "completed per second; of a layer, what belongs to the stack"),
    ("await ms", "mean time per request on these devices, queueing included"),
    ("queue", "requests in flight, on average"),
    ("IOPS×, bytes×", "arriving at a layer per request or byte at the top; of a stack: at its disks"),
    ("cost", "disk bytes per byte at the top, everything included; ~ estimate"),
    ("2 min", "the row's rate (IOPS, or bytes if sorted by them), latency, or bytes for cost; half the height is its usual value"),
    ("-", "cannot be known"),
)  # fmt: skip


def pane(moment: Moment, state: State, row: Row | None) -> Iterator[Block]:
    """Yield the blocks of the pane that *state* has open, on *row*."""
    if state.pane == "help" or row is None:
        yield Headline(("KEYS",))
        yield Terms(KEYS)
        yield Headline(("COLUMNS",))
        yield Terms(WORDS)
    elif state.pane == "layers" or isinstance(row.about, ProcessIo):
        yield from _layers(moment, row)
    else:
        yield from _explained(moment, row)


def _layers(moment: Moment, row: Row) -> Iterator[Block]:
    """Yield the tables of ``iostat --per-layer`` for the stack of *row*, or for the stacks on its device."""
    if isinstance(row.about, Finding):
        yield from _explained(moment, row)
        return
    if isinstance(row.about, Event):
        yield Paragraph(row.name)
        return
    if isinstance(row.about, ProcessIo):
        yield Headline((row.name,))
        yield Paragraph(LIMITS, "processes:")
        return
    tops = [row.stack] if row.stack else _stacks_of(moment, row)
    stacks = (moment.stack(top) for top in tops)
    yield from layers_document(stacks, moment.interval, time=True)
    for blocks in additions("headroom"):
        yield from blocks(moment.topology, moment.past, tops)


def _stacks_of(moment: Moment, row: Row) -> list[str]:
    """Return the busy stacks that use the device of *row*, all if none is busy."""
    tops = [top for top in moment.scope.tops if top in moment.topology.tops_of(row.device)]
    return [top for top in tops if not moment.load(top).idle] or tops or [row.device]


def _explained(moment: Moment, row: Row) -> Iterator[Block]:
    """Yield the findings on the devices of *row*, with evidence, caveat and advice."""
    start = row.stack or row.device
    devices = set(moment.topology.with_all_below(start)) if start else set()
    shown = [
        finding
        for finding in moment.findings
        if finding is row.about or devices.intersection((finding.device, *finding.peers))
    ]
    if isinstance(row.about, Finding):
        shown = [row.about]
    yield Headline((row.name,))
    for number, finding in enumerate(shown):
        yield finding_card(moment.topology, finding, number)
    if not shown:
        judged = moment.verdict.startswith(CLEAR)
        yield Paragraph(NONE_HERE if judged else moment.verdict)
    if row.command:
        yield Paragraph(f"For more intervals, run `{row.command}`.")


DIRECTION_WORDS = {"read": "reads", "write": "writes", "total": "both"}
HINT = "? help  q quit  / filter  s sort  enter layers  e explain"


def screen(moment: Moment, state: State, rows: Sequence[Row], look: Look) -> list[Line]:
    """Return the lines of the screen, at most ``look.height``, none wider than ``look.width``."""
    if state.pane:
        body = pane_lines(moment, state, rows, look)[state.scroll :]
        middle: list[Line] = [[], *(look.fitted([Span(text)]) for text in body[: look.page])]
    else:
        middle = table(moment, state, rows, look)
        middle += panels(moment, state, rows, look, look.page + 1 - len(middle))
    lines = [look.fitted(line) for line in _header(moment, state, look)] + middle
    lines += [[] for _ in range(HEADER + look.page - len(lines))]
    lines += _timeline(look.timeline, look) if look.timeline else []
    lines.append(look.fitted(_footer(state, look)))
    return lines[-look.height :]


def pane_lines(moment: Moment, state: State, rows: Sequence[Row], look: Look) -> list[str]:
    """Return the lines of the open pane."""
    text = rendered(pane(moment, state, row_at(state, rows)), Style(look.width - 1))
    return [line.rstrip("\n") for line in text]


def _header(moment: Moment, state: State, look: Look) -> list[Line]:
    interval = moment.interval
    seconds = interval.seconds if look.seconds is None else look.seconds
    order = f"{SORTS[state.sort]}, {DIRECTION_WORDS[state.direction]}, {MEASURES[state.measure]}"
    parts = [
        "stackmap top",
        moment.topology.machine.host,
        instant(interval.time) or "",
        f"every {seconds or 0:.3g} s",
        order,
    ]
    running = "PAUSED" if state.paused else "PLAYING" if state.playing else ""
    title = [Span("  ".join(filter(None, parts)), "bold"), Span(f"  {running}", "reverse")]
    return [
        title[: 1 + bool(running)],
        [Span(_totals(moment))],
        _worst(moment),
        _tabs(moment, state),
    ]


def _totals(moment: Moment) -> str:
    counts = ((len(moment.scope.summed_tops), "top"), (len(moment.scope.disks), "disk"))
    totals = "   ".join(
        f"{plural(count, word)}: {rate(ios)} IOPS, {rate(ratio(moved, MIB))} MiB/s"
        for (count, word), (ios, moved) in zip(counts, moment.totals, strict=True)
    )
    stalled = moment.stalled
    return totals if stalled is None else f"{totals}   tasks waited {percent(stalled.some)}"


def _worst(moment: Moment) -> Line:
    grave = [finding for finding in moment.findings if finding.is_grave]
    if not grave:
        return [Span(moment.verdict)]
    severity = str(grave[0].severity)
    text = finding_text(moment.topology, grave[0])
    return [Span(severity.upper(), severity), Span(f": {text}")]


def _tabs(moment: Moment, state: State) -> Line:
    counts = {"findings": len(moment.findings), "events": len(moment.events)}
    line: Line = []
    for number, view in enumerate(VIEWS):
        count = f" ({counts[view]})" if counts.get(view) else ""
        line += [
            Span(f"{tab(number)}{count}", "reverse" * (number == state.view)),
            Span("  "),
        ]
    return [*line, Span(f"/{state.filter}" if state.filter else "")]


def _timeline(timeline: TimeLine, look: Look) -> list[Line]:
    """Return the load over the recording, and below it the present time and the events."""
    marks = [" "] * look.width
    for place in timeline.events:
        marks[min(place * look.width // max(1, len(timeline.loads)), look.width - 1)] = "!"
    span = timeline.end - timeline.begin
    at = (timeline.time - timeline.begin) / span if span else 0.0
    marks[min(look.width - 1, max(0, int(at * look.width)))] = "^"
    spread = tuple(
        timeline.loads[place * len(timeline.loads) // look.width]
        for place in range(look.width if timeline.loads else 0)
    )
    return [[Span(sparkline(spread, look.width, ascii_only=look.ascii))], [Span("".join(marks))]]


def _footer(state: State, look: Look) -> Line:
    if state.asked:
        prompt, typed = PROMPTS[state.asked], safe(state.typed)
        while (
            typed and width(prompt + typed) >= look.width
        ):  # the end is where the next letter goes
            typed = typed[1:]
        return [Span(prompt), Span(typed), Span(" ", "reverse")]
    if state.message:
        return [Span(state.message, "bold")]
    more = "  t T . B time" if look.timeline else "  z pause"
    return [Span(HINT + more)]
