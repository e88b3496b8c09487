"""
What one input of a stranger may take: memory for what is kept of it, and steps to find it.

An archive, the log in it and the links that are followed share one budget, so that no combination of
them takes more: 10 MB of input take at most 300 MiB and 10 s, with what is made of the answers.
"""

from stackmap.errors import CaptureError

MAX_MEMORY = 116 << 20  # bytes; that of a host with 20,000 devices takes 110 MiB
MAX_STEPS = 30_000_000  # parts of paths; 50,000 devices take 6 million
ENTRY_BYTES = 300  # what Python needs to keep a path or a question, besides its letters
LINE_BYTES = 60  # the same for a line of an answer


class Budget:
    """The room that is left for the input at *path*; ``CaptureError`` where it has none left."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._room = MAX_MEMORY
        self._steps = MAX_STEPS

    def charge(self, size: int) -> None:
        """Take *size* bytes; give them back if it is negative."""
        self._room -= size
        if self._room < 0:
            raise CaptureError(
                f"{self._path}: refused: needs more than {MAX_MEMORY >> 20} MiB of memory; "
                "if you trust it, choose a part of it with --since and --until, or unpack it"
            )

    def has_room(self, size: int) -> bool:
        """Whether *size* bytes are left."""
        return self._room >= size

    def step(self, count: int) -> None:
        """Take *count* steps."""
        self._steps -= count
        if self._steps < 0:
            raise CaptureError(f"{self._path}: refused: too many links to follow")
