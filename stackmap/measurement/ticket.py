"""The captured machine that commands in a text tell of: lsblk, /proc/mdstat, LVM's reports and others."""

from contextlib import suppress
from itertools import islice
from typing import BinaryIO

from stackmap import text as statistics
from stackmap.errors import InputError, StackmapError
from stackmap.host.capture import CapturedHost
from stackmap.host.sar_file import readable
from stackmap.measurement.source import Note
from stackmap.measurement.text import CHUNK, MAX_HEAD
from stackmap.model.topology import short_host
from stackmap.sources.printed import Reader
from stackmap.sources.printed.merge import Merged
from stackmap.text.text_lines import Lines

COUNTERS = {"/proc/diskstats"}  # it names devices, and says nothing of how they lie on each other
# Lines that are searched for outputs of tools: these, or so many bytes for each.
MAX_LINES, BYTES_PER_LINE = 300_000, 25


def told_machine(text: BinaryIO, note: Note) -> tuple[BinaryIO, CapturedHost | None]:
    """
    Return *text* at its start again, and the machine that commands in it tell of, None if they tell of no device.

    Contradictions between two commands are noted. Of several hosts the first with figures counts, or the first.
    """
    text = readable(text, rewindable=True)
    reader = Reader()
    size = 0
    text.seek(0)
    with suppress(InputError, OSError):  # raised again when the figures are read
        chunks = iter(lambda: text.read(CHUNK), b"")
        for number, line in enumerate(Lines(chunks, lambda what: note(f"{text.name}: {what}"))):
            size += len(line) + 1
            if number > max(MAX_LINES, size // BYTES_PER_LINE):
                note(
                    f"{text.name}: only its first {number} lines are searched for outputs of lsblk and others"
                )
                break
            reader.take(line)
    text.seek(0)
    measured = _hosts_of_figures(text) if len(reader.hosts.all) > 1 else []
    return text, machine_of(reader.merged(measured), text.name, note)


def _hosts_of_figures(text: BinaryIO) -> list[str]:
    """Return the hosts of the reports at the beginning of *text*, which is at its start again."""
    hosts: dict[str, None] = {}
    chunks = iter(lambda: text.read(MAX_HEAD), b"")
    with suppress(StackmapError):  # raised again when the figures are read
        for report in statistics.intervals(islice(chunks, 1), text.name):
            if report.loads and report.machine.host:
                hosts[short_host(report.machine.host)] = None
    text.seek(0)
    return list(hosts)


def machine_of(told: Merged, name: str, note: Note) -> CapturedHost | None:
    """Return the machine that the text *name* *told* of; None without a device."""
    if told.sources.keys() <= COUNTERS:
        return None
    for sentence in told.notes:
        note(f"{name}: {sentence}")
    return CapturedHost(name, note, told.files) if told.files else None
