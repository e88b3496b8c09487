"""``raid`` (md's levels under device-mapper) and the older ``mirror``."""

from __future__ import annotations

from stackmap.model.device import NEVER_SYNCED, Role
from stackmap.model.raid import Layout, layout
from stackmap.sources.dm_targets.passthrough import device_offset_pairs
from stackmap.sources.dm_targets.segment import (
    Below,
    DmStatus,
    Segment,
    counted_words,
    fraction,
    is_device,
    sectors_to_bytes,
)
from stackmap.sources.progress import percent, raid_state

HEALTH_STATES = {"A": "active", "a": "out of sync", "D": "failed"}


def members(words: tuple[str, ...]) -> tuple[str, ...]:
    """
    Return the ``META DATA …`` words at the end of a raid table.

    They are found from the right, where ``#devs`` precedes twice as many devices:
    some kernels print a wrong number of parameters (dm-raid 1.15.1).
    """
    start = len(words)
    while start and (words[start - 1] == "-" or is_device(words[start - 1])):
        start -= 1
    if not start or int(words[start - 1]) * 2 != len(words) - start:
        raise ValueError(f"{len(words) - start} devices, expected {words[start - 1 : start]}")
    return words[start:]


def raid(segment: Segment) -> list[Below]:
    """``type #parameters chunk … #devs (META DATA)…``, ``-`` for a missing device."""
    devices = members(segment.words)
    roles = (Role.METADATA, Role.DATA)
    return [
        Below(number, roles[place % 2], 0) for place, number in enumerate(devices) if number != "-"
    ]


def raid_layout(segment: Segment) -> Layout | None:
    """Return level, chunk and copies; raid10 without a format is near with 2 copies."""
    words = segment.words
    level, _, variant = words[0].partition("_")
    if not level.startswith("raid"):
        return None
    copies = None
    if level == "raid10":
        variant = _word_after(words, "raid10_format") or "near"
        copies = int(_word_after(words, "raid10_copies") or 2)
    chunk = None if level == "raid1" else sectors_to_bytes(words[2])
    return layout(level, len(members(words)) // 2, chunk, copies, variant)


def raid_facts(segment: Segment) -> dict[str, str]:
    """Return write-mostly members, the bitmap's region size, and whether it was never synced."""
    words = segment.words
    spared = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "write_mostly"]
    region = _word_after(words, "region_size")
    facts = {"write mostly": " ".join(spared)} if spared else {}
    facts |= {NEVER_SYNCED: "--nosync"} if "nosync" in words else {}
    return facts | ({"region": str(sectors_to_bytes(region))} if region else {})


def raid_status(status: Segment) -> DmStatus:
    """``type #devs health done/total action mismatches …``, the last ones in newer kernels only."""
    health, progress, *rest = status.words[2:]
    action = rest[0] if rest else "idle"
    done, total = fraction(progress)
    failed = "D" in health or "-" in health
    facts = {"mismatches": rest[1]} if len(rest) > 1 and rest[1] != "0" else {}
    return DmStatus(
        raid_state(failed=failed, action=action, progress=percent(done, total)),
        members=tuple(HEALTH_STATES.get(letter, "missing") for letter in health),
        facts=facts,
    )


def mirror(segment: Segment) -> list[Below]:
    """``log #words … legs (DEV offset)…``; a log on disk is a device among its words."""
    log, rest = counted_words(segment.words[1:])
    legs = int(rest[0])
    return [
        *(Below(word, Role.METADATA, 0) for word in log if is_device(word)),
        *device_offset_pairs(rest[1 : 1 + 2 * legs], segment.length),
    ]


def mirror_layout(segment: Segment) -> Layout | None:
    """Return the number of legs."""
    _, rest = counted_words(segment.words[1:])
    return layout("mirror", int(rest[0]))


def mirror_status(status: Segment) -> DmStatus:
    """``legs DEV… insync/total 1 health …``: a letter other than A is an error of that leg."""
    legs = int(status.words[0])
    progress, _, health = status.words[legs + 1 : legs + 4]
    done, total = fraction(progress)
    return DmStatus(
        raid_state(
            failed=health.strip("A") != "",
            action="resync" if done < total else "idle",
            progress=percent(done, total),
        ),
        paths={
            leg: "active" if letter == "A" else "failed"
            for leg, letter in zip(status.words[1 : legs + 1], health, strict=False)
        },
    )


def _word_after(words: tuple[str, ...], key: str) -> str | None:
    """Return the word after *key*, None without *key*."""
    return words[words.index(key) + 1] if key in words else None
