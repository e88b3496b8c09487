"""
What each device-mapper target's words mean: one line a target, one function a meaning.

A target that is not here is no error: its devices are those that sysfs lists
below it, and nothing is known of what they are for (KERNEL 4.1 has the forms).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackmap.model.device import Kind
from stackmap.model.raid import Layout
from stackmap.sources.dm_targets import mapping, multipath, pooling, raid
from stackmap.sources.dm_targets.segment import Below, Segment, Told


def _no_devices(_: Segment) -> list[Below]:
    return []


def _no_layout(_: Segment) -> Layout | None:
    return None


def _no_facts(_: Segment) -> Mapping[str, str]:
    return {}


IN_USE = Told("active")


def _in_use(_: Segment) -> Told:
    return IN_USE


@dataclass(frozen=True, slots=True)
class Target:
    """How to read a target: devices, layout and facts from its table, the rest from its status."""

    name: str
    below: Callable[[Segment], list[Below]] = _no_devices
    layout: Callable[[Segment], Layout | None] = _no_layout
    facts: Callable[[Segment], Mapping[str, str]] = _no_facts
    status: Callable[[Segment], Told] = _in_use
    kind: Kind = Kind.DM


TARGETS = {
    target.name: target
    for target in (
        Target("linear", mapping.linear),
        Target("striped", mapping.striped, mapping.striped_layout, status=mapping.striped_status),
        Target("raid", raid.raid, raid.raid_layout, raid.raid_facts, raid.raid_status),
        Target("mirror", raid.mirror, raid.mirror_layout, status=raid.mirror_status),
        Target("crypt", mapping.crypt, facts=mapping.crypt_facts, kind=Kind.CRYPT),
        Target(
            "multipath",
            multipath.multipath,
            facts=multipath.multipath_facts,
            status=multipath.multipath_status,
            kind=Kind.MULTIPATH,
        ),
        Target(
            "thin-pool",
            pooling.thin_pool,
            facts=pooling.thin_pool_facts,
            status=pooling.thin_pool_status,
            kind=Kind.THIN_POOL,
        ),
        Target(
            "thin",
            pooling.thin,
            facts=pooling.thin_facts,
            status=pooling.thin_status,
            kind=Kind.THIN,
        ),
        Target(
            "cache",
            pooling.cache,
            facts=pooling.cache_facts,
            status=pooling.cache_status,
            kind=Kind.CACHE,
        ),
        Target(
            "writecache",
            pooling.writecache,
            facts=pooling.writecache_facts,
            status=pooling.writecache_status,
            kind=Kind.CACHE,
        ),
        Target(
            "snapshot",
            pooling.snapshot,
            facts=pooling.snapshot_facts,
            status=pooling.snapshot_status,
            kind=Kind.SNAPSHOT,
        ),
        Target(
            "snapshot-merge",
            pooling.snapshot,
            facts=pooling.snapshot_facts,
            status=pooling.snapshot_status,
        ),
        Target("snapshot-origin", mapping.every_device),
        Target(
            "integrity",
            mapping.integrity,
            facts=mapping.integrity_facts,
            status=mapping.integrity_status,
        ),
        Target("verity", mapping.verity, facts=mapping.verity_facts, status=mapping.verity_status),
        Target("era", pooling.era),
        Target("clone", pooling.clone, status=pooling.clone_status),
        Target("delay", mapping.delay, facts=mapping.delay_facts),
        Target("flakey", mapping.linear),
        Target("dust", mapping.linear),
        Target("ebs", mapping.linear),
        Target("unstriped", mapping.unstriped),
        Target("switch", mapping.switch),
        Target("log-writes", mapping.log_writes),
        Target("zoned", mapping.every_device),
        Target("vdo", mapping.vdo, status=mapping.vdo_status),
        Target("zero"),
        Target("error", mapping.every_device, status=mapping.failing),
    )
}

UNKNOWN = Target("")


def reports(name: str) -> bool:
    """Whether the target called *name* tells more in its status than that it is in use."""
    return target(name).status is not _in_use


def target(name: str) -> Target:
    """Return how to read the target called *name*."""
    return TARGETS.get(name, UNKNOWN)
