"""
A recorded machine.

A capture is a tree of files under the names the live machine has them::

    capture.json          format, the instants of the frames, links, what was refused
    proc/ sys/            as they were; a directory's listing in ``.names``
    run/udev/data/b8:0    udev's properties of a device, in udev's own format
    cmd/dmsetup-table.txt what a command printed, named by its words
    volumes.json          LVM's and md's metadata, where it was asked for
    frames/1/proc/…       later answers, where they differ from earlier ones

Without ``capture.json`` it is a plain tree with one frame: an extracted
sosreport, ``lsblk --sysroot`` input, or a dump made by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from stackmap.errors import (
    CaptureError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceTimeout,
)
from stackmap.host.places import command_file, decoded, udev_file
from stackmap.host.tree import open_tree

if TYPE_CHECKING:
    from stackmap.host import Json

FORMAT = 1
MANIFEST = "/capture.json"
LISTING = ".names"
REFUSALS: dict[str, type[SourceError]] = {
    "denied": SourceDenied,
    "missing": SourceMissing,
    "timeout": SourceTimeout,
    "failed": SourceError,
}


class CapturedHost:
    """A host that answers from a capture; time moves from frame to frame."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._tree = open_tree(path)
        manifest = self._manifest()
        self._times = self._instants(manifest.get("times", []))
        self._refused = cast("dict[str, list[str]]", manifest.get("refused", {}))
        self._links = cast("dict[str, str]", manifest.get("links", {}))
        self._frame = 0

    def read(self, path: str) -> str:
        """Return the file as it was in this frame."""
        self._repeat_refusal(f"read {path}")
        return self._answer(path)

    def names_in(self, path: str) -> list[str]:
        """Return the listing as it was in this frame."""
        self._repeat_refusal(f"names_in {path}")
        try:
            return self._answer(f"{path}/{LISTING}").splitlines()
        except SourceMissing:
            return sorted(self._tree.names(path))

    def link(self, path: str) -> str:
        """Return what the link said."""
        self._repeat_refusal(f"link {path}")
        return self._links.get(path) or self._tree.link(path)

    def run(self, *command: str) -> str:
        """Return what *command* printed."""
        self._repeat_refusal("run " + " ".join(command))
        try:
            return self._answer(command_file(command))
        except SourceMissing as error:
            raise SourceMissing(f"{' '.join(command[:2])}: not in this capture") from error

    def udev(self, number: str) -> dict[str, str]:
        """Return the properties udev had recorded."""
        self._repeat_refusal(f"udev {number}")
        try:
            text = self._answer(udev_file(number))
        except SourceMissing:
            return {}
        return parse_udev(text)

    def volumes(self) -> list[dict[str, Json]]:
        """Return what libblockdev said of LVM."""
        return self._records("volumes")

    def arrays(self) -> list[dict[str, Json]]:
        """Return what libblockdev said of md."""
        return self._records("arrays")

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:  # noqa: ARG002 - a recording has its own pace
        """Yield the instants of the frames, moving to each."""
        times = self._times or [0.0]
        for frame, time in enumerate(times[:count]):
            self._frame = frame
            yield time

    def _manifest(self) -> dict[str, Json]:
        try:
            manifest = json.loads(self._tree.read(MANIFEST))
        except SourceMissing:
            if self._looks_like_a_machine():
                return {}
            raise CaptureError(
                f"{self.path}: not a capture: no capture.json, no sys/block and no proc/diskstats in it"
            ) from None
        except (ValueError, RecursionError) as error:
            raise CaptureError(f"{self.path}: capture.json is damaged: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise CaptureError(
                f"{self.path}: a capture of another format; this stackmap reads format {FORMAT}"
            )
        return manifest

    def _instants(self, times: Json) -> list[float]:
        numbers = times if isinstance(times, list) else [None]
        instants = [float(time) for time in numbers if isinstance(time, int | float)]
        if len(instants) != len(numbers) or sorted(instants) != instants:
            raise CaptureError(
                f"{self.path}: capture.json is damaged: its times are none, or disordered"
            )
        return instants

    def _looks_like_a_machine(self) -> bool:
        for question, path in (
            (self._tree.names, "/sys/block"),
            (self._tree.read, "/proc/diskstats"),
        ):
            try:
                question(path)
            except SourceMissing:
                continue
            return True
        return False

    def _answer(self, path: str) -> str:
        """Return the newest answer at or before this frame."""
        for frame in range(self._frame, 0, -1):
            try:
                return decoded(self._tree.read(f"/frames/{frame}{path}"))
            except SourceMissing:
                continue
        return decoded(self._tree.read(path))

    def _records(self, name: str) -> list[dict[str, Json]]:
        self._repeat_refusal(name)
        try:
            return cast("list[dict[str, Json]]", json.loads(self._answer(f"/{name}.json")))
        except ValueError as error:
            raise CaptureError(f"{self.path}: {name}.json is damaged: {error}") from error

    def _repeat_refusal(self, question: str) -> None:
        if question in self._refused:
            kind, message = self._refused[question]
            raise REFUSALS.get(kind, SourceError)(message)


def parse_udev(text: str) -> dict[str, str]:
    """Return the ``E:`` properties of a file of udev's database, and its links as DEVLINKS."""
    lines = [line for line in text.splitlines() if line[1:2] == ":"]
    properties = dict(line[2:].split("=", 1) for line in lines if line[0] == "E" and "=" in line)
    links = ["/dev/" + line[2:] for line in lines if line[0] == "S"]
    if links:
        properties["DEVLINKS"] = " ".join(links)
    return properties
