"""The files that pip has installed outside of Python, and their place below a prefix."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from stackmap.errors import InputError, StackmapError

SHIPPED = re.compile(r"(?:\.\./)+((?:share|lib/systemd)/.+)")  # in RECORD, from site-packages
PROGRAM = "/usr/bin/stackmap"  # in the services


def shipped() -> dict[str, Path]:
    """Return the files by their path below a prefix."""
    try:
        files = distribution("stackmap").files or ()
    except PackageNotFoundError:
        files = ()
    found = {
        match[1]: Path(str(file.locate()))
        for file in files
        if (match := SHIPPED.fullmatch(file.as_posix()))
    }
    if not found:
        raise InputError("nothing to copy: only a stackmap that pip installed needs setup-files")
    return found


def put(source: Path, target: Path, program: str) -> None:
    """Copy a file; a service starts *program*."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".service":
            target.write_text(source.read_text().replace(PROGRAM, program))
        else:
            shutil.copyfile(source, target)
    except OSError as error:
        raise StackmapError(f"{target}: {error.strerror}") from error
