"""What texts tell of a machine, as the files of a capture: sysfs, udev's database, mounts and swaps."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from stackmap.errors import InputError
from stackmap.host import Host
from stackmap.host.capture_format import parse_json
from stackmap.model.units import MIB, SECTOR
from stackmap.sources import device_lists, lvm_names
from stackmap.sources.device_lists import disk_of
from stackmap.sources.error_counts import BTRFS
from stackmap.sources.printed.facts import ALIAS, ITS_NAME, MAPPER, NUMBER, is_kernel_name, kind_of
from stackmap.sources.sysfs import PRINTED, attribute

Told = Mapping[str, dict[str, dict[str, str]]]  # by device and key: the values, by text
Edges = dict[str, dict[str, dict[str, None]]]  # the devices below each, by the text that says so

ORIGINS = "/printed/edges.json"  # by "ABOVE BELOW": the texts that an edge is known from
BLOCKS = "/sys/block"
# Texts that list all devices below one, the most exact first; others are used for devices that these do not have.
RANKING = (
    "dmsetup table",
    "mdadm --detail",
    "/proc/mdstat",
    "dmsetup deps",
    "dmsetup ls --tree",
    "multipath -ll",
    "lsblk",
    "lsblk -P",
    "lvs",
    "lvs --nameprefixes",
    "lvdisplay",
)
COMPLETE = frozenset(RANKING[:5])  # what these do not list is not there
# Files outside queue/, device/, md/ and the like.
ATTRIBUTES = {"ro", "removable", "start", "alignment_offset", "wwid", "diskseq"}
# With the disks of which only partitions are named: 6 s in `explain`. As many rows of lsblk as are read fit.
MAX_DEVICES = 22_000
MEMBER = "md/dev-"  # and its name: the files of a member of an array
COMPARED = ("md/level", "md/raid_disks", "md/chunk_size", "lv/segtype")
# Sizes differ by more than rounding: "1.8T" may be 5 % off, and a partition table or metadata takes some MiB.
SIZE_TOLERANCE = 0.06
SIZE_SLACK = 2 * MIB


def refuse_many(count: int) -> None:
    """Raise ``InputError`` if *count* devices are too many for one text."""
    if count > MAX_DEVICES:
        raise InputError(f"refused: more than {MAX_DEVICES} devices in one text")


class CaptureFiles:
    """
    Writes the files of one machine.

    ``told`` and ``edges`` have a ref for each device; ``names``: the kernel's name of it, or the best other one;
    ``kinds``: its names by kind; ``notes`` receives contradictions.
    """

    def __init__(
        self,
        told: Told,
        edges: Edges,
        names: Mapping[str, str],
        kinds: Mapping[str, Mapping[str, str]],
        notes: dict[str, None],
    ) -> None:
        self._told, self._edges, self._names, self._kinds = told, edges, names, kinds
        self._notes = notes
        self._files: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._below = {device: self._chosen(device) for device in told}
        self._there = self._existing()
        self._no_partitions: set[str] = set()  # of the names that look like one

    def written(self) -> dict[str, str]:
        """Return the files by path; none if no text tells of a device."""
        # Contradicting texts may give two devices one name.
        there = sorted(self._there, key=lambda device: (self._names[device], device))
        known = {self._names[device] for device in there}
        self._no_partitions = {
            self._names[device]
            for device in there
            if whole_md(self._names[device], self._number(device))
        }
        disks = {self._disk_of(name) for name in known} - known - {""}
        refuse_many(len(known) + len(disks))
        for disk in disks:  # known by the names of their partitions only
            place = self._place(disk)
            self._files[f"{place}/dev"] = device_lists.number_of(disk)
            self._files[f"{place}/{PRINTED}"] = ""
        mounts: dict[str, None] = {}
        swaps: dict[str, None] = {}
        for device in there:
            self._device(device)
            mounts.update(dict.fromkeys(self._mounts(device)))
            if any(key.startswith("swap ") for key in self._told[device]):
                swaps[f"/dev/{self._names[device]} partition 0 0 -1\n"] = None
        if mounts:
            self._files["/proc/self/mountinfo"] = "".join(mounts)
        if swaps:
            self._files["/proc/swaps"] = "".join(["Filename Type Size Used Priority\n", *swaps])
        if self._origins:
            self._files[ORIGINS] = json.dumps(self._origins)
        if volumes := [*self._volumes(there)]:
            self._files["/volumes.json"] = json.dumps(volumes)
        return self._files

    def _volumes(self, there: Iterable[str]) -> Iterator[dict[str, str]]:
        """Yield a record of each LV whose lv_attr is known, in the form of libblockdev's."""
        for device in there:
            name = self._kinds_of(device).get("mapper", "").removeprefix(MAPPER)
            lv = lvm_names.parse(name, lvm_names.PREFIX)
            attributes = next(iter(self._told[device].get("lv/attr", {}).values()), "")
            if (
                lv is not None and attributes and not lv.layer
            ):  # the state of a pool is in its status
                roles = "private" if lv.is_hidden else "public"
                yield {"vg_name": lv.vg, "lv_name": lv.lv, "attr": attributes, "roles": roles}

    def _existing(self) -> set[str]:
        """Return the devices that a text lists or uses; a number alone is no device."""
        used = {below for kept in self._below.values() for below in kept}
        listed = {
            device
            for device, facts in self._told.items()
            if is_kernel_name(self._names[device])
            or self._below[device]
            or {"listed", "size", "dm/uuid", "lv of"} & facts.keys()
            or ("mapper" in self._kinds_of(device) and _is_used(facts))
        }
        return {device for device in listed | used if not NUMBER.fullmatch(self._names[device])}

    def _device(self, device: str) -> None:
        name, told = self._names[device], self._told[device]
        kinds = self._kinds_of(device)
        number = self._number(device)
        place, disk = self._place(name), self._disk_of(name)
        self._files[f"{place}/dev"] = number
        self._files[f"{place}/{PRINTED}"] = ""
        members = {f"dev-{self._names[b].replace('/', '!')}" for b in self._below[device]}
        properties: dict[str, str] = {}  # udev's
        for key, by_text in told.items():
            if key.startswith("udev:"):
                prop = key.removeprefix("udev:")
                properties[prop] = self._agreed(name, prop, by_text).replace("\n", " ")
            elif key == "size":
                self._files[f"{place}/size"] = str(self._size(name, by_text) // SECTOR)
            elif key == "btrfs":
                whole = self._agreed(name, key, by_text)
                self._files[f"{BTRFS}/{whole}/devices/{name.replace('/', '!')}"] = ""
            elif key == "btrfs errors":
                btrfs = f"{BTRFS}/printed-{name.replace('/', '!')}"
                self._files[f"{btrfs}/devices/{name.replace('/', '!')}"] = ""
                self._files[f"{btrfs}/devinfo/1/error_stats"] = self._agreed(name, key, by_text)
            elif key.startswith(MEMBER) and key.split("/")[1] not in members:
                continue  # of a text that is not used
            elif "/" in key.partition(" ")[0] or key in ATTRIBUTES:
                self._files[f"{place}/{key}"] = self._agreed(name, key, by_text)
        if disk:
            self._origins[f"{name} {disk}"] = ITS_NAME
            self._files[f"{place}/partition"] = "1"
        if "mapper" in kinds or name.startswith("dm-"):
            self._files[f"{place}/dm/name"] = kinds.get("mapper", "").removeprefix(MAPPER)
            uuid = "LVM-" if _is_sub_volume(kinds) else ""
            self._files.setdefault(f"{place}/dm/uuid", uuid)
        if "alias" in kinds:
            properties["MD_DEVNAME"] = kinds["alias"].removeprefix(ALIAS)
        if name.startswith("md") and not disk and not any(key.startswith("md/") for key in told):
            self._files.setdefault(f"{place}/md/uuid", "")
        if name.startswith("bcache") and not disk:
            self._files.setdefault(f"{place}/bcache/state", "")
        self._slaves(device, place, disk)
        if properties:
            database = "".join(f"E:{key}={value}\n" for key, value in properties.items())
            self._files[f"/run/udev/data/b{number or name}"] = database

    def _slaves(self, device: str, place: str, disk: str) -> None:
        """Write the devices below; members of an array have files of their own."""
        has_members = any(key.startswith(MEMBER) for key in self._told[device])
        for below, sources in self._below[device].items():
            name = self._names[below]
            if name == disk or below not in self._there:
                continue
            if not has_members:
                self._files[f"{place}/slaves/{name.replace('/', '!')}"] = ""
            self._origins[f"{self._names[device]} {name}"] = sources

    def _disk_of(self, name: str) -> str:
        """Return the disk of a partition by its *name*, "" for all else."""
        return "" if name in self._no_partitions else disk_of(name)

    def _place(self, name: str) -> str:
        """Return the directory of a device in sysfs; that of a partition lies in its disk's."""
        parts = (BLOCKS, self._disk_of(name).replace("/", "!"), name.replace("/", "!"))
        return "/".join(filter(None, parts))

    def _mounts(self, device: str) -> Iterator[str]:
        """Yield the lines of mountinfo."""
        told = self._told[device]
        signature = next(iter(told.get("udev:ID_FS_TYPE", {}).values()), "-")
        source = f"{self._number(device) or '0:0'} / %s rw - %s /dev/{_octal(self._names[device])}"
        for key in told:
            if key.startswith("mount "):
                point, kind, options = key.removeprefix("mount ").split("\t")
                words = source % (_octal(point), signature if kind == "-" else kind)
                yield f"1 0 {words} {options.replace(' ', '')}".rstrip() + "\n"

    def _agreed(self, name: str, key: str, by_text: Mapping[str, str]) -> str:
        """Return the value of the most exact text, or the longest, and note where another one differs."""
        (text, value), *others = sorted(by_text.items(), key=lambda item: _rank(item[0]))
        if key in ("dm/uuid", "md/sync_completed"):  # mdadm --detail rounds down to 1 %
            return max((value, *(other for _, other in others)), key=len)
        for other, differs in others if key in COMPARED else ():
            if differs != value:
                attribute_name = key.rpartition("/")[2]
                self._note(f"{name}: {attribute_name} {value} in {text}, {differs} in {other}")
        return value

    def _size(self, name: str, by_text: Mapping[str, str]) -> int:
        """Return the most exact size in bytes; note those that differ by more than rounding."""
        ranked = sorted(by_text.items(), key=lambda item: (item[1].startswith("~"), _rank(item[0])))
        (text, size), *others = ((text, int(size.removeprefix("~")[:19])) for text, size in ranked)
        for other, theirs in others:
            if abs(theirs - size) > max(SIZE_TOLERANCE * size, SIZE_SLACK):
                self._note(f"size of {name}: {size} bytes in {text}, {theirs} in {other}")
        return size

    def _chosen(self, device: str) -> dict[str, str]:
        """Return the devices below *device*, each with the texts that say so."""
        by_text = self._edges.get(device, {})
        ranked = sorted(by_text, key=_rank)
        if not ranked:
            return {}
        best, *others = ranked
        chosen = {below: [best] for below in by_text[best] if below != device}
        for text in others:
            adds = best not in COMPLETE and by_text[text].keys() >= chosen.keys()
            for below in by_text[text]:
                if below in chosen or adds:
                    chosen.setdefault(below, []).append(text)
                elif self._contradicts(device, below):
                    names = self._names
                    self._note(f"{names[device]}: on {names[below]} in {text}, not in {best}")
        return {below: ", ".join(texts) for below, texts in chosen.items()}

    def _contradicts(self, device: str, below: str) -> bool:
        """Whether the best texts do not have *below* anywhere below *device*, and name all that is there."""
        reached = self._reach(device)
        return below not in reached and not any(
            NUMBER.fullmatch(self._names[ref]) for ref in reached
        )

    def _reach(self, device: str) -> set[str]:
        """Return all devices below *device* by the most exact texts."""
        reached: set[str] = set()
        todo = [device]
        while todo:
            by_text = self._edges.get(todo.pop(), {})
            for below in by_text[min(by_text, key=_rank)] if by_text else ():
                if below not in reached:
                    reached.add(below)
                    todo.append(below)
        return reached

    def _kinds_of(self, device: str) -> Mapping[str, str]:
        return self._kinds.get(device, {kind_of(device): device})

    def _number(self, device: str) -> str:
        return self._kinds_of(device).get("number") or device_lists.number_of(self._names[device])

    def _note(self, sentence: str) -> None:
        self._notes[sentence] = None


def read_origins(host: Host) -> dict[str, str]:
    """Return the texts that tell of each edge, by "ABOVE BELOW"; {} if *host* is not made of texts."""
    known = parse_json(attribute(host, ORIGINS) or "{}", ORIGINS)
    pairs = known.items() if isinstance(known, dict) else ()
    return {edge: source for edge, source in pairs if isinstance(source, str)}


def _is_used(facts: Mapping[str, object]) -> bool:
    """Whether a text says who uses the device."""
    return any(key.partition(" ")[0] in ("mount", "swap", "udev:ID_FS_TYPE") for key in facts)


def _is_sub_volume(kinds: Mapping[str, str]) -> bool:
    """Whether a mapped device of unknown kind has the name of LVM's sub-LV."""
    lv = lvm_names.parse(kinds.get("mapper", "").removeprefix(MAPPER), lvm_names.PREFIX)
    return lv is not None and lv.is_hidden and not lv.layer


def _rank(text: str) -> int:
    return RANKING.index(text) if text in RANKING else len(RANKING)


def whole_md(name: str, number: str) -> bool:
    """
    Whether *name* looks like a partition of md, and has the *number* of an array: Unraid names its devices so.

    >>> whole_md("md1p1", "9:1"), whole_md("md1p1", "259:3"), whole_md("md1", "9:1")
    (True, False, False)
    """
    match = re.fullmatch(r"n?md(\d{1,3})p1", name)
    return match is not None and number == f"9:{match[1]}"


def _octal(text: str) -> str:
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in text)
