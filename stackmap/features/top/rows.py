"""The rows of each view, in the order that the user chose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from stackmap.document.interval import instant
from stackmap.document.layers import counted
from stackmap.document.rule_words import filled, words_of
from stackmap.errors import OperandRefused
from stackmap.features.top.moment import Event, GroupLoad, Moment
from stackmap.features.top.state import SORTS, VIEWS, State
from stackmap.model.command_line import NO_COMMAND, quoted, stackmap_command
from stackmap.model.device import Use
from stackmap.model.load import Load
from stackmap.model.operand import DeviceTitle, Fixed
from stackmap.model.topology import Topology
from stackmap.rules.rule import Finding


class Row(NamedTuple):
    """
    A row of a view. ``key``: unique in the view. ``name``: its text, untrusted.

    ``device``: the kernel name of its device, "" for none. ``stack``: the top of its stack, "" for none.
    ``layer``: the index of a layer in that stack, None for other rows. ``about``: the finding, event,
    user or control group that the row shows. ``shows``: the command for this row alone, and ``title``
    the name that the command takes.
    """

    key: str
    name: str
    device: str = ""
    stack: str = ""
    layer: int | None = None
    about: Finding | Event | Use | GroupLoad | None = None
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

    @property
    def depth(self) -> int:
        """1 for a row that details another one."""
        return int(self.layer is not None)


def rows_of(moment: Moment, state: State) -> list[Row]:
    """Return all rows of the view that *state* has, filtered and sorted."""
    return ROWS[VIEWS[state.view]](moment, state)


def matches(topology: Topology, name: str, words: str) -> bool:
    """Whether a name or a user of the device *name* has *words* in it, in any case."""
    device, words = topology[name], words.lower()
    users = (use.name for use in device.uses)
    return any(words in each.lower() for each in (device.title, device.name, *users))


def _wanted(moment: Moment, state: State, names: Iterable[str]) -> list[str]:
    if not state.filter:
        return list(names)
    return [name for name in names if matches(moment.topology, name, state.filter)]


def _sorted(moment: Moment, state: State, names: list[str]) -> list[str]:
    """Return *names* by falling value; unknown ones last, equal ones in the order of the stack."""
    value = _value(moment, state)
    if value is None:
        return names
    values = {name: value(name) for name in names}
    return sorted(names, key=lambda name: _falling(values[name]))


def _falling(value: float | None) -> float:
    return 1.0 if value is None else -value


def _value(moment: Moment, state: State) -> Callable[[str], float | None] | None:
    if not state.sort:
        return None
    if SORTS[state.sort] == "cost":
        return lambda name: (
            None if moment.load(name).idle else moment.stack(name).cost.bytes_per_byte
        )
    return lambda name: figure(moment.load(name), state.metric, state.direction)


def figure(load: Load, metric: str, direction: str) -> float | None:
    """Return "iops", "bytes" or "await" of *load*."""
    flow = load.flow(direction)
    return {"iops": flow.ios, "bytes": flow.bytes, "await": flow.await_ms}[metric]


def _volumes(moment: Moment, state: State) -> list[Row]:
    tops = _sorted(moment, state, _wanted(moment, state, moment.scope.tops))
    if moment.scope.folded and not state.toggled:
        return [_top_row(moment, top, folded=True) for top in tops]
    rows: dict[str, Row] = {}
    for top in tops:
        _add_stack(rows, moment, state, top)
    return list(rows.values())


def _add_stack(rows: dict[str, Row], moment: Moment, state: State, top: str) -> None:
    """Add the rows of the stack of *top*, then those of each device that it shares with other stacks."""
    if top in rows:
        return
    folded = moment.scope.folded != (top in state.toggled)
    rows[top] = _top_row(moment, top, folded=folded)
    if folded:
        return
    rows.update((row.key, row) for row in _layer_rows(moment, top))
    if not moment.load(top).idle:
        for shared in moment.stack(top).shared:
            _add_stack(rows, moment, state, shared.name)


def _top_row(moment: Moment, top: str, *, folded: bool) -> Row:
    known = moment.scope.rows
    if (row := known.get((top, folded))) is None:
        title = moment.topology[top].title
        row = known[top, folded] = Row(top, title, top, top, folded=folded, title=title)
    return row


def _layer_rows(moment: Moment, top: str) -> Iterator[Row]:
    title = moment.topology[top].title
    for place, figures in enumerate(moment.stack(top).layers[1:], 1):
        name = counted(len(figures.layer.devices), figures.layer.word)
        yield Row(f"{top} {place}", name, "", top, place, title=title)


def _disks(moment: Moment, state: State) -> list[Row]:
    wanted = _wanted(moment, state, moment.scope.disks)
    names = wanted if SORTS[state.sort] == "cost" else _sorted(moment, state, wanted)
    topology = moment.topology
    return [
        Row(name, topology[name].title, name, shows="blame", title=topology[name].title)
        for name in names
    ]


def _services(moment: Moment, state: State) -> list[Row]:
    """Return a row per user and device: the I/O of its control group there, or the load of the device."""
    topology, groups = moment.topology, moment.groups or ()
    users = {(use.kind, use.name, name): use for name, use in moment.scope.users}
    counted = {each.who for each in groups}
    rows = [_user_row(topology, who, use) for who, use in users.items() if who not in counted]
    rows += [
        _user_row(topology, each.who, each)
        for each in groups
        if each.device in topology and (each.ios or each.who in users)
    ]
    rows = [r for r in rows if _has(state.filter, r.name, topology[r.device].title)]
    if state.sort:
        rows.sort(key=lambda row: _falling(row_figure(moment, state, row, state.metric)))
    return rows


def _user_row(topology: Topology, who: tuple[str, str, str], about: Use | GroupLoad) -> Row:
    (kind, name, device), group = who, getattr(about, "group", "")
    shows = "blame" if group else "iostat -l"
    key = f"{kind} {name} {device} {group}"
    return Row(key, name, device, about=about, shows=shows, title=topology[device].title)


def row_figure(moment: Moment, state: State, row: Row, metric: str) -> float | None:
    """Return "iops", "bytes" or "await" of a device, a user or a control group; a group has no await."""
    if isinstance(row.about, GroupLoad):
        return {"iops": row.about.ios, "bytes": row.about.bytes}.get(metric)
    return figure(moment.load(row.device), metric, state.direction)


def _findings(moment: Moment, state: State) -> list[Row]:
    rows = (
        Row(f"{each.rule.id} {each.device}", finding_text(moment.topology, each), each.device,
            about=each, shows="explain", title=_title(moment, each))
        for each in moment.findings
    )  # fmt: skip
    return [row for row in rows if _has(state.filter, row.name)]


def _title(moment: Moment, finding: Finding) -> str:
    return moment.topology[finding.device].title if finding.device else ""


def finding_text(topology: Topology, finding: Finding) -> str:
    """Return the sentence of *finding* and the number of its rule."""
    return f"{filled(finding.sentence, words_of(topology, finding.observed))} ({finding.rule.id})"


def _events(moment: Moment, state: State) -> list[Row]:
    rows = (
        Row(
            f"{place}",
            f"{(instant(each.time) or '-')}  {each.text}",
            about=each,
            shows="tree",
        )
        for place, each in reversed([*enumerate(moment.events)])
    )
    return [row for row in rows if _has(state.filter, row.name)]


def _has(words: str, *texts: str) -> bool:
    return any(words.lower() in text.lower() for text in texts)


ROWS: dict[str, Callable[[Moment, State], list[Row]]] = {
    "volumes": _volumes,
    "disks": _disks,
    "services": _services,
    "findings": _findings,
    "events": _events,
}
