"""The kernel's symbols: /proc/kallsyms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.host import Host

PATH = "/proc/kallsyms"


def read(host: Host, names: Iterable[str]) -> dict[str, int]:
    """Return the addresses of the functions *names* that exist; all are 0 without root."""
    return parse(host.read(PATH), names)


def parse(text: str, names: Iterable[str]) -> dict[str, int]:
    r"""
    Return the addresses of the functions *names*; a static function that occurs twice is left out.

    >>> parse("ffff8000 t bio_endio\nffff9000 t bio_endio.cold\n", ["bio_endio", "none"])
    {'bio_endio': 4294934528}
    """
    found = {}
    for name in names:
        hits = re.findall(rf"^([0-9a-f]+) [tTwW] {re.escape(name)}(?:\t.*)?$", text, re.MULTILINE)
        if len(hits) == 1:
            found[name] = int(hits[0], 16)
    return found
