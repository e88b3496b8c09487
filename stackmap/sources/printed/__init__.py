"""
What commands printed and people pasted: lsblk, /proc/mdstat, LVM's reports, dmsetup, mdadm, multipath, mounts.

A text holds them after each other, quoted and damaged. ``Reader`` takes its lines, recognises each by its content
(``FORMATS``), and returns them as one machine: files as a capture has them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from stackmap.sources.printed import drbd_status, lsblk, lvm, mapper, md, nas, users
from stackmap.sources.printed.columns import PROMPT, clean
from stackmap.sources.printed.facts import Fact
from stackmap.sources.printed.hosts import HostNames, only_one_host
from stackmap.sources.printed.merge import MAX_FACTS, Machine, Merged

# Of outputs in one text, without figures. 5,000 disks with a partition each fit; JSON has 3 KiB per device.
MAX_ROWS = 1 << 20  # bytes
MAX_JSON = 16 << 20  # bytes
MAX_MEANINGLESS = 100  # lines that are remembered
# That a row, a line of JSON and an output of JSON are charged at least.
ROW_BYTES, LINE_BYTES, PART_BYTES = 48, 16, 512
DAMAGE = (ValueError, RecursionError)  # RecursionError: JSON of too many levels


class Format(NamedTuple):
    """
    What a command prints: its ``name``, how it ``begins``, who reads its lines.

    ``rows``: each of its lines may be its first.
    """

    name: str
    begins: str
    read: Callable[[list[str]], Iterator[Fact]]
    rows: bool = False


def _tree_or_list(lines: list[str]) -> Iterator[Fact]:
    drawn = any(line.strip()[:1] in lsblk.BRANCHES for line in lines if line.strip())
    return (mapper.read_tree if drawn else mapper.read_list)(lines)


# Possessive (`+`): with backtracking, the match would try each place of a long line.
_LSBLK_ROW = rf"{lsblk.TREE}+\S+\s+\d{{1,7}}:\d{{1,7}}\s+[01]\s+[\d.,]+[BKMGTPE]?\s+[01]\s+(?:{lsblk.TYPE.pattern})(?:\s.*)?"
_TABLE_ROW = rf"\s*\S.{{0,250}}?: \d{{1,19}} \d{{1,19}} (?:{mapper.TARGETS})(?: .*)?"

FORMATS = (
    Format("lsblk", _LSBLK_ROW, lsblk.read, rows=True),
    Format("lsblk -P", r'(?=.*\b(?:K?NAME|PATH)=")\s*[A-Z][A-Z0-9_:%-]*="[^"]*"(?: [A-Z][A-Z0-9_:%-]*="[^"]*")+', lsblk.read_pairs, rows=True),
    Format("dmsetup table", _TABLE_ROW, mapper.read_table, rows=True),
    Format("dmsetup info", r"\s*Name\s+Maj\s+Min\s+Stat\s.*", mapper.read_info_columns),
    Format("dmsetup info", r"\s*Name:\s+\S+", mapper.read_info),
    Format("dmsetup deps", mapper.DEPS_ROW.pattern, mapper.read_deps, rows=True),
    Format("dmsetup ls --tree", r"[\s│├└─|`-]*(?:\S{1,128} (?:<[^<>]*> )?|(?<=[─-] ))\(\d{1,4}:\d{1,7}\)", _tree_or_list, rows=True),
    Format("dmsetup ls", mapper.LS_ROW.pattern, mapper.read_list, rows=True),
    Format("multipath -ll", rf"\s*{mapper.MAP.pattern}", mapper.read_maps),
    Format("/proc/mdstat", r"\s*Personalities :.*|\s*md\S{0,60} : (?:active|inactive|broken)\b.*", md.read_mdstat, rows=True),
    Format("/proc/mdstat of Unraid", nas.UNRAID.pattern, nas.read_unraid, rows=True),
    Format("bcache-status", nas.BCACHE.pattern, nas.read_bcache),
    Format("mdadm --detail", md.DETAIL.pattern, md.read_detail),
    Format("mdadm --examine", md.EXAMINED.pattern, md.read_examined),
    Format("mdadm --detail --scan", md.SCANNED.pattern, md.read_scanned, rows=True),
    Format("ceph-volume lvm list", users.OSD_PART.pattern, users.read_osd),
    Format("lvs --nameprefixes", lvm.PREFIXED_ROW.pattern, lvm.read_prefixed, rows=True),
    Format("lvdisplay", lvm.DISPLAY.pattern, lvm.read_display),
    Format("mount", rf"{users.MOUNTED.pattern}.*|{users.MOUNTS_ROW.pattern}", users.read_mounted, rows=True),
    Format("mountinfo", users.MOUNTINFO_ROW.pattern, users.read_mountinfo, rows=True),
    Format("df", users.DF_HEADING.pattern, users.read_df),
    Format("findmnt", users.FINDMNT_HEADING.pattern, users.read_findmnt),
    Format("blkid", users.BLKID_ROW.pattern, users.read_blkid, rows=True),
    Format("/proc/swaps", users.SWAPS.pattern, users.read_swaps),
    Format("zpool status", users.POOL.pattern, users.read_pool),
    Format("ls -l /dev/mapper", users.MAPPER_LIST.pattern, users.read_links),
    Format("ls -l", users.LINKED.pattern, users.read_links, rows=True),
    Format("btrfs filesystem show", users.BTRFS.pattern, users.read_btrfs),
    Format("btrfs device stats", users.BTRFS_ERRORS.pattern, users.read_btrfs_errors, rows=True),
    Format("/proc/drbd", drbd_status.PROC.pattern, drbd_status.read_proc, rows=True),
    Format("drbdadm status", drbd_status.STATUS_ROW.pattern, drbd_status.read_status, rows=True),
    Format("nvme list", users.NVME.pattern, users.read_nvme),
    Format("fdisk -l", users.FDISK.pattern, users.read_fdisk),
    Format("/proc/partitions", users.PARTITIONS.pattern, users.read_partitions),
    Format("/proc/diskstats", users.DISKSTATS.pattern, users.read_diskstats, rows=True),
    Format("node_exporter", users.METRIC.pattern, users.read_metrics, rows=True),
    Format("sysfs", rf"{users.ATTRIBUTE.pattern}|{users.ATTRIBUTE_HEAD.pattern}", users.read_attributes, rows=True),
)  # fmt: skip
LISTS = frozenset(
    {"lsblk", "lsblk -P", "multipath -ll", "dmsetup table", "nvme list", "/proc/partitions"}
)
LSBLK = Format("lsblk", "", lsblk.read)
LVS = Format("lvs", "", lvm.read)
# What a JSON object holds, by a key of it.
JSON_FORMATS: tuple[tuple[str, str, Callable[[str], Iterator[Fact]]], ...] = (
    ('"blockdevices"', "lsblk", lsblk.read_json),
    ('"report"', "lvs", lvm.read_json),
    ('"filesystems"', "findmnt", users.read_findmnt_json),
    ('"node-id"', "drbdadm status", drbd_status.read_status_json),
    ('"lv_name"', "ceph-volume lvm list", users.read_osd_json),
)
_BEGINNINGS = re.compile(
    "|".join(
        f"(?P<f{i}>{re.sub(r'[(][?]P<[a-z]+>', '(?:', f.begins)})" for i, f in enumerate(FORMATS)
    )
)
# What ends any part: another table, a banner of sysstat.
_END = re.compile(
    r"\s*(?:avg-cpu|Device\b(?! (?:UUID|Role) :|\s+(?:Boot\s+)?Start\b|\s+(?:File\s+)?/dev/)|Linux \S+ \(|Average:|zzz \*\*\*|Disk /dev/|procs -|Filesystem)"
)
_JSON = re.compile(r'\s*\{\s*(?:".*)?')  # code and logs have other braces


class Part(NamedTuple):
    """The lines of one output, the host that stood before them, "" if none did, and the number of the first one."""

    format: Format
    lines: list[str]
    host: str
    number: int = 0

    @property
    def tells_devices(self) -> bool:
        """Whether it is the output of a command that prints nothing but devices, with a line below its heading."""
        return self.format.name in LISTS and len(self.lines) > 1


class Reader:
    """Takes the lines of a text; ``merged`` is what it told."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._json: list[str] = []
        self._depth = 0
        self.hosts = HostNames()
        self._number = 0  # of the last line
        self._meaningless: set[str] = set()  # lines outside of parts: a log repeats its headings
        self._room = {False: MAX_ROWS, True: MAX_JSON}  # by whether it is JSON

    def take(self, line: str) -> None:
        """Take the next line."""
        self._number += 1
        in_part = self._json or (self._parts and self._parts[-1].lines)
        if not in_part and (line in self._meaningless or line[2:3] == line[5:6] == ":"):
            return  # a row of sar, of which a year has 100,000
        if self._room[False] < 0 and not self._json and "{" not in line:
            return  # no room for rows, and no JSON
        printed, line = line, clean(line)
        begun = self._json and self._format_of(line) is None and not PROMPT.match(line)
        if begun or _JSON.fullmatch(line):
            self._take_json(line)
        else:
            self._give_up_json()
            means = self._take_row(line)
            if not (means or in_part) and len(self._meaningless) < MAX_MEANINGLESS:
                self._meaningless.add(printed)

    def _take_row(self, line: str) -> bool:
        """Take a line that is no JSON; return False if it means nothing outside of a part."""
        current = self._parts[-1] if self._parts and self._parts[-1].lines else None
        begun = self._format_of(line)
        if begun is not None:
            goes_on = current is not None and begun.rows and current.format.name == begun.name
            if not goes_on:
                self.end()
                self._parts.append(Part(begun, [], self.hosts.name, self._number))
            self._keep(line)
        elif current is not None:
            prompt = PROMPT.match(line)
            if prompt or _END.match(line):
                self.end()
            else:
                self._keep(line)
        return begun is not None or self.hosts.take(line)

    def _keep(self, line: str) -> None:
        if self._has_room(line, is_json=False):
            self._parts[-1].lines.append(line)

    def _has_room(self, line: str, *, is_json: bool) -> bool:
        """Charge *line*; False if the limit is reached."""
        self._room[is_json] -= max(len(line) + 1, LINE_BYTES if is_json else ROW_BYTES)
        return self._room[is_json] >= 0

    def _give_up_json(self) -> None:
        """Read the lines that are no JSON after all as other lines are."""
        lines, self._json, self._depth = self._json, [], 0
        for line in lines:
            self._take_row(line)

    def end(self) -> None:
        """End the last part: no further line belongs to it."""
        if self._json:
            self._give_up_json()
        if self._parts and self._parts[-1].lines:
            self._parts.append(Part(LSBLK, [], self.hosts.name))

    def _format_of(self, line: str) -> Format | None:
        if not line:
            return None
        if "NAME" in line and lsblk.is_heading(line):
            return LSBLK
        if ("LV" in line or "PV" in line or "VG" in line) and lvm.is_heading(line):
            return LVS
        match = _BEGINNINGS.fullmatch(line)
        return None if match is None else FORMATS[int((match.lastgroup or "f0")[1:])]

    def _take_json(self, line: str) -> None:
        if line.lstrip().startswith("WARNING:"):  # LVM warns between the lines of its JSON
            return
        if not self._has_room(line, is_json=True):
            self._json, self._depth = [], 0
            return
        self._json.append(line)
        self._depth += line.count("{") - line.count("}")
        if self._depth <= 0:
            text, self._json, self._depth = "\n".join(self._json), [], 0
            for key, name, read in JSON_FORMATS:
                if key in text[:400]:
                    self.end()
                    whole = Format(name, "", lambda lines, read=read: read(lines[0]))  # type: ignore[misc]  # a default binds it
                    self._room[True] -= PART_BYTES
                    self._parts.append(Part(whole, [text], self.hosts.name))
                    self.end()
                    break

    def outputs(self) -> set[int]:
        """Return a number for each different output so far."""
        return {hash(tuple(part.lines)) for part in self._parts if part.lines}

    def merged(self, preferred: Sequence[str] = (), *, in_turn: bool = False) -> Merged:
        """
        Return the machine that the text tells of; of several hosts the first of *preferred* with a device, or the first one.

        *in_turn*: the others are used elsewhere, so none is noted.
        """
        self._give_up_json()
        named = [part._replace(host=self.hosts.own(part.host)) for part in self._parts]
        told = [(part, *_facts(part)) for part in named if part.lines]
        hosts = list(dict.fromkeys(part.host for part, facts, _ in told if part.host and facts))
        chosen = next((host for host in (*preferred, *hosts) if host in hosts), "")
        notes = []
        if len(hosts) > 1 and not in_turn:
            others = [host for host in hosts if host != chosen]
            notes.append(only_one_host(chosen, *others[:4]))
        empty = [
            part for part, facts, damage in told if part.tells_devices and not (facts or damage)
        ]
        if empty:
            where = ", ".join(f"{part.format.name} at line {part.number}" for part in empty[:5])
            notes.append(f"no device could be read from {where}")
        if min(self._room.values()) < 0:
            notes.append(
                f"only the first {MAX_ROWS >> 20} MiB of what lsblk and others printed are used, {MAX_JSON >> 20} MiB of JSON"
            )
        machine = Machine(notes)
        for part, facts, damage in told:
            if part.host in ("", chosen) or not hosts:
                machine.take(part.format.name, facts)
                if damage:
                    machine.notes[f"{part.format.name}: not understood ({damage})"] = None
        merged = machine.merged()
        if chosen and merged.files:
            merged.files["/proc/sys/kernel/hostname"] = chosen
        return merged


def _facts(part: Part) -> tuple[list[Fact], str]:
    """Return the facts in *part*, and the kind of the error that ended it, "" without one."""
    facts: list[Fact] = []
    try:
        facts.extend(islice(part.format.read(part.lines), MAX_FACTS + 1))
    except DAMAGE as error:
        return facts, type(error).__name__
    return facts, ""
