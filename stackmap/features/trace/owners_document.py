"""Whose requests are at each layer: ``blame --trace``."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.document.blocks import (
    Block,
    Column,
    Headline,
    Label,
    Paragraph,
    Row,
    Rows,
    Table,
    Value,
)
from stackmap.document.wording import divided, kib, percent, plural
from stackmap.features.trace.owner_figures import Owner
from stackmap.model.topology import Topology

COLUMNS = (
    Column("OWNER", "owner", is_text=True),
    Column("DEVICE", "device", ("device_label",), is_text=True),
    Column("", "direction", is_text=True),
    Column("requests", "requests"),
    Column("KiB", "bytes"),
    Column("KiB per\nrequest", "mean_bytes"),
    Column("ms", "mean_ms"),
)
ROOT = "no control group: kernel threads"
GONE = "a control group that is gone"
LEGEND = (
    "Counted by kernel probes, at each layer by itself: lines of two devices must not be added. A buffered "
    "write belongs to the control group that wrote the data. Below RAID all requests are the kernel's. "
    "ms: mean time until the request was complete."
)


def owner_blocks(
    topology: Topology, found: Sequence[Owner], dropped: int, overhead: float
) -> list[Block]:
    """Return the I/O of control groups and of processes per device; *overhead*: a share of all CPU time."""
    blocks: list[Block] = []
    for key, heading, is_group in (
        ("groups", "control groups and services, traced", True),
        ("processes", "processes, traced", False),
    ):
        rows = [
            row
            for each in found
            if (each.group is not None) is is_group
            for row in _rows(topology, each)
        ]
        if rows:
            table = Table(f"traced-{key}", COLUMNS, (Rows(tuple(rows)),), legend=LEGEND)
            blocks += [Headline((heading,)), table]
    if not blocks:
        blocks.append(Paragraph("No request was traced on these devices."))
    blocks.append(Paragraph(f"overhead of the trace about {percent(overhead, 2)} of all CPU time"))
    if dropped:
        blocks.append(
            Paragraph(
                f"{plural(dropped, 'request')} could not be counted: too many owners.", "But:"
            )
        )
    return blocks


def _rows(topology: Topology, found: Owner) -> list[Row]:
    return [
        (
            owner_name(found),
            Label(topology[found.device].title, (found.device, topology[found.device].title)),
            direction,
            Value(part.requests, str),
            Value(part.bytes, kib),
            Value(part.size, kib),
            Value(part.milliseconds, divided(1, 2)),
        )
        for direction, part in sorted(found.parts.items())
    ]


def owner_name(found: Owner) -> str:
    """Return "service mariadb", the path of a group without such a name, or a process with its number."""
    if found.group is None:
        return f"{found.name} {found.number}"
    return found.group.owner or found.group.path or (ROOT if found.number <= 1 else GONE)
