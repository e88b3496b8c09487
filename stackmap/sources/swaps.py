"""``/proc/swaps``: the devices and files that are swapped to, paths escaped as in mountinfo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.sources.mountinfo import unescape

if TYPE_CHECKING:
    from stackmap.host import Host

PATH = "/proc/swaps"


def read(host: Host) -> list[str]:
    """Return the paths of the devices swapped to."""
    return parse(host.read(PATH))


def files(host: Host) -> list[str]:
    """Return the paths of the files swapped to."""
    return parse(host.read(PATH), "file")


def parse(text: str, kind: str = "partition") -> list[str]:
    """Return the path of each line of type *kind*: "partition", which is any block device, or "file"."""
    lines = (line.split() for line in text.splitlines()[1:])
    return [unescape(words[0]) for words in lines if words[1:2] == [kind]]
