"""
Devices for people: the rows of a drawing, top down or disks up, with their names, and what each device is.

Each device is drawn once. A later occurrence is a row that points back to it;
adjacent ones share a row. Sub-LVs of one role share a row, and so do the
devices below them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, zip_longest
from typing import NamedTuple

from stackmap.document.wording import size
from stackmap.ledger.device_state import write_mostly
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import target_of
from stackmap.model.far_side import by_name
from stackmap.model.health import error_words, errors
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology, natural_key

# Data first.
ORDER = (
    Role.DATA,
    Role.ORIGIN,
    Role.PATH,
    Role.CACHE,
    Role.COW,
    Role.JOURNAL,
    Role.METADATA,
    Role.REPLACEMENT,
    Role.SPARE,
    Role.FAILED,
)


WRITE_MOSTLY = "write-mostly"  # the role of a data member that is read last


class Row(NamedTuple):
    """
    One line of a tree.

    ``branches``: per level whether more rows follow there, to draw the lines of
    the tree. ``role``: of the edge from the row above, None at the root.
    ``again``: its devices were drawn before. ``above``: the devices one row up.
    ``write_mostly``: the devices above read them only if they cannot read others.
    ``inverse``: these are below in the stack; ``role`` is that of the disk in these devices.
    """

    devices: tuple[Device, ...]
    role: Role | None = None
    branches: tuple[bool, ...] = ()
    again: bool = False
    above: tuple[Device, ...] = ()
    write_mostly: bool = False
    inverse: bool = False

    @property
    def device(self) -> Device:
        """The first of its devices."""
        return self.devices[0]


Edges = list[tuple[Role, str]]
Next = Callable[[Sequence[Device]], Edges]


def rows(topology: Topology, *, inverse: bool = False, expand: bool = False) -> Iterator[Row]:
    """Yield the rows of *topology*; *inverse* from the disks up, *expand* with every hidden LV."""
    following = _upwards(topology, expand=expand) if inverse else _downwards(topology)
    disks = [device for device in topology.devices.values() if not topology.below(device.name)]
    starts = disks if inverse else topology.tops
    drawn: set[str] = set()
    todo = [Row((device,), inverse=inverse) for device in reversed(starts)]
    while todo:
        row = todo.pop()
        # It may have been drawn meanwhile, deeper down.
        again = row.again or drawn.issuperset([device.name for device in row.devices])
        yield row if again is row.again else row._replace(again=again)
        if not again:
            drawn.update([device.name for device in row.devices])
            todo.extend(reversed(_children(topology, row, following, drawn, expand=expand)))


def _children(
    topology: Topology, row: Row, following: Next, drawn: set[str], *, expand: bool
) -> list[Row]:
    groups: dict[tuple[Role, str, bool], list[Device]] = {}
    mostly = {name for device in row.devices for name in write_mostly(topology, device)}
    for role, name in dict.fromkeys(following(row.devices)):
        device = topology[name]
        key = "again" if name in drawn else name
        if key == name and device.kind is Kind.MEMBER and not expand:
            key = "folded"
        groups.setdefault((role, key, name in mostly), []).append(device)
    ordered = sorted(groups.items(), key=lambda group: ORDER.index(group[0][0]))
    last = len(ordered) - 1
    return [
        Row(
            tuple(devices),
            role,
            (*row.branches, place < last),
            key == "again",
            row.devices,
            read_last,
            row.inverse,
        )
        for place, ((role, key, read_last), devices) in enumerate(ordered)
    ]


def _downwards(topology: Topology) -> Next:
    def below(devices: Sequence[Device]) -> Edges:
        return [
            (edge.role, edge.below) for device in devices for edge in topology.below(device.name)
        ]

    return below


def _upwards(topology: Topology, *, expand: bool) -> Next:
    """Return the devices above; instead of a sub-LV its volume, unless *expand*."""

    def above(devices: Sequence[Device]) -> Edges:
        users = [owner for device in devices for owner in owners(device.name, Role.DATA)]
        # Data hides the metadata of the same device.
        best: dict[str, Role] = {}
        for role, name in users:
            best[name] = min(role, best.get(name, role), key=ORDER.index)
        ordered = sorted(best, key=lambda name: natural_key(topology[name].title))
        return [(best[name], name) for name in ordered]

    def owners(name: str, role: Role) -> Edges:
        edges: Edges = []
        for edge in topology.above(name):
            here = edge.role if role is Role.DATA else role
            if expand or topology[edge.above].kind is not Kind.MEMBER:
                edges.append((here, edge.above))
            else:
                edges += owners(edge.above, here)
        return edges

    return above


ARROW = "↑"  # after the name of a device that the tree shows further up
MOST_NAMES = 4  # names listed per row; of more, the first and the last


def title(row: Row) -> str:
    """Return the names of the devices of *row*, without what the row above already says."""
    if len(row.devices) == 1:
        name = _short(row.devices[0], row.above)
        return f"{name} {ARROW}" if row.again else name
    names = list(dict.fromkeys(_short(device, row.above) for device in row.devices))
    if row.again:
        return f"{listed(names)} {ARROW}"
    return names[0] if len(names) == 1 else _folded(names)


def _short(device: Device, above: Iterable[Device]) -> str:
    """Return a device's name without the volume or VG that the row above names."""
    if device.kind is Kind.MEMBER:
        for owner in above:
            rest = device.title.removeprefix(owner.title)
            if rest.startswith("_"):
                return rest
    group, _, volume = device.label.partition("/")
    same = volume and any(owner.label.startswith(f"{group}/") for owner in above)
    return volume if same else device.title


