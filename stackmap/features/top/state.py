"""What the user chose on the screen, and how keys change it: a state and a key in, a state out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from stackmap.errors import OperandRefused
from stackmap.features.top.moment import Event, GroupLoad
from stackmap.model.cgroup_io import ProcessIo
from stackmap.model.command_line import NO_COMMAND, quoted, stackmap_command
from stackmap.model.device import Use
from stackmap.model.operand import DeviceTitle, Fixed
from stackmap.rules.rule import Finding

VIEWS = ("volumes", "disks", "services", "findings", "events")
SORTS = ("stack order", "IOPS", "bytes", "await", "cost")
MEASURES = ("rate", "latency", "cost")  # of the sparklines
DIRECTIONS = {"r": "read", "w": "write", "b": "total"}
# What is asked for in the last line, by the key that asks.
PROMPTS = {
    "/": "filter (name, VM, mount): ",
    "i": "interval in seconds: ",
    "B": "jump to (14:30, 2026-11-21T14:30, -1h): ",
    "W": "write the last five minutes to the new directory: ",
}
PANES = {"?": "help", "h": "help", "e": "explain", "enter": "layers"}


class Request(NamedTuple):
    """What a key asks of the program: "quit", "interval", "write", "step" or "jump", with its value."""

    what: str
    value: str = ""


class Row(NamedTuple):
    """
    A row of a view. ``key``: unique in the view. ``name``: its text, untrusted.

    ``device``: the kernel name of its device, "" for none. ``stack``: the top of its stack, "" for none.
    ``layer``: the index of a layer in that stack, None for other rows. ``about``: the finding, event,
    user, control group or process that the row shows. ``shows``: the command for this row alone, and ``title``
    the name that the command takes.
    """

    key: str
    name: str
    device: str = ""
    stack: str = ""
    layer: int | None = None
    about: Finding | Event | Use | GroupLoad | ProcessIo | None = None
    folded: bool = False
    shows: str = "iostat -l"
    title: str = ""

    @property
    def command(self) -> str:
        """The command line for this row alone."""
        interval = () if self.shows in ("explain", "tree") else (Fixed("1"),)
        try:
            names = (DeviceTitle(self.title),) if self.title else ()
        except OperandRefused:
            return NO_COMMAND
        return quoted((*stackmap_command(self.shows, *names), *interval))


class Screen(NamedTuple):
    """What a key refers to: the rows in their order, how many fit, and the lines of the open pane."""

    rows: Sequence[Row]
    page: int
    pane_lines: int = 0
    recorded: bool = False


@dataclass(frozen=True)
class State:
    """
    The choices of the user.

    ``view``: an index of ``VIEWS``. ``cursor``: the key of a row, ``offset``: the index of the
    first row on the screen. ``toggled``: rows that are folded where others are not, or the reverse.
    ``sort``: an index of ``SORTS``, ``measure`` of ``MEASURES``. ``pane``: what is open over the rows, "" for nothing, and
    ``scroll`` its first line. ``asked``: the key of the open prompt, ``typed`` its text.
    ``message``: for the last line.
    """

    view: int = 0
    cursor: str = ""
    offset: int = 0
    toggled: frozenset[str] = frozenset()
    sort: int = 0
    measure: int = 0
    direction: str = "total"
    filter: str = ""
    pane: str = ""
    scroll: int = 0
    asked: str = ""
    typed: str = ""
    message: str = ""
    paused: bool = False
    playing: bool = False

    @property
    def metric(self) -> str:
        """The metric of the sparklines; a rate is of bytes if sorted by them, and a cost always."""
        rate = "bytes" if SORTS[self.sort] == "bytes" else "iops"
        return {"latency": "await", "cost": "bytes"}.get(MEASURES[self.measure], rate)


Change = tuple[State, Request | None]


def pressed(state: State, key: str, screen: Screen, suggestion: str = "") -> Change:
    """Return *state* after *key*, and what is to be done; *suggestion*: the text that ``W`` begins with."""
    state = replace(state, message="")
    if state.asked:
        return _typed(state, key)
    if key == "ctrl-c" or (key == "q" and not state.pane):
        return state, Request("quit")
    if state.pane and key in ("q", "esc", "enter", "?", "h", "e"):
        return replace(state, pane="", scroll=0), None
    if key in MOVES:
        return _moved(state, MOVES[key], screen), None
    if key in PROMPTS and (key != "i" or not screen.recorded) and (key != "B" or screen.recorded):
        typed = suggestion if key == "W" else ""
        return replace(state, asked=key, typed=typed), None
    if key in ("t", "T", ".") and screen.recorded:
        state = replace(state, paused=False)  # moving and playing end a pause
        if key == ".":
            return replace(state, playing=not state.playing), None
        return replace(state, playing=False), Request("step", "1" if key == "t" else "-1")
    action = ACTIONS.get(key)
    return (state if action is None else action(state, key, screen)), None


def _typed(state: State, key: str) -> Change:
    """Return the state after a key of a prompt."""
    if key in ("esc", "ctrl-c"):
        return replace(state, asked="", typed=""), None
    if key == "backspace":
        return replace(state, typed=state.typed[:-1]), None
    if key != "enter":
        return replace(state, typed=state.typed + (key if _is_text(key) else "")), None
    asked, typed = state.asked, state.typed.strip()
    state = replace(state, asked="", typed="")
    if asked == "/":
        return replace(state, filter=typed, offset=0, cursor=""), None
    if asked == "B" and typed:
        state = replace(state, paused=False)
    what = {"i": "interval", "B": "jump", "W": "write"}[asked]
    return state, Request(what, typed) if typed else None


def _is_text(key: str) -> bool:
    return len(key) == 1 and key.isprintable()


MOVES: dict[str, Callable[[int, int, int], int]] = {  # index, page, count → index
    **dict.fromkeys(("up", "k"), lambda at, *_: at - 1),
    **dict.fromkeys(("down", "j"), lambda at, *_: at + 1),
    "pgup": lambda at, page, _: at - page,
    "pgdn": lambda at, page, _: at + page,
    "home": lambda *_: 0,
    "end": lambda _, __, count: count - 1,
}


def _moved(state: State, move: Callable[[int, int, int], int], screen: Screen) -> State:
    """Move the cursor, or scroll the open pane."""
    if state.pane:
        last = max(0, screen.pane_lines - screen.page)
        wanted = move(state.scroll, screen.page, last + 1)
        return replace(state, scroll=min(max(0, wanted), last))
    if not screen.rows:
        return state
    at = move(place_of(state, screen.rows), screen.page, len(screen.rows))
    at = min(max(0, at), len(screen.rows) - 1)
    return replace(state, cursor=screen.rows[at].key)


def place_of(state: State, rows: Sequence[Row]) -> int:
    """Return the index of the row with the cursor; of the first one where that row is gone."""
    return next((place for place, row in enumerate(rows) if row.key == state.cursor), 0)


def row_at(state: State, rows: Sequence[Row]) -> Row | None:
    """Return the row with the cursor; None without rows."""
    return rows[place_of(state, rows)] if rows else None


def scrolled(state: State, rows: Sequence[Row], page: int) -> State:
    """Return *state* with the cursor on a row, and that row among the *page* rows from ``offset``."""
    if not rows:
        return replace(state, cursor="", offset=0)
    at = place_of(state, rows)
    offset = min(max(state.offset, at - page + 1, 0), at, max(0, len(rows) - page))
    return replace(state, cursor=rows[at].key, offset=offset)


def _sort(state: State, _: str, __: Screen) -> State:
    sort = (state.sort + 1) % len(SORTS)
    measure = {"await": "latency", "cost": "cost"}.get(SORTS[sort], "rate")
    said = f"sorted by {SORTS[sort]}" if sort else SORTS[0]
    return replace(state, sort=sort, measure=MEASURES.index(measure), message=said)


def _measure(state: State, _: str, __: Screen) -> State:
    return replace(state, measure=(state.measure + 1) % len(MEASURES))


def _fold(state: State, _: str, screen: Screen) -> State:
    row = row_at(state, screen.rows)
    if row is None or not row.stack:
        return state
    return replace(state, toggled=state.toggled ^ {row.stack}, cursor=row.stack)


def _pane(state: State, key: str, screen: Screen) -> State:
    if PANES[key] != "help" and not screen.rows:
        return state
    return replace(state, pane=PANES[key], scroll=0)


def _copy(state: State, _: str, screen: Screen) -> State:
    row = row_at(state, screen.rows)
    return state if row is None else replace(state, message=row.command)


def _next(state: State, _: str, screen: Screen) -> State:
    """Move to the next row that matches the filter, from the last to the first; skip the layers of stacks."""
    rows = screen.rows
    at = place_of(state, rows)
    order = [*rows[at + 1 :], *rows[: at + 1]]
    match = next((row.key for row in order if row.layer is None), state.cursor)
    return replace(state, cursor=match)


ACTIONS: dict[str, Callable[[State, str, Screen], State]] = {
    **dict.fromkeys(
        "12345",
        lambda state, key, _: replace(
            state, view=int(key) - 1, cursor="", offset=0, pane="", scroll=0
        ),
    ),
    **dict.fromkeys("rwb", lambda state, key, _: replace(state, direction=DIRECTIONS[key])),
    **dict.fromkeys(PANES, _pane),
    "s": _sort,
    "m": _measure,
    " ": _fold,
    "y": _copy,
    "z": lambda state, *_: replace(state, paused=not state.paused),
    "n": _next,
}
