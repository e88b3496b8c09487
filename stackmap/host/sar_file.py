"""Binary files of sar, which only sadf of about their version can read."""

import os
from io import BytesIO
from typing import BinaryIO

from stackmap.errors import InputError, SourceError
from stackmap.host.command import Command

SADC = b"\x96\xd5", b"\xd5\x96"  # the magic of sadc in either byte order, sysstat's sa.h
SADF = "`sadf -j FILE -- -d`"
SECONDS = 60.0  # for sadf; a day of 50 disks takes 2


class Held(BytesIO):
    """A text in memory, with the name of the file that it comes from."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def is_sar_file(begin: bytes) -> bool:
    """Whether sadc wrote a file that begins so."""
    return begin[:2] in SADC


def readable(text: BinaryIO, *, rewindable: bool) -> BinaryIO:
    """Return *text*; for a binary file of sar the output of sadf; if *rewindable*, a pipe's content in memory."""
    if text.seekable():
        try:
            # Not through the buffer: read1 would then return what is in it, and no whole chunk.
            begin = os.pread(text.fileno(), 2, 0)
        except OSError:
            return text  # the reader of the text reports the error
        return Held(_by_sadf(text.name), text.name) if is_sar_file(begin) else text
    return Held(text.read(), text.name) if rewindable else text


def _by_sadf(path: str) -> bytes:
    """Return the disks of a binary file of sar as JSON, in UTC; ``InputError`` if sadf is missing or refuses."""
    words = ("sadf", "-j", os.path.abspath(path), "--", "-d")
    try:
        status, out, err = Command(words).answer(SECONDS)
    except SourceError as error:
        raise InputError(
            f"{path}: a binary file of sar, and {error}: run {SADF} on its host, and give the output"
        ) from error
    if status or not out.strip():
        lines = err.decode(errors="replace").split("\n")
        raise InputError(f"{path}: sadf cannot read it: {lines[0] or 'it has no disks'}")
    return out
