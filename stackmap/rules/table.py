"""The table of all rules, and what they find on a machine."""

from collections.abc import Container, Iterable, Iterator
from math import inf

from stackmap.model.topology import NO_TOPOLOGY
from stackmap.rules import (
    alignment,
    cache,
    copy_on_write,
    disk,
    errors,
    hung,
    metadata_io,
    parity,
    paths,
    peers,
    queue_depth,
    request_sizes,
    reserved,
    saturation,
    settings,
    slowed,
    state,
    throttle,
    unjudged,
    waiting,
)
from stackmap.rules.checks import SETUP
from stackmap.rules.context import Context
from stackmap.rules.rule import SHORT, Finding, Observation, PerStack, Rule, Severity, rank

# Causes before their effects: findings of one severity are reported in this order.
RULES: tuple[Rule, ...] = (
    hung.hung,
    hung.suspended,
    state.broken,
    reserved.reserved_places,
    state.metadata_read_only,
    state.vdo_read_only,
    state.passing_state,
    state.became_read_only,
    *errors.ERRORS,
    copy_on_write.thin_pool_data,
    copy_on_write.thin_pool_metadata,
    copy_on_write.vdo_pool_data,
    copy_on_write.snapshot_space,
    state.background_work,
    state.unexplained_reads,
    settings.swapping,
    disk.sick_disk,
    throttle.throttled,
    throttle.over_limit,
    throttle.provider_limit,
    throttle.too_hot,
    throttle.cost_limited,
    throttle.latency_limited,
    disk.remote_wait,
    waiting.neighbour,
    slowed.slowed_disk,
    slowed.slowed_remote,
    peers.slow_member,
    slowed.slower_than_like_disks,
    paths.slow_path,
    paths.detour,
    paths.unequal_paths,
    paths.one_path,
    alignment.misaligned,
    cache.cache_passthrough,
    cache.cache_misses,
    cache.cache_copies,
    copy_on_write.snapshot_copies,
    copy_on_write.thin_first_touch,
    metadata_io.metadata_cost,
    metadata_io.metadata_writes,
    metadata_io.flush_bound,
    metadata_io.fsync_storm,
    request_sizes.small_chunk,
    throttle.md_bound,
    request_sizes.request_limit,
    parity.partial_stripe,
    parity.write_cost,
    request_sizes.not_merged,
    peers.unequal_load,
    waiting.layer_wait,
    saturation.overloaded,
    queue_depth.evident_overload,
    waiting.long_wait,
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
    settings.loop_cached,
    cache.cache_dirty,
    cache.cache_hits,
    hung.stuck_counter,
    hung.impossible,
    unjudged.counters_corrected,
    request_sizes.merged,
    *SETUP,
)


def findings(context: Context, part: Container[str] | None = None) -> list[Finding]:
    """Return the findings about a load on the devices in *part* (None: all), the worst first."""
    judging = Judging(context, part)
    for _ in judging.steps():
        pass
    return judging.findings()


class Judging:
    """
    The rules that judge a load, in ``steps``: a caller may pause after each, and go on later.

    After the last step, ``findings`` has what they found on the devices in *part* (None: all).
    """

    def __init__(self, context: Context, part: Container[str] | None = None) -> None:
        # A text's totals since boot are no rates, and its averages since boot no present load.
        interval = context.interval
        no_load = interval.since_boot and interval.seconds is None
        rules = (
            rule
            for rule in RULES
            if rule.needs_load
            and (
                not (no_load and rule.thresholds)
                or rule.is_state
                or (rule.compares_peers and not interval.totals)
            )
        )
        self._context, self._part = context, part
        self._heaviest: dict[Rule, dict[str, Observation]] = {rule: {} for rule in rules}

    def steps(self) -> Iterator[None]:
        """Judge by one rule, or one stack by all rules that judge stacks, at each step."""
        per_stack: list[tuple[Rule, PerStack]] = []
        for rule in self._heaviest:
            if isinstance(rule.find, PerStack):
                per_stack.append((rule, rule.find))
            else:
                self._add(rule, rule.find(self._context, rule.limits))
                yield
        for stack in self._context.stacks(self._part) if per_stack else ():
            for rule, find in per_stack:
                self._add(rule, find.judge(self._context, stack, rule.limits))
            yield

    def _add(self, rule: Rule, observations: Iterable[Observation]) -> None:
        """Keep the heaviest observation per device."""
        heaviest = self._heaviest[rule]
        for observed in observations:
            known = heaviest.get(observed.device)
            if known is None or observed.weight > known.weight:
                heaviest[observed.device] = observed

    def findings(self) -> list[Finding]:
        """Return the findings of all steps so far, the worst first."""
        context = self._context
        candidates = [
            Finding(rule, downgrade_if_light(rule, context, observed))
            for rule, heaviest in self._heaviest.items()
            for observed in sorted(heaviest.values(), key=lambda observed: -observed.weight)
        ]
        reported = {(finding.rule.id, finding.device) for finding in candidates}
        # The load that overloads one disk also fills the queues of its peers.
        overload = saturation.overloaded.id
        overloaded = [device for rule, device in reported if rule == overload]
        reported |= {(overload, peer) for name in overloaded for peer in context.peers_of(name)}
        kept = [
            finding
            for finding in candidates
            if (self._part is None or finding.device in self._part)
            and not any((rule, finding.device) in reported for rule in finding.rule.superseded_by)
        ]
        # One finding per rule for peers that have the same cause: the heaviest. Without a topology, one remark is for all disks.
        joined: dict[object, Finding] = {}
        unknown = NO_TOPOLOGY in context.topology.unknown
        for finding in kept:
            device, rule = finding.device, finding.rule
            names = context.peers_of(device) if rule.joins_peers else (device,)
            if unknown and rule.joins_peers and not finding.is_grave:
                names = ()
            key = (rule.id, finding.severity, names)
            first = joined.setdefault(key, finding)
            if first is not finding:
                joined[key] = first.joined_by(finding, context.topology[device].title)
        # Sorting is stable: of one rank, the order of RULES stays.
        return sorted(joined.values(), key=rank)


def downgrade_if_light(rule: Rule, context: Context, observed: Observation) -> Observation:
    """Return *observed*, as a remark if *rule* warns of a cost and the load of the disks is light."""
    limits, severity = rule.limits, observed.severity or rule.severity
    if severity is not Severity.WARNING or not limits.keys() >= SHORT.keys():
        return observed
    light = context.is_light(observed.device, limits.get("light_rate", inf), limits["light_queue"])
    return observed._replace(severity=Severity.INFO) if light else observed
