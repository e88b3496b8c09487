"""
Control groups (services, containers): their I/O per device, and their owners by the names that engines use.

Version 2: ``io.stat`` has one line per device, ``8:16 rbytes=… wbytes=… rios=… wios=… dbytes=… dios=…``,
and a group's figures include its subgroups. Version 1 has a tree of groups per controller. ``blkio`` has
I/O, one figure per line (``8:16 Read 4096``), without subgroups; ``systemd`` has the groups that are not
under blkio.

The kernel counts I/O at the device it was sent to, and below only where the owner is still known. So each
line is for one layer, and lines of two layers must not be added. Version 1 counts page-cache writeback
for the root group only.

Owners: one line per container engine. IDs are cut to 12 digits, as the engines' own tools do.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.cgroup_io import CgroupCounters, CgroupSample
from stackmap.sources.lvm_names import unmangle
from stackmap.sources.sysfs import attribute, list_names

ROOT = "/sys/fs/cgroup"
# A group's own files begin with these; every other name in its directory is a group.
CONTROLLERS = frozenset(
    "blkio cgroup cpu cpuset dmem hugetlb io irq memory misc pids rdma".split()  # noqa: SIM905 - a table of words
)
UNITS = (".slice", ".service", ".scope", ".mount", ".socket")
MAX_DEPTH = 12  # no system nests deeper; a loop of mounts would

IO_STAT = "io.stat"
# Version 1: the trees to read, files of no controller, and the files with I/O.
TREES = ("blkio", "systemd")
V1_FILES = frozenset({"notify_on_release", "release_agent", "tasks"})
REQUESTS, BYTES = "blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes"
_NUMBER = r"(?<!\S)(?:(\w+)[= ])?([0-9]{1,20})(?!\S)"


class Group(NamedTuple):
    """
    A control group.

    ``name``: its path in the hierarchy ("/system.slice/x.service", "" for the root). ``path``: its
    directory; ``files``: its own files; ``inside``: its subgroups.
    """

    name: str
    path: str
    files: frozenset[str]
    inside: tuple[str, ...]

    @property
    def source(self) -> str:
        """The file with its I/O counters."""
        return f"{self.path}/{REQUESTS if REQUESTS in self.files else IO_STAT}"


def read(host: Host) -> CgroupSample:
    """Return the counters of each group that has its own; groups that vanish meanwhile are left out."""
    return {
        (group.name, number): charge
        for group in groups(host)
        if group.name
        for number, charge in counters_of(host, group).items()
    }


def counters_of(host: Host, group: Group) -> dict[str, CgroupCounters]:
    """
    Return the counters of *group* without its subgroups, by device number; {} if unknown.

    In version 2 they are unknown for a group with subgroups.
    """
    if group.inside and REQUESTS not in group.files:
        return {}
    try:
        return counters_at(host, group.path)
    except SourceError:
        return {}


def counters_at(host: Host, path: str) -> dict[str, CgroupCounters]:
    """Return the counters of the group at *path*, in version 2 with its subgroups, by device number."""
    if f"{path}/".startswith(f"{ROOT}/{TREES[0]}/"):
        return parse_v1(host.read(f"{path}/{REQUESTS}"), host.read(f"{path}/{BYTES}"))
    return parse(host.read(f"{path}/{IO_STAT}"))


def parse(text: str) -> dict[str, CgroupCounters]:
    """Return the counters in an ``io.stat``, by device number; other lines are ignored."""
    keys = ("rios", "rbytes", "wios", "wbytes")
    return {
        number: CgroupCounters(*(values[key] for key in keys))
        for number, values in numbers_by_device(text).items()
        if values.keys() >= {*keys}
    }


def parse_v1(requests: str, moved: str) -> dict[str, CgroupCounters]:
    r"""
    Return the counters in version 1's two files, by device number.

    >>> parse_v1("8:0 Read 2\n8:0 Write 3\nTotal 5", "8:0 Read 7\n8:0 Write 11\nTotal 18")
    {'8:0': CgroupCounters(reads=2, read_bytes=7, writes=3, write_bytes=11)}
    """
    counts, sums = numbers_by_device(requests), numbers_by_device(moved)
    return {
        number: CgroupCounters(
            count["Read"], sums[number]["Read"], count["Write"], sums[number]["Write"]
        )
        for number, count in counts.items()
        if {"Read", "Write"} <= count.keys() & sums[number].keys()
    }


def numbers_by_device(text: str) -> defaultdict[str, dict[str, int]]:
    """
    Return the numbers in a group's file by device number and key; other words are ignored.

    >>> dict(numbers_by_device("8:0 rbps=max wiops=200")), dict(numbers_by_device("8:0 Read 5"))
    ({'8:0': {'wiops': 200}}, {'8:0': {'Read': 5}})
    >>> dict(numbers_by_device("8:0 200"))
    {'8:0': {'': 200}}
    """
    numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in text.splitlines():
        number, _, rest = line.partition(" ")
        numbers[number].update((key, int(value)) for key, value in re.findall(_NUMBER, rest))
    return numbers


def groups(host: Host, max_depth: int = MAX_DEPTH) -> Iterator[Group]:
    """Yield each group, the root first, or those of version 1's trees, down to *max_depth* levels."""
    controllers = list_names(host, ROOT)
    older = () if "cgroup.procs" in controllers else reversed(TREES)
    trees = [f"{ROOT}/{tree}" for tree in older if tree in controllers] or [ROOT]
    todo = [(tree, "", 0) for tree in trees]
    while todo:
        tree, group, depth = todo.pop()
        path = f"{tree}{group}"
        names = list_names(host, path)
        if not names:
            continue
        known = V1_FILES if tree != ROOT else frozenset[str]()
        own = frozenset(name for name in names if name in known or _is_own(name))
        inside = tuple(name for name in names if name not in own) if depth < max_depth else ()
        yield Group(group, path, own, inside)
        todo += [(tree, f"{group}/{name}", depth + 1) for name in inside]


