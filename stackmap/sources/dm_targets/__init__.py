"""
How to read each device-mapper target's words: one line per target, one function per meaning.

An unknown target is not an error: its devices come from sysfs, without roles. The
forms are those of each target's ``.status`` function in the kernel (drivers/md/dm-*.c).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackmap.model.device import Kind
from stackmap.model.raid import Layout
from stackmap.sources.dm_targets import multipath, passthrough, raid, thin_and_cache
from stackmap.sources.dm_targets.segment import Below, DmStatus, Segment


def _no_devices(_: Segment) -> list[Below]:
    return []


def _no_layout(_: Segment) -> Layout | None:
    return None


def _no_facts(_: Segment) -> Mapping[str, str]:
    return {}


ACTIVE = DmStatus("active")


def _active(_: Segment) -> DmStatus:
    return ACTIVE


@dataclass(frozen=True, slots=True)
class Target:
    """Readers of a target: devices, layout and facts from its table, the rest from its status."""

    name: str
    below: Callable[[Segment], list[Below]] = _no_devices
    layout: Callable[[Segment], Layout | None] = _no_layout
    facts: Callable[[Segment], Mapping[str, str]] = _no_facts
    status: Callable[[Segment], DmStatus] = _active
    kind: Kind = Kind.DM


TARGETS = {
    target.name: target
    for target in (
        Target("linear", passthrough.linear),
        Target("striped", passthrough.striped, passthrough.striped_layout, status=passthrough.striped_status),
        Target("raid", raid.raid, raid.raid_layout, raid.raid_facts, raid.raid_status),
        Target("mirror", raid.mirror, raid.mirror_layout, status=raid.mirror_status),
        Target("crypt", passthrough.crypt, facts=passthrough.crypt_facts, kind=Kind.CRYPT),
        Target("multipath", multipath.multipath, facts=multipath.multipath_facts, status=multipath.multipath_status, kind=Kind.MULTIPATH),
        Target("thin-pool", thin_and_cache.thin_pool, facts=thin_and_cache.thin_pool_facts, status=thin_and_cache.thin_pool_status, kind=Kind.THIN_POOL),
        Target("thin", thin_and_cache.thin, facts=thin_and_cache.thin_facts, status=thin_and_cache.thin_status, kind=Kind.THIN),
        Target("cache", thin_and_cache.cache, facts=thin_and_cache.cache_facts, status=thin_and_cache.cache_status, kind=Kind.CACHE),
        Target("writecache", thin_and_cache.writecache, facts=thin_and_cache.writecache_facts, status=thin_and_cache.writecache_status, kind=Kind.CACHE),
        Target("snapshot", thin_and_cache.snapshot, facts=thin_and_cache.snapshot_facts, status=thin_and_cache.snapshot_status, kind=Kind.SNAPSHOT),
        Target("snapshot-merge", thin_and_cache.snapshot, facts=thin_and_cache.snapshot_facts, status=thin_and_cache.snapshot_status),
        Target("snapshot-origin", passthrough.every_device),
        Target("integrity", passthrough.integrity, facts=passthrough.integrity_facts, status=passthrough.integrity_status),
        Target("verity", passthrough.verity, facts=passthrough.verity_facts, status=passthrough.verity_status),
        Target("era", thin_and_cache.era),
        Target("clone", thin_and_cache.clone, status=thin_and_cache.clone_status),
        Target("delay", passthrough.delay, facts=passthrough.delay_facts),
        Target("flakey", passthrough.linear),
        Target("dust", passthrough.linear),
        Target("ebs", passthrough.linear),
        Target("unstriped", passthrough.unstriped),
        Target("switch", passthrough.switch),
        Target("log-writes", passthrough.log_writes),
        Target("zoned", passthrough.every_device),
        Target("vdo", passthrough.vdo, status=passthrough.vdo_status),
        Target("zero"),
        Target("error", passthrough.every_device, status=passthrough.failing),
    )
}  # fmt: skip

UNKNOWN = Target("")


def has_status(name: str) -> bool:
    """Whether the status of target *name* says more than that it is in use."""
    return target(name).status is not _active


def target(name: str) -> Target:
    """Return the readers of target *name*."""
    return TARGETS.get(name, UNKNOWN)
