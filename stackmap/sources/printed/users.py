"""Who uses the devices, and what lies on them: df, mount, findmnt, /proc/mounts, swaps, blkid, zpool, btrfs; what disks are."""

import json
import re
from collections.abc import Iterable, Iterator

from stackmap.model.units import KIB, SECTOR
from stackmap.sources import mountinfo
from stackmap.sources.printed.columns import objects, tree_of
from stackmap.sources.printed.facts import (
    MAPPER,
    PARTUUID,
    Fact,
    is_kernel_name,
    linked_ref,
    mapper,
    of_path,
)


def _mount(source: str, point: str, kind: str = "-", options: str = "") -> Iterator[Fact]:
    source = source.partition("[")[0]  # findmnt's subvolume
    if source.startswith("/dev/") and point.startswith("/"):
        yield Fact(of_path(source), "mount", f"{point}\t{kind or '-'}\t{options}")
        if kind not in ("-", "auto"):
            yield Fact(of_path(source), "udev:ID_FS_TYPE", kind)


MOUNTED = re.compile(r"\s*(/dev/\S+) on (/.*?) type ([a-z][\w.]*) \(([^()]*)\)")
MOUNTS_ROW = re.compile(r"\s*(/dev/\S+) (/\S*) ([a-z][\w.]*) ((?:rw|ro)\S*) \d \d")
DF_HEADING = re.compile(
    r"\s*Filesystem\s+(?:Type\s+)?(?:\S*[Bb]locks|Size|1[KMG]\S*|Inodes)\s.*Mounted on\s*"
)
_DF_ROW = re.compile(
    r"\s*(/dev/\S+)\s+(?:([a-z]\w*)\s+)?[\d.,]+\w?\s+[\d.,]+\w?\s+-?[\d.,]+\w?\s+(?:\d+%|-)\s+(/.*)"
)
FINDMNT_HEADING = re.compile(
    r"\s*(?:TARGET\s+SOURCE\s+FSTYPE\s+OPTIONS|SOURCE\s+FSTYPE\s+SIZE\s.*TARGET)\s*"
)
_FINDMNT_ROW = re.compile(r"[\s│├└─|`-]*(/\S*)\s+(/dev/\S+)\s+([a-z][\w.]*)\s+(\S+)\s*")
_FINDMNT_DF = re.compile(r"\s*(/dev/\S+)\s+([a-z]\w*)\s.*\s(/\S*)\s*")


# id parent major:minor root point flags … - type source options
MOUNTINFO_ROW = re.compile(r"\s*\d+ \d+ \d+:\d+ /\S* /\S* \S+ .*- [a-z][\w.]* \S+ \S+")


def read_mountinfo(lines: list[str]) -> Iterator[Fact]:
    """Yield the mounts and the numbers of ``/proc/self/mountinfo``."""
    for mount in mountinfo.parse("\n".join(lines)):
        given = (f"{key}={value}" for key, value in (mount.options or {}).items())
        yield from _mount(mount.source, mount.point, mount.kind, ",".join((mount.flags, *given)))
        if mount.source.startswith("/dev/") and not mount.number.startswith("0:"):
            yield Fact(of_path(mount.source), "is", mount.number)


def read_mounted(lines: list[str]) -> Iterator[Fact]:
    """Yield the mounts of ``mount`` and of /proc/mounts."""
    for line in lines:
        if match := MOUNTED.match(line):
            yield from _mount(match[1], match[2], match[3], match[4] or "rw")
        elif match := MOUNTS_ROW.match(line):
            yield from _mount(match[1], mountinfo.unescape(match[2]), match[3], match[4])


def read_df(lines: list[str]) -> Iterator[Fact]:
    """Yield the mounts of ``df``; a long name may be alone on its line."""
    name = ""
    for line in lines[1:]:
        joined = f"{name} {line}" if name else line
        name = line.strip() if re.fullmatch(r"\s*/dev/\S+", line) else ""
        if match := _DF_ROW.fullmatch(joined):
            yield from _mount(match[1], match[3], match[2] or "-")


