"""
What one input of a stranger may take: memory for what is kept of it, and steps to find it.

An archive, the log in it and the links that are followed share one budget, so that no combination of
them takes more, and so do all answers of a server: 10 MB of input take at most 300 MiB and 10 s. What is
made of one answer while it is read has a limit of its own. What a replay asks from sample to sample is
charged in lines of counters, to the bytes of its log.
"""

from stackmap.errors import CaptureError

MAX_MEMORY = 116 << 20  # bytes; that of a host with 20,000 devices takes 110 MiB
MAX_STEPS = 30_000_000  # parts of paths; 50,000 devices take 6 million
MAX_ANSWER = 96 << 20  # bytes that are made of one answer; LVM's report of 20,000 LVs takes 60 MiB
ENTRY_BYTES = 300  # what Python needs to keep a path or a question, besides its letters
LINE_BYTES = 60  # the same for a line of an answer
# What is made while an answer is read, at least: of a line, of a value of JSON, and of an object beside its values.
READ_LINE_BYTES, VALUE_BYTES, OBJECT_BYTES = 240, 64, 64
# Of a replay, lines of counters: these, and so many per byte of its log. Each takes 0.15 us.
FREE_LINES, LINES_PER_BYTE = 15_000_000, 3
# What takes as long as so many lines: a question to the capture, with what is made of its answer; a load of an
# interval, and the additional lines if its device was busy.
QUESTION_LINES, LOAD_LINES, BUSY_LINES = 40, 15, 100
LOOK_LINES = 20  # a file of a sample that is not there
NAME_LINES = 8  # a name in a folder
LINES_PER_LETTER = 0.4  # a letter of an answer of which a topology is made
CAPTURE_ADVICE = "if you trust it, choose a part of it with --since and --until, or unpack it"


class Budget:
    """The room that is left for the input at *path*; ``CaptureError`` with *advice* where it has none left."""

    def __init__(self, path: str, steps: int = MAX_STEPS, advice: str = CAPTURE_ADVICE) -> None:
        self._path = path
        self._room = MAX_MEMORY
        self._steps = steps
        self._advice = advice
        self._lines = FREE_LINES
        # Bytes of the input per byte of its content; less in a compressed archive.
        self.density = 1.0

    def charge(self, size: int) -> None:
        """Take *size* bytes; give them back if it is negative."""
        self._room -= size
        if self._room < 0:
            raise CaptureError(
                f"{self._path}: refused: needs more than {MAX_MEMORY >> 20} MiB of memory; {self._advice}"
            )

    def has_room(self, size: int) -> bool:
        """Whether *size* bytes are left."""
        return self._room >= size

    def step(self, count: int) -> None:
        """Take *count* steps."""
        self._steps -= count
        if self._steps < 0:
            raise CaptureError(
                f"{self._path}: refused: too much to follow or to read; {self._advice}"
            )

    def replay(self, lines: int) -> None:
        """Take what a replay does from one sample to another, as *lines* of counters."""
        self._lines -= lines
        if self._lines < 0:
            raise CaptureError(
                f"{self._path}: refused: too many devices, or changes of them, for so many samples in so few"
                " bytes; use --since and --until, or --every"
            )

    def replay_of(self, content: bytes) -> None:
        """Give the lines that *content*, a part of a log, pays for."""
        self._lines += int(LINES_PER_BYTE * self.density * len(content))


def refuse_large(what: str, size: int, most: int = MAX_ANSWER) -> None:
    """Raise ``CaptureError`` if *size*, the bytes that are made of the answer *what*, is more than *most*."""
    if size > most:
        raise CaptureError(
            f"{what}: refused: one answer needs more than {most >> 20} MiB of memory"
        )


def json_size(text: str) -> int:
    """Return the bytes that Python needs for the values in JSON *text*."""
    return VALUE_BYTES * sum(map(text.count, ",[{")) + OBJECT_BYTES * text.count("{")
