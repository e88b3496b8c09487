"""
How to read each device-mapper target's words: one line per target, one function per meaning.

An unknown target is not an error: its devices come from sysfs, without roles. The
forms are those of each target's ``.status`` function in the kernel (drivers/md/dm-*.c).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from stackmap.model.device import Kind, Role
from stackmap.model.raid import Layout
from stackmap.sources.dm_targets import multipath, passthrough, raid, thin_and_cache
from stackmap.sources.dm_targets.segment import Below, DmStatus, Segment, sectors_to_bytes

ACTIVE = DmStatus("active")
DAMAGE = (ValueError, IndexError, KeyError, ArithmeticError)  # words that a reader does not expect


def _active(_: Segment) -> DmStatus:
    return ACTIVE


def _places(*places: tuple[int, Role]) -> Callable[[Segment], list[Below]]:
    """Return a reader of whole devices: the indexes of their words, with their roles."""
    return lambda segment: [Below(segment.words[place], role, 0) for place, role in places]


def _offset_at(place: int) -> Callable[[Segment], list[Below]]:
    """Return a reader of ``DEV offset`` at an index."""

    def below(segment: Segment) -> list[Below]:
        number, start = segment.words[place : place + 2]
        return [Below(number, Role.DATA, sectors_to_bytes(start), segment.length)]

    return below


def _fact(name: str, place: int) -> Callable[[Segment], Mapping[str, str]]:
    """Return a reader of one word as a fact."""
    return lambda segment: {name: segment.words[place]}


def _block_at(place: int) -> Callable[[Segment], Mapping[str, str]]:
    """Return a reader of a block size in sectors."""
    return lambda segment: {"block": str(sectors_to_bytes(segment.words[place]))}


class Target(NamedTuple):
    """Readers of a target: devices, layout and facts from its table, the rest from its status."""

    name: str
    below: Callable[[Segment], list[Below]] = lambda _: []
    layout: Callable[[Segment], Layout | None] = lambda _: None
    facts: Callable[[Segment], Mapping[str, str]] = lambda _: {}
    status: Callable[[Segment], DmStatus] = _active
    kind: Kind = Kind.DM


TARGETS = {
    target.name: target
    for target in (
        Target("linear", _offset_at(0)),
        Target("striped", passthrough.striped, passthrough.striped_layout, status=passthrough.striped_status),
        Target("raid", raid.raid, raid.raid_layout, raid.raid_facts, raid.raid_status),
        Target("mirror", raid.mirror, raid.mirror_layout, status=raid.mirror_status),
        # cipher key iv_offset DEV offset: the key is not read
        Target("crypt", _offset_at(3), facts=_fact("cipher", 0), kind=Kind.CRYPT),
        Target("multipath", multipath.multipath, facts=multipath.multipath_facts, status=multipath.multipath_status, kind=Kind.MULTIPATH),
        # META DATA block low_water …
        Target("thin-pool", _places((0, Role.METADATA), (1, Role.DATA)), facts=thin_and_cache.thin_pool_facts, status=thin_and_cache.thin_pool_status, kind=Kind.THIN_POOL),
        Target("thin", thin_and_cache.thin, facts=_fact("thin id", 1), status=thin_and_cache.thin_status, kind=Kind.THIN),
        # META CACHE ORIGIN block …
        Target("cache", _places((2, Role.ORIGIN), (1, Role.CACHE), (0, Role.METADATA)), facts=thin_and_cache.cache_facts, status=thin_and_cache.cache_status, kind=Kind.CACHE),
        # p|s ORIGIN CACHE block …: the cache device has its own metadata, and the block size is in bytes
        Target("writecache", _places((1, Role.ORIGIN), (2, Role.CACHE)), facts=_fact("block", 3), status=thin_and_cache.writecache_status, kind=Kind.CACHE),
        # ORIGIN COW P chunk
        Target("snapshot", _places((0, Role.ORIGIN), (1, Role.COW)), facts=_block_at(3), status=thin_and_cache.snapshot_status, kind=Kind.SNAPSHOT),
        Target("snapshot-merge", _places((0, Role.ORIGIN), (1, Role.COW)), facts=_block_at(3), status=thin_and_cache.snapshot_status),
        Target("snapshot-origin", passthrough.every_device),
        Target("integrity", passthrough.integrity, facts=passthrough.integrity_facts, status=passthrough.integrity_status),
        Target("verity", passthrough.verity, facts=_fact("hash", 7), status=passthrough.verity_status),
        # META ORIGIN block: the origin holds the data unchanged
        Target("era", _places((1, Role.DATA), (0, Role.METADATA))),
        # META DESTINATION SOURCE region …
        Target("clone", _places((1, Role.DATA), (2, Role.ORIGIN), (0, Role.METADATA)), status=thin_and_cache.clone_status),
        Target("delay", passthrough.delay, facts=passthrough.delay_facts),
        Target("flakey", _offset_at(0)),
        Target("dust", _offset_at(0)),
        Target("ebs", _offset_at(0)),
        Target("unstriped", passthrough.unstriped),
        Target("switch", passthrough.switch),
        Target("log-writes", passthrough.log_writes),
        Target("zoned", passthrough.every_device),
        Target("vdo", passthrough.vdo, status=passthrough.vdo_status),
        Target("zero"),
        Target("error", passthrough.every_device, status=lambda _: DmStatus("failed")),
    )
}  # fmt: skip

UNKNOWN = Target("")


def has_status(name: str) -> bool:
    """Whether the status of target *name* says more than that it is in use."""
    return target(name).status is not _active


def target(name: str) -> Target:
    """Return the readers of target *name*."""
    return TARGETS.get(name, UNKNOWN)


def status_of(line: Segment) -> DmStatus:
    """Return the content of a status *line*, nothing known if its words are unexpected."""
    try:
        return target(line.target).status(line)
    except DAMAGE:
        return DmStatus()
