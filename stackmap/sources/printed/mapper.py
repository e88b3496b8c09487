"""``dmsetup`` (table, info, ls, ls --tree, deps) and ``multipath -ll``."""

import re
from collections.abc import Iterator

from stackmap.sources import dm_targets
from stackmap.sources.dm_targets.segment import Segment
from stackmap.sources.printed.columns import size_of
from stackmap.sources.printed.facts import Fact, is_kernel_name, mapper
from stackmap.sources.sysfs import PATH_STATE

TABLE_LINE = re.compile(r"(\S.{0,250}?): (\d{1,19}) (\d{1,19}) ([a-z][a-z0-9-]+)((?: .*)?)")
TARGETS = "|".join(dm_targets.PARSERS)
_MORE = re.compile(r"[\w:/.,=+-]+(?: [\w:/.,=+-]+)*")


def read_table(lines: list[str]) -> Iterator[Fact]:
    """Yield the lines of ``dmsetup table``; one that a mail cut is joined."""
    tables: list[str] = []
    for line in lines:
        text = line.strip()
        if TABLE_LINE.fullmatch(text):
            tables.append(text)
        elif tables and _MORE.fullmatch(text) and text[:1].isdigit():
            tables[-1] += f" {text}"
        elif text:
            break
    for line in tables:
        match = TABLE_LINE.fullmatch(line)
        if match is None:
            continue
        yield Fact(mapper(match[1]), "listed", "dm")
        if _is_status(match[4], tuple(match[5].split())):
            yield Fact(mapper(match[1]), "status", line)
            continue
        yield Fact(mapper(match[1]), "table", line)
        for number in re.findall(r" (\d{1,4}:\d{1,7})(?= |$)", match[5]):
            yield Fact(number, "listed", "")
        for path in re.findall(r" /dev/(\S+)", match[5]):
            if is_kernel_name(path):
                yield Fact(path, "listed", "")


_DEVICE = re.compile(r"\d{1,4}:\d{1,7}|/dev/\S+")
PATH_STATES = frozenset("AEDF")  # of a group or a path, in multipath's status


def _is_status(target: str, words: tuple[str, ...]) -> bool:
    """Whether *words* after a *target* are those of ``dmsetup status``, whose lines look like those of the table."""
    if target == "multipath":
        return not PATH_STATES.isdisjoint(words)
    try:
        below = dm_targets.parser(target).below(Segment(0, 1, target, words))
    except dm_targets.DAMAGE:
        return True
    if target == "raid" and not below:  # "raid1 2 AA 2097152/2097152 idle 0"
        return True
    return not all(_DEVICE.fullmatch(device.number) for device in below)


_INFO_ROW = re.compile(r"\s*(\S+)\s+(\d{1,4})\s+(\d{1,7})\s+([Lx-][I-][s-][rw])\s.*?(\S+)?$")


def read_info_columns(lines: list[str]) -> Iterator[Fact]:
    """Yield names, numbers and uuids of ``dmsetup info -c``."""
    for line in lines:
        if match := _INFO_ROW.match(line):
            ref = mapper(match[1])
            yield Fact(ref, "is", f"{match[2]}:{match[3]}")
            yield from _uuid(ref, match[5] or "")
            yield Fact(ref, "dm/suspended", "1" if match[4][2] == "s" else "0")


def _uuid(ref: str, uuid: str) -> Iterator[Fact]:
    if re.match(r"(?:LVM-|CRYPT-|mpath-|part\d|VDO-|DMRAID-|stratis)", uuid):
        yield Fact(ref, "dm/uuid", uuid)


_FIELD = re.compile(r"\s*(Name|State|Major, minor|UUID):\s+(.*)")


def read_info(lines: list[str]) -> Iterator[Fact]:
    """Yield the same of ``dmsetup info``."""
    ref = ""
    for line in lines:
        key, value = match.groups() if (match := _FIELD.fullmatch(line)) else ("", "")
        if key == "Name":
            ref = mapper(value)
            yield Fact(ref, "listed", "dm")
        elif key == "State" and ref:
            yield Fact(ref, "dm/suspended", "1" if value.startswith("SUSPENDED") else "0")
        elif key == "Major, minor" and ref:
            yield Fact(ref, "is", value.replace(", ", ":"))
        elif key == "UUID" and ref:
            yield from _uuid(ref, value)


LS_ROW = re.compile(r"\s*(\S+)\s+\((\d{1,4})(?::|, )(\d{1,7})\)")


