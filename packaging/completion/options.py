"""
Write what the completion scripts offer: the commands with their options and arguments.

``python packaging/completion/options.py > stackmap/completion/options.txt``. It reads click's
commands, so a new option needs nothing here unless its metavar is new.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from stackmap.cli import COMMANDS, load, stackmap
from stackmap.completion import LIST, NAMES, REPEATED
from stackmap.model.load import METRICS
from stackmap.model.raid import RAID_LEVELS
from stackmap.render.columns import COLUMNS

FILES, FREE = "files", "free"
LISTS = {"tree": list(COLUMNS), "iostat": [metric.heading for metric in METRICS]}
# By metavar without brackets and dots; one that is missing is free text.
METAVARS = {
    "CAPTURE": FILES,
    "CAPTURE|FILE": FILES,
    "DEVICE": NAMES,
    "FILE": FILES,
    "LAYOUT": "|".join(RAID_LEVELS),
    "N|last|average|all": "last|average|all",
    "NAME": NAMES,
    "NAME=NAME": NAMES,
    "OUT": FILES,
    "PATH|NAME": NAMES,
}
# Arguments without a metavar of their own.
ARGUMENTS = {"before": FILES, "after": FILES, "out": FILES, "name": NAMES, "text": FILES}


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines: command, words, what follows, help."""
    for name, about in COMMANDS.items():
        yield name, "", "", about.help
    for name in ("", *COMMANDS):
        command = load(name) if name else stackmap
        place = 0
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                many = REPEATED if parameter.nargs < 0 else ""
                yield name, str(place), many + following(name, parameter), ""
                place += 1
            elif isinstance(parameter, click.Option) and not parameter.hidden:
                words = ",".join((*parameter.opts, *parameter.secondary_opts))
                yield name, words, following(name, parameter), parameter.help or ""
        yield name, "-h,--help", "", "Show this help and exit."


def following(command: str, parameter: click.Parameter) -> str:
    """Return what follows *parameter*, as the file says it; "" for a flag."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return ""
    if isinstance(parameter.type, click.Choice):
        return "|".join(parameter.type.choices)
    metavar = parameter.metavar or ""
    if metavar in {"LIST", "COLUMN"} and command in LISTS:
        return (LIST if metavar == "LIST" else "") + "|".join(LISTS[command])
    metavar = metavar.split(" ")[0].strip("[].")
    return METAVARS.get(metavar) or ARGUMENTS.get(parameter.name or "") or FREE


if __name__ == "__main__":
    sys.stdout.writelines("\t".join(row) + "\n" for row in rows())
