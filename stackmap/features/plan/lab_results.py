"""
What the lab saw of plans: which were followed to their end on which kernels, and what LVM prints meanwhile.

A row of ``FOLLOWED`` is true if tests/lab followed that plan there to its end, command by command. ``WARNINGS`` are
those that LVM prints while a step goes well, by the words of the command. The lab's tests hold both to what happens.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from stackmap.features.plan.plan import Plan, PlanContext
from stackmap.features.plan.users import continuing
from stackmap.model.command_line import Command

Kernels = tuple[str, ...]
OLD: Kernels = ("6.1",)
BOTH: Kernels = ("6.1", "6.12")

LVM2, MDADM = "lvm2 2.03.16", "mdadm 4.2"
TOOLS = {
    "mirror": LVM2,
    "convert": LVM2,
    "copy": LVM2,
    "grow": MDADM,
    "move": f"{LVM2}, {MDADM}",
    "array-copy": MDADM,
}
# By method: the kernels for each present and requested level.
FOLLOWED: dict[str, Mapping[tuple[str, str], Kernels]] = {
    "mirror": {
        ("linear", "raid1"): BOTH,
        ("raid1", "raid1"): OLD,
        ("raid1", "linear"): OLD,
    },
    "convert": {
        ("raid5", "raid6"): OLD,
        ("raid6", "raid5"): OLD,
        ("striped", "raid6"): OLD,
        ("raid5", "raid10"): BOTH,
        ("raid10", "raid5"): OLD,
        ("raid10", "striped"): OLD,
    },
    "copy": {
        ("linear", "raid5"): BOTH,
        ("raid5", "raid10"): OLD,
    },
    "grow": {
        ("raid5", "raid6"): BOTH,
        ("raid6", "raid5"): OLD,
        ("raid5", "raid5"): BOTH,
        ("raid6", "raid6"): BOTH,
        ("raid1", "raid1"): BOTH,
        ("raid10", "raid10"): BOTH,
        ("raid1", "raid5"): BOTH,
        ("raid5", "raid10"): BOTH,
        ("raid10", "raid5"): BOTH,
        ("raid0", "raid5"): BOTH,
        ("raid0", "raid10"): BOTH,
        ("raid5", "raid0"): BOTH,
        ("raid10", "raid0"): BOTH,
    },
    "move": {("raid5", "raid10"): BOTH},
    "array-copy": {("raid5", "raid10"): BOTH},
}


def with_lab_results(plan: Plan, method: str, context: PlanContext) -> Plan:
    """Return *plan* with the lab's results for this method, and for users that continue."""
    before = context.target.layout.level if context.target.layout else "linear"
    pair = (before, context.request.level)
    way = " to ".join(pair)
    rows, tools = FOLLOWED[method], TOOLS[method]
    checked, unchecked = continuing(context) if plan.online else ((), ())
    if pair in rows:
        checked = (f"{way} was followed in a lab, {_where(rows[pair], tools)}", *checked)
    else:
        others = ", ".join(" to ".join(levels) for levels in rows)
        everywhere = tuple(k for k in BOTH if all(k in levels for levels in rows.values()))
        instead = f"with the method {method} these were: {others}, {_where(everywhere, tools)}"
        unchecked = (f"{way} was not followed in a lab; {instead}", *unchecked)
    return replace(plan, checked=(*plan.checked, *checked), unchecked=(*unchecked, *plan.unchecked))


def _where(kernels: Kernels, tools: str) -> str:
    return f"on Linux {' and '.join(kernels)} with {tools}"


class Warned(NamedTuple):
    """A warning of LVM: its beginning, its meaning, and words of the commands that print it."""

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
    """Return the warnings that *command* may print although it succeeds, each with its meaning."""
    return tuple(
        f'"{warning.begins} ...": {warning.means}'
        for warning in WARNINGS
        if warning.words <= {*command}
    )
