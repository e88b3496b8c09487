"""Trees of files that stand for a machine: a directory, a tar, or a recording with both."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from stackmap.errors import SourceMissing
from stackmap.host.directory_tree import DirectoryTree

if TYPE_CHECKING:
    from stackmap.host.archive_tree import ArchiveTree

T = TypeVar("T")

MANIFEST = "/capture.json"
FIRST_ANSWERS = "/answers.tar.gz"  # of a recording, those before its first sample


class RecordingTree:
    """A recording: *answers*, those before its first sample, and the tree that has this archive."""

    def __init__(self, answers: ArchiveTree, tree: DirectoryTree | ArchiveTree) -> None:
        self._trees = answers, tree

    def read(self, path: str) -> bytes:
        """Return the content of the file at *path*."""
        return self._first(lambda tree: tree.read(path))

    def names(self, path: str) -> list[str]:
        """Return the names in the directory at *path*."""
        return self._first(lambda tree: tree.names(path))

    def link(self, path: str) -> str:
        """Return the target of the link at *path*."""
        return self._first(lambda tree: tree.link(path))

    def _first(self, look: Callable[[DirectoryTree | ArchiveTree], T]) -> T:
        answers, tree = self._trees
        try:
            return look(answers)
        except SourceMissing:
            return look(tree)


FileTree: TypeAlias = "DirectoryTree | ArchiveTree | RecordingTree"


def open_tree(path: str) -> FileTree:
    """Return the tree at *path*: a directory or a tar (gzip, bzip2, xz or plain)."""
    tree = DirectoryTree(path) if os.path.isdir(path) else _archive().load(path)
    try:
        packed = tree.read(FIRST_ANSWERS)
        tree.read(MANIFEST)  # it is written after the archive, which without it may be cut short
    except SourceMissing:
        return tree
    return RecordingTree(_archive().of(packed, f"{path}{FIRST_ANSWERS}"), tree)


def _archive() -> type[ArchiveTree]:
    from stackmap.host.archive_tree import ArchiveTree  # only a tar pays for it

    return ArchiveTree
