"""
What the files of a capture are: the manifest and the timeline that it describes, a sosreport's own places, keys.

A sosreport names the output of a command after the command, one folder per plugin:
``sos_commands/devicemapper/dmsetup_table``; in words and paths, spaces are ``_`` and slashes ``.``.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from stackmap.errors import WHAT_A_CAPTURE_IS, CaptureError, SourceError, SourceMissing
from stackmap.host import Json, capture_format
from stackmap.host.file_tree import FIRST_ANSWERS, MANIFEST, FileTree
from stackmap.host.table_keys import names_with_key
from stackmap.host.timeline import NumberedFrames, Warn

if TYPE_CHECKING:
    from stackmap.host.budget import Budget
    from stackmap.host.log_reader import LogReader

FORMAT = 3
WITH_LOG = (2, FORMAT)  # the formats with a log of later answers
FORMATS = (1, *WITH_LOG)
LISTS = ("/proc/diskstats", "/proc/partitions")  # of all devices; a plain tree may lack sysfs
MAX_NUMBERED_FRAMES = 100_000  # a day of seconds
UNFINISHED = MANIFEST + ".new"

COMMANDS = "/sos_commands"
REPORTS = (
    COMMANDS,
    "/insights_commands",
    "/data/insights_commands",
)  # have the outputs of commands
BLOCK = f"{COMMANDS}/block"
UDEVADM = "udevadm_info_.dev."

# By the path of that answer in a capture.
PLACES = {
    "/cmd/dmsetup-table.txt": f"{COMMANDS}/devicemapper/dmsetup_table",
    "/cmd/dmsetup-status.txt": f"{COMMANDS}/devicemapper/dmsetup_status",
    "/cmd/dmsetup-info.txt": f"{COMMANDS}/devicemapper/dmsetup_info_-c",
    "/proc/version": f"{COMMANDS}/kernel/uname_-a",  # the release is the third word of both
    "/proc/sys/kernel/hostname": f"{COMMANDS}/host/hostname",
}

# Of folders in which outputs of commands are searched.
MAX_FOLDERS, MAX_LOOKS, MAX_DEPTH = 300, 5_000, 6
# The machine's own trees hold no outputs, and some have many files; deeper folders may have such names.
TREES = frozenset(("proc", "sys"))
TOP_TREES = TREES | {
    "run",
    "dev",
    "etc",
    "var",
    "usr",
    "boot",
    "lib",
    "log",
    "frames",
    "cmd",
    "tmp",
}

ASKED = "run dmsetup "  # the beginning of the questions whose answers may have a key
FRAMES = "/frames"  # of format 1


def read_manifest(tree: FileTree, path: str) -> dict[str, Json]:
    """Return the manifest, {} for a plain tree; ``CaptureError`` if *path* is not a capture."""
    try:
        manifest = capture_format.parse_json(tree.read(MANIFEST), f"{path}: capture.json")
    except SourceMissing:
        # While the unfinished manifest is replaced, only the archive is there.
        if any(_has(tree.read, name) for name in (UNFINISHED, FIRST_ANSWERS)):
            raise CaptureError(
                f"{path}: empty: the recording ended before its first sample"
            ) from None
        lists = _has(tree.names, "/sys/block") or any(_has(tree.read, path) for path in LISTS)
        if lists or any(_has(tree.names, folder) for folder in REPORTS):
            return {}
        if outputs := [*output_files(tree.names)]:
            _require_one_machine(tree, outputs, path)
            return {}
        raise CaptureError(
            f"{path}: not a capture: no capture.json, sys/block, proc/diskstats or proc/partitions in it; {WHAT_A_CAPTURE_IS}"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") not in FORMATS:
        raise CaptureError(
            f"{path}: unknown capture format; this stackmap reads format {FORMAT} and older"
        )
    for key, fits in (("refused", _is_refusal), ("links", _is_text), ("late", _is_seconds)):
        answers = manifest.get(key, {})
        if not isinstance(answers, dict) or not all(map(fits, answers.values())):
            raise CaptureError(f'{path}: capture.json is damaged: "{key}" has another form')
    return manifest


def output_files(names_in: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield the paths of the outputs that tell of block devices, in any layout; *names_in* lists a folder."""
    todo, folders = [("", 0)], 0
    for _ in range(MAX_LOOKS):
        if not todo or folders == MAX_FOLDERS:
            return
        folder, depth = todo.pop()
        try:
            names = names_in(folder or "/")
        except SourceError:
            continue  # a file
        folders += 1
        for name in names:
            if capture_format.is_output(name):
                yield f"{folder}/{name}"  # or a folder of a plugin, "storage"
            if depth < MAX_DEPTH and name not in (TREES if depth else TOP_TREES):
                todo.append((f"{folder}/{name}", depth + 1))


