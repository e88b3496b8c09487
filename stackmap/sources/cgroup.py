"""
``io.stat`` of the control groups (v2): what each service or container read and wrote, by device.

A line a device, ``8:16 rbytes=… wbytes=… rios=… wios=… dbytes=… dios=…``. A
group's figures hold those of the groups in it. The kernel charges I/O at the
device it was sent to, and at those below only where it can still tell whose it
was; so each line is of one layer, and lines of two layers do not add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.model.charge import Charge, Charges

if TYPE_CHECKING:
    from stackmap.host import Host

ROOT = "/sys/fs/cgroup"
# What a group's own files begin with; all else in its directory is a group.
CONTROLLERS = frozenset(
    "cgroup cpu cpuset dmem hugetlb io irq memory misc pids rdma".split()  # noqa: SIM905 - a table of words
)
UNITS = (".slice", ".service", ".scope", ".mount", ".socket")
DEEPEST = 12  # no system nests further; a loop of mounts would


def read(host: Host) -> Charges:
    """
    Ask every group that has no group in it; {} where there are none.

    A group that goes while it is asked is left out.
    """
    return {
        (group, number): charge
        for group, _, inside in groups(host)
        if group and not inside
        for number, charge in charged(host, group).items()
    }


def parse(text: str) -> dict[str, Charge]:
    """Return what an ``io.stat`` says, by device number; lines of another form are left."""
    found = {}
    for line in text.splitlines():
        number, *pairs = line.split()
        said = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        keys = ("rios", "rbytes", "wios", "wbytes")
        if all(said.get(key, "").isdecimal() for key in keys):
            found[number] = Charge(*(int(said[key]) for key in keys))
    return found


def charged(host: Host, group: str) -> dict[str, Charge]:
    """Return what *group* was charged for, by device number; {} where nobody says."""
    try:
        return parse(host.read(f"{ROOT}{group}/io.stat"))
    except SourceError:
        return {}


def groups(host: Host, deepest: int = DEEPEST) -> Iterator[tuple[str, list[str], list[str]]]:
    """
    Yield each group, the root ("") first: its path below ``ROOT``, its files, the groups in it.

    No deeper than *deepest* levels: a group there is told without those in it.
    """
    todo = [("", 0)]
    while todo:
        group, depth = todo.pop()
        try:
            names = host.names_in(ROOT + group)
        except SourceError:
            continue
        inside = [name for name in names if _is_group(name)] if depth < deepest else []
        yield group, names, inside
        todo += [(f"{group}/{name}", depth + 1) for name in inside]


def _is_group(name: str) -> bool:
    return name.endswith(UNITS) or name.partition(".")[0] not in CONTROLLERS
