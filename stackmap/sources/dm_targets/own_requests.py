"""
Targets that create requests of their own: md's levels under device-mapper and targets with a mapping.

``raid`` and the older ``mirror``; thin pools, snapshots, caches, clones.
"""

from stackmap.model.device import NEVER_SYNCED, Role
from stackmap.model.raid import Layout, layout, raid_state
from stackmap.model.units import SECTOR, percent
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
    mismatches = rest[1] if len(rest) > 1 else ""
    return DmStatus(
        raid_state(
            failed=failed, action=action, progress=percent(done, total), behind="a" in health
        ),
        members=tuple(HEALTH_STATES.get(letter, "missing") for letter in health),
        facts={"mismatches": mismatches} if mismatches not in ("", "0") else {},
        counts={"mismatched_sectors": int(mismatches)} if mismatches else {},
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
    """``legs DEV… insync/total 1 health words log DEV health``: a letter other than A is an error of that leg or of the log."""
    legs = int(status.words[0])
    progress, _, health = status.words[legs + 1 : legs + 4]
    done, total = fraction(progress)
    log = status.words[legs + 5 :]  # ("disk", DEV, letter), or ("core",)
    on_disk = {log[1]: log[2]} if len(log) > 2 and log[0] != "core" else {}
    legs_and_log = [*zip(status.words[1 : legs + 1], health, strict=False), *on_disk.items()]
    return DmStatus(
        raid_state(
            failed=any(letter != "A" for _, letter in legs_and_log),
            action="resync" if done < total else "idle",
            progress=percent(done, total),
        ),
        paths={device: "active" if letter == "A" else "failed" for device, letter in legs_and_log},
    )


def _word_after(words: tuple[str, ...], key: str) -> str | None:
    return words[words.index(key) + 1] if key in words else None


_MODES = {"rw": "active", "ro": "read-only", "out_of_data_space": "out of data space"}
# Words 4 to 10 of a cache's status (cache.rst); demotions precede promotions.
CACHE_COUNTERS = (
    "read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions", "dirty",
)  # fmt: skip


def thin_pool_facts(segment: Segment) -> dict[str, str]:
    """Return the block size and the features."""
    chosen, _ = counted_words((*segment.words[4:], "0"))
    facts = {"block": str(sectors_to_bytes(segment.words[2]))}
    return facts | ({"features": " ".join(chosen)} if chosen else {})


def thin_pool_status(status: Segment) -> DmStatus:
    """``transaction used/total used/total root mode …``: metadata first, then data."""
    words = status.words
    counts = {**_used("metadata_", words[1]), **_used("data_", words[2])}
    facts = {
        "metadata used": percent(*fraction(words[1])),
        "data used": percent(*fraction(words[2])),
    }
    state = "needs check" if "needs_check" in words else _MODES.get(words[4], words[4])
    return DmStatus(state, facts=facts, counts=counts)


def thin(segment: Segment) -> list[Below]:
    """``POOL id [ORIGIN]``: an external origin is only read."""
    pool, _, *origin = segment.words
    return [
        Below(pool, Role.DATA),
        *(Below(number, Role.ORIGIN, 0) for number in origin if is_device(number)),
    ]


def thin_status(status: Segment) -> DmStatus:
    """``mapped highest``, in sectors."""
    mapped = int(status.words[0])
    return DmStatus("active", facts={"mapped": percent(mapped * SECTOR, status.length)})


def snapshot_status(status: Segment) -> DmStatus:
    """``allocated/total metadata``, in sectors."""
    state = "merging" if status.target == "snapshot-merge" else "active"
    facts = {"used": percent(*fraction(status.words[0]))}
    return DmStatus(state, facts=facts, counts=_used("", status.words[0]))


def cache_facts(segment: Segment) -> dict[str, str]:
    """Return mode, policy and block size."""
    features, rest = counted_words(segment.words[4:])
    modes = [word for word in features if word in ("writeback", "writethrough", "passthrough")]
    return {
        "mode": modes[0] if modes else "writeback",
        "policy": rest[0],
        "block": str(sectors_to_bytes(segment.words[3])),
    }


def cache_status(status: Segment) -> DmStatus:
    """``block used/total block used/total hits…``: metadata, cache, six counters, dirty blocks."""
    words = status.words
    used, total = fraction(words[3])
    facts = {
        "metadata used": percent(*fraction(words[1])),
        "cache used": percent(used, total),
        "dirty": percent(int(words[10]), total),
        "read hits": hit_ratio(words[4], words[5]),
        "write hits": hit_ratio(words[6], words[7]),
    }
    facts = {name: value for name, value in facts.items() if value}
    counts = {**_used("metadata_", words[1]), **_used("", words[3])}
    counts |= zip(CACHE_COUNTERS, map(int, words[4:11]), strict=True)
    if words[-1] == "needs_check":
        return DmStatus("needs check", facts=facts, counts=counts)
    return DmStatus("read-only" if "ro" in words[-2:] else "active", facts=facts, counts=counts)


def _used(name: str, word: str) -> dict[str, int]:
    """Return the two numbers of a *word* like ``12/96`` as counts."""
    used, total = fraction(word)
    return {f"{name}used": used, f"{name}total": total}


def hit_ratio(hit: str, missed: str) -> str:
    """Return the share of *hit*; "" without requests."""
    total = int(hit) + int(missed)
    return percent(int(hit), total) if total else ""


def writecache_status(status: Segment) -> DmStatus:
    """``error blocks free writeback …``: blocks, and how many are being written back (writecache.rst)."""
    error, blocks, free, writeback = status.words[:4]
    facts = {
        "cache used": percent(int(blocks) - int(free), int(blocks)),
        "writeback": percent(int(writeback), int(blocks)),
    }
    counts = {"total": int(blocks), "free": int(free), "writeback": int(writeback)}
    return DmStatus("active" if error == "0" else "failed", facts=facts, counts=counts)


def clone_status(status: Segment) -> DmStatus:
    """``block used/total region hydrated/total …``: regions copied so far."""
    done, total = fraction(status.words[3])
    return DmStatus("active" if done >= total else f"hydrate {percent(done, total)}")
