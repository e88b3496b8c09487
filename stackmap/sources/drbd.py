"""``/proc/drbd``: what DRBD 8 does with each of its devices; DRBD 9 tells it to its own tools only."""

import re

PATH = "/proc/drbd"
_DEVICE = re.compile(r"\s*(\d{1,6}): cs:(\w+)(?: (?:ro|st):\S+ ds:(\w+)/(\w+))?.*")
_DONE = re.compile(r"\bsync'ed:\s*(\d{1,3}\.\d+)%")
COPIES = ("UpToDate", "Consistent")  # states of a disk with all data
CONNECTED = "Connected"


def parse(text: str) -> dict[str, str]:
    r"""
    Return the state of each device: "active", its resync or verify, or why it is degraded.

    >>> parse(" 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----")
    {'drbd0': 'active'}
    >>> parse(" 1: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----")
    {'drbd1': 'degraded, WFConnection'}
    >>> parse(" 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----\n [>...] sync'ed:  3.3% (38/39)M")
    {'drbd0': 'SyncSource 3.3 %'}
    """
    states: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if match := _DEVICE.fullmatch(line):
            name = f"drbd{match[1]}"
            connection, *disks = match.groups()[1:]
            if connection != "Unconfigured":
                states[name] = state_of(connection, [disk for disk in disks if disk])
        elif name in states and (done := _DONE.search(line)):
            states[name] += f" {done[1]} %"
    return states


def state_of(connection: str, disks: list[str]) -> str:
    """Return the state of a device by its connection and the states of its disk and its peers'."""
    if connection.startswith(("Sync", "Verify")):
        return connection
    if connection != CONNECTED:
        return f"degraded, {connection}"
    return "active" if {*disks} <= {*COPIES} else f"degraded, {'/'.join(disks)}"
