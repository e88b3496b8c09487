"""The rows of each view, in the order that the user chose."""

from collections.abc import Callable, Iterable, Iterator

from stackmap.document.interval import instant
from stackmap.document.layers import counted
from stackmap.document.rule_words import filled, words_of
from stackmap.features.top.moment import GroupLoad, Moment
from stackmap.features.top.state import SORTS, VIEWS, Row, State
from stackmap.model.cgroup_io import ProcessIo
from stackmap.model.device import Use
from stackmap.model.load import Load
from stackmap.model.topology import Topology
from stackmap.rules.rule import Finding


def rows_of(moment: Moment, state: State) -> list[Row]:
    """Return all rows of the view that *state* has, filtered and sorted."""
    return ROWS[VIEWS[state.view]](moment, state)


def _wanted(moment: Moment, state: State, names: Iterable[str]) -> list[str]:
    """Return the devices among *names* that match the filter by their own name or that of a user."""
    topology = moment.topology

    def matches(name: str) -> bool:
        device = topology[name]
        return _has(state.filter, device.title, device.name, *(use.name for use in device.uses))

    return [name for name in names if matches(name)] if state.filter else list(names)


def _sorted(moment: Moment, state: State, names: list[str]) -> list[str]:
    """Return *names* by falling value; unknown ones last, equal ones in the order of the stack."""

    def value(name: str) -> float | None:
        load = moment.load(name)
        if SORTS[state.sort] == "cost":
            return None if load.idle else moment.stack(name).cost.bytes_per_byte
        return figure(load, state.metric, state.direction)

    return sorted(names, key=lambda name: _falling(value(name))) if state.sort else names


def _busy_first(moment: Moment, names: list[str]) -> list[str]:
    """Return *names* with those last that did nothing in the time that is remembered."""
    return sorted(names, key=lambda name: not moment.recent.was_busy(name))


def _falling(value: float | None) -> float:
    return 1.0 if value is None else -value


def figure(load: Load, metric: str, direction: str) -> float | None:
    """Return "iops", "bytes" or "await" of *load*."""
    flow = load.flow(direction)
    return {"iops": flow.ios, "bytes": flow.bytes, "await": flow.await_ms}[metric]


def _volumes(moment: Moment, state: State) -> list[Row]:
    rows: dict[str, Row] = {}
    tops = _busy_first(moment, _wanted(moment, state, moment.scope.tops))
    for top in _sorted(moment, state, tops):
        _add_stack(rows, moment, state, top)
    return list(rows.values())


def _add_stack(rows: dict[str, Row], moment: Moment, state: State, top: str) -> None:
    """Add the rows of the stack of *top*, then those of each device that it shares with other stacks."""
    if top in rows:
        return
    folded = moment.scope.folded != (top in state.toggled)
    title = moment.topology[top].title
    rows[top] = Row(top, title, top, top, folded=folded, title=title)
    if folded:
        return
    rows.update((row.key, row) for row in _layer_rows(moment, top))
    if not moment.load(top).idle:
        for shared in moment.stack(top).shared:
            _add_stack(rows, moment, state, shared.name)


def _layer_rows(moment: Moment, top: str) -> Iterator[Row]:
    title = moment.topology[top].title
    for place, figures in enumerate(moment.stack(top).layers[1:], 1):
        name = counted(len(figures.layer.devices), figures.layer.word)
        yield Row(f"{top} {place}", name, "", top, place, title=title)


def _disks(moment: Moment, state: State) -> list[Row]:
    wanted = _busy_first(moment, _wanted(moment, state, moment.scope.disks))
    names = wanted if SORTS[state.sort] == "cost" else _sorted(moment, state, wanted)
    topology = moment.topology
    return [
        Row(name, topology[name].title, name, shows="blame", title=topology[name].title)
        for name in names
    ]


def _services(moment: Moment, state: State) -> list[Row]:
    """
    Return a row per user and device: the I/O of its control group there, or the load of the device.

    Then the processes with most I/O, of all devices together.
    """
    topology, groups = moment.topology, moment.groups or ()
    users = {(use.kind, use.name, name): use for name, use in moment.scope.users}
    counted = {group.who for group in groups}
    rows = [_user_row(topology, who, use) for who, use in users.items() if who not in counted]
    rows += [
        _user_row(topology, group.who, group)
        for group in groups
        if group.device in topology and (group.ios or group.who in users)
    ]
    rows += [
        Row(f"process {process.pid}", process.title, about=process, shows="blame")
        for process in moment.processes
    ]
    rows = [r for r in rows if _has(state.filter, r.name, device_title(topology, r))]
    if state.sort:
        rows.sort(key=lambda row: _falling(row_figure(moment, state, row, state.metric)))
    return rows


def device_title(topology: Topology, row: Row) -> str:
    """Return the name of the device of *row*; of none for a process, whose I/O is of all devices."""
    return topology[row.device].title if row.device else "all devices"


def _user_row(topology: Topology, who: tuple[str, str, str], about: Use | GroupLoad) -> Row:
    (kind, name, device), group = who, getattr(about, "group", "")
    shows = "blame" if group else "iostat -l"
    key = f"{kind} {name} {device} {group}"
    return Row(key, name, device, about=about, shows=shows, title=topology[device].title)


def row_figure(moment: Moment, state: State, row: Row, metric: str) -> float | None:
    """
    Return "iops", "bytes" or "await" of what *row* is about; a control group has no await, a process only bytes.

    A layer has its share of the stack, as in ``iostat -l``, and the await of its own devices.
    """
    if isinstance(row.about, GroupLoad):
        return {"iops": row.about.ios, "bytes": row.about.bytes}.get(metric)
    if isinstance(row.about, ProcessIo):
        parts = {"read": row.about.read, "write": row.about.written}
        return parts.get(state.direction, sum(parts.values())) if metric == "bytes" else None
    if row.layer is None:
        return figure(moment.load(row.device), metric, state.direction)
    layer = moment.stack(row.stack).layers[row.layer]
    if metric == "await":
        return layer.own[state.direction].await_ms
    part = layer.share.part(state.direction)
    return part.ios if metric == "iops" else part.bytes


def _findings(moment: Moment, state: State) -> list[Row]:
    topology = moment.topology
    rows = (
        Row(f"{finding.rule.id} {finding.device}", finding_text(topology, finding), finding.device,
            about=finding, shows="explain", title=topology[finding.device].title if finding.device else "")
        for finding in moment.findings
    )  # fmt: skip
    return [row for row in rows if _has(state.filter, row.name)]


def finding_text(topology: Topology, finding: Finding) -> str:
    """Return the sentence of *finding* and the number of its rule."""
    return f"{filled(finding.sentence, words_of(topology, finding.observed))} ({finding.rule.id})"


def _events(moment: Moment, state: State) -> list[Row]:
    rows = (
        Row(f"{place}", f"{(instant(event.time) or '-')}  {event.text}", about=event, shows="tree")
        for place, event in reversed([*enumerate(moment.events)])
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
