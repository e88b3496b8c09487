"""``/proc/uptime``: seconds since boot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.errors import ParseError

if TYPE_CHECKING:
    from stackmap.host import Host

PATH = "/proc/uptime"


def read(host: Host) -> float:
    """Ask how long the machine has been up, in seconds."""
    return parse(host.read(PATH))


def parse(text: str) -> float:
    """Return the first of the two numbers; the other is idle time."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError) as error:
        raise ParseError(f"{PATH}: not a time: {text!r}") from error
