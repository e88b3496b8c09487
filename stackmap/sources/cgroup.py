"""
What each control group (a service, a container) read and wrote, by device.

In version 2 ``io.stat`` has a line a device, ``8:16 rbytes=… wbytes=… rios=… wios=… dbytes=… dios=…``,
and a group's figures hold those of the groups in it. Version 1 has a tree of groups for each controller.
That of ``blkio`` tells of I/O, one figure a line (``8:16 Read 4096``) and of each group alone; that of
systemd, which tells nothing, has the groups that nobody put under blkio.

The kernel charges I/O at the device it was sent to, and at those below only where it can still tell whose it
was; so each line is of one layer, and lines of two layers do not add up. What version 1 writes back from
the page cache is charged to no group but the root.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.model.cgroup_io import CgroupCounters, CgroupSample

if TYPE_CHECKING:
    from stackmap.host import Host

ROOT = "/sys/fs/cgroup"
# What a group's own files begin with; all else in its directory is a group.
CONTROLLERS = frozenset(
    "blkio cgroup cpu cpuset dmem hugetlb io irq memory misc pids rdma".split()  # noqa: SIM905 - a table of words
)
UNITS = (".slice", ".service", ".scope", ".mount", ".socket")
MAX_DEPTH = 12  # no system nests further; a loop of mounts would

IO_STAT = "io.stat"
# Version 1: the trees that are looked into, files that are no controller's, and those that tell of I/O.
TREES = ("blkio", "systemd")
V1_FILES = frozenset({"notify_on_release", "release_agent", "tasks"})
REQUESTS, BYTES = "blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes"


class Group(NamedTuple):
    """
    A control group.

    ``name``: its path as the kernel has it ("/system.slice/x.service", "" for the root). ``path``: its
    directory; ``files``: what of that is its own; ``inside``: the groups in it.
    """

    name: str
    path: str
    files: frozenset[str]
    inside: tuple[str, ...]

    @property
    def source(self) -> str:
        """The file that tells what it was charged for."""
        return f"{self.path}/{REQUESTS if REQUESTS in self.files else IO_STAT}"


def read(host: Host) -> CgroupSample:
    """
    Return what each group was charged for that is told apart; {} where none is.

    A group that goes while it is asked is left out.
    """
    return {
        (group.name, number): charge
        for group in groups(host)
        if group.name
        for number, charge in counters_of(host, group).items()
    }


def counters_of(host: Host, group: Group) -> dict[str, CgroupCounters]:
    """
    Return what *group* was charged for and no group in it, by device number; {} where nobody says.

    In version 2 nobody does where there are groups in it.
    """
    try:
        if REQUESTS in group.files:
            counted = (host.read(f"{group.path}/{name}") for name in (REQUESTS, BYTES))
            return parse_v1(*counted)
        return {} if group.inside else parse(host.read(group.source))
    except SourceError:
        return {}


def parse(text: str) -> dict[str, CgroupCounters]:
    """Return what an ``io.stat`` says, by device number; lines of another form are left."""
    found = {}
    for line in text.splitlines():
        number, *pairs = line.split()
        said = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        keys = ("rios", "rbytes", "wios", "wbytes")
        if all(said.get(key, "").isdecimal() for key in keys):
            found[number] = CgroupCounters(*(int(said[key]) for key in keys))
    return found


def parse_v1(requests: str, moved: str) -> dict[str, CgroupCounters]:
    r"""
    Return what version 1's two files say, by device number.

    >>> parse_v1("8:0 Read 2\n8:0 Write 3\nTotal 5", "8:0 Read 7\n8:0 Write 11\nTotal 18")
    {'8:0': CgroupCounters(reads=2, read_bytes=7, writes=3, write_bytes=11)}
    """
    counts, sums = _directions(requests), _directions(moved)
    return {
        number: CgroupCounters(
            count["Read"], sums[number]["Read"], count["Write"], sums[number]["Write"]
        )
        for number, count in counts.items()
        if {"Read", "Write"} <= count.keys() & sums[number].keys()
    }


def groups(host: Host, max_depth: int = MAX_DEPTH) -> Iterator[Group]:
    """
    Yield each group, the root first, or those of version 1's trees.

    No deeper than *deepest* levels: a group there is told without those in it.
    """
    todo = [(tree, "", 0) for tree in reversed(_trees(host))]
    while todo:
        tree, group, depth = todo.pop()
        path = f"{tree}{group}"
        try:
            names = host.names_in(path)
        except SourceError:
            continue
        known = V1_FILES if tree != ROOT else frozenset[str]()
        own = frozenset(name for name in names if name in known or not _is_group(name))
        inside = tuple(name for name in names if name not in own) if depth < max_depth else ()
        yield Group(group, path, own, inside)
        todo += [(tree, f"{group}/{name}", depth + 1) for name in inside]


def _trees(host: Host) -> list[str]:
    try:
        names = host.names_in(ROOT)
    except SourceError:
        return []
    older = () if "cgroup.procs" in names else TREES
    return [f"{ROOT}/{tree}" for tree in older if tree in names] or [ROOT]


def _is_group(name: str) -> bool:
    return name.endswith(UNITS) or name.partition(".")[0] not in CONTROLLERS


def _directions(text: str) -> defaultdict[str, dict[str, int]]:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in text.splitlines():
        number, *words = line.split()
        if len(words) == 2 and words[1].isdecimal():
            found[number][words[0]] = int(words[1])
    return found
