"""The manifest of a capture, and the timeline it describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stackmap.errors import WHAT_A_CAPTURE_IS, CaptureError, SourceMissing
from stackmap.host import Json
from stackmap.host.capture_format import is_instant, parse_json
from stackmap.host.file_tree import FIRST_ANSWERS, MANIFEST, FileTree
from stackmap.host.timeline import NumberedFrames, Warn

if TYPE_CHECKING:
    from stackmap.host.log_reader import LogReader

FORMAT = 3
WITH_LOG = (2, FORMAT)  # the formats with a log of later answers
FORMATS = (1, *WITH_LOG)
LISTS = ("/proc/diskstats", "/proc/partitions")  # of all devices; a plain tree may lack sysfs
MAX_NUMBERED_FRAMES = 100_000  # a day of seconds
UNFINISHED = MANIFEST + ".new"


def read_manifest(tree: FileTree, path: str) -> dict[str, Json]:
    """Return the manifest, {} for a plain tree; ``CaptureError`` if *path* is not a capture."""
    try:
        manifest = parse_json(tree.read(MANIFEST), f"{path}: capture.json")
    except SourceMissing:
        # While the unfinished manifest is replaced, only the archive is there.
        if any(_has(tree.read, each) for each in (UNFINISHED, FIRST_ANSWERS)):
            raise CaptureError(
                f"{path}: empty: the recording ended before its first sample"
            ) from None
        if _has(tree.names, "/sys/block") or any(_has(tree.read, path) for path in LISTS):
            return {}
        raise CaptureError(
            f"{path}: not a capture: no capture.json, sys/block, proc/diskstats or proc/partitions in it; {WHAT_A_CAPTURE_IS}"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") not in FORMATS:
        raise CaptureError(
            f"{path}: unknown capture format; this stackmap reads format {FORMAT} and older"
        )
    for key, fits in (("refused", _is_refusal), ("links", _is_text)):
        answers = manifest.get(key, {})
        if not isinstance(answers, dict) or not all(map(fits, answers.values())):
            raise CaptureError(f'{path}: capture.json is damaged: "{key}" has another form')
    return manifest


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_refusal(value: Json) -> bool:
    """Whether *value* is a kind of refusal and its message."""
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def open_timeline(
    tree: FileTree, path: str, manifest: dict[str, Json], warn: Warn
) -> LogReader | NumberedFrames:
    """Return the frames; *warn* takes a line for each damaged part."""
    if manifest.get("format") in WITH_LOG:
        from stackmap.host.log import FOLDER  # a plain tree does not pay for it
        from stackmap.host.log_reader import LogReader

        return LogReader(tree, tree.names(FOLDER) if _has(tree.names, FOLDER) else [], warn)
    return NumberedFrames(tree, _instants(manifest.get("times", []), path))


def _instants(times: Json, path: str) -> list[float]:
    numbers = times if isinstance(times, list) else [None]
    instants = [float(t) for t in numbers if isinstance(t, int | float) and is_instant(t)]
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
