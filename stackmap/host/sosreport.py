"""
A sosreport's own places: it names the output of a command after the command, one folder per plugin.

``sos_commands/devicemapper/dmsetup_table``; in words and paths, spaces are ``_`` and slashes ``.``.
"""

from __future__ import annotations

from functools import cached_property

from stackmap.errors import SourceMissing
from stackmap.host.capture_format import parse_udev, recorded_text
from stackmap.host.file_tree import FileTree

COMMANDS = "/sos_commands"
BLOCK = f"{COMMANDS}/block"
UDEVADM = "udevadm_info_.dev."

# By the path of that answer in a capture.
PLACES = {
    "/cmd/dmsetup-table.txt": f"{COMMANDS}/devicemapper/dmsetup_table",
    "/cmd/dmsetup-status.txt": f"{COMMANDS}/devicemapper/dmsetup_status",
    "/cmd/dmsetup-info.txt": f"{COMMANDS}/devicemapper/dmsetup_info_-c",
    "/cmd/lsblk.txt": f"{BLOCK}/lsblk",
    "/proc/version": f"{COMMANDS}/kernel/uname_-a",  # the release is the third word of both
    "/proc/sys/kernel/hostname": f"{COMMANDS}/host/hostname",
}


class Sosreport:
    """What a sosreport at *path* has under its own names; nothing in any other tree."""

    def __init__(self, tree: FileTree, path: str) -> None:
        self._tree = tree
        self._path = path

    def answer(self, path: str) -> str | None:
        """Return the answer that a capture has at *path*, None without it."""
        return self._text(PLACES[path]) if path in PLACES else None

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties of block device *number*, {} without them."""
        return self._properties.get(number, {})

    @cached_property
    def _properties(self) -> dict[str, dict[str, str]]:
        """udev's properties by device number, from the outputs of ``udevadm info``."""
        try:
            names = self._tree.names(BLOCK)
        except SourceMissing:
            return {}
        texts = [self._text(f"{BLOCK}/{name}") or "" for name in names if name.startswith(UDEVADM)]
        found = [parse_udev(text.replace(": ", ":")) for text in texts]
        return {f"{each.get('MAJOR')}:{each.get('MINOR')}": each for each in found}

    def _text(self, path: str) -> str | None:
        try:
            return recorded_text(self._tree.read(path), f"{self._path}{path}")
        except SourceMissing:
            return None