def read_findmnt(lines: list[str]) -> Iterator[Fact]:
    """Yield the mounts of ``findmnt``, as a tree, a list or -D."""
    for line in lines[1:]:
        if match := _FINDMNT_ROW.fullmatch(line):
            yield from _mount(match[2], match[1], match[3], match[4])
        elif match := _FINDMNT_DF.fullmatch(line):
            yield from _mount(match[1], match[3], match[2])


def read_findmnt_json(text: str) -> Iterator[Fact]:
    """Yield the mounts of ``findmnt -J``."""
    for mount, _ in tree_of(text, "filesystems"):
        words = (str(mount.get(key) or "") for key in ("source", "target", "fstype", "options"))
        yield from _mount(*words)


BLKID_ROW = re.compile(r'\s*(/dev/[^\s:]+): (?=.*\b(?:TYPE|UUID|PTTYPE|PARTUUID)=")(.*)')
_TAG = re.compile(r'\b(TYPE|UUID|LABEL|PARTUUID)="([^"]{0,200})"')


def read_blkid(lines: list[str]) -> Iterator[Fact]:
    """Yield the signatures of ``blkid``."""
    for line in lines:
        if match := BLKID_ROW.fullmatch(line):
            ref = of_path(match[1])
            tags = dict(_TAG.findall(match[2]))
            yield Fact(ref, "listed", "")
            for tag, value in tags.items():
                key = PARTUUID if tag == "PARTUUID" else f"udev:ID_FS_{tag}"
                yield Fact(ref, key, value)


SWAPS = re.compile(
    r"\s*Filename\s+Type\s+Size\s+Used\s+Priority|\s*NAME\s+TYPE\s+SIZE\s+USED\s+PRIO\b.*"
)


def read_swaps(lines: list[str]) -> Iterator[Fact]:
    """Yield the swap devices."""
    for line in lines[1:]:
        words = line.split()
        if len(words) > 1 and words[1] == "partition" and words[0].startswith("/dev/"):
            yield Fact(of_path(words[0]), "swap", "[SWAP]")


OSD_PART = re.compile(r"\s*\[(?:block|db|wal|data|journal)\]\s+(/dev/\S+)\s*")
_OSD_DEVICES = re.compile(r"\s+devices\s+(/dev/\S+)\s*")


def read_osd(lines: list[str]) -> Iterator[Fact]:
    """Yield an LV of a Ceph OSD, or a partition, and the devices below it, from ``ceph-volume lvm list``."""
    whole = lines[0] + (lines[1] if lines[1:] and re.fullmatch(r"[\w.-]+", lines[1]) else "")
    match = OSD_PART.fullmatch(whole)  # a terminal may have wrapped it
    below = next((row[1] for row in map(_OSD_DEVICES.fullmatch, lines) if row), "")
    yield from _osd_part(match[1] if match else "", below.split(","))


def read_osd_json(text: str) -> Iterator[Fact]:
    """Yield the same of ``ceph-volume lvm list --format json``: by OSD, its parts."""
    told = json.loads(text)
    for osd in told.values() if isinstance(told, dict) else ():
        for part in objects(osd):
            below = part.get("devices")
            devices = map(str, below) if isinstance(below, list) else ()
            yield from _osd_part(str(part.get("path", "")), devices)


def _osd_part(path: str, below: Iterable[str]) -> Iterator[Fact]:
    ref = of_path(path)
    if path.startswith("/dev/"):
        yield Fact(ref, "listed", "")
    if ref.startswith(MAPPER):
        yield Fact(ref, "dm/uuid", "LVM-")
        yield from (Fact(ref, "on", of_path(device)) for device in below if device)


