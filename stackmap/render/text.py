"""Text from the system on its way to people: names are untrusted."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, and the marks that reorder what follows (bidi): each could rewrite a terminal.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    r"""
    Return *text* with what could control a terminal spelled out.

    >>> safe("disk\x1b[2J")
    'disk\\x1b[2J'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
