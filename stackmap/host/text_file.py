"""Files that are given by path: is it a capture, or a text?"""

from __future__ import annotations

import os
from typing import BinaryIO

TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")


def is_capture(path: str) -> bool:
    """Return whether *path* is that of a capture: a directory, or a tar by its ending."""
    return os.path.isdir(path) or path.endswith(TARS)


def open_text(path: str) -> BinaryIO:
    """Open the text at *path*."""
    return open(path, "rb")
