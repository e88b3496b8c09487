"""
A line of a table or status, and the results of reading it.

NamedTuples, not dataclasses: a host with thousands of LVs has thousands of each,
and they take a third of the time to create.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.device import NO_COUNTS, Counts, Role
from stackmap.model.units import SECTOR

NOTHING: Mapping[str, str] = {}


class Segment(NamedTuple):
    """A segment of a device-mapper device: ``start`` and ``length`` in bytes, and the target's words."""

    start: int
    length: int
    target: str
    words: tuple[str, ...]


class Below(NamedTuple):
    """A device that a segment uses: its number, its role, and the part in bytes."""

    number: str
    role: Role
    start: int | None = None
    length: int | None = None


class DmStatus(NamedTuple):
    """
    The content of a status line.

    ``state``: "active", or what is wrong or running; None if the target reports
    none. ``members``: states of devices below in the table's order, "" if unknown.
    ``paths``: states of devices below by number; ``failures``: how often each of them failed.
    ``counts``: see ``TargetStatus``.
    """

    state: str | None = None
    members: tuple[str, ...] = ()
    paths: Mapping[str, str] = NOTHING
    facts: Mapping[str, str] = NOTHING
    counts: Counts = NO_COUNTS
    failures: Mapping[str, int] = NO_COUNTS


def is_device(word: str) -> bool:
    """Whether *word* is a device number ("8:0")."""
    major, _, minor = word.partition(":")
    return major.isdecimal() and minor.isdecimal()


def sectors_to_bytes(word: str) -> int:
    """Return the bytes in *word* sectors."""
    return int(word) * SECTOR


def fraction(word: str) -> tuple[int, int]:
    """Return both numbers of a *word* like ``1024/4096``."""
    done, _, total = word.partition("/")
    return int(done), int(total)


def counted_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that the leading number counts, and the words after them."""
    count = int(words[0])
    return words[1 : 1 + count], words[1 + count :]
