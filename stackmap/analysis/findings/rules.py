"""The table of all rules, and what they find on a machine."""

from __future__ import annotations

from stackmap.analysis.findings import (
    alignment,
    array_setup,
    block_sizes,
    cache,
    copy_on_write,
    counters,
    disk,
    fullness,
    metadata_io,
    parity,
    peers,
    queue_depth,
    raid_thread,
    request_limit,
    request_sizes,
    saturation,
    settings,
    state,
    target_modes,
    throttle,
    write_cost,
)
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Finding, Observation, Rule, Severity

# Causes before their effects: findings of one severity are reported in this order.
RULES: tuple[Rule, ...] = (
    state.broken,
    target_modes.metadata_read_only,
    fullness.thin_pool_data,
    fullness.thin_pool_metadata,
    fullness.snapshot_space,
    state.background_work,
    state.unexplained_reads,
    disk.sick_disk,
    throttle.throttled,
    peers.slow_member,
    alignment.misaligned,
    cache.cache_passthrough,
    cache.cache_misses,
    cache.cache_copies,
    copy_on_write.snapshot_copies,
    copy_on_write.thin_first_touch,
    write_cost.metadata_cost,
    metadata_io.metadata_writes,
    metadata_io.flush_bound,
    request_sizes.small_chunk,
    raid_thread.md_bound,
    request_limit.request_limit,
    parity.partial_stripe,
    write_cost.write_cost,
    request_sizes.not_merged,
    peers.unequal_load,
    saturation.overloaded,
    queue_depth.long_queue,
    disk.slow_transfer,
    queue_depth.busy_is_not_full,
    queue_depth.knee,
    queue_depth.coupled,
    state.never_synced,
    settings.stripe_cache,
    settings.no_scheduler,
    settings.queue_full,
    settings.read_ahead,
    settings.write_through,
    cache.cache_dirty,
    cache.cache_hits,
    counters.stuck_counter,
    counters.counters_corrected,
    request_sizes.merged,
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


def findings(context: Context) -> list[Finding]:
    """Return what the rules that judge a load find, the worst first."""
    found = [each for rule in RULES if rule.needs_load for each in _heaviest(rule, context)]
    reported = {(each.rule.id, each.device) for each in found}
    kept = [
        each
        for each in found
        if not any((rule, each.device) in reported for rule in each.rule.superseded_by)
    ]
    # Sorting is stable: within a severity, the order of RULES stays.
    return sorted(kept, key=lambda each: ORDER[each.severity])


def _heaviest(rule: Rule, context: Context) -> list[Finding]:
    """Return what *rule* finds, the heaviest observation per device, by falling weight."""
    heaviest: dict[str, Observation] = {}
    for each in rule.find(context, rule.limits):
        if each.device not in heaviest or each.weight > heaviest[each.device].weight:
            heaviest[each.device] = each
    ordered = sorted(heaviest.values(), key=lambda each: -each.weight)
    return [Finding(rule, each) for each in ordered]


def checks(context: Context) -> list[Finding]:
    """Return what the rules that need no load find: top down, the worst first on each device."""
    place = {device.name: number for number, (device, _) in enumerate(context.topology.rows())}
    found = [
        Finding(rule, each)
        for rule in RULES
        if not rule.needs_load or rule.is_state
        for each in rule.find(context, rule.limits)
    ]
    return sorted(found, key=lambda each: (place[each.device], ORDER[each.severity]))