POOL = re.compile(r"\s*pool: (\S+)\s*")
_VDEV = re.compile(r"\s+(\S+[^\s:])\s+(ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED|AVAIL)\b.*")
_GROUP = re.compile(
    r"(?:mirror|raidz\d?|draid\d?\S*|spare|replacing|indirect|log|cache|special|dedup)(?:-\d+)?s?"
)
# States of a member of a pool, in lower case.
NOT_THERE = frozenset({"degraded", "faulted", "offline", "unavail", "removed"})
_SCAN = re.compile(r"\s*scan: (scrub|resilver) in progress\b.*")


def read_pool(lines: list[str]) -> Iterator[Fact]:
    """Yield the devices of a pool in ``zpool status``, with the state of those that do not work, or that a scan reads."""
    match = POOL.fullmatch(lines[0])
    work = next((scan[1] for line in lines if (scan := _SCAN.fullmatch(line))), "")
    for line in lines[1:]:
        row = _VDEV.fullmatch(line)
        if match is None or row is None or row[1] == match[1] or _GROUP.fullmatch(row[1]):
            continue
        ref = linked_ref(row[1]) or of_path(row[1])
        state = row[2].lower()
        if state == "online":
            state = work if work == "scrub" or "(resilvering)" in line else ""
        is_broken = state in NOT_THERE
        if not (is_broken or ref != row[1] or is_kernel_name(ref)):
            continue  # a name that somebody gave
        yield Fact(ref, "udev:ID_FS_TYPE", "zfs_member")
        yield Fact(ref, "udev:ID_FS_LABEL", match[1])
        if state not in ("", "avail"):
            yield Fact(ref, "device/state", state)
        if is_broken:  # reported even where no text tells which disk it is
            yield Fact(ref, "listed", "disk")


# ls -l: "/dev/mapper/vg-lv -> ../dm-0", names of by-id, and all of /dev/mapper, where "control" is the first.
LINK = re.compile(r"(?:.*\s)?(\S+) -> (?:\.\./)+(\S+)\s*")
MAPPER_LIST = re.compile(r"\s*c\S+\s.*\s10,\s*\d+\s.*\scontrol\s*")
LINKED = re.compile(
    r".*\s(?:/dev/\S+|(?:ata|scsi|wwn|nvme|usb|virtio|dm-name)-\S+) -> (?:\.\./)+\S+\s*"
)


def read_links(lines: list[str]) -> Iterator[Fact]:
    """Yield which device each link of ``ls -l`` is."""
    of_mapper = MAPPER_LIST.fullmatch(lines[0]) is not None
    for line in lines:
        match = LINK.fullmatch(line)
        if match is None or not is_kernel_name(match[2]):
            continue
        ref = of_path(match[1]) if match[1].startswith("/dev/") else linked_ref(match[1])
        if not ref and of_mapper and match[2].startswith("dm-"):
            ref = mapper(match[1])
        if ref and ref != match[2]:
            yield Fact(match[2], "is", ref)


BTRFS = re.compile(r"\s*Label: (?:none|'[^']*')\s+uuid: (?P<uuid>[0-9a-f-]{36})\s*")
BTRFS_ERRORS = re.compile(
    r"\s*\[(/dev/[^\s\]]+)\]\.(write_io|read_io|flush_io|corruption|generation)_errs\s+(\d{1,19})\s*"
)
_DEVID = re.compile(r"\s*devid\s+\d+ size \S+ used \S+ path (/dev/\S+)(?!\s+MISSING)(?:\s.*)?")


def read_btrfs(lines: list[str]) -> Iterator[Fact]:
    """Yield the devices of ``btrfs filesystem show``, each with the file system that it is a part of."""
    match = BTRFS.fullmatch(lines[0])
    for device in filter(None, map(_DEVID.fullmatch, lines if match else ())):
        yield Fact(of_path(device[1]), "udev:ID_FS_TYPE", "btrfs")
        yield Fact(of_path(device[1]), "btrfs", match["uuid"] if match else "")


