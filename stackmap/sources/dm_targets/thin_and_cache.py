"""Targets with a mapping of their own: thin pools, snapshots, caches, clones, eras."""

from __future__ import annotations

from stackmap.model.device import Role
from stackmap.model.units import SECTOR
from stackmap.sources.dm_targets.segment import (
    Below,
    DmStatus,
    Segment,
    counted_words,
    fraction,
    is_device,
    sectors_to_bytes,
)
from stackmap.sources.progress import percent

_MODES = {"rw": "active", "ro": "read-only", "out_of_data_space": "out of data space"}
_BROKEN = {
    "Fail": "failed",
    "Error": "failed",
    "Invalid": "invalid",
    "Merge": "merge failed",
    "Overflow": "overflow",
    "Unknown": "unknown",
}
# Words 4 to 10 of a cache's status (cache.rst); demotions precede promotions.
CACHE_COUNTERS = (
    "read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions", "dirty",
)  # fmt: skip


def failure(status: Segment) -> DmStatus | None:
    """Return the state of a one-word status, None for a status with figures."""
    word = status.words[0] if status.words else ""
    return DmStatus(_BROKEN[word]) if word in _BROKEN else None


def thin_pool_facts(segment: Segment) -> dict[str, str]:
    """Return the block size and the features."""
    chosen, _ = counted_words((*segment.words[4:], "0"))
    facts = {"block": str(sectors_to_bytes(segment.words[2]))}
    return facts | ({"features": " ".join(chosen)} if chosen else {})


def thin_pool_status(status: Segment) -> DmStatus:
    """``transaction used/total used/total root mode …``: metadata first, then data."""
    if told := failure(status):
        return told
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
    if told := failure(status):
        return told
    mapped = int(status.words[0])
    return DmStatus("active", facts={"mapped": percent(mapped * SECTOR, status.length)})


def snapshot_status(status: Segment) -> DmStatus:
    """``allocated/total metadata``, in sectors."""
    if told := failure(status):
        return told
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
    if told := failure(status):
        return told
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
    """``error blocks free writeback …``."""
    error, blocks, free, dirty = status.words[:4]
    facts = {
        "cache used": percent(int(blocks) - int(free), int(blocks)),
        "dirty": percent(int(dirty), int(blocks)),
    }
    counts = {"total": int(blocks), "free": int(free), "writeback": int(dirty)}
    return DmStatus("active" if error == "0" else "failed", facts=facts, counts=counts)


def clone_status(status: Segment) -> DmStatus:
    """``block used/total region hydrated/total …``: regions copied so far."""
    if told := failure(status):
        return told
    done, total = fraction(status.words[3])
    return DmStatus("active" if done >= total else f"hydrate {percent(done, total)}")
