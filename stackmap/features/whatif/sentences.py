"""
What a projection says in sentences: requests and bytes now and projected, the space a layout needs, and what
the figures leave out.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil

from stackmap.document.rule_words import filled
from stackmap.document.sentences import year_range
from stackmap.document.wording import (
    KIB,
    change,
    change_percent,
    number,
    paragraph,
    plural,
    short,
    size,
)
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.projection import CountCheck, DeviceLoad, Projection, WearChange
from stackmap.features.whatif.quantities import Band
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout
from stackmap.model.reason import Reason

WIDE = 3.0  # a band this many times as high as low has no likely value worth naming
VISIBLE = 0.02  # of the high end; a smaller difference needs no range in a sentence
SEPARATE = "`iostat -dxy 1 60` does: give its output with --input."
NARROW = 0.005  # a band narrower than this has no visible width
ALWAYS = (
    Reason("latency", "how long requests take (only their number and size are projected)"),
    Reason("more-io", "more I/O: a faster volume may attract it"),
    Reason("rebuild", "resync, check and rebuild, and a degraded array"),
)
SEVERAL = 1.5  # writes in flight on average
FULL = 0.9  # of the chunk: a larger mean size is that of pieces


def headline(projection: Projection) -> str:
    """Return requests now and projected, and what a written byte costs, in one sentence."""
    if projection.idle:
        return f"{projection.device.title} was idle: there is no load to project."
    where, now, then = compared(projection)
    layout = projection.projected.layout
    level = "one device" if layout is None else layout.level
    if then.requests is None:
        return "The load below the volume cannot be projected."
    if now.requests is None:
        low_high = between(then.requests, short)
        return f"With {level}, {low_high} {where} requests/s; the present ones are unknown."
    rates = f"{requests_change(now.requests, then.requests)} {where} requests/s"
    rates += f" ({_changed(now.requests, then.requests)})"
    if projection.is_check:
        return f"{rates}: this is the present layout, so the change is the error of the model."
    costs = projection.costs
    if costs is None:
        return f"{rates}."
    before, after = number(costs[0], 2), between(costs[1], partial(number, digits=2))
    change = ", as now" if before == after else f" instead of {before}"
    return f"{rates}; with {level}, each byte written costs {after} disk bytes{change}."


def requests_change(now: Band, then: Band) -> str:
    """
    Return requests now and projected; the ends of the range alone where it is wide.

    >>> requests_change(Band(774, 774, 774), Band(307, 334, 384))
    '774 → 334'
    >>> requests_change(Band(147, 147, 147), Band(216, 900, 24071))
    '147 → 216 to 24071'
    """
    ends = f"{short(then.low)} to {short(then.high)}"
    return f"{short(now.likely)} → {ends if is_wide(then) else short(then.likely)}"


def _changed(now: Band, then: Band) -> str:
    """Return the change of requests in percent, with the range of *then* where it has one."""
    if not now.likely:
        return "previously 0"
    if is_wide(then):
        low, high = (change_percent(end / now.likely, 0) for end in (then.low, then.high))
        return f"{low} to {high}"
    changed = change_percent(then.likely / now.likely, 0)
    if then.high - then.low < NARROW:
        return changed
    return f"{changed}, range {short(then.low)} to {short(then.high)}"


def is_wide(band: Band) -> bool:
    """Whether a band is too wide for its likely value to be worth naming."""
    return band.high > WIDE * band.low


def between(band: Band, text: Callable[[float], str]) -> str:
    """Return the likely value of *band*, or its ends if they differ visibly."""
    if band.high - band.low <= VISIBLE * band.high:
        return text(band.likely)
    return f"{text(band.low)} to {text(band.high)}"


def compared(projection: Projection) -> tuple[str, DeviceLoad, DeviceLoad]:
    """Return the lowest layer whose requests are known on both sides: its name, now and projected."""
    now, then = projection.now, projection.projected
    if now.disks.requests is not None and then.disks.requests is not None:
        return "disk", now.disks, then.disks
    return "member", now.members, then.members


def effect(projection: Projection) -> str:
    """Return the effect of the layout below the volume, in sentences."""
    return paragraph((headline(projection), details(projection)))


def details(projection: Projection) -> str:
    """Return the load per device and the throughput; "" if there is nothing to compare."""
    where, now, then = compared(projection)
    if projection.idle or now.requests is None or then.requests is None:
        return ""
    one = then.requests.scaled(1 / max(1, then.count))
    per_device = (
        f"Per {where}: {between(one, short) if is_wide(one) else short(one.likely)} requests/s on "
        f"{plural(then.count, where)} instead of "
        f"{short(now.requests.likely / max(1, now.count))} on {now.count}."
    )
    return paragraph((per_device, _throughput(where, now, then)))


def _throughput(where: str, now: DeviceLoad, then: DeviceLoad) -> str:
    if not now.bytes or then.moved is None:
        return ""
    before, after = size(now.bytes), between(then.moved, size)
    if before == after:
        return f"Throughput at the {where}s: {after}/s, as now."
    narrow = then.moved.high - then.moved.low <= VISIBLE * then.moved.high
    changed = f", {change(now.bytes, then.moved.likely)}" if narrow else ""
    return f"Throughput at the {where}s: {after}/s instead of {before}/s{changed}."


def capacity(projection: Projection) -> str:
    """Return the members that the layout needs for the present data; "" if unknown."""
    now, then, need = projection.now, projection.projected, projection.need
    if need is None or then.usable is None or now.usable is None or then.layout is None:
        return ""
    count, member_size, level = then.members.count, size(need.member_bytes), then.layout.level
    if projection.needs_larger:
        return (
            f"{level} needs larger members for {size(now.usable)}: {need.members} × {member_size}. With "
            f"members of the present size it holds {size(then.usable)}."
        )
    if need.members <= count:
        return (
            f"{plural(count, 'member')} of {member_size} hold {size(then.usable)}, enough for the present "
            f"{size(now.usable)}."
        )
    disks = size(need.members * need.member_bytes)
    larger = ceil(now.usable / then.layout.data_members)
    return (
        f"{level.replace('raid', 'RAID')} needs {disks} of disk space for the same {size(now.usable)} (now "
        f"{size(now.members.count * need.member_bytes)}): {need.members} members of {member_size} or "
        f"{count} of {size(larger)}."
    )


def room(projection: Projection) -> str:
    """Return the space for the new layout beside the present one by PV sizes, and what knows it exactly."""
    space = projection.room
    if space is None or projection.is_check:
        return ""
    least, most = size(min(space.free)), size(max(space.free))
    free = least if least == most else f"{least} to {most}"
    suffix, have = (" each", "have") if len(space.free) > 1 else ("", "has")
    short_of = "" if space.suffices else " That is too little."
    where = "1 PV" if space.members == 1 else f"each of {space.members} PVs"
    return (
        f"A copy on the new layout needs {size(space.member_bytes)} on {where}. By their sizes, the "
        f"{plural(len(space.free), 'PV')} of the volume {have} at most {free} free{suffix}.{short_of} For LVM's free "
        f"space, run {_plan(projection)} as root."
    )


def _plan(projection: Projection) -> str:
    """Return the command of the plan, in backticks; --to has what differs from the present layout."""
    now, then = projection.now.layout, projection.projected.layout
    request = "LAYOUT"
    if then is not None:
        settings = []
        if then.members > 1 and (now is None or now.members != then.members):
            settings.append(f"members={then.members}")
        if then.chunk and (now is None or now.chunk != then.chunk):
            settings.append(f"chunk={then.chunk // KIB}k")
        request = f"{then.level}:{','.join(settings)}" if settings else then.level
    return filled(f"`stackmap plan --to {request} {{device}}`", {"device": projection.device.title})


def conclusions(projection: Projection) -> tuple[str, ...]:
    """Return the load per device, the needed space, and how to learn what the input lacks."""
    if projection.is_check and not projection.idle:
        return ()
    parts = [details(projection), capacity(projection), room(projection)]
    if projection.total is not None:
        what = "requests" if projection.bytes_known else "requests and bytes"
        range_of = f"The input does not separate reads and writes, so {what} are a range."
        parts.append(f"{range_of} {SEPARATE}")
    return tuple(filter(None, parts))


def replayed_sentence(check: CountCheck) -> str:
    """Return the source of the counts, with the self-check, or why no trace gives them."""
    if check.reason:
        return f"Requests and bytes are from the counters: {check.reason}."
    checked = "; ".join(
        f"{layer} {short(counted)} requests/s counted, {short(replayed)} replayed"
        for layer, counted, replayed in check.sums
    )
    return f"Requests and bytes: {check.requests} traced requests, replayed. Present layout: {checked}."


def unmodelled(
    measured: Measured, context: VolumeContext, pattern: Pattern, layout: Layout, *, timed: bool
) -> Iterator[Reason]:
    """Yield what the figures leave out, as far as it matters for this projection; *timed*: it has time too."""
    yield from ALWAYS[timed:]
    if context.background_state:
        yield Reason(
            "background-work",
            f"the background work of its members: the array's state is {context.background_state}, so "
            "the present figures are not only the load's",
        )
    for target in context.writers_below:
        words = f"what {target} below the members reads and writes itself, now and projected"
        yield Reason("writer-below", words)
    if above := context.spread_above:
        more = f" and {len(above) - 1} more" if len(above) > 1 else ""
        yield Reason(
            "spread-above",
            f"a changed layout above ({above[0]}{more} spreads its load over this and other devices)",
        )
    if layout.survivable_failures and context.manager is None:
        words = "mdadm's bitmap regions of 64 MiB (the projection uses LVM's, 2 MiB)"
        yield Reason("bitmap-region", words)
    chunk = context.split_size
    if chunk is not None and max(measured.read.size, measured.write.size) >= FULL * chunk:
        yield Reason(
            "split-requests",
            f"requests above the present chunk of {chunk // 1024} KiB: the kernel counts their pieces, so "
            "a larger chunk or parity may make fewer of them",
        )
    if layout.parity and pattern.rows is None:
        yield Reason(
            "page-merging",
            "how well md's pages merge at these disks (the range is from lab measurements, and wider with "
            "several requests in flight)",
        )
    if measured.depth > SEVERAL and layout.copies > 1 and not layout.parity:
        words = "whether concurrent writes share a bitmap write (the range covers both)"
        yield Reason("bitmap-sharing", words)
    present = context.present is not None and context.present.survivable_failures
    if measured.metadata is None and present and layout.survivable_failures:
        which, why = "the bitmap", "the input does not show it"
        if not context.lvm:
            which, why = "md's bitmap, if there is one,", "its writes look like data"
        yield Reason("bitmap-now", f"how often {which} is written now ({why})")
    if layout.level in ("raid1", "raid10", "mirror"):
        words = "how reads are balanced over the copies (load per disk is the mean)"
        yield Reason("read-balance", words)
    if measured.flushes_reason:
        where = "are counted as writes" if context.counts_flushes else "md does not count"
        yield Reason("flushes", f"flushes, which {where}: {measured.flushes_reason}")


def wear_sentence(change: WearChange) -> str:
    """Return the change of the disks' life in one sentence."""
    basis = "the given rating" if change.rated else "their own count of wear"
    before, after = year_range(change.now), year_range(change.projected)
    if before == after:
        return f"Disk life: {after} at this rate, as now, by {basis}."
    return f"Disk life: {after} at this rate instead of {before}, by {basis}."
