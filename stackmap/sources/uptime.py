"""``/proc/uptime``: seconds since boot."""

from __future__ import annotations

from stackmap.errors import ParseError
from stackmap.host import Host

PATH = "/proc/uptime"


def read(host: Host) -> float:
    """Return the seconds since boot."""
    return parse(host.read(PATH))


def parse(text: str) -> float:
    """Return the first of the two numbers; the other is idle time."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError) as error:
        raise ParseError(f"{PATH}: not a number of seconds: {text!r}") from error
