"""Which devices have their key in a capture: in its first answers, any of its samples, or a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain

from stackmap.errors import SourceMissing
from stackmap.host.capture_format import Refusal, decoded
from stackmap.host.file_tree import FileTree
from stackmap.host.log import DAMAGES, FOLDER, Frames, segment_start, split_entries
from stackmap.host.sosreport import COMMANDS
from stackmap.host.table_keys import names_with_key

ASKED = "run dmsetup "  # the beginning of the questions whose answers may have a key
FRAMES = "/frames"  # of format 1


def recorded_keys(tree: FileTree, refusals: Iterable[str]) -> list[str]:
    """
    Return the names of the devices whose key is in *tree* or *refusals*, as dmsetup prints them.

    All samples are read. "" stands for a device whose name is not beside its key.
    """
    folders = ["/cmd", f"{COMMANDS}/devicemapper"]
    folders += [f"{FRAMES}/{number}/cmd" for number in _names(tree, FRAMES)]
    files = (f"{folder}/{name}" for folder in folders for name in _names(tree, folder))
    texts = chain(
        (decoded(tree.read(path)) for path in files if "/dmsetup" in path),
        refusals,
        chain.from_iterable(
            _logged(tree.read(f"{FOLDER}/{name}"))
            for name in _names(tree, FOLDER)
            if segment_start(name) is not None
        ),
    )
    return list(dict.fromkeys(name for text in texts for name in names_with_key(text)))


def _names(tree: FileTree, folder: str) -> list[str]:
    try:
        return tree.names(folder)
    except SourceMissing:
        return []


def _logged(segment: bytes) -> Iterator[str]:
    """Yield dmsetup's answers and changed lines of them in the frames of *segment*."""
    for _, entries in Frames(segment):
        if ASKED.encode() not in entries:
            continue
        with suppress(*DAMAGES):  # a frame that no command reads either
            for _, question, body in split_entries(entries):
                if question.startswith(ASKED):
                    yield body.message if isinstance(body, Refusal) else decoded(body)
