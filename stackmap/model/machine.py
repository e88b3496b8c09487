"""The machine that something was measured on."""

from __future__ import annotations

from typing import NamedTuple


class Machine(NamedTuple):
    """Host name, kernel release and boot id, each "" if unknown."""

    host: str = ""
    kernel: str = ""
    boot: str = ""


UNKNOWN_MACHINE = Machine()
