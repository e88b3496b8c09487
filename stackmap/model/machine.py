"""Which machine something is of."""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """A host's name, kernel release and boot, each "" if not told."""

    host: str = ""
    kernel: str = ""
    boot: str = ""


UNKNOWN_MACHINE = Machine()
