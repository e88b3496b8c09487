"""The machine that commands in a stream tell of, as far as the stream has come: what a pipe into ``annotate`` learns."""

import re
from collections.abc import Iterator

from stackmap.host.capture import CapturedHost
from stackmap.measurement.source import Note, NoteOnce
from stackmap.measurement.ticket import machine_of
from stackmap.sources.printed import Reader
from stackmap.text.headings import TITLES, heading

MAX_LEARNT = 4 << 20  # bytes of a stream that are read for its topology; longer ones are logs
MAX_MACHINES = 50  # of one stream; a script may print mdstat before each report
_FIGURES = re.compile(r"[\w.-]{1,64}(?:\s+\d[\d.,]*){4,}\s*")  # a device's row tells of no topology


class StreamTopology:
    """
    Takes a stream in chunks, and divides it where the machine of its next device table becomes known.

    *note* gets what contradicts, each once. ``rest``: the begin of a line whose end has not come.
    """

    def __init__(self, name: str, note: Note) -> None:
        self._name = name
        self._note = NoteOnce(note)
        self._reader = Reader()
        self._told: set[int] = set()  # hashes of the outputs that the last machine is made of
        self._machines = 0
        self.rest = b""
        self._room = MAX_LEARNT

    def divide(self, chunk: bytes) -> Iterator[tuple[CapturedHost | None, bytes]]:
        """Yield the parts of *chunk*, each with the machine that is known from there on, None: the same as before."""
        data, self.rest = self.rest + chunk, b""
        host: CapturedHost | None = None
        begin = end = 0
        if self._room > 0 and self._machines < MAX_MACHINES:  # more is read for its topology
            self._room -= len(chunk)
            self.rest = data[data.rfind(b"\n") + 1 :]
            data = data[: len(data) - len(self.rest)]
            for line in data.split(b"\n"):
                text = line.decode(errors="replace")
                if any(title in text for title in TITLES) and heading(text.split()):
                    told = self._machine()
                    if told is not None:
                        if end > begin:
                            yield host, data[begin:end]
                        host, begin = told, end
                elif not _FIGURES.fullmatch(text):
                    self._reader.take(text)
                end += len(line) + 1
        if len(data) > begin or host is not None:
            yield host, data[begin:]

    def _machine(self) -> CapturedHost | None:
        """Return the machine of all outputs so far; None if there are no others than before, or they tell of none."""
        self._reader.end()
        outputs = self._reader.outputs()
        if outputs <= self._told:
            return None
        self._told = outputs
        self._machines += 1
        return machine_of(
            self._reader.merged([self._reader.hosts.name], in_turn=True), self._name, self._note
        )
