"""What a terminal shows of a document."""

from __future__ import annotations

from stackmap.render.terminal import Style, rendered


def render_text(blocks, style=None):
    """Return the lines of *blocks* as one text."""
    return "".join(rendered(blocks, style or Style()))
