r"""
``/proc/self/mountinfo``: mounted file systems.

``id above major:minor root point options … - type source superoptions``. Spaces and backslashes
in a path are octal (``\040``). btrfs and other file systems over several devices have a number of
their own (major 0), so their source counts.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from stackmap.host import Host
from stackmap.model.topology import Topology
from stackmap.sources.sysfs import attribute

PATH = "/proc/self/mountinfo"
BCACHEFS = "bcachefs"

_OCTAL = r"\\([0-7]{3})"


class Mount(NamedTuple):
    """
    A mount: the device's ``number``, the mount ``point``, the file system (``kind``), the ``source``.

    ``options``: file-system options with a value (ext4's ``stripe=48``). ``root``: the
    mounted part of the file system, "/" for all. ``flags``: mount flags ("rw,noatime").
    """

    number: str
    point: str
    kind: str
    source: str
    options: Mapping[str, str]
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
    """Return the file-system options of mounted devices, and the "type", by the device's kernel name."""
    names = {device.number: name for name, device in topology.devices.items()}
    return {
        names[mount.number]: {"type": mount.kind, **mount.options}
        for mount in read(host)
        if mount.number in names
    }


def parse(text: str) -> list[Mount]:
    """Return one mount per line; lines without the separator are ignored."""
    found = []
    for line in text.splitlines():
        front, separator, back = line.partition(" - ")
        fields, source = front.split(" "), back.split(" ")
        if separator and len(fields) >= 5 and len(source) >= 2:
            given = dict(word.split("=", 1) for word in source[-1].split(",") if "=" in word)
            found.append(
                Mount(
                    number=fields[2],
                    point=unescape(fields[4]),
                    kind=source[0],
                    source=unescape(source[1]),
                    options=given,
                    root=unescape(fields[3]),
                    flags="".join(fields[5:6]),
                )
            )
    return found


def unescape(text: str) -> str:
    r"""
    Return *text* with its octal escapes decoded.

    >>> unescape(r"/mnt/my\040disk")
    '/mnt/my disk'
    """
    if "\\" not in text:
        return text
    return re.sub(_OCTAL, lambda match: chr(int(match[1], 8)), text)
