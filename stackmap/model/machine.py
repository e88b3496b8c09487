"""Which machine something is of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """A host's name, kernel release and boot, each "" if not told."""

    host: str = ""
    kernel: str = ""
    boot: str = ""


NOWHERE = Machine()
