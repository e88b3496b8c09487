"""The kernel's symbols: /proc/kallsyms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.host import Host

PATH = "/proc/kallsyms"
CODE = frozenset("tTwW")


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
        lines = [line for end in "\n\t" for line in _lines_with(text, f" {name}{end}")]
        words = [line.split(" ", 2) for line in lines]
        addresses = [address for address, kind, _ in words if kind in CODE]
        if len(addresses) == 1:
            found[name] = int(addresses[0], 16)
    return found


def _lines_with(text: str, part: str) -> Iterator[str]:
    """Yield the lines of *text* with *part*, which is much faster than to divide 10 MB into lines."""
    at = text.find(part)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        yield text[start : at + len(part)]
        at = text.find(part, at + len(part) - 1)
