"""Where a command's output goes: how wide that is, and what is said where it cannot be written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stackmap.render.text import WIDTH

STDOUT = "standard output"


def width() -> int:
    """Return how many columns to fill: those of the terminal, ``WIDTH`` in a pipe or a file."""
    if not sys.stdout.isatty():
        return WIDTH
    import shutil  # only a terminal pays for it

    return shutil.get_terminal_size().columns


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Have an ``OSError`` inside name *path*: a full disk is told without it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise
