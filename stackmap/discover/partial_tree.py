"""
Trees with only a part of sysfs, as tools and people copy it; a sosreport has no sizes, numbers or ``slaves/``.

Names and numbers come from ``/proc/partitions`` and ``/proc/diskstats``, sizes from the former,
and what lies below a device from the outputs of commands beside it, as sos, insights and people keep them:
each in a file named after its command, with ``_`` or ``.`` for other characters (``sos_commands/lvm2/pvs_-a_-v``).
What sysfs and /proc have counts; the outputs tell the rest. Without these, as where sos ended a slow
plugin, device-mapper and md name the devices of their stacks.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress

from stackmap.errors import SourceError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_files import output_files
from stackmap.host.intercepting import InterceptingHost
from stackmap.sources import device_lists, diskstats, dm, dm_commands, mdstat, mountinfo
from stackmap.sources.printed import Reader
from stackmap.sources.printed.facts import is_kernel_name
from stackmap.sources.sysfs import DM_ENTRIES, ROOT, Block, attribute

# Entries of a device's directory that tell its kind, by name.
_KINDS = (
    (re.compile(r"dm-\d+"), DM_ENTRIES),
    (re.compile(r"md(?:\d+|_.+)"), frozenset({"md"})),
    (re.compile(r"loop\d+"), frozenset({"loop"})),
    (re.compile(r"bcache\d+"), frozenset({"bcache"})),
)
# Devices that exist without a medium; most machines have some.
_OFTEN_EMPTY = re.compile(r"(?:loop|nbd|ram|zram)\d+")
_NUMBER = re.compile(r"\d{1,4}:\d{1,7}")


def completed(host: Host, blocks: Iterable[Block], own: AbstractSet[str]) -> list[Block]:
    """
    Return *blocks* and the devices that only /proc lists, with the facts of other files.

    *own*: the names that sysfs itself has; the outputs of commands may have others.
    """
    in_sysfs = {block.name: block for block in blocks}
    listed = device_lists.parse_partitions(attribute(host, device_lists.PARTITIONS))
    counted = dict(_counted(host))
    numbers = {name: number for name, (number, _) in counted.items()}
    numbers |= {name: number for name, (number, _) in listed.items()}
    in_proc = frozenset(numbers)
    numbers = numbers or _told_by_stacks(host, in_sysfs.values())
    known = numbers.keys() | in_sysfs
    has_mapped = any(name.startswith("dm-") for name in known)

    def is_alias(name: str) -> bool:
        return has_mapped and not is_kernel_name(name)

    complete = []
    for name in dict.fromkeys([*in_sysfs, *numbers]):
        block = in_sysfs.get(name) or _block(name, known)
        if name not in own and (name not in in_proc if in_proc else is_alias(name)):
            continue  # it went away while it was read, or is another name of a mapped device
        _, size = listed.get(name, ("", None))
        if size is None and _OFTEN_EMPTY.fullmatch(name):
            size = 0 if listed or not counted.get(name, ("", False))[1] else None
        number = block.number or numbers.get(name, "")
        complete.append(
            block._replace(
                number=number,
                entries=block.entries | _entries(name),
                listed_size=size,
            )
        )
    return complete


def _counted(host: Host) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield the names in /proc/diskstats, with their numbers and whether they did any I/O."""
    for line in attribute(host, diskstats.PATH).splitlines():
        words = line.split()
        if (
            len(words) > len(("major", "minor", "name"))
            and words[0].isdecimal()
            and words[1].isdecimal()
        ):
            yield words[2], (f"{words[0]}:{words[1]}", any(word != "0" for word in words[3:]))


