"""The look of a tree: its characters, width and colours."""

from typing import NamedTuple

from stackmap.document.describe import ARROW
from stackmap.render.text import RESET

# ASCII replacements.
_PLAIN = str.maketrans({"×": "x", "…": "~", ARROW: "^", "–": "-", "→": "->"})


class Look(NamedTuple):
    """``fork``, ``last``, ``pipe``, ``gap``: the lines of a tree. ``width``: None is unlimited."""

    fork: str
    last: str
    pipe: str
    gap: str
    ascii: bool = False
    colour: bool = False
    width: int | None = None

    def guides(self, branches: tuple[bool, ...]) -> str:
        """Return the lines before a row; *branches*: per level, whether more rows follow there."""
        if not branches:
            return ""
        *above, more = branches
        lines = [self.pipe if follows else self.gap for follows in above]
        return "".join([*lines, self.fork if more else self.last])

    def text(self, text: str) -> str:
        """Return *text* in the characters of this look."""
        return text.translate(_PLAIN) if self.ascii else text

    def paint(self, text: str, colour: str) -> str:
        """Return *text* in *colour* if this look has colours."""
        return f"{colour}{text}{RESET}" if self.colour and colour and text.strip() else text

    def within(self, width: int | None, *, colour: bool) -> "Look":
        """Return this look for *width* columns."""
        return self._replace(width=width, colour=colour)


UNICODE = Look(fork="├─ ", last="└─ ", pipe="│  ", gap="   ")
ASCII = Look(fork="|- ", last="`- ", pipe="|  ", gap="   ", ascii=True)
