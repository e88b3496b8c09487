"""What a plan is made of: steps in order, each with what it risks and how to go back."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from stackmap.errors import PlanRefused
from stackmap.model.raid import Layout

NOTHING = "nothing"
NO_UNDO = "none"  # back, but a backup
REQUESTED = "NO REDUNDANCY from here on, as was asked for"

# Left to the reader by every way that changes how data is spread.
GEOMETRY = (
    "a file system on it keeps the stripe it was made for: stackmap check says what it should be"
)


@dataclass(frozen=True, slots=True)
class Step:
    """
    One command, as words.

    ``does``, ``risks``, ``undo``: sentences; ``undo`` says how to go back from
    after this step. ``online``: whether what uses the volume may run on.
    ``redundant``: False while the death of one disk loses data that it would
    not have lost before. ``later``: to be done when the result has proved itself.
    """

    command: tuple[str, ...]
    does: str
    risks: str = NOTHING
    undo: str = NOTHING
    online: bool = True
    redundant: bool = True
    later: bool = False

    @property
    def is_final(self) -> bool:
        """Whether there is no way back from after it."""
        return self.undo == NO_UNDO

    @property
    def line(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(self.command)


@dataclass(frozen=True, slots=True)
class Plan:
    """
    A way that can be gone: its steps, the layout it ends with, and what was checked before.

    ``unchecked``: what could not be, and is left to the reader.
    """

    steps: tuple[Step, ...]
    result: Layout | None
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def online(self) -> bool:
        """Whether what uses the volume runs on throughout."""
        return all(step.online for step in self.steps)

    @property
    def redundant(self) -> bool:
        """Whether the death of one disk never loses what it would not lose now."""
        return all(step.redundant for step in self.steps)


def unprotected(steps: Iterable[Step]) -> list[Step]:
    """Return *steps*, marked as taken while one disk that dies takes the volume with it."""
    return [replace(step, redundant=False) for step in steps]


def printable(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return *steps*, if they can be shown and pasted as they are: names are untrusted."""
    for word in (word for step in steps for word in step.command):
        if not word.isprintable():
            raise PlanRefused("a name in it has characters that cannot be printed or pasted")
    return steps


def script(text: str) -> tuple[str, ...]:
    """Return a command for what takes a shell: to wait, or to compare."""
    return ("sh", "-c", text)
