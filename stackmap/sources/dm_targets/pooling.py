"""Targets that keep a map of their own: thin pools, snapshots, caches, clones, eras."""

from __future__ import annotations

from stackmap.model.device import Role
from stackmap.sources.dm_targets.segment import (
    Below,
    Segment,
    Told,
    is_device,
    options,
    sectors,
    share,
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


def broken(status: Segment) -> Told | None:
    """Return what the one-word forms of a status mean, None for a line with figures."""
    word = status.words[0] if status.words else ""
    return Told(_BROKEN[word]) if word in _BROKEN else None


def thin_pool(segment: Segment) -> list[Below]:
    """``META DATA block low_water …``."""
    return [Below(segment.words[0], Role.METADATA, 0), Below(segment.words[1], Role.DATA, 0)]


def thin_pool_facts(segment: Segment) -> dict[str, str]:
    """Return the size of a block, and the features that were asked for."""
    chosen, _ = options((*segment.words[4:], "0"))
    facts = {"block": str(sectors(segment.words[2]))}
    return facts | ({"features": " ".join(chosen)} if chosen else {})


def thin_pool_status(status: Segment) -> Told:
    """``transaction used/total used/total root mode …``: metadata first, then data."""
    if told := broken(status):
        return told
    words = status.words
    facts = {
        "metadata used": percent(*share(words[1])),
        "data used": percent(*share(words[2])),
    }
    if "needs_check" in words:
        return Told("needs check", facts=facts)
    return Told(_MODES.get(words[4], words[4]), facts=facts)


def thin(segment: Segment) -> list[Below]:
    """``POOL id [ORIGIN]``: an origin outside of the pool is only read."""
    pool, _, *origin = segment.words
    return [
        Below(pool, Role.DATA),
        *(Below(number, Role.ORIGIN, 0) for number in origin if is_device(number)),
    ]


def thin_facts(segment: Segment) -> dict[str, str]:
    """Return its number in the pool."""
    return {"thin id": segment.words[1]}


def thin_status(status: Segment) -> Told:
    """``mapped highest``, in sectors."""
    if told := broken(status):
        return told
    mapped = int(status.words[0])
    return Told("active", facts={"mapped": percent(mapped, sectors_of(status))})


def snapshot(segment: Segment) -> list[Below]:
    """``ORIGIN COW P chunk``."""
    return [Below(segment.words[0], Role.ORIGIN, 0), Below(segment.words[1], Role.COW, 0)]


def snapshot_facts(segment: Segment) -> dict[str, str]:
    """Return what is copied at a time."""
    return {"block": str(sectors(segment.words[3]))}


def snapshot_status(status: Segment) -> Told:
    """``allocated/total metadata``, in sectors."""
    if told := broken(status):
        return told
    state = "merging" if status.target == "snapshot-merge" else "active"
    return Told(state, facts={"used": percent(*share(status.words[0]))})


def cache(segment: Segment) -> list[Below]:
    """``META CACHE ORIGIN block …``."""
    metadata, fast, origin = segment.words[:3]
    return [
        Below(origin, Role.ORIGIN, 0),
        Below(fast, Role.CACHE, 0),
        Below(metadata, Role.METADATA, 0),
    ]


def cache_facts(segment: Segment) -> dict[str, str]:
    """Return mode, policy and the size of a block."""
    features, rest = options(segment.words[4:])
    modes = [word for word in features if word in ("writeback", "writethrough", "passthrough")]
    return {
        "mode": modes[0] if modes else "writeback",
        "policy": rest[0],
        "block": str(sectors(segment.words[3])),
    }


def cache_status(status: Segment) -> Told:
    """``block used/total block used/total hits…``: metadata, cache, six counters, dirty blocks."""
    if told := broken(status):
        return told
    words = status.words
    used, total = share(words[3])
    facts = {
        "metadata used": percent(*share(words[1])),
        "cache used": percent(used, total),
        "dirty": percent(int(words[10]), total),
        "read hits": hits(words[4], words[5]),
        "write hits": hits(words[6], words[7]),
    }
    facts = {name: value for name, value in facts.items() if value}
    if words[-1] == "needs_check":
        return Told("needs check", facts=facts)
    return Told("read-only" if "ro" in words[-2:] else "active", facts=facts)


def hits(hit: str, missed: str) -> str:
    """Return the share of *hit*; "" where nothing was asked."""
    total = int(hit) + int(missed)
    return percent(int(hit), total) if total else ""


def writecache(segment: Segment) -> list[Below]:
    """``p|s ORIGIN CACHE block …``; the cache device holds its own metadata."""
    return [Below(segment.words[1], Role.ORIGIN, 0), Below(segment.words[2], Role.CACHE, 0)]


def writecache_facts(segment: Segment) -> dict[str, str]:
    """Return the size of a block: bytes, for once."""
    return {"block": segment.words[3]}


def writecache_status(status: Segment) -> Told:
    """``error blocks free writeback …``."""
    error, blocks, free, dirty = status.words[:4]
    facts = {
        "cache used": percent(int(blocks) - int(free), int(blocks)),
        "dirty": percent(int(dirty), int(blocks)),
    }
    return Told("active" if error == "0" else "failed", facts=facts)


def era(segment: Segment) -> list[Below]:
    """``META ORIGIN block``: the origin holds the data, unchanged."""
    return [Below(segment.words[1], Role.DATA, 0), Below(segment.words[0], Role.METADATA, 0)]


def clone(segment: Segment) -> list[Below]:
    """``META DESTINATION SOURCE region …``."""
    metadata, destination, source = segment.words[:3]
    return [
        Below(destination, Role.DATA, 0),
        Below(source, Role.ORIGIN, 0),
        Below(metadata, Role.METADATA, 0),
    ]


def clone_status(status: Segment) -> Told:
    """``block used/total region hydrated/total …``: regions copied so far."""
    if told := broken(status):
        return told
    done, total = share(status.words[3])
    return Told("active" if done >= total else f"hydrate {percent(done, total)}")


def sectors_of(status: Segment) -> int:
    """Return the length of a segment in sectors, as a status line counts."""
    return status.length // sectors("1")
