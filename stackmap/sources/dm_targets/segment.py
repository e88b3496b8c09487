"""
The words of one line of a table or status, and what reading them gives.

Tuples with names, not dataclasses: of a host with thousands of LVs there are thousands
of each, and they are made at a third of the cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.device import Role

SECTOR = 512  # bytes; device-mapper's unit whatever the disk's own sector size

NOTHING: Mapping[str, str] = {}

_DEVICE = re.compile(r"\d+:\d+")


class Segment(NamedTuple):
    """A piece of a mapped device, ``start`` and ``length`` in bytes, and the target's own words."""

    start: int
    length: int
    target: str
    words: tuple[str, ...]


class Below(NamedTuple):
    """A device a segment stands on: its number, what for, and which part of it, in bytes."""

    number: str
    role: Role
    start: int | None = None
    length: int | None = None


class DmStatus(NamedTuple):
    """
    What a status line tells.

    ``state``: "active", or what is wrong or under way; None where the target
    tells nothing. ``members``: states of devices below, by their place in the
    table, "" where nothing is told of one. ``paths``: the same by number.
    """

    state: str | None = None
    members: tuple[str, ...] = ()
    paths: Mapping[str, str] = NOTHING
    facts: Mapping[str, str] = NOTHING


def is_device(word: str) -> bool:
    """Whether *word* is a device number ("8:0")."""
    return _DEVICE.fullmatch(word) is not None


def sectors_to_bytes(word: str) -> int:
    """Return bytes for a *word* that counts sectors."""
    return int(word) * SECTOR


def fraction(word: str) -> tuple[int, int]:
    """Return both numbers of a *word* like ``1024/4096``."""
    done, _, total = word.partition("/")
    return int(done), int(total)


def counted_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that a leading count says, and those after them."""
    count = int(words[0])
    return words[1 : 1 + count], words[1 + count :]
