"""
One machine of what several texts tell: which names mean one device, where texts contradict each other, and who said what.

The result is a tree of files as sysfs, /proc and commands have them, so that a ticket is read as a capture is.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.host import Host
from stackmap.model.device import MAX_DEVICES
from stackmap.model.units import SECTOR
from stackmap.sources import device_lists, lvm_names
from stackmap.sources.printed.facts import ALIAS, MAPPER, NUMBER, Fact, is_kernel_name
from stackmap.sources.sysfs import PRINTED, attribute

ORIGINS = "/printed/edges.json"  # by "ABOVE BELOW": the texts that an edge is known from
BLOCKS = "/sys/block"
MAX_FACTS = 2_000_000
# Texts that list all devices below one, the most exact first; others are used for devices that these do not have.
WHOLE = (
    "dmsetup table",
    "mdadm --detail",
    "/proc/mdstat",
    "dmsetup deps",
    "dmsetup ls --tree",
    "multipath -ll",
    "lsblk",
    "lvs",
    "lvdisplay",
)
_PARTITION = re.compile(
    r"(?:([shv]d[a-z]{1,4}|xvd[a-z]{1,3}|dasd[a-z]+)|((?:nvme\d+n|mmcblk|md|loop|nbd|rbd)\d+|(?:cciss|ida)/c\d+d\d+)p)(\d{1,3})"
)
_DM = re.compile(r"dm-\d{1,7}")
PRINTED_LINES = {"table": "/cmd/dmsetup-table.txt", "status": "/cmd/dmsetup-status.txt"}


Edges = dict[str, dict[str, dict[str, None]]]  # the devices below each, by the text that says so


class Merged(NamedTuple):
    """``files``: by path. ``notes``: contradictions, as sentences. ``sources``: the texts that were used, with their number of facts."""

    files: dict[str, str]
    notes: list[str]
    sources: dict[str, int]


class Machine:
    """Takes facts, each with the name of its text, and returns what they tell together."""

    def __init__(self) -> None:
        self._same: dict[str, str] = {}  # a ref → another ref of the same device
        self._facts: list[tuple[str, int, Fact]] = []
        self._parts = 0
        self.notes: dict[str, None] = {}
        self.sources: dict[str, int] = {}

    def take(self, source: str, facts: Iterable[Fact]) -> None:
        """Take what the text *source* tells; of two copies the later one counts."""
        self._parts += 1
        for fact in facts:
            if fact.ref == MAPPER or (fact.key in ("is", "on") and fact.value == MAPPER):
                continue  # a name that the paste lost
            self._facts.append((source, self._parts, fact))
            self.sources[source] = self.sources.get(source, 0) + 1
            if len(self._facts) > MAX_FACTS:
                raise InputError(f"refused: more than {MAX_FACTS} facts about devices in one text")

    def merged(self) -> Merged:
        """Return the machine as files; no files if the texts tell of no device."""
        self._join()
        told: defaultdict[str, defaultdict[str, dict[str, str]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        copies: dict[
            tuple[str, str], dict[int, dict[str, None]]
        ] = {}  # of what is below, by device and text
        tables: dict[
            tuple[str, str], tuple[int, list[str]]
        ] = {}  # lines of dmsetup, by key and device
        newest = {(self._known(fact.ref), source): part for source, part, fact in self._facts}
        for source, part, (ref, key, value) in self._facts:
            device = self._known(ref)
            facts = told[device]
            if key.startswith("md/") and part != newest[device, source]:
                continue
            if key == "on":
                told[self._known(value)]
                below = copies.setdefault((device, source), {})
                below.setdefault(part, {})[self._known(value)] = None
            elif key in PRINTED_LINES:
                if tables.get((key, device), (0, []))[0] != part:
                    tables[key, device] = part, []
                tables[key, device][1].append(value)
            elif key in ("mount", "swap"):
                facts[f"{key} {value}"][source] = value
            else:
                facts[key][source] = value
        edges = self._latest(copies)
        answers: dict[str, str] = {}
        for (key, _), (_, lines) in tables.items():
            answers[PRINTED_LINES[key]] = answers.get(PRINTED_LINES[key], "") + "".join(
                f"{line}\n" for line in lines
            )
        if len(told) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one text")
        self._logical(told, edges)
        names = {device: self._name(device) for device in told}
        return Merged(self._files(names, told, edges, answers), list(self.notes), self.sources)

    def _latest(self, copies: Mapping[tuple[str, str], dict[int, dict[str, None]]]) -> Edges:
        """Return what is below each device by the latest copy of each text; note copies that differ."""
        edges: Edges = {}
        for (device, source), by_part in copies.items():
            *earlier, latest = (by_part[part] for part in sorted(by_part))
            if source in WHOLE[:2] or source == "/proc/mdstat":
                if any(each.keys() != latest.keys() for each in earlier):
                    self.notes[
                        f"{device}: two copies of {source} differ; the later one is used"
                    ] = None
                earlier = []
            edges.setdefault(device, {})[source] = {
                below: None for each in (*earlier, latest) for below in each
            }
        return edges

    # Which names mean one device.

    def _known(self, ref: str) -> str:
        """Return the ref that stands for the device of *ref*."""
        way = [ref]
        while (further := self._same.get(way[-1], way[-1])) != way[-1]:
            way.append(further)
        for each in way[:-1]:
            self._same[each] = way[-1]
        return way[-1]

    def _join(self) -> None:
        """Join the refs of each device; what would give one device two names of a kind is a contradiction."""
        kinds: dict[str, dict[str, str]] = {}

        def names_of(ref: str) -> dict[str, str]:
            return kinds.setdefault(ref, {_kind(ref): ref})

        refs = {ref for _, _, fact in self._facts for ref in (fact.ref, fact.value)}
        numbers = sorted(ref for ref in refs if NUMBER.fullmatch(ref) and device_lists.name_of(ref))
        majors = {
            word.partition(":")[0]
            for _, _, fact in self._facts
            for word, other in ((fact.ref, fact.value), (fact.value, fact.ref))
            if fact.key == "is" and NUMBER.fullmatch(word) and other.startswith(MAPPER)
        }
        mapped = [ref for ref in sorted(refs) if _DM.fullmatch(ref)] if len(majors) == 1 else []
        said = [(ref, Fact(ref, "is", f"{min(majors)}:{ref[3:]}")) for ref in mapped]
        said += [(n, Fact(n, "is", device_lists.name_of(n))) for n in numbers]
        for source, fact in [*((source, fact) for source, _, fact in self._facts), *said]:
            if fact.key != "is" or not fact.ref:
                continue
            first, second = self._known(fact.ref), self._known(fact.value)
            if first == second:
                continue
            ours, theirs = names_of(first), names_of(second)
            twice = [kind for kind in ours.keys() & theirs.keys() if kind != "other"]
            if twice:
                self.notes[
                    f"{source}: {fact.ref} is {fact.value}, which another text calls {theirs[twice[0]]} and not {ours[twice[0]]}"
                ] = None
                continue
            self._same[second] = first
            kinds[first] = theirs | ours
        self._kinds = kinds

    def _name(self, device: str) -> str:
        """Return the kernel's name of a device, or the best of its other names."""
        names = self._kinds.get(device, {_kind(device): device})
        if kernel := names.get("kernel"):
            return kernel
        number = names.get("number", "")
        if "mapper" in names and number:
            return f"dm-{number.partition(':')[2]}"
        return (
            (number and device_lists.name_of(number))
            or names.get("mapper", "").removeprefix(MAPPER)
            or device
        )

    # What LVM's reports imply, where nothing tells more.

    def _logical(self, told: Mapping[str, Mapping[str, dict[str, str]]], edges: Edges) -> None:
        """Add the pool below a thin volume, and the only PV of a group below its plain LVs."""
        pvs: defaultdict[str, list[str]] = defaultdict(list)
        for device, facts in told.items():
            for group in set(facts.get("pv of", {}).values()) - {""}:
                pvs[group].append(device)
        for device, facts in list(told.items()):
            if device in edges:
                continue
            for source, pool in facts.get("thin in", {}).items():
                told[self._known(pool)]
                edges.setdefault(device, {})[source] = {self._known(pool): None}
            plain = set(facts.get("lv/segtype", {}).values()) == {"linear"}
            for source, group in facts.get("lv of", {}).items():
                if plain and len(pvs[group]) == 1:
                    edges.setdefault(device, {})[f"{source}, pvs: the only PV"] = {
                        pvs[group][0]: None
                    }

    # The files.

    def _files(
        self,
        names: Mapping[str, str],
        told: Mapping[str, Mapping[str, dict[str, str]]],
        edges: Edges,
        answers: Mapping[str, str],
    ) -> dict[str, str]:
        files = dict(answers)
        kept = {device: self._below(names, device, edges) for device in told}
        below_any = {below for each in kept.values() for below in each}
        there = {
            device
            for device in told
            if is_kernel_name(names[device]) or kept.get(device) or _is_told(told[device])
        }
        known = {names[device] for device in there | below_any}
        mounts: list[str] = []
        swaps: list[str] = []
        origins: dict[str, str] = {}
        there = {device for device in there | below_any if not NUMBER.fullmatch(names[device])}
        for device in sorted(there, key=names.__getitem__):
            name = names[device]
            kinds = self._kinds.get(device, {_kind(device): device})
            number = kinds.get("number") or device_lists.number_of(name)
            disk = _disk_of(name)
            place = (
                f"{BLOCKS}/{disk.replace('/', '!')}/{name.replace('/', '!')}"
                if disk
                else f"{BLOCKS}/{name.replace('/', '!')}"
            )
            files[f"{place}/dev"] = number
            files[f"{place}/{PRINTED}"] = ""
            if disk and disk not in known:
                known.add(disk)
                files[f"{BLOCKS}/{disk.replace('/', '!')}/dev"] = device_lists.number_of(disk)
                files[f"{BLOCKS}/{disk.replace('/', '!')}/{PRINTED}"] = ""
            if disk:
                origins[f"{name} {disk}"] = "its name"
                files[f"{place}/partition"] = "1"
            properties = self._attributes(files, place, name, told[device])
            if "mapper" in kinds or name.startswith("dm-"):
                files[f"{place}/dm/name"] = kinds.get("mapper", "").removeprefix(MAPPER)
                files.setdefault(f"{place}/dm/uuid", "LVM-" if self._is_volume(kinds) else "")
            if "alias" in kinds:
                properties["MD_DEVNAME"] = kinds["alias"].removeprefix(ALIAS)
            for below, sources in kept[device].items():
                if names[below] == disk or below not in there:
                    continue
                if not any(key.startswith("md/dev-") for key in told[device]):
                    files[f"{place}/slaves/{names[below].replace('/', '!')}"] = ""
                origins[f"{name} {names[below]}"] = sources
            if (
                name.startswith("md")
                and not any(key.startswith("md/") for key in told[device])
                and not disk
            ):
                files.setdefault(f"{place}/md/uuid", "")
            if number and properties:
                files[f"/run/udev/data/b{number}"] = "".join(
                    f"E:{k}={v}\n" for k, v in properties.items()
                )
            for key in told[device]:
                if key.startswith("mount "):
                    point, kind, options = key.removeprefix("mount ").split("\t")
                    kind = (
                        next(iter(told[device].get("udev:ID_FS_TYPE", {}).values()), kind)
                        if kind == "-"
                        else kind
                    )
                    mounts.append(
                        f"1 0 {number or '0:0'} / {_octal(point)} rw - {kind} /dev/{_octal(name)} {options.replace(' ', '')}"
                    )
                elif key.startswith("swap "):
                    swaps.append(f"/dev/{name} partition 0 0 -1")
        if mounts:
            files["/proc/self/mountinfo"] = "\n".join(dict.fromkeys(mounts)) + "\n"
        if swaps:
            files["/proc/swaps"] = (
                "Filename Type Size Used Priority\n" + "\n".join(dict.fromkeys(swaps)) + "\n"
            )
        if origins:
            files[ORIGINS] = json.dumps(origins)
        return files

    def _is_volume(self, kinds: Mapping[str, str]) -> bool:
        """Whether a mapped device of unknown kind has the name of LVM's sub-LV."""
        lv = lvm_names.parse(kinds.get("mapper", "").removeprefix(MAPPER), lvm_names.PREFIX)
        return lv is not None and lv.is_hidden and not lv.layer

    def _attributes(
        self, files: dict[str, str], place: str, name: str, told: Mapping[str, dict[str, str]]
    ) -> dict[str, str]:
        """Write the attributes of a device; return udev's properties."""
        properties: dict[str, str] = {}
        for key, by_source in told.items():
            if key == "size":
                if (size := self._size(name, by_source)) is not None:
                    files[f"{place}/size"] = str(size // SECTOR)
            elif key.startswith("udev:"):
                properties[key.removeprefix("udev:")] = self._agreed(
                    name, key.removeprefix("udev:"), by_source
                ).replace("\n", " ")
            elif "/" in key.partition(" ")[0] or key in (
                "ro",
                "removable",
                "start",
                "alignment_offset",
                "wwid",
                "diskseq",
            ):
                files[f"{place}/{key}"] = self._agreed(name, key, by_source)
        return properties

    def _agreed(self, name: str, key: str, by_source: Mapping[str, str]) -> str:
        """Return the value of the most exact text, and note where another one differs."""
        values = sorted(by_source.items(), key=lambda item: _rank(item[0]))
        source, value = values[0]
        for other, differs in values[1:]:
            if key == "dm/uuid":
                value = max(value, differs, key=len)
            elif differs != value and key in (
                "md/level",
                "md/raid_disks",
                "md/chunk_size",
                "lv/segtype",
            ):
                self.notes[
                    f"{name}: {key.rpartition('/')[2]} {value} in {source}, {differs} in {other}"
                ] = None
        return value

    def _size(self, name: str, by_source: Mapping[str, str]) -> int | None:
        """Return the most exact size in bytes; note those that are not the same within 2 %."""
        exact = sorted(
            by_source.items(), key=lambda item: (item[1].startswith("~"), _rank(item[0]))
        )
        source, text = exact[0]
        size = int(text.removeprefix("~")[:19])
        for other, differs in exact[1:]:
            theirs = int(differs.removeprefix("~")[:19])
            if abs(theirs - size) > 0.06 * max(size, 1) and abs(theirs - size) > 2 << 20:
                self.notes[f"size of {name}: {size} bytes in {source}, {theirs} in {other}"] = None
        return size

    def _below(self, names: Mapping[str, str], device: str, edges: Edges) -> dict[str, str]:
        """Return the devices below *device*, each with the texts that say so."""
        by_source = edges.get(device, {})
        ranked = sorted(by_source, key=_rank)
        if not ranked:
            return {}
        chosen = ranked[0]
        found = {below: [chosen] for below in by_source[chosen] if below != device}
        reach: set[str] | None = None
        for source in ranked[1:]:
            for below in by_source[source]:
                if below in found:
                    found[below].append(source)
                    continue
                reach = self._reach(device, edges) if reach is None else reach
                partial = by_source[source].keys() >= found.keys() and chosen not in WHOLE[:5]
                if partial:
                    found[below] = [source]
                elif below not in reach and not any(
                    map(NUMBER.fullmatch, map(names.get, reach, reach))
                ):
                    self.notes[
                        f"{names[device]}: on {names[below]} in {source}, not in {chosen}"
                    ] = None
        return {below: ", ".join(sources) for below, sources in found.items()}

    def _reach(self, device: str, edges: Edges) -> set[str]:
        """Return all devices below *device* by the most exact texts."""
        found: set[str] = set()
        todo = [device]
        while todo:
            by_source = edges.get(todo.pop(), {})
            for below in by_source[min(by_source, key=_rank)] if by_source else ():
                if below not in found:
                    found.add(below)
                    todo.append(below)
        return found


def read_origins(host: Host) -> dict[str, str]:
    """Return the texts that tell of each edge, by "ABOVE BELOW"; {} if *host* is not made of texts."""
    return dict(json.loads(attribute(host, ORIGINS) or "{}"))


def _kind(ref: str) -> str:
    if NUMBER.fullmatch(ref):
        return "number"
    if ref.startswith(MAPPER):
        return "mapper"
    if ref.startswith(ALIAS):
        return "alias"
    return "kernel" if is_kernel_name(ref) else "other"


def _is_told(facts: Mapping[str, object]) -> bool:
    """Whether a text lists the device itself, not only a name of it."""
    return bool({"listed", "size", "dm/uuid", "lv of"} & facts.keys())


def _rank(source: str) -> int:
    return WHOLE.index(source) if source in WHOLE else len(WHOLE)


def _disk_of(name: str) -> str:
    """
    Return the disk of a partition by its *name*, "" for all else.

    >>> _disk_of("sda1"), _disk_of("nvme0n1p2"), _disk_of("md0"), _disk_of("md127p1")
    ('sda', 'nvme0n1', '', 'md127')
    """
    match = _PARTITION.fullmatch(name)
    return (match[1] or match[2]) if match else ""


def _octal(text: str) -> str:
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in text)