def kernel(row: Row) -> str:
    """Return the kernel names, "" where the title shows them."""
    names = [device.name for device in row.devices if device.label not in ("", device.name)]
    if not names:
        return ""
    if len(names) == len(row.devices) == 1:
        return names[0]
    return _numbered([device.name for device in row.devices])


def listed(names: list[str]) -> str:
    """Return names; of more than ``MOST_NAMES`` the first, the last and the count."""
    if len(names) <= MOST_NAMES:
        return " ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def _folded(names: list[str]) -> str:
    """
    Return names that differ in one number as one name with a range.

    >>> _folded(["disk1_rimage_0", "disk1_rimage_1", "disk1_rimage_2"])
    'disk1_rimage_0–2'
    >>> _folded(["i_rimage_0_iorig", "i_rimage_1_iorig"])
    'i_rimage_0–1_iorig'
    """
    keys = sorted(map(natural_key, names))
    places = [place for place, parts in enumerate(zip_longest(*keys)) if len(set(parts)) > 1]
    place = places[0] if len(places) == 1 else 0
    whole = ["".join(map(str, key)) for key in keys] == sorted(names, key=natural_key)
    if not whole or place % 2 == 0:  # texts differ, or a number is written with zeros before it
        return listed(names)
    before, after = map("".join, (map(str, keys[0][:place]), map(str, keys[0][place + 1 :])))
    return f"{before}{keys[0][place]}–{keys[-1][place]}{after}"


def _numbered(names: list[str]) -> str:
    """
    Return kernel names with their common prefix once and runs of numbers as ranges.

    >>> _numbered(["dm-1", "dm-3", "dm-5"]), _numbered(["dm-4", "dm-5", "dm-6"])
    ('dm-1,3,5', 'dm-4–6')
    """
    if len(names) == 1:
        return names[0]
    stem = names[0].rstrip("0123456789")
    numbers = [name.removeprefix(stem) for name in names]
    if not all(
        number.isdecimal() and name.startswith(stem)
        for name, number in zip(names, numbers, strict=True)
    ):
        return listed(names)
    runs = []
    for _, run in groupby(enumerate(map(int, numbers)), key=lambda pair: pair[1] - pair[0]):
        row = [number for _, number in run]
        runs.append(f"{row[0]}–{row[-1]}" if len(row) > 2 else ",".join(map(str, row)))
    if len(runs) > MOST_NAMES:
        return f"{names[0]} … {numbers[-1]}"
    return stem + ",".join(runs)


NO_TARGET_KINDS = frozenset({Kind.VOLUME, Kind.MEMBER, Kind.DM})
FINE = frozenset({None, "active", "spare", "journal", "standby", "non-optimized"})