def _told_by_stacks(host: Host, blocks: Iterable[Block]) -> dict[str, str]:
    """Return the numbers of *blocks* and of all devices that dmsetup and /proc/mdstat name, by kernel name."""
    mapped: Iterable[str] = ()
    tables: dm.Segments = {}
    with suppress(SourceError):
        mapped = dm.parse_info(host.run(*dm_commands.INFO))
    with suppress(SourceError):
        tables = dm.read_tables(host)
    words = {word for lines in tables.values() for line in lines for word in line.words}
    below = (device_lists.name_of(word) for word in words if _NUMBER.fullmatch(word))
    arrays = mdstat.read(host)
    members = (member.name for array in arrays.values() for member in array.members)
    known = {block.name: block.number for block in blocks}
    names = sorted({*known, *arrays, *members, *below} - {""})
    told = {name: known.get(name) or device_lists.number_of(name) for name in names}
    told |= {f"dm-{number.partition(':')[2]}": number for number in mapped}
    others = {number for name, number in known.items() if number}
    return {
        n: number for n, number in told.items() if number and (n in known or number not in others)
    }


def _block(name: str, known: AbstractSet[str]) -> Block:
    """Return a device that sysfs does not list; a partition if its disk is *known*."""
    stem = name.rstrip("0123456789")
    # sda1 is on sda; where the disk ends in a digit, a "p" stands between: nvme0n1p1.
    disks = [stem, stem[:-1] if re.search(r"\dp$", stem) else ""] if stem != name else []
    disk = next((disk for disk in disks if disk in known), "")
    path = "/".join([ROOT, *(part.replace("/", "!") for part in (disk, name) if part)])
    return Block(name, path, frozenset(), "", disk=disk)


def _entries(name: str) -> frozenset[str]:
    return next((entries for form, entries in _KINDS if form.fullmatch(name)), frozenset())


# The outputs of commands

MAX_OUTPUTS = 16 << 20  # characters, which take up to 6 s; lsblk -O -P has 3 KiB per device
LISTS = (mdstat.PATH, device_lists.PARTITIONS, mountinfo.PATH, "/proc/mounts", mountinfo.SWAPS)


class ReportHost(InterceptingHost):
    """A report, in which the outputs of commands tell what its own files do not."""

    def __init__(self, report: Host, told: Host) -> None:
        super().__init__(report, lambda _: None)
        self._told = told

    def read(self, path: str) -> str:
        """Return the text of the report's own file, or of the one made from command outputs."""
        return self._first(super().read, self._told.read, path)

    def names_in(self, path: str) -> list[str]:
        """Return the names of both."""
        names: set[str] = set()
        for ask in (super().names_in, self._told.names_in):
            with suppress(SourceMissing):
                names.update(ask(path))
        if not names:
            raise SourceMissing(f"{path}: not in this report")
        return sorted(names)

    def run(self, *command: str) -> str:
        """Return the output of *command*."""
        return self._first(super().run, self._told.run, *command)

    def _first(self, own: Callable[..., str], told: Callable[..., str], *question: str) -> str:
        """Return the answer of the report's own files, or of command outputs; the report's error if both have none."""
        try:
            return own(*question)
        except SourceMissing:
            with suppress(SourceMissing):
                return told(*question)
            raise

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties of a device."""
        with suppress(SourceMissing):
            if properties := super().udev(number):
                return properties
        return self._told.udev(number)


def with_outputs(host: Host) -> tuple[Host, list[str]]:
    """Return *host* with what the outputs in it tell, and a sentence for each contradiction between them."""
    reader = Reader()
    room = MAX_OUTPUTS
    for path in (*LISTS, *output_files(host.names_in)):
        with suppress(SourceError):
            text = host.read(path)
            room -= len(text)
            if room < 0:
                break
            for line in text.split("\n"):
                reader.take(line)
        reader.end()
    told = reader.merged()
    if not told.files:
        return host, []
    if room < 0:
        told.notes.append(f"outputs of commands beyond {MAX_OUTPUTS >> 20} MiB: not read")
    return ReportHost(host, CapturedHost("the outputs of commands", files=told.files)), told.notes
