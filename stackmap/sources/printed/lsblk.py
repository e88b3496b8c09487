r"""
``lsblk``, in every form: tree (-f, -t, -m, -o …, -O, -s, -i, -p), list (-l, -r), pairs (-P) and JSON (-J).

In the tree a name stands two characters right of that of the device it is drawn under; that is the device
below it, with -s the one above it. With -M, a device on several others is drawn once (``Groups``). Of a device-mapper device the name is device-mapper's, and the column TYPE
(or the form of the name) tells that it is one.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from stackmap.sources import device_lists
from stackmap.sources.device_lists import disk_of
from stackmap.sources.printed.columns import MAX_WORDS, PlacedWord, fits, size_of, tree_of, words_of
from stackmap.sources.printed.columns import cells as cells_of
from stackmap.sources.printed.facts import PARTUUID, Fact, is_kernel_name, mapper, of_path

COLUMNS = frozenset(
    "NAME KNAME PATH PKNAME MAJ:MIN MAJ MIN FSAVAIL FSSIZE FSTYPE FSUSED FSUSE% FSROOTS FSVER MOUNTPOINT MOUNTPOINTS LABEL UUID"  # noqa: SIM905 - a table of words
    " PTUUID PTTYPE PARTN PARTTYPE PARTTYPENAME PARTLABEL PARTUUID PARTFLAGS RA RO RM HOTPLUG MODEL SERIAL SIZE"
    " STATE OWNER GROUP MODE ALIGNMENT MIN-IO OPT-IO PHY-SEC LOG-SEC ROTA SCHED RQ-SIZE TYPE DISC-ALN DISC-GRAN"
    " DISC-MAX DISC-ZERO WSAME WWN RAND HCTL TRAN SUBSYSTEMS REV VENDOR ZONED DAX START ZONE-SZ ZONE-WGRAN"
    " ZONE-APP ZONE-NR ZONE-OMAX ZONE-AMAX MQ DISK-SEQ ID ID-LINK".split()
)
DEFAULT = words_of("NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT")
TREE = r"[\s│├└─|`-]*"
_NUMBER, _FLAG = re.compile(r"\d{1,7}:\d{1,7}"), re.compile(r"[01]")
_AMOUNT = re.compile(r"\d{1,20}(?:[.,]\d+)?[BKMGTPE]?")
_WHOLE = re.compile(r"-?\d{1,20}")
_ANY = re.compile(r".+")
TYPE = re.compile(
    r"disk|part|lvm|crypt|mpath|loop|rom|dm|md|raid\d+|linear|dmraid|thin|swap|faulty|container|ldm|vdo|stratis|drbd|zram|multipath|stripe\w*|mirror"
)
FSTYPE = re.compile(
    r"ext[234]|xfs|btrfs|vfat|swap|ntfs|exfat|iso9660|squashfs|zfs_member|LVM2_member|linux_raid_member|crypto_LUKS|"
    r"[a-zA-Z][\w]*_(?:member|raid|raid_member|cache|log)|ceph_bluestore|bcache|bcachefs|drbd|f2fs|jfs|reiserfs|gfs2|ocfs2|udf|apfs|ufs|minix|BitLocker|mpath_member"
)
_MOUNT = re.compile(r"/.*|\[SWAP\]|<?none>?")
FORMS = {
    "NAME": re.compile(rf"{TREE}\S+"), "KNAME": re.compile(r"\S+"), "PKNAME": re.compile(r"\S+"), "MAJ:MIN": _NUMBER,
    "RM": _FLAG, "RO": _FLAG, "ROTA": _FLAG, "RAND": _FLAG, "SIZE": _AMOUNT, "TYPE": TYPE, "FSTYPE": FSTYPE,
    "MOUNTPOINT": _MOUNT, "MOUNTPOINTS": _MOUNT, "UUID": re.compile(r"[0-9A-Fa-f]{4,}(?:-[0-9A-Za-z]+)*|[0-9A-Za-z]{6}(?:-[0-9A-Za-z]{4,6}){6}"),
    "FSVER": re.compile(r"[\d.]+|LVM2 \d+|FAT\d+|NTFS"), "FSAVAIL": _AMOUNT, "FSUSED": _AMOUNT, "FSSIZE": _AMOUNT,
    "FSUSE%": re.compile(r"\d+%"), "SCHED": re.compile(r"[a-z][a-z-]*"), "LABEL": _ANY, "MODEL": _ANY, "SERIAL": _ANY,
    "VENDOR": _ANY, "STATE": re.compile(r"[a-z-]+"), "TRAN": re.compile(r"[a-z0-9]+"), "PATH": re.compile(r"/dev/\S+"),
    **dict.fromkeys(("ALIGNMENT", "MIN-IO", "OPT-IO", "PHY-SEC", "LOG-SEC", "RQ-SIZE", "RA", "START"), _WHOLE),
    "WSAME": _AMOUNT,
}  # fmt: skip

# What a column tells: the file in a device's directory of sysfs, or udev's property.
FILES = {
    "RO": "ro", "RM": "removable", "ROTA": "queue/rotational", "MIN-IO": "queue/minimum_io_size",
    "OPT-IO": "queue/optimal_io_size", "PHY-SEC": "queue/physical_block_size", "LOG-SEC": "queue/logical_block_size",
    "RQ-SIZE": "queue/nr_requests", "RA": "queue/read_ahead_kb", "ALIGNMENT": "alignment_offset",
    "MODEL": "device/model", "SERIAL": "device/serial", "VENDOR": "device/vendor", "WWN": "wwid",
    "STATE": "device/state", "TRAN": "device/transport", "START": "start", "DISK-SEQ": "diskseq",
    "FSTYPE": "udev:ID_FS_TYPE", "LABEL": "udev:ID_FS_LABEL", "UUID": "udev:ID_FS_UUID", "PARTUUID": PARTUUID,
}  # fmt: skip
# The beginning of a device-mapper uuid, from which lsblk made the type.
MADE = {"lvm": "LVM-", "crypt": "CRYPT-", "mpath": "mpath-"}
# And the same by what lies on the device below, where there is no column TYPE, as with -f.
MADE_ON = {"LVM2_member": "LVM-", "crypto_LUKS": "CRYPT-"}
BOOLEANS = {"true": "1", "false": "0"}
BRANCHES = "│├└|`"
LAST_BRANCH = ("└", "`")
DRAWN = " \t│|"  # before the rest of a row, whose name was too long for its column
FILL = "─"  # in place of what is drawn before a name
_DISK = re.compile(r"[shv]d[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+")
LEVEL = 2  # characters
MAX_STEP = 3  # a paste may have a blank more than the two characters of a level
# lsblk -M: an arrow at the first, a further and the last member of a group, and the line to a device on it.
GROUP_MARKS, FIRST_MEMBER, LAST_MEMBER = frozenset(" ┌├└┬┈▶┆,|`'->"), "┌,", "└'"
_ARROW = re.compile(r"[┌├└,|'][┈┬-][▶>]")
_CHILD = re.compile(r"[└├`|][┈-]+$")
_REMARK = re.compile(r"\s+<[-=<]+.*$")  # of an author, behind a row
MAX_MISSED = 3  # lines in a row that are no rows end a table
_POINT = re.compile(rf"{TREE}(/(?!dev/)\S*(?: \S+)*|\[SWAP\])")


def is_heading(line: str) -> bool:
    """Whether *line* heads a table of lsblk; a terminal may have cut its last word."""
    words = line.split(None, MAX_WORDS)
    if len(words) < 2 or not ("NAME" in words or "KNAME" in words):
        return False
    *first, last = words
    is_cut = len(first) > 2 and any(name.startswith(last) for name in COLUMNS)
    return COLUMNS.issuperset(first) and (last in COLUMNS or is_cut)


def read(lines: list[str]) -> Iterator[Fact]:
    """Yield the facts of a table with or without its heading."""
    heading = words_of(lines[0]) if is_heading(lines[0]) else []
    fold = _fold(lines) if heading else 0
    # The third line of each row cannot be read.
    third = lines[2].split() if fold and len(lines) > 2 else []
    in_three = bool(third) and COLUMNS.issuperset(third)
    if heading:
        heading, lines = _whole_heading(heading, lines, fold)
    first = lines[0]
    begin = next((h.start for h in heading if h.text == "NAME"), len(first) - len(first.lstrip()))
    rows = list(_rows(heading or DEFAULT, lines[1:] if heading else lines, begin, fold))
    drawn = any(" " * 2 in line.strip() for line in lines)  # else the depth of names is lost
    # With -s, disks hang below others and nothing below them.
    disks = [(row, after) for row, after in pairwise((*rows, NO_ROW)) if _is_disk(row.cells)]
    hangs = any(row.hangs for row, _ in disks)
    inverse = hangs and not any(row.width < after.width for row, after in disks)
    groups = Groups()
    way: list[Placed] = []  # the rows above this one
    for row in rows:
        if not row.cells:  # what follows below a row that cannot be read is below an unknown device
            if not in_three:
                way.clear()
            continue
        ref = _ref(row.cells)
        yield from row_facts(row.cells)
        yield from groups.take(row.before, ref)
        depth = _depth(row, ref, way)
        while way and (way[-1].depth >= depth or (not inverse and _is_disk(row.cells))):
            way.pop()
        if way and depth - way[-1].depth <= MAX_STEP and drawn:
            above, below = (way[-1].ref, ref) if inverse else (ref, way[-1].ref)
            yield Fact(above, "on", below)
            made = "" if inverse or "TYPE" in row.cells else MADE_ON.get(way[-1].content, "")
            if made:
                yield Fact(ref, "dm/uuid", made)
        way.append(Placed(depth, row, ref, row.cells.get("FSTYPE", "")))


class Placed(NamedTuple):
    """A row in the tree: its depth in characters, its device, and what that contains."""

    depth: int
    row: "Line"
    ref: str
    content: str


def _depth(row: "Line", ref: str, way: list[Placed]) -> int:
    """
    Return the depth of *row* below those of *way*.

    Where a paste lost the blanks before a branch, a device seems to follow the last one at its place: it is on it.
    """
    place = next((n for n, placed in enumerate(way) if n and placed.row.width == LEVEL), 0)
    if not (place and way[place].row.last and row.hangs and row.width == LEVEL):
        return row.width
    if disk_of(ref) or any(placed.ref == ref for placed in way):
        return row.width
    # Only what is on the last branch of each level and has room there; else, on which one it is is lost.
    sizes = [size_of(line.cells.get("SIZE", "")) for line in (row, way[-1].row)]
    own, room = (float(size.removeprefix("~") or 0) for size in sizes)
    certain = all(above.row.last for above in way[place:]) and not own > room > 0
    return way[-1].depth + (LEVEL if certain else MAX_STEP + 1)


def _fold(lines: list[str]) -> int:
    """Return the width of the table, from its heading on, of which a mail wrapped the rows too; 0 if it did not."""
    first, rest, *rows = [*lines, "", ""][: max(2, len(lines))]
    if (
        not rest.strip()
        or not COLUMNS.issuperset(f"{first} {rest}".split())
        or "NAME" in rest.split()
    ):
        return 0
    drawn = [line for line in rows if line.lstrip()[:1] in BRANCHES]
    others = [line.split()[0] for line in rows if line.strip() and line not in drawn]
    if not drawn or all(map(is_kernel_name, others)):
        return 0
    return max(map(len, (first.rstrip(), *drawn)))


def _whole_heading(
    heading: list[PlacedWord], lines: list[str], fold: int
) -> tuple[list[PlacedWord], list[str]]:
    """Return the words of a heading and its table; a mail may have wrapped it and not the rows, a terminal within a word."""
    rest = lines[1].strip() if len(lines) > 1 else ""
    if fold:
        return words_of(_unfolded(lines[0], lines[1], fold)), lines[1:]
    if rest and "NAME" not in rest.split():
        for whole in (f"{lines[0].rstrip()} {rest}", f"{lines[0].rstrip()}{rest}"):
            if COLUMNS.issuperset(whole.split()):
                return words_of(whole), [whole, *lines[2:]]
    return (heading if heading[-1].text in COLUMNS else heading[:-1]), lines


class Groups:
    """Devices that several others share, as ``lsblk -M`` draws them: arrows at each of the others, a line to the device."""

    def __init__(self) -> None:
        self._members: dict[int, list[str]] = {}  # by the place of their line
        self._complete: dict[int, list[str]] = {}  # by the place where the devices on them hang

    def take(self, drawn: str, device: str) -> Iterator[Fact]:
        """Take the lines *drawn* before the row of *device*; yield the devices below it."""
        for arrow in _ARROW.finditer(drawn):
            place = arrow.start()
            if arrow[0][0] in FIRST_MEMBER:
                self._members[place] = []
            members = self._members.get(place)
            if members is None:  # its beginning is not in the text
                continue
            members.append(device)
            if arrow[0][0] in LAST_MEMBER:
                self._complete[place + 1] = self._members.pop(place)
        child = _CHILD.search(drawn)
        for member in self._complete.get(child.start(), ()) if child else ():
            yield Fact(device, "on", member)


class Line(NamedTuple):
    """
    A row: how much is drawn before its name in the tree, its cells, what is drawn before the tree.

    ``hangs``: whether a branch is drawn; ``last``: whether it is that of the last device at its place.
    """

    width: int
    cells: dict[str, str]
    hangs: bool = False
    before: str = ""
    last: bool = False


NO_ROW = Line(0, {})


def _unfolded(line: str, rest: str, fold: int) -> str:
    """Return a line that a mail wrapped at the width *fold*, with its *rest* in the place of that of the others."""
    return f"{line.rstrip().ljust(fold)} {rest}"


def _folded(heading: list[PlacedWord], line: str, rest: str, begin: int, fold: int) -> Line | None:
    """Return the row in a line that was wrapped at *fold* and its *rest*, which may have lost the blanks before it; None if they are none."""
    if _row(heading, rest, begin) is not None:
        return None
    column = next((h for h in heading if h.start > fold), heading[-1])
    lost = " " * (len(column.text) - len(rest.split(maxsplit=1)[0]))
    return _row(heading, _unfolded(line, rest, fold), begin) or _row(
        heading, _unfolded(line, f"{lost}{rest}", fold), begin
    )


def _rows(heading: list[PlacedWord], lines: list[str], begin: int, fold: int = 0) -> Iterator[Line]:
    """Yield the rows; mount points on lines of their own belong to the row before. *fold*: where rows are wrapped."""
    column = next((h.text for h in heading if h.text.startswith("MOUNTPOINT")), "")
    waiting: Line | None = None
    missed = 0  # lines in a row that are no rows
    grouped = any(_ARROW.search(line, 0, begin) for line in lines)
    lines, done = [*filter(None, lines)], 0
    for place, whole in enumerate(lines):
        if place < done:
            continue
        before = whole[:begin] if grouped and GROUP_MARKS.issuperset(whole[:begin]) else ""
        line = " " * len(before) + whole[len(before) :]
        row = None
        if fold and place + 1 < len(lines):
            row = _folded(heading, line, lines[place + 1], begin, fold)
            done = place + 2 if row else done
        row = row or _row(heading, line, begin)
        if row is None and (remark := _REMARK.search(line)):
            row = _row(heading, line[: remark.start()], begin)
        if row is None and waiting and column and (point := _POINT.fullmatch(line.strip())):
            waiting.cells[column] = f"{waiting.cells.get(column, '')} {point[1]}".strip()
            continue
        if row is None and place + 1 < len(lines):
            row = _wrapped(heading, line, lines[place + 1], begin)
            done = place + 2 if row else done
        if waiting:
            yield waiting
        waiting = row and row._replace(before=before)
        missed = 0 if row else missed + 1
        if row is None:
            yield NO_ROW
            if missed > MAX_MISSED:
                break
    if waiting:
        yield waiting


def _wrapped(heading: list[PlacedWord], line: str, rest: str, begin: int) -> Line | None:
    """Return the row in a line and the *rest* that a mail or a terminal wrapped, the latter within words; None if they are none."""
    if _row(heading, rest, begin) is not None:
        return None
    rest = rest.strip(DRAWN)
    return _row(heading, f"{line} {rest}", begin) or _row(heading, f"{line}{rest}", begin)


def _row(heading: list[PlacedWord], line: str, begin: int) -> Line | None:
    indent = begin if line[:begin].strip() else min(begin, len(line) - len(line.lstrip()))
    drawn = re.match(TREE, line[indent:])
    width = drawn.end() if drawn else 0
    # The name stands under its heading, however deep it is.
    if width and indent == begin and any(h.text == "NAME" for h in heading):
        line = f"{line[:indent]}{FILL * width}{line[indent + width :]}"
    plain = line.split(" ")
    if len(plain) == len(heading) and "" in plain and not line.startswith(" "):  # lsblk -r
        row: dict[str, str] | None = {h.text: w for h, w in zip(heading, plain, strict=True) if w}
        row = row if row and fits(row, FORMS) else None
    else:
        row = cells_of(heading, line, FORMS)
    hangs = drawn is not None and bool(drawn[0].strip())
    if row is None or not _is_whole(heading, row, hangs=hangs):
        return None
    if "NAME" in row:
        row["NAME"] = row["NAME"].lstrip(FILL)
    last = drawn is not None and drawn[0].strip()[-2:-1] in LAST_BRANCH
    return Line(width, row, hangs=hangs, last=last)


def _is_whole(heading: list[PlacedWord], row: Mapping[str, str], *, hangs: bool) -> bool:
    """Whether a row has the columns that are never empty; *hangs*: a branch is drawn before its name."""
    known = {"NAME", "KNAME", "MAJ:MIN", "SIZE", "TYPE", "RO"} & {h.text for h in heading}
    name = row.get("NAME", row.get("KNAME", ""))
    proven = len(known) > 2 or is_kernel_name(name.removeprefix("/dev/"))
    return known <= row.keys() and (proven or (hangs and name.startswith(FILL)))


def _is_disk(row: Mapping[str, str]) -> bool:
    """Whether a row is a disk; a mapping may have the name of the disk below it."""
    name = row.get("KNAME") or row.get("NAME", "")
    named = _DISK.fullmatch(name.removeprefix("/dev/"))
    return named is not None and row.get("TYPE", "disk") == "disk"


def _ref(row: Mapping[str, str]) -> str:
    if kernel := row.get("KNAME", ""):
        return of_path(kernel)
    name = row.get("NAME", "") or row.get("PATH", "")
    if name.startswith("/dev/"):
        return of_path(name)
    kind = row.get("TYPE", "")
    number = row.get("MAJ:MIN", "").strip()
    cut = kind in ("disk", "part") and not is_kernel_name(name)
    if cut and _NUMBER.fullmatch(number):  # a paste may lack its first column
        name = device_lists.name_of(number) or name
    mapped = kind in MADE or kind in ("dm", "dmraid") or not is_kernel_name(name)
    return mapper(name) if mapped and not name.startswith("dm-") else name


def row_facts(row: Mapping[str, str]) -> Iterator[Fact]:
    """Yield the facts in the cells of one device."""
    ref = _ref(row)
    name = row.get("NAME", "").removeprefix("/dev/mapper/").removeprefix("/dev/")
    yield Fact(ref, "listed", row.get("TYPE", ""))
    if "KNAME" in row and name and name != of_path(row["KNAME"]):
        yield Fact(ref, "is", mapper(name))
    if _NUMBER.fullmatch(row.get("MAJ:MIN", "").strip()):
        yield Fact(ref, "is", row["MAJ:MIN"].strip())
    if row.get("PKNAME"):
        yield Fact(ref, "on", of_path(row["PKNAME"]))
    if size := size_of(row.get("SIZE", "")):
        yield Fact(ref, "size", size)
    if kind := MADE.get(row.get("TYPE", ""), ""):
        yield Fact(ref, "dm/uuid", kind)
    if scheduler := row.get("SCHED", ""):
        yield Fact(ref, "queue/scheduler", f"[{scheduler}]")
    for column, key in FILES.items():
        if value := row.get(column, "").strip():
            yield Fact(ref, key, value)
    for point in re.split(r"\s+(?=[/\[])", row.get("MOUNTPOINTS", "") or row.get("MOUNTPOINT", "")):
        if point == "[SWAP]":
            yield Fact(ref, "swap", point)
        elif point.startswith("/"):
            yield Fact(ref, "mount", f"{point}\t{row.get('FSTYPE') or '-'}\t")


PAIR = re.compile(r'([A-Z][A-Z0-9_:%-]{1,14})="((?:[^"\\]|\\.){0,4000})"')


def read_pairs(lines: list[str]) -> Iterator[Fact]:
    """
    Yield the facts of ``lsblk -P``.

    From util-linux 2.33 on it has each device once, with one of those below it: of bcache perhaps the cache.
    """
    rows = []
    for line in lines:
        pairs = dict(PAIR.findall(line))
        row = {
            {"MAJ_MIN": "MAJ:MIN"}.get(k, k.replace("_", "-")): v.replace("\\x0a", " ")
            for k, v in pairs.items()
        }
        if "NAME" in row or "KNAME" in row:
            rows.append({key: value for key, value in row.items() if value})
    cached = [row for row in rows if _ref(row).startswith("bcache") and "PKNAME" in row]
    parents = {of_path(row["PKNAME"]) for row in cached}
    if any(row.get("FSTYPE") == "bcache" and _ref(row) not in parents for row in rows):
        for row in cached:
            del row["PKNAME"]
    for row in rows:
        yield from row_facts(row)


def read_json(text: str) -> Iterator[Fact]:
    """Yield the facts of ``lsblk -J``."""
    rows = [
        (_json_row(device), _json_row(parent) if parent else {})
        for device, parent in tree_of(text, "blockdevices")
    ]
    inverse = any(parent and _is_disk(row) for row, parent in rows)
    for row, parent in rows:
        yield from row_facts(row)
        if parent:
            above, below = (parent, row) if inverse else (row, parent)
            yield Fact(_ref(above), "on", _ref(below))


def _json_row(device: Mapping[str, Any]) -> dict[str, str]:
    row = {}
    for key, value in device.items():
        if isinstance(value, list):
            if key == "mountpoints":
                row["MOUNTPOINTS"] = " ".join(str(point) for point in value if point)
        elif value is not None and not isinstance(value, dict):
            text = str(value)
            row[key.upper()] = BOOLEANS.get(text.lower(), text)
    return row
