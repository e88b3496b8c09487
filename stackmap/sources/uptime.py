"""``/proc/uptime``: seconds since boot."""

from __future__ import annotations

from math import inf, nan

from stackmap.errors import ParseError
from stackmap.host import Host

PATH = "/proc/uptime"


def read(host: Host) -> float:
    """Return the seconds since boot."""
    return parse(host.read(PATH))


def parse(text: str) -> float:
    """Return the first of the two numbers; the other is idle time."""
    try:
        seconds = float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        seconds = nan
    if not 0 < seconds < inf:
        raise ParseError(f"{PATH}: not a number of seconds: {text[:60]!r}")
    return seconds
