"""
The commands, by what they are for, and what the features among them add to the core.

``GROUPS`` is the only place of the core that names a feature: a feature is deleted with its folder, its
line here and its tests. What it added is then absent. An addition is found by its place:

=========  ============================================================================================
place      what the feature's function is
=========  ============================================================================================
record     a decorator of the command: adds options, and a ``cli.record.Addition`` for those given
blame      the same with ``cli.blame.Addition``
iostat     the same with ``cli.iostat.Addition``
questions  (host, topology) → None: asks what the feature needs, so that ``record`` keeps the answers
topology   (host, topology) → topology of a capture with facts that the feature kept in it
traced     (host) → the trace in a capture, None without one: latencies and arrivals of single requests
headroom   (topology, corrected intervals, tops) → blocks: how far the disks are below their limit
api        a function of the Python API; its name there is its own
=========  ============================================================================================
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

NOTHING: Mapping[str, str] = {}


class Command(NamedTuple):
    """
    A command: the folder of its feature, or ``cli`` and its module, and its line in ``--help``.

    ``adds``: what the feature adds to the core, by place: a module of its folder and a name in it.
    """

    place: str
    help: str
    adds: Mapping[str, str] = NOTHING

    @property
    def module(self) -> str:
        """The module with the ``command``; it is imported when the command runs."""
        inside = ".command" if self.place.startswith("features.") else ""
        return f"stackmap.{self.place}{inside}"


GROUPS = {
    "Look": {
        "tree": Command("cli.tree", "Show the storage stacks, from volumes down to disks"),
        "iostat": Command("cli.iostat", "Show I/O statistics per device or per layer"),
        "top": Command("features.top", "Show the stack live in a full-screen terminal"),
        "trace": Command(
            "features.trace",
            "Show latency and request sizes per layer",
            {
                "record": "additions:record_trace",
                "blame": "additions:blame_trace",
                "iostat": "additions:iostat_prove",
                "topology": "traced_topology:with_traced_rows",
                "traced": "traced_topology:trace_of",
            },
        ),
        "annotate": Command("cli.annotate", "Add LV names to iostat, sar or sadf output"),
    },
    "Judge": {
        "explain": Command("cli.explain", "Find what is slow: workload, layout or a sick disk"),
        "blame": Command("cli.blame", "Show which volumes load a disk"),
        "check": Command(
            "cli.check", "Check alignment, chunks, stripes, sector sizes, errors and health"
        ),
    },
    "Change": {
        "whatif": Command(
            "features.whatif",
            "Project the measured load on another layout",
            {
                "api": "project:whatif",
                "iostat": "additions:iostat_headroom",
                "headroom": "additions:headroom_blocks",
            },
        ),
        "plan": Command(
            "features.plan", "Print the commands that convert a volume", {"questions": "inputs:ask"}
        ),
        "fiojob": Command("features.fiojob", "Print the measured load as a fio job"),
        "compare": Command(
            "features.compare", "Compare two recordings of a volume at similar load"
        ),
        "report": Command("features.report", "Write an HTML or Markdown page for a change request"),
    },
    "Keep": {
        "record": Command("cli.record", "Record topology and counters into a capture"),
        "export": Command("features.export", "Export figures over time as OpenMetrics or Parquet"),
        "fleet": Command("features.fleet", "Show what RAID costs on the volumes of all hosts"),
        "setup-files": Command(
            "features.setup_files", "Put manual, completion, services and rules in place"
        ),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def added_names(place: str) -> list[str]:
    """Return the names of what features add to *place*; nothing is imported."""
    return [
        command.adds[place].partition(":")[2]
        for command in COMMANDS.values()
        if place in command.adds
    ]


def additions(place: str) -> Iterator[Any]:
    """Import what features add to *place*."""
    for command in COMMANDS.values():
        if place in command.adds:
            module, _, name = command.adds[place].partition(":")
            yield getattr(importlib.import_module(f"stackmap.{command.place}.{module}"), name)
