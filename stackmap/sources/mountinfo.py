r"""
``/proc/self/mountinfo`` and ``/proc/swaps``: mounted file systems and swap.

A line of mountinfo is ``id above major:minor root point options … - type source superoptions``. Spaces and
backslashes in a path are octal in both files (``\040``). btrfs and other file systems over several devices
have a number of their own (major 0), so their source counts.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.host import Host
from stackmap.model.topology import Topology
from stackmap.sources.sysfs import attribute

PATH = "/proc/self/mountinfo"
BCACHEFS = "bcachefs"
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})

# A number of its own, or a source that is a path.
_HAS_DEVICE = re.compile(r"\S+ \S+ (?!0:)|.* - \S+ /")
_OCTAL = r"\\([0-7]{3})"


class Mount(NamedTuple):
    """
    A mount: the device's ``number``, the mount ``point``, the file system (``kind``), the ``source``.

    ``options``: file-system options with a value (ext4's ``stripe=48``), None if unknown. ``root``: the
    mounted part of the file system, "/" for all. ``flags``: mount flags ("rw,noatime").
    """

    number: str
    point: str
    kind: str
    source: str
    options: Mapping[str, str] | None
    root: str
    flags: str

    @property
    def sources(self) -> list[str]:
        """The paths of its devices: bcachefs joins several with colons, which other names may contain."""
        if self.kind != BCACHEFS:
            return [self.source]
        return re.split(r":(?=/)", self.source)


def read(host: Host) -> list[Mount]:
    """Return the mounts of this process's namespace, [] if they cannot be read."""
    return parse(attribute(host, PATH))


def options(host: Host, topology: Topology) -> dict[str, dict[str, str]]:
    """Return the file-system options of mounted devices, where they are known, and the "type", by the device's kernel name."""
    names = {device.number: name for name, device in topology.devices.items()}
    return {
        names[mount.number]: {"type": mount.kind, **mount.options}
        for mount in read(host)
        if mount.number in names and mount.options is not None
    }


def parse(text: str) -> list[Mount]:
    """Return one mount per line; lines without the separator are ignored."""
    mounts = []
    texts: dict[str, str] = {}

    def shared(word: str) -> str:
        """Return one text for equal words: most of 10,000s of mounts have the same device, kind and flags."""
        return texts.setdefault(word, word)

    for line in text.splitlines():
        front, separator, back = line.partition(" - ")
        fields, source = front.split(" "), back.split(" ")
        if separator and len(fields) >= 5 and len(source) >= 2:
            given = dict(word.split("=", 1) for word in source[-1].split(",") if "=" in word)
            mounts.append(
                Mount(
                    number=shared(fields[2]),
                    point=unescape(fields[4]),
                    kind=shared(source[0]),
                    source=shared(unescape(source[1])),
                    options=(given or NO_OPTIONS) if len(source) > 2 else None,
                    root=shared(unescape(fields[3])),
                    flags=shared("".join(fields[5:6])),
                )
            )
    return mounts


def lines_of_devices(text: str) -> list[str]:
    r"""
    Return the lines whose file system has a device: containers come and go with many that have none.

    >>> lines_of_devices("9 1 8:1 / / rw - ext4 /dev/sda1 rw\n10 9 0:5 / /run rw - tmpfs tmpfs rw\n")
    ['9 1 8:1 / / rw - ext4 /dev/sda1 rw']
    """
    return [line for line in text.splitlines() if _HAS_DEVICE.match(line)]


def unescape(text: str) -> str:
    r"""
    Return *text* with its octal escapes decoded.

    >>> unescape(r"/mnt/my\040disk")
    '/mnt/my disk'
    """
    if "\\" not in text:
        return text
    return re.sub(_OCTAL, lambda match: chr(int(match[1], 8)), text)


SWAPS = "/proc/swaps"
_SWAP_PRIORITY = r"-?[0-9]{1,6}"


def swaps(host: Host, kind: str = "partition") -> list[str]:
    """Return the paths of the swap of type *kind*, see ``parse_swaps``; [] if they cannot be read."""
    return parse_swaps(attribute(host, SWAPS), kind)


def swap_priorities(host: Host) -> dict[str, int]:
    """Return the priority of each swap device and file by path, {} if they cannot be read."""
    lines = (line.split() for line in attribute(host, SWAPS).splitlines()[1:])
    return {
        unescape(words[0]): int(words[-1])
        for words in lines
        if re.fullmatch(_SWAP_PRIORITY, words[-1] if words else "")
    }


def parse_swaps(text: str, kind: str = "partition") -> list[str]:
    """Return the paths of type *kind*: "partition" (any block device) or "file"."""
    lines = (line.split() for line in text.splitlines()[1:])
    return [unescape(words[0]) for words in lines if words[1:2] == [kind]]
