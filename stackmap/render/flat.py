"""Devices as lines for scripts: pairs, and words by blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackmap.model.topology import Topology
from stackmap.render.columns import Column
from stackmap.render.text import safe

_NO_NAME = re.compile(r"[^A-Z0-9]")
_UNQUOTED = re.compile(r'["\\$`]')


def render_pairs(topology: Topology, columns: Sequence[Column], *, exact: bool = False) -> str:
    """Return a line a device, ``NAME="value"`` a column, fit for a shell to read."""
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
    r"""Return a line a device, values apart by one blank, blanks in them as ``\x20``, "" as ``-``."""
    lines = [[column.name for column in columns]] if heading else []
    lines += [[_word(c.of_device(device, exact=exact)) for c in columns] for device in topology]
    return "".join(" ".join(line) + "\n" for line in lines)


def _quoted(text: str) -> str:
    """Return *text* so that a shell that evaluates the pair gets it back, whatever is in it."""
    return _UNQUOTED.sub(lambda found: f"\\x{ord(found[0]):02x}", safe(text))


def _word(text: str) -> str:
    return safe(text).replace(" ", r"\x20") or "-"
