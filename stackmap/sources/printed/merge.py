"""
One machine from several texts: which names mean one device, which text says what, and where texts contradict.

``capture_files`` writes the result as the files of a capture, so that a ticket is read as a capture is.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.model.units import GIB
from stackmap.sources import device_lists, lvm_names
from stackmap.sources.device_lists import disk_of
from stackmap.sources.printed import md
from stackmap.sources.printed.capture_files import (
    MEMBER,
    CaptureFiles,
    Edges,
    Told,
    refuse_many,
    whole_md,
)
from stackmap.sources.printed.facts import (
    ALIAS,
    BY_ID,
    BY_PARTUUID,
    BY_RES,
    DRBD_STATE,
    ITS_NAME,
    MAPPER,
    NUMBER,
    PARTUUID,
    Fact,
    disk_and_part,
    is_kernel_name,
    kind_of,
)

# Of one text: those of the largest hosts, in 6 s. lsblk -O has up to 30 facts about a device.
MAX_FACTS = 600_000
# Of two copies of these texts the later one is complete; others may each show a part.
_COMPLETE = ("dmsetup table", "mdadm --detail", "/proc/mdstat")
IDENTITIES = ("device/serial", "wwid")  # that names in by-id end with
SHORTEST_ID = 6  # characters
ZPOOL, TYPE = "zpool status", "udev:ID_FS_TYPE"
_DM, _DRBD = re.compile(r"dm-\d{1,7}"), re.compile(r"drbd\d{1,7}")
_DISK = re.compile(r"[shv]d[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+")
_KPARTX = re.compile(r"(.+?)(-part|p|)(\d{1,3})")
ROUNDED = 0.01  # share by which sizes are rounded
OTHER_SIZE = 1.25  # times; tools round, in units of 1000 and of 1024
_VOLUME = re.compile(BY_RES + r"[^/]+/\d+")
PRINTED_LINES = {"table": "/cmd/dmsetup-table.txt", "status": "/cmd/dmsetup-status.txt"}


class Merged(NamedTuple):
    """``files``: by path. ``notes``: contradictions, as sentences. ``sources``: the texts that were used, with their number of facts."""

    files: dict[str, str]
    notes: list[str]
    sources: dict[str, int]


class Machine:
    """Takes facts, each with the name of its text, and returns what they tell together."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self._same: dict[str, str] = {}  # a ref → another ref of the same device
        self._facts: list[tuple[str, int, Fact]] = []
        self._parts = 0
        self.notes: dict[str, None] = dict.fromkeys(notes)
        self.sources: dict[str, int] = {}

    def take(self, source: str, facts: Iterable[Fact]) -> None:
        """Take what the text *source* tells; of two copies the later one counts."""
        self._parts += 1
        for fact in facts:
            if fact.ref in ("", MAPPER) or (
                fact.key in ("is", "on") and fact.value in ("", MAPPER)
            ):
                continue  # a name that the paste lost
            self._facts.append((source, self._parts, fact))
            self.sources[source] = self.sources.get(source, 0) + 1
            if len(self._facts) > MAX_FACTS:
                raise InputError(f"refused: more than {MAX_FACTS} facts about devices in one text")

    def merged(self) -> Merged:
        """Return the machine as files; no files if the texts tell of no device."""
        self._drop_outdated()
        self._join()
        self._assemble()
        self._drop_volumes_without_device()
        self._note_sizes()
        refuse_many(
            len({self._known(fact.ref) for _, _, fact in self._facts})
        )  # before the tables of each are made
        newest = {
            (self._known(fact.ref), source): part
            for source, part, fact in self._facts
            if fact.key.startswith("md/")
        }
        told: defaultdict[str, defaultdict[str, dict[str, str]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        # What is below, by device and text; lines of dmsetup, by key and device.
        copies: dict[tuple[str, str], dict[int, dict[str, None]]] = {}
        tables: dict[tuple[str, str], tuple[int, list[str]]] = {}
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
                facts[self._under_its_name(key)][source] = value
        edges = self._latest(copies)
        refuse_many(len(told))
        self._logical(told, edges)
        names = {device: self._name(device) for device in told}
        _move_to_data_partitions(told, names)
        files = CaptureFiles(told, edges, names, self._kinds, self.notes).written()
        for (key, _), (_, lines) in tables.items():
            path = PRINTED_LINES[key]
            files[path] = files.get(path, "") + "".join(f"{line}\n" for line in lines)
        return Merged(files, list(self.notes), self.sources)

    def _note_sizes(self) -> None:
        """Note a disk of two sizes, which no disk has."""
        sizes: defaultdict[str, list[float]] = defaultdict(list)
        for _, _, fact in self._facts:
            if fact.key == "size" and _DISK.fullmatch(name := self._name(self._known(fact.ref))):
                sizes[name].append(float(fact.value.lstrip("~")))
        for name, known in sizes.items():
            if max(known) > OTHER_SIZE * min(known) > 0:
                least, most = (f"{size / GIB:.1f} GiB" for size in (min(known), max(known)))
                self.notes[
                    f"{name} has {least} and {most}: the outputs may be of two hosts, or before and after a restart; give one per text"
                ] = None
                return

    def _assemble(self) -> None:
        """Add the arrays that superblocks tell of; of those that other texts name, only what these do not say."""
        blocks = {f.ref: json.loads(f.value) for _, _, f in self._facts if f.key == md.SUPERBLOCK}
        if not blocks:
            return
        above = {
            self._known(fact.value): fact.ref
            for _, _, fact in self._facts
            if fact.key == "on" and self._name(self._known(fact.ref)).startswith("md")
        }
        uuids = {fact.value: fact.ref for _, _, fact in self._facts if fact.key == "md/uuid"}
        complete = {self._known(ref) for ref in above.values()}
        self._facts = [entry for entry in self._facts if entry[2].key != md.SUPERBLOCK]
        for array in md.assembled({self._known(ref): block for ref, block in blocks.items()}):
            named = next((above[member] for member in array.members if member in above), "")
            ref = uuids.get(array.uuid) or named
            if not ref:  # another array may have its name
                ref = f"{ALIAS}{array.uuid}" if array.ref in complete else array.ref
            self.take("mdadm --examine", (fact._replace(ref=ref) for fact in array.facts))

    def _drop_volumes_without_device(self) -> None:
        """Forget volumes of DRBD 9 that may be any of the devices that other texts name."""
        names = {self._name(self._known(fact.ref)) for _, _, fact in self._facts}
        if not any(map(_DRBD.fullmatch, names)):
            return
        states = {
            fact.ref: fact.value
            for _, _, fact in self._facts
            if fact.key == DRBD_STATE and self._name(self._known(fact.ref)).startswith(BY_RES)
        }
        if states:
            told = ", ".join(f"{ref.removeprefix(BY_RES)} {state}" for ref, state in states.items())
            self.notes[
                f"devices of DRBD's volumes unknown ({told}): give `drbdsetup status --verbose`"
            ] = None
            self._facts = [entry for entry in self._facts if entry[2].ref not in states]

    def _under_its_name(self, key: str) -> str:
        """Return the key of a member's file with the member's name in place of a ref."""
        if not key.startswith(MEMBER):
            return key
        member, _, file = key.removeprefix(MEMBER).partition("/")
        name = self._name(self._known(member.replace("!", "/")))
        return f"{MEMBER}{name.replace('/', '!')}/{file}"

    def _latest(self, copies: Mapping[tuple[str, str], dict[int, dict[str, None]]]) -> Edges:
        """Return the devices below each device by the latest copy of each text; note copies that differ."""
        edges: Edges = {}
        for (device, source), by_part in copies.items():
            *earlier, latest = (by_part[part] for part in sorted(by_part))
            if source in _COMPLETE:
                if any(copy.keys() != latest.keys() for copy in earlier):
                    self.notes[
                        f"{device}: two copies of {source} differ; the later one is used"
                    ] = None
                earlier = []
            edges.setdefault(device, {})[source] = {
                below: None for copy in (*earlier, latest) for below in copy
            }
        return edges

    # Which names mean one device.

    def _known(self, ref: str) -> str:
        """Return the ref that stands for the device of *ref*."""
        way = [ref]
        while (further := self._same.get(way[-1], way[-1])) != way[-1]:
            way.append(further)
        for passed in way[:-1]:
            self._same[passed] = way[-1]
        return way[-1]

    def _drop_outdated(self) -> None:
        """Forget outputs that name devices otherwise than a later one does: what was below them was below others."""
        said: defaultdict[int, list[tuple[str, Fact]]] = defaultdict(list)
        for source, part, fact in self._facts:
            if fact.key == "is" and fact.ref:
                said[part].append((source, fact))
        names: defaultdict[str, dict[str, str]] = defaultdict(dict)  # by ref and kind
        outdated = set()
        for part in sorted(said, reverse=True):
            pairs = [
                (source, first, second)
                for source, (ref, _, value) in said[part]
                for first, second in ((ref, value), (value, ref))
                if "other" not in (kind_of(ref), kind_of(value))
            ]
            for source, first, second in pairs:
                later = names[first].get(kind_of(second), second)
                if later != second:
                    outdated.add(part)
                    self.notes[
                        f"{source}: {first} is {second}, and {later} in a later text, which is used"
                    ] = None
                    break
            else:
                for _, first, second in pairs:
                    names[first][kind_of(second)] = second
        self._facts = [entry for entry in self._facts if entry[1] not in outdated]

    def _join(self) -> None:
        """Join the refs of each device; what would give one device two names of a kind is a contradiction."""
        kinds: dict[str, dict[str, str]] = {}

        def names_of(ref: str) -> dict[str, str]:
            return kinds.setdefault(ref, {kind_of(ref): ref})

        refs = {ref for _, _, fact in self._facts for ref in (fact.ref, fact.value)}
        numbers = sorted(ref for ref in refs if NUMBER.fullmatch(ref) and device_lists.name_of(ref))
        majors = {
            word.partition(":")[0]
            for _, _, fact in self._facts
            for word, other in ((fact.ref, fact.value), (fact.value, fact.ref))
            if fact.key == "is" and NUMBER.fullmatch(word) and other.startswith(MAPPER)
        }
        mapped = [ref for ref in sorted(refs) if _DM.fullmatch(ref)] if len(majors) == 1 else []
        # Unraid's md1p1 has the number of an md1 that does not exist.
        named = {
            number
            for _, _, fact in self._facts
            for number, name in ((fact.ref, fact.value), (fact.value, fact.ref))
            if fact.key == "is" and kind_of(number) == "number" and whole_md(name, number)
        }
        said = [(ref, Fact(ref, "is", f"{min(majors)}:{ref[3:]}")) for ref in mapped]
        said += [(n, Fact(n, "is", device_lists.name_of(n))) for n in numbers if n not in named]
        said += [(link, Fact(name, "is", link)) for link, name in self._linked(refs)]
        for source, fact in [*((source, fact) for source, _, fact in self._facts), *said]:
            if fact.key != "is" or not fact.ref:
                continue
            first, second = self._known(fact.ref), self._known(fact.value)
            if first == second:
                continue
            ours, theirs = names_of(first), names_of(second)
            twice = [kind for kind in ours if kind in theirs and kind != "other"]
            if twice:
                one, other = ours[twice[0]], theirs[twice[0]]
                told = (fact.ref, other, one) if other == fact.value else (fact.value, one, other)
                place = "" if source == told[0] else f"{source}: "
                self.notes["{}{} is {}; in another text it is {}".format(place, *told)] = None
                continue
            self._same[second] = first
            kinds[first] = theirs | ours
        self._kinds = kinds

    def _linked(self, refs: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield each link with the kernel's name of its device: by its serial number, WWN or PARTUUID; of DRBD's only device."""
        volumes, devices = ([*filter(form.fullmatch, refs)] for form in (_VOLUME, _DRBD))
        if len(volumes) == len(devices) == 1:
            yield volumes[0], devices[0]
        links = [ref for ref in refs if ref.startswith((BY_ID, BY_PARTUUID))]
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for _, _, (ref, key, value) in self._facts if links else ():
            if key == PARTUUID:
                ids[BY_PARTUUID + value.lower()].add(ref)
            elif key in IDENTITIES and len(value) >= SHORTEST_ID and not disk_of(ref):
                ids[value.replace(" ", "_")].add(ref)
        for link in sorted(links):
            whole, part = disk_and_part(link)
            matching = {ref for value, of in ids.items() if whole.endswith(value) for ref in of}
            if len(matching) == 1:
                disk = matching.pop()
                yield link, _partition(disk, part) if part else disk

    def _name(self, device: str) -> str:
        """Return the kernel's name of a device, or the best of its other names."""
        names = self._kinds.get(device, {kind_of(device): device})
        if kernel := names.get("kernel"):
            return kernel
        number = names.get("number", "")
        if "mapper" in names and number:
            return f"dm-{number.partition(':')[2]}"
        return (
            (number and device_lists.name_of(number))
            or _mapped_name(names.get("mapper", ""))
            or device
        )

    # What LVM's reports imply, where nothing tells more.

    def _logical(self, told: Told, edges: Edges) -> None:
        """Add the pool below a volume, the PVs of a group below LVs that can be nowhere else, and maps below their partitions."""
        pvs: defaultdict[str, list[str]] = defaultdict(list)
        for device, facts in told.items():
            for group in set(facts.get("pv of", {}).values()) - {""}:
                pvs[group].append(device)
        for device, facts in list(told.items()):
            if device in edges:
                continue
            for source, pool in facts.get("in pool", {}).items():
                told[self._known(pool)]
                edges.setdefault(device, {})[source] = {self._known(pool): None}
            if whole := self._whole_map(device, told):
                edges.setdefault(device, {})[ITS_NAME] = {whole: None}
            types = set(facts.get("lv/segtype", {}).values())
            letters = {attr[:1] for attr in facts.get("lv/attr", {}).values()}
            plain = types == {"linear"} or (not types and letters <= {"-"})
            for source, group in (facts.get("lv of") or self._by_name(device, told, pvs)).items():
                if plain and len(pvs[group]) == 1:
                    edges.setdefault(device, {})[f"{source}, pvs: the only PV"] = {
                        pvs[group][0]: None
                    }
                elif plain and _needs_all(facts, [told[pv] for pv in pvs[group]]):
                    edges.setdefault(device, {})[f"{source}, pvs: its size"] = dict.fromkeys(
                        pvs[group]
                    )

    def _by_name(self, device: str, told: Told, groups: Mapping[str, object]) -> dict[str, str]:
        """Return the group of a map that has the name of an LV of one of *groups*, by "its name"; {} for another device."""
        name = self._kinds.get(device, {}).get("mapper", device)
        uuids = filter(None, told[device].get("dm/uuid", {}).values())
        if not name.startswith(MAPPER) or not all(uuid.startswith("LVM-") for uuid in uuids):
            return {}
        lv = lvm_names.parse(name.removeprefix(MAPPER), lvm_names.PREFIX)
        if lv is None or lv.layer or lv.is_hidden or lv.vg not in groups:
            return {}
        return {ITS_NAME: lv.vg}

    def _whole_map(self, device: str, told: Told) -> str:
        """Return the map of which *device* is a partition of kpartx by its name, "" for another device."""
        name = self._kinds.get(device, {}).get("mapper", device)
        if not name.startswith(MAPPER) or (match := _KPARTX.fullmatch(name)) is None:
            return ""
        whole = self._known(match[1])
        if whole not in told:
            return ""
        uuids = told[whole].get("dm/uuid", {}).values()
        # Of other maps, only "-part" is no part of a name that somebody gave.
        return (
            whole if match[2] == "-part" or any(uuid.startswith("mpath-") for uuid in uuids) else ""
        )


def _needs_all(
    volume: Mapping[str, Mapping[str, str]], pvs: list[dict[str, dict[str, str]]]
) -> bool:
    """Whether a *volume* is larger than all of *pvs* without the smallest one, beyond rounding: it has a part of each."""
    sizes = [_bytes_of(each) for each in (volume, *pvs)]
    own, *parts = sizes
    return bool(parts) and all(sizes) and own * (1 - ROUNDED) > sum(parts) - min(parts)


def _bytes_of(facts: Mapping[str, Mapping[str, str]]) -> int:
    """Return the size among *facts*, 0 if it is unknown."""
    return min((int(size.lstrip("~")) for size in facts.get("size", {}).values()), default=0)


def _mapped_name(ref: str) -> str:
    """Return device-mapper's name of *ref*; one that a disk may have is not shortened."""
    name = ref.removeprefix(MAPPER)
    return ref if is_kernel_name(name) else name


def _partition(disk: str, number: str) -> str:
    """Return the kernel's name of a partition."""
    return f"{disk}{'p' * disk[-1].isdecimal()}{number}"


def _move_to_data_partitions(told: Told, names: Mapping[str, str]) -> None:
    """Give what a pool of ZFS has of a whole disk to its first partition: ZFS makes 1 for data and 9, and names the disk."""
    devices = {name: device for device, name in names.items()}
    for disk, facts in told.items():
        data, rest = (devices.get(_partition(names[disk], number)) for number in "19")
        if data is None or rest is None or facts.get(TYPE, {}).get(ZPOOL) is None:
            continue
        for key in (TYPE, "udev:ID_FS_LABEL", "device/state"):
            if ZPOOL in facts.get(key, {}):
                told[data].setdefault(key, {})[ZPOOL] = facts[key].pop(ZPOOL)
                if not facts[key]:
                    del facts[key]
