"""Warnings that LVM prints while a step goes well: a table, by the words of the command."""

from __future__ import annotations

from typing import NamedTuple

from stackmap.model.command_line import Command


class Warned(NamedTuple):
    """A warning of LVM's: how it begins, what it means, and the words of commands that may print it."""

    begins: str
    means: str
    words: frozenset[str]


NO_POLLD = "no lvmpolld service runs, and the command watches its progress itself"

# lvm2 2.03.16: raid_manip.c (_raid_in_sync), lvconvert.c, lvmpolld-client.c. tests/lab holds the table to what is printed.
WARNINGS = (
    Warned(
        "WARNING: Sync status for",
        "the kernel says 0 % for a moment, and LVM asks again; continue if the command succeeds",
        frozenset({"lvconvert", "--yes"}),
    ),
    Warned(
        "WARNING: Data redundancy could be lost with writeback caching",
        "until it is written back, data is only in the cache, as before",
        frozenset({"lvconvert", "cache", "writeback"}),
    ),
    Warned("WARNING: Failed to connect to lvmpolld", NO_POLLD, frozenset({"pvmove"})),
    Warned("WARNING: Check global/use_lvmpolld", NO_POLLD, frozenset({"pvmove"})),
)


def announced(command: Command) -> tuple[str, ...]:
    """Return what *command* may print although it succeeds, each with its meaning."""
    return tuple(
        f'"{each.begins} ...": {each.means}' for each in WARNINGS if each.words <= {*command}
    )