def read_btrfs_errors(lines: list[str]) -> Iterator[Fact]:
    """Yield the errors of ``btrfs device stats``, as the kernel's file has them."""
    counts: dict[str, str] = {}
    for line in lines:
        if match := BTRFS_ERRORS.fullmatch(line):
            device, kind = match[1], match[2].removesuffix("_io")
            counts[device] = f"{counts.get(device, '')}{kind}_errs {match[3]}\n"
    for device, text in counts.items():
        yield Fact(of_path(device), "udev:ID_FS_TYPE", "btrfs")
        yield Fact(of_path(device), "btrfs errors", text)


NVME = re.compile(r"\s*Node\s+(?:Generic\s+)?SN\s+Model\s+Namespace\s.*")
_NVME_ROW = re.compile(
    r"\s*/dev/(nvme\d+n\d+)\s+(?:/dev/ng\d+n\d+\s+)?(\S+)\s+(\S.*?)\s+(?:0x)?\d+\s+[\d.]+\s+[kKMGT]?B\s+/.*"
)


def read_nvme(lines: list[str]) -> Iterator[Fact]:
    """Yield the disks of ``nvme list``."""
    for line in lines[1:]:
        if match := _NVME_ROW.fullmatch(line):
            yield Fact(match[1], "listed", "disk")
            yield Fact(match[1], "device/serial", match[2])
            yield Fact(match[1], "device/model", match[3])


PARTITIONS = re.compile(r"\s*major\s+minor\s+#blocks\s+name\s*")


def read_partitions(lines: list[str]) -> Iterator[Fact]:
    """Yield the names, numbers and sizes of /proc/partitions."""
    for line in lines[1:]:
        words = line.split()
        if (
            len(words) == 4
            and "".join(words[:3]).isdecimal()
            and is_kernel_name(words[3])
            and max(map(len, words[:3])) < 16
        ):
            ref = words[3].replace("!", "/")
            yield Fact(ref, "is", f"{int(words[0])}:{int(words[1])}")
            yield Fact(ref, "size", str(int(words[2]) * KIB))
        elif words:
            return


DISKSTATS = re.compile(r"\s{0,8}\d{1,4}\s{1,8}\d{1,7}\s[a-z][\w!/-]{1,31}(?:\s\d+){11,}\s*")


def read_diskstats(lines: list[str]) -> Iterator[Fact]:
    """Yield the names and numbers of /proc/diskstats."""
    for line in lines:
        words = line.split()
        if len(words) > 13 and is_kernel_name(words[2]) and any(word != "0" for word in words[3:]):
            yield Fact(words[2].replace("!", "/"), "is", f"{int(words[0])}:{int(words[1])}")


METRIC = re.compile(
    r"\s*node_(disk_info|disk_device_mapper_info|filesystem_size_bytes|md_disks_required|md_disks|md_state)\{(.{1,2000})\} (\S+)(?: \d+)?"
)
ARRAY_STATES = frozenset({"active", "inactive"})  # of node_exporter; others are work
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def read_metrics(lines: list[str]) -> Iterator[Fact]:
    """Yield the numbers, names and mounts that node_exporter's metrics have as labels."""
    required: dict[str, int] = {}
    active: dict[str, int] = {}
    for line in lines:
        match = METRIC.fullmatch(line)
        if match is None:
            continue
        labels = dict(_LABEL.findall(match[2]))
        device = labels.get("device", "")
        if match[1].startswith("md_") and match[3].isdecimal():
            if match[1] == "md_disks_required":
                required[device] = int(match[3])
            elif match[1] == "md_disks" and labels.get("state") == "active":
                active[device] = int(match[3])
            elif match[1] == "md_state" and int(match[3]) and labels.get("state") in ARRAY_STATES:
                yield Fact(device, "md/array_state", labels["state"])
        if match[1] == "filesystem_size_bytes":
            yield from _mount(device, labels.get("mountpoint", ""), labels.get("fstype", ""))
        elif is_kernel_name(device) and match[1] == "disk_info":
            yield Fact(device, "listed", "")
            yield Fact(device, "is", f"{labels.get('major')}:{labels.get('minor')}")
        elif is_kernel_name(device) and labels.get("name"):
            yield Fact(device, "is", mapper(labels["name"]))
            yield Fact(device, "dm/uuid", labels.get("uuid", ""))
    for device in (name for name in required if name in active):
        yield Fact(device, "listed", "md")
        yield Fact(device, "md/raid_disks", str(required[device]))
        yield Fact(device, "md/degraded", str(max(0, required[device] - active[device])))


