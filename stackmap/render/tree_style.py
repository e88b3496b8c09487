"""How a drawing looks: its characters, its width, its colours."""

from __future__ import annotations

from dataclasses import dataclass, replace

ARROW = "↑"

# What stands for the characters that ASCII lacks.
_PLAIN = str.maketrans({"×": "x", "…": "~", ARROW: "^", "–": "-", "→": "->"})

RESET = "\x1b[0m"
BOLD, DIM, RED, YELLOW = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m"


@dataclass(frozen=True, slots=True)
class Look:
    """
    The look of a drawing.

    ``fork``, ``last``, ``pipe``, ``gap``: the guides of a tree. ``width``:
    the columns there are, None for as many as it takes.
    """

    fork: str
    last: str
    pipe: str
    gap: str
    ascii: bool = False
    colour: bool = False
    width: int | None = None

    def guides(self, branches: tuple[bool, ...]) -> str:
        """Return the lines that lead to a row: for each step down, whether more follow there."""
        if not branches:
            return ""
        *above, more = branches
        lines = [self.pipe if follows else self.gap for follows in above]
        return "".join([*lines, self.fork if more else self.last])

    def text(self, text: str) -> str:
        """Return *text* in characters that this look has."""
        return text.translate(_PLAIN) if self.ascii else text

    def paint(self, text: str, colour: str) -> str:
        """Return *text* in *colour*, or as it is."""
        return f"{colour}{text}{RESET}" if self.colour and colour and text.strip() else text

    def within(self, width: int | None, *, colour: bool) -> Look:
        """Return this look for a terminal *width* columns wide."""
        return replace(self, width=width, colour=colour)


UNICODE = Look(fork="├─ ", last="└─ ", pipe="│  ", gap="   ")
ASCII = Look(fork="|- ", last="`- ", pipe="|  ", gap="   ", ascii=True)