def _require_one_machine(tree: FileTree, outputs: Iterable[str], path: str) -> None:
    """Raise ``CaptureError`` if two folders have one output with different texts, as a bundle of several machines has."""
    folders: dict[str, str] = {}
    for output in outputs:
        folder, _, name = output.rpartition("/")
        with suppress(SourceError):  # a folder
            text = tree.read(output)
            other = folders.setdefault(name, folder)
            if other != folder and tree.read(f"{other}/{name}") != text:
                first, second = sorted((other or "/", folder or "/"))
                raise CaptureError(
                    f"{path}: {name} of several machines, in {first} and {second}: give one of these folders"
                )


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_seconds(value: Json) -> bool:
    return value is None or (isinstance(value, int | float) and capture_format.is_instant(value))


def _is_refusal(value: Json) -> bool:
    """Whether *value* is a kind of refusal and its message."""
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def open_timeline(
    tree: FileTree, path: str, manifest: dict[str, Json], warn: Warn, budget: "Budget"
) -> "LogReader | NumberedFrames":
    """Return the frames; *warn* takes a line for each damaged part, *budget* pays for the answers that are kept."""
    if manifest.get("format") in WITH_LOG:
        from stackmap.host.log import FOLDER  # a plain tree does not pay for it
        from stackmap.host.log_reader import LogReader

        return LogReader(tree, _names(tree, FOLDER), warn, budget)
    return NumberedFrames(tree, _instants(manifest.get("times", []), path), budget)


def _instants(times: Json, path: str) -> list[float]:
    numbers = times if isinstance(times, list) else [None]
    instants = [
        float(t) for t in numbers if isinstance(t, int | float) and capture_format.is_instant(t)
    ]
    if len(instants) != len(numbers) or sorted(instants) != instants:
        raise CaptureError(
            f"{path}: capture.json is damaged: its times are invalid or out of order"
        )
    if len(instants) > MAX_NUMBERED_FRAMES:
        raise CaptureError(f"{path}: refused: {len(instants)} samples in an old capture format")
    return instants


def _has(look: Callable[[str], object], path: str) -> bool:
    """Whether *path* exists for *look*, a tree's ``read`` or ``names``."""
    try:
        look(path)
    except SourceMissing:
        return False
    return True


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
        devices = [capture_format.parse_udev(text.replace(": ", ":")) for text in texts]
        return {f"{device.get('MAJOR')}:{device.get('MINOR')}": device for device in devices}

    def _text(self, path: str) -> str | None:
        try:
            return capture_format.recorded_text(self._tree.read(path), f"{self._path}{path}")
        except SourceMissing:
            return None


def recorded_keys(tree: FileTree, refusals: Iterable[str]) -> list[str]:
    """
    Return the names of the devices whose key is in *tree* or *refusals*, as dmsetup prints them.

    All samples are read. "" stands for a device whose name is not beside its key.
    """
    from stackmap.host import log  # only check pays for it

    folders = ["/cmd", f"{COMMANDS}/devicemapper"]
    folders += [f"{FRAMES}/{number}/cmd" for number in _names(tree, FRAMES)]
    files = (f"{folder}/{name}" for folder in folders for name in _names(tree, folder))
    texts = chain(
        (capture_format.decoded(tree.read(path)) for path in files if "/dmsetup" in path),
        refusals,
        chain.from_iterable(
            log.texts_of(tree.read(f"{log.FOLDER}/{name}"), ASKED)
            for name in _names(tree, log.FOLDER)
            if log.segment_start(name) is not None
        ),
    )
    return list(dict.fromkeys(name for text in texts for name in names_with_key(text)))


def _names(tree: FileTree, folder: str) -> list[str]:
    try:
        return tree.names(folder)
    except SourceMissing:
        return []
