"""Sentences below a table, in its width."""

from __future__ import annotations

import textwrap

from stackmap.render.text import safe


def paragraph(sentence: str, width: int) -> str:
    """Return *sentence* in lines of *width* columns, all but the first set in."""
    return textwrap.fill(safe(sentence), width, subsequent_indent="  ", break_on_hyphens=False)
