"""``/proc/swaps``: swap devices and files, with paths escaped as in mountinfo."""

from __future__ import annotations

import re

from stackmap.host import Host
from stackmap.sources.mountinfo import unescape
from stackmap.sources.sysfs import attribute

PATH = "/proc/swaps"
_PRIORITY = r"-?[0-9]{1,6}"


def read(host: Host) -> list[str]:
    """Return the paths of the swap devices, [] if they cannot be read."""
    return parse(attribute(host, PATH))


def files(host: Host) -> list[str]:
    """Return the paths of the swap files, [] if they cannot be read."""
    return parse(attribute(host, PATH), "file")


def priorities(host: Host) -> dict[str, int]:
    """Return the priority of each swap device and file by path, {} if they cannot be read."""
    lines = (line.split() for line in attribute(host, PATH).splitlines()[1:])
    return {
        unescape(words[0]): int(words[-1])
        for words in lines
        if re.fullmatch(_PRIORITY, words[-1] if words else "")
    }


def parse(text: str, kind: str = "partition") -> list[str]:
    """Return the paths of type *kind*: "partition" (any block device) or "file"."""
    lines = (line.split() for line in text.splitlines()[1:])
    return [unescape(words[0]) for words in lines if words[1:2] == [kind]]
