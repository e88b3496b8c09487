"""Devices as lines for scripts: pairs, or space-separated values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackmap.model.topology import Topology
from stackmap.render.columns import Column
from stackmap.render.text import safe

_NO_NAME = re.compile(r"[^A-Z0-9]")
_UNQUOTED = re.compile(r'["\\$`]')


def render_pairs(topology: Topology, columns: Sequence[Column], *, exact: bool = False) -> str:
    """Return a line per device, ``NAME="value"`` per column, safe to evaluate in a shell."""
    names = [_NO_NAME.sub("_", column.name) for column in columns]
    return "".join(
        " ".join(
            f'{name}="{_quoted(column.of_device(device, exact=exact))}"'
            for name, column in zip(names, columns, strict=True)
        )
        + "\n"
        for device in topology
    )


def render_raw(
    topology: Topology, columns: Sequence[Column], *, heading: bool = True, exact: bool = False
) -> str:
    r"""Return a line per device, values separated by a space; a space inside is ``\x20``, "" is ``-``."""
    lines = [[column.name for column in columns]] if heading else []
    for device in topology:
        values = (safe(column.of_device(device, exact=exact)) for column in columns)
        lines.append([value.replace(" ", r"\x20") or "-" for value in values])
    return "".join(" ".join(line) + "\n" for line in lines)


def _quoted(text: str) -> str:
    """Return *text* without characters that a shell would interpret."""
    return _UNQUOTED.sub(lambda found: f"\\x{ord(found[0]):02x}", safe(text))