# "/sys/block/sda/queue/scheduler:noop [cfq]", "sda/queue/nr_requests:128"; "==> file <==" of head, and its line.
ATTRIBUTE = re.compile(
    r"\s*(?:/sys/(?:class/)?block/)?([a-z][\w!-]{1,31})/((?:queue|device)/[a-z_]{3,30}|size|ro):\s?(.{0,200})"
)
ATTRIBUTE_HEAD = re.compile(
    r"\s*==> /sys/(?:class/)?block/([a-z][\w!-]{1,31})/((?:queue|device)/[a-z_]{3,30}|size|ro) <==\s*"
)


def read_attributes(lines: list[str]) -> Iterator[Fact]:
    """Yield attributes of sysfs that were printed with their names."""
    asked: re.Match[str] | None = None
    for line in lines:
        if head := ATTRIBUTE_HEAD.fullmatch(line):
            asked = head
        elif asked and line.strip():
            yield from _attribute(asked[1], asked[2], line)
            asked = None
        elif match := ATTRIBUTE.fullmatch(line):
            yield from _attribute(match[1], match[2], match[3])


def _attribute(name: str, attribute: str, value: str) -> Iterator[Fact]:
    name = name.replace("!", "/")
    if is_kernel_name(name):
        value = value.strip()
        if attribute != "size":
            yield Fact(name, attribute, value)
        elif value.isdecimal():
            yield Fact(name, "size", str(int(value[:18]) * SECTOR))


FDISK = re.compile(r"\s*Disk (/dev/\S+): [^,]+, (\d{1,19}) bytes\b.*")
_UNIT = re.compile(r"\s*Units(?::| =) sectors of 1 \* (\d{1,6}) = \1 bytes\s*")
_PAIR_OF_SIZES = re.compile(
    r"\s*(Sector|I/O) size \(\w+/\w+\): (\d{1,10}) bytes / (\d{1,10}) bytes\s*"
)
_FDISK_MODEL = re.compile(r"\s*Disk model: (\S.*?)\s*")
# Not an extended partition, which only has room for others: 5, f and 85.
_FDISK_ROW = re.compile(
    r"\s*(/dev/\S+)\s+(?:\*\s+)?(\d{1,15})\s+(\d{1,15})\s+\d{1,15}\+?(?=\s)(?!.*\s(?:5|f|85)\s+\D).*"
)
_QUEUE = {
    "Sector": ("queue/logical_block_size", "queue/physical_block_size"),
    "I/O": ("queue/minimum_io_size", "queue/optimal_io_size"),
}


def read_fdisk(lines: list[str]) -> Iterator[Fact]:
    """Yield the size and the limits of a disk from ``fdisk -l``, and where its partitions are; not those in cylinders."""
    match = FDISK.fullmatch(lines[0])
    disk = of_path(match[1]) if match else ""
    unit = 0
    for line in lines:
        if whole := FDISK.fullmatch(line):
            yield Fact(disk, "size", whole[2])
        elif model := _FDISK_MODEL.fullmatch(line):
            yield Fact(disk, "device/model", model[1])
        elif units := _UNIT.fullmatch(line):
            unit = int(units[1])
        elif sizes := _PAIR_OF_SIZES.fullmatch(line):
            for key, value in zip(_QUEUE[sizes[1]], sizes.group(2, 3), strict=True):
                yield Fact(disk, key, value)
        elif unit and (row := _FDISK_ROW.fullmatch(line)):
            part, start, end = of_path(row[1]), int(row[2]), int(row[3])
            if start <= end:
                yield Fact(part, "size", str((end - start + 1) * unit))
                yield Fact(part, "start", str(start * unit // SECTOR))