def layout(how: Layout) -> str:
    """
    Return a layout in words.

    >>> from stackmap.model.raid import layout as raid
    >>> layout(raid("raid5", 4, 65536))
    'raid5 3+1, 64 KiB'
    """
    return f"{how}, {size(how.chunk)}" if how.chunk else str(how)


def what(device: Device) -> str:
    """Return a few words on *device*."""
    words = DESCRIPTIONS.get(device.kind, _mapped)(device)
    return f"{words}, inferred" if "inferred" in device.facts else words


def states(devices: Sequence[Device]) -> str:
    """Return the state and the errors of one device, or the problems of several."""
    if len(devices) == 1:
        return ", ".join((devices[0].state or "-", *error_words(devices[0].counts)))
    problems = [device.state for device in devices if device.state not in FINE]
    total: Counter[str] = Counter()
    for device in devices:
        total.update(errors(device.counts))
    counted = [f"{problems.count(state)} {state}" for state in dict.fromkeys(problems)]
    return ", ".join((*(counted or [devices[0].state or "-"]), *error_words(total)))


def users(device: Device) -> str:
    """Return the users of *device*, two by name and the others counted; "" for none."""
    names = [use.name for use in device.users]
    return ", ".join(names[:2]) + (f" (+{len(names) - 2})" if len(names) > 2 else "")


# Drivers of what is no disk of this machine: whether its queue is "rotational" says nothing.
ELSEWHERE = ("nbd", "rbd", "drbd", "ublk", "zvol")


def _disk(device: Device) -> str:
    # Of a path of NVMe, the disk above has the model and the serial number.
    if "address" in device.facts:
        return " ".join(_known_words(("{transport}", "{address}"), device.facts))
    driver = by_name(device.name)
    kind = {True: "hdd", False: "ssd", None: "disk"}[device.rotational]
    kind = driver if driver in ELSEWHERE else kind
    model = device.model.removeprefix("NBD").lstrip() if kind == "nbd" else device.model
    words = ("removable" if device.removable else kind, model, device.serial)
    paths = _known_words((", {paths} paths", ", {policy}"), device.facts)
    return " ".join(word for word in words if word) + "".join(paths)


def _mapped(device: Device) -> str:
    """Describe a device-mapper device by its layout, in the words of its target, or by its target's name."""
    if device.layout is not None:
        return layout(device.layout)
    if device.kind is Kind.THIN_POOL and device.target == "linear":
        return "name of the thin pool"
    target, segments = target_of(device), device.facts.get("segments")
    is_own = device.kind in (target.kind, Kind.MEMBER)
    if is_own and not (segments and device.kind in (Kind.DM, Kind.MEMBER)):
        return "".join(_known_words(target.what, device.facts)) or device.target or "mapped"
    name = device.target or ("mapped" if device.kind in NO_TARGET_KINDS else str(device.kind))
    return f"{name}, {segments} segments" if segments else name


def _known_words(words: Iterable[str], facts: Mapping[str, str]) -> Iterator[str]:
    """Yield *words* with their facts, without those whose facts are unknown."""
    for word in words:
        with suppress(KeyError):
            yield word.format_map(facts)


def _array(device: Device) -> str:
    how = layout(device.layout) if device.layout else "md"
    alias = device.facts.get("alias")
    return f"{how} ({alias})" if alias else how


def _fact(word: str, *keys: str) -> Callable[[Device], str]:
    """Return a function: *word* and the known ones of these facts."""

    def describe(device: Device) -> str:
        known = [device.facts[key] for key in keys if key in device.facts]
        return " ".join([word, ", ".join(known)]).strip()

    return describe


DESCRIPTIONS: dict[Kind, Callable[[Device], str]] = {
    Kind.DISK: _disk,
    Kind.PARTITION: _fact("partition"),
    Kind.ARRAY: _array,
    Kind.LOOP: lambda device: "".join(_known_words(("loop", " {file}", " on {on}"), device.facts)),
    Kind.ZRAM: _fact("zram"),
    Kind.BCACHE: _fact("bcache", "mode", "state"),
}
