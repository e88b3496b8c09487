"""A ticket: a text with what commands printed about a machine, beside figures or without. It is read as a capture is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from stackmap.errors import InputError
from stackmap.host.capture import CapturedHost
from stackmap.sources.printed import Reader
from stackmap.text.text_lines import Lines, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackmap.measurement.source import Note

CHUNK = 1 << 20
COUNTERS = {"/proc/diskstats"}  # it names devices, and says nothing of how they lie on each other
NO_STACK = "no lsblk, /proc/mdstat, LVM report or dmsetup output in it: add the output of `lsblk -J -O; cat /proc/mdstat; dmsetup table`"


def told_machine(text: BinaryIO, note: Note) -> CapturedHost | None:
    """
    Return the machine that commands in *text* tell of, None if they tell of no device; *text* is at its start again.

    Contradictions between two commands are noted. Of several hosts the one with the figures counts, or the first.
    """
    reader = Reader()
    host = ""
    with suppress(InputError, OSError):  # raised again when the figures are read
        for line in Lines(_chunks(text)):
            reader.take(line)
            if not host and "Linux" in line and (run := run_of(line)):
                host = run[0].host.partition(".")[0]
    text.seek(0)
    told = reader.merged(host)
    if told.sources.keys() <= COUNTERS:
        return None
    for sentence in told.notes:
        note(f"{text.name}: {sentence}")
    return CapturedHost(text.name, note, told.files) if told.files else None


def _chunks(text: BinaryIO) -> Iterator[bytes]:
    text.seek(0)
    while chunk := text.read(CHUNK):
        yield chunk
