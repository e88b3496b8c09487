"""
Support reports: the outputs of commands beside a part of sysfs, as sos, insights and people keep them.

Each names a file after its command, with ``_`` or ``.`` for other characters (``sos_commands/lvm2/pvs_-a_-v``).
What sysfs and /proc of the report have counts; the outputs tell the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from stackmap.errors import SourceError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import is_output
from stackmap.host.intercepting import InterceptingHost
from stackmap.sources import device_lists, mdstat, mountinfo
from stackmap.sources.printed import Reader

MAX_FOLDERS, MAX_DEPTH = 300, 4
MAX_OUTPUTS = 16 << 20  # characters, which take up to 6 s; lsblk -O -P has 3 KiB per device
# The machine's own trees: they hold no outputs, and some have many files.
SKIPPED = frozenset(
    ("proc", "sys", "run", "dev", "etc", "var", "usr", "boot", "lib", "log", "frames", "cmd", "tmp")
)
LISTS = (mdstat.PATH, device_lists.PARTITIONS, mountinfo.PATH, "/proc/mounts", mountinfo.SWAPS)


class ReportHost(InterceptingHost):
    """A report, in which the outputs of commands tell what its own files do not."""

    def __init__(self, report: Host, told: Host) -> None:
        super().__init__(report, lambda _: None)
        self._told = told

    def read(self, path: str) -> str:
        """Return the text of the report's own file, or of the one that was told."""
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
        """Return the answer of the report's own files, or the told one; the report's error if both have none."""
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
    for path in (*LISTS, *_outputs(host)):
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


def _outputs(host: Host) -> Iterator[str]:
    """Yield the paths of the outputs that tell of block devices."""
    todo = [("", 0)]
    for _ in range(MAX_FOLDERS):
        if not todo:
            return
        folder, depth = todo.pop()
        try:
            names = host.names_in(folder or "/")
        except SourceError:
            continue
        for name in names:
            if is_output(name):
                yield f"{folder}/{name}"
            elif depth < MAX_DEPTH and "." not in name and name not in SKIPPED:
                todo.append((f"{folder}/{name}", depth + 1))
