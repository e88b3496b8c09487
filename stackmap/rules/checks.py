"""The rules that need no load, and what they find on a machine: what ``check`` imports."""

from __future__ import annotations

from stackmap.rules import (
    alignment,
    array_setup,
    block_sizes,
    cache,
    fullness,
    recorded_key,
    request_limit,
    state,
)
from stackmap.rules.context import Context
from stackmap.rules.rule import Finding, Rule, Severity

# The rules of ``explain`` that judge a state, in the order of its table.
STATE: tuple[Rule, ...] = (
    state.broken,
    state.metadata_read_only,
    fullness.thin_pool_data,
    fullness.thin_pool_metadata,
    fullness.snapshot_space,
    state.background_work,
    cache.cache_passthrough,
    request_limit.request_limit,
    state.never_synced,
    cache.cache_dirty,
)
SETUP: tuple[Rule, ...] = (
    recorded_key.recorded_key,
    alignment.start,
    alignment.stripe_start,
    alignment.alignment_offset,
    array_setup.mixed_members,
    array_setup.same_disk_twice,
    array_setup.no_bitmap,
    array_setup.stripe_cache_size,
    block_sizes.crypt_sector,
    block_sizes.thin_chunk,
    block_sizes.file_system_stripe,
    block_sizes.optimal_size,
)
ORDER = {severity: number for number, severity in enumerate(Severity)}


def checks(context: Context) -> list[Finding]:
    """Return what the rules that need no load find: top down, the worst first on each device."""
    place = {device.name: number for number, (device, _) in enumerate(context.topology.rows())}
    found = [
        Finding(rule, each) for rule in (*STATE, *SETUP) for each in rule.find(context, rule.limits)
    ]
    return sorted(found, key=lambda each: (place.get(each.device, -1), ORDER[each.severity]))