def _is_own(name: str) -> bool:
    return not name.endswith(UNITS) and name.partition(".")[0] in CONTROLLERS


CONTAINER_ID = r"([0-9a-f]{12})[0-9a-f]*"

# Beginning of one part of a group's path, pattern of the rest, the kind of its owner, and the owner's name.
ENGINES = (
    ("docker-", rf"{CONTAINER_ID}\.scope", "container", "docker {}"),
    ("libpod-", rf"{CONTAINER_ID}\.scope", "container", "podman {}"),
    ("cri-containerd-", rf"{CONTAINER_ID}\.scope", "container", "kubernetes {}"),
    ("crio-", rf"{CONTAINER_ID}\.scope", "container", "kubernetes {}"),
    ("lxc.payload.", r"(.+)", "container", "lxc {}"),
    ("machine-qemu-", r"\d+-(.+)\.scope", "vm", "{}"),
    ("machine-", r"(.+)\.scope", "container", "nspawn {}"),
)
# Engines whose name is a directory, with the container as the next part.
ENGINE_FOLDERS = {
    "docker": (CONTAINER_ID, "docker {}"),
    "lxc": (r"(?!\.)(.+)", "lxc {}"),
    "kubepods": (CONTAINER_ID, "kubernetes {}"),
}
SERVICE = ".service"


def owner(group: str) -> tuple[str, str] | None:
    r"""
    Return the kind and the name of the owner of *group*; None if it has none.

    >>> owner("/system.slice/docker-0123456789abcdef.scope/init.scope")
    ('container', 'docker 0123456789ab')
    >>> owner(r"/machine.slice/machine-qemu\x2d3\x2dweb1.scope"), owner("/system.slice/mariadb.service")
    (('vm', 'web1'), ('service', 'mariadb'))
    >>> owner("/user.slice")
    """
    parts = [unmangle(part) for part in group.split("/")]
    # From the top: everything inside a container belongs to the container.
    container = next(_containers(parts), None)
    if container:
        return container
    units = (part for part in parts if part.endswith(SERVICE))
    services = [name for unit in units if (name := unit.removesuffix(SERVICE))]
    return ("service", services[-1]) if services else None


def group_of_owner(group: str) -> str:
    r"""
    Return the outermost group around *group* that has the same owner; *group* itself without one.

    >>> group_of_owner("/machine.slice/libpod-0123456789abcdef.scope/container")
    '/machine.slice/libpod-0123456789abcdef.scope'
    >>> group_of_owner("/user.slice/session-1.scope")
    '/user.slice/session-1.scope'
    """
    who, parts = owner(group), group.split("/")
    around = ("/".join(parts[:end]) for end in range(2, len(parts)))
    return next((outer for outer in around if who and owner(outer) == who), group)


def group_of_process(host: Host, pid: str) -> str:
    """
    Return the control group of a process, in version 1 that of blkio; "" for the root or if unknown.

    A process that ended meanwhile has none.
    """
    lines = attribute(host, f"/proc/{pid}/cgroup").splitlines()
    paths = {
        controller: path
        for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") > 1)
        for controller in controllers.split(",")
    }
    return paths.get(TREES[0], paths.get("", "")).removesuffix("/")


def _containers(parts: list[str]) -> Iterator[tuple[str, str]]:
    for place, part in enumerate(parts):
        for start, pattern, how, who in ENGINES:
            # Mostly no engine's part begins so, and no pattern is compiled.
            if part.startswith(start) and (match := re.fullmatch(pattern, part[len(start) :])):
                yield how, who.format(match[1])
        above = parts[place - 1] if place else ""
        folder = "kubepods" if above.startswith("kubepods") else above
        pattern, who = ENGINE_FOLDERS.get(folder, ("", ""))
        if who and (match := re.fullmatch(pattern, part)):
            yield "container", who.format(match[1])