def read_list(lines: list[str]) -> Iterator[Fact]:
    """Yield names and numbers of ``dmsetup ls``."""
    for line in lines:
        if match := LS_ROW.fullmatch(line):
            yield Fact(mapper(match[1]), "is", f"{match[2]}:{match[3]}")
        elif line.strip():
            return


TREE_ROW = re.compile(r"^([\s│├└─|`-]*)(?:([^\s(<>]+) )?(?:<([^<>]*)> )?\((\d{1,4}:\d{1,7})\)$")


def read_tree(lines: list[str]) -> Iterator[Fact]:
    """Yield the edges of ``dmsetup ls --tree``: each device stands right of the one above it."""
    way: list[tuple[int, str]] = []
    for line in lines:
        match = TREE_ROW.match(line)
        if match is None:
            if line.strip():
                return
            continue
        indent, name, kernel, number = len(match[1]), match[2], match[3] or "", match[4]
        if name and not is_kernel_name(name):
            yield Fact(number, "is", mapper(name))
        if is_kernel_name(kernel):  # dmsetup ls --tree -o blkdevname
            yield Fact(number, "is", kernel)
        yield Fact(number, "listed", "")
        while way and way[-1][0] >= indent:
            way.pop()
        if way:
            yield Fact(way[-1][1], "on", number)
        way.append((indent, number))


DEPS_ROW = re.compile(r"\s*(\S+): (\d{1,5}) dependencies\s*:((?: ?\([^()]{1,200}\))+)")


def read_deps(lines: list[str]) -> Iterator[Fact]:
    """Yield the edges of ``dmsetup deps``: below are numbers, or names with -o."""
    for line in lines:
        match = DEPS_ROW.fullmatch(line)
        if match is None:
            if line.strip():
                return
            continue
        below = re.findall(r"\(([^()]+)\)", match[3])
        for word in below if len(below) == int(match[2]) else ():
            yield Fact(mapper(match[1]), "on", _below(word))


def _below(word: str) -> str:
    """Return the ref of a device in parentheses: "253, 1" or a name."""
    if number := re.fullmatch(r"(\d{1,4}), (\d{1,7})", word):
        return f"{number[1]}:{number[2]}"
    return word if is_kernel_name(word) else mapper(word)


MAP = re.compile(r"(?:\w+: )?(\S+) (?:\(([\w.:-]{4,80})\) )?(dm-\d+) ([^\s,][^,]{0,40}),(.{0,40})")
_PATH = re.compile(r"[\s|`+_\\-]*(\d+(?::\d+){2,3}|#:#:#:#)\s+([a-z]\w+)\s+(\d+:\d+)\s+(.*)")
_GROUP = re.compile(
    r"[\s|`+_\\-]*(?:policy=.*\bstatus=|\S+ \d+ \[prio=.*\]\[)(active|enabled|disabled)\]?"
)
_GROUP_STATES = {"enabled": "standby"}
_MAP_SIZE = re.compile(r"\s*\[?size=([\d.]+[KMGTP])")


def read_maps(lines: list[str]) -> Iterator[Fact]:
    """Yield the maps and the paths of ``multipath -ll``, in any version: "[failed][faulty]", "failed faulty running"."""
    ref = group = vendor = product = ""
    sized = False
    for line in lines:
        if match := MAP.fullmatch(line.strip()):
            ref, group, vendor, product = match[3], "", match[4].strip(), match[5].strip()
            sized = False
            yield Fact(ref, "is", mapper(match[1]))
            yield Fact(ref, "dm/uuid", f"mpath-{match[2] or match[1]}")
        elif ref and (match := _PATH.fullmatch(line)):
            yield Fact(match[2], "is", match[3])
            yield Fact(ref, "on", match[2])
            yield Fact(match[2], "device/vendor", vendor)
            yield Fact(match[2], "device/model", product)
            failed = re.match(r"\[?failed\b", match[4])
            if state := "failed" if failed else _GROUP_STATES.get(group, group):
                yield Fact(match[2], PATH_STATE, state)
        elif ref and (match := _GROUP.match(line)):
            group = match[1]
        elif ref and (match := _MAP_SIZE.match(line)):
            if sized:  # of another map, whose name is missing
                ref = ""
                continue
            sized = True
            yield Fact(ref, "size", "~" + size_of(match[1]).removeprefix("~"))
