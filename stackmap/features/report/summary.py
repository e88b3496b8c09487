"""
The first section: the problem, the proposal and its effect.

It begins with the stack in sentences and key figures: layout, load, cost at the disks.
"""

from collections.abc import Iterator
from functools import partial

from stackmap.document import blocks as doc
from stackmap.document import describe
from stackmap.document.rule_words import shown
from stackmap.document.sentences import at_disks as disk_bytes
from stackmap.document.sentences import costs
from stackmap.document.wording import (
    REQUEST,
    REQUESTS,
    await_directions,
    change,
    divided,
    known_directions,
    listed,
    number,
    paragraph,
    rate,
    rate_of_bytes,
    sentence,
    short,
    size,
)
from stackmap.features.report.figures import Report
from stackmap.features.report.proposals import Proposal, layout_in_words, proposed
from stackmap.features.whatif.sentences import between, requests_change
from stackmap.features.whatif.time_words import means
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.model.device import Device
from stackmap.model.load import ratio
from stackmap.model.topology import Topology

MOST_DISKS = 8  # by name in a sentence


def description(topology: Topology, stack: StackFigures) -> str:
    """Return the stack's top, layout, disks and users."""
    top, disks = stack.top, stack.layers[-1].layer.devices
    parts = [f"{top.full_title}, {size(top.size)}, is {_what(top)}"]
    if len(stack.layers) > 1:
        below = (topology[name] for name in topology.with_all_below(top.name))
        array = next((d for d in below if d.layout is not None and d.layout.members > 1), top)
        parts += [f"on {array.full_title} ({_what(array)})"] if array is not top else []
        names = [topology[name].title for name in disks]
        noun = "disk" if len(names) == 1 else "disks"
        few = len(names) <= MOST_DISKS
        parts.append(f"on the {noun} {listed(names)}" if few else f"on {len(names)} disks")
    users = describe.users(top)
    return f"{', '.join(parts)}." + (f" It is used by {users}." if users else "")


def _what(device: Device) -> str:
    if device.layout is not None:
        return layout_in_words(device.layout)
    return f"of type {describe.what(device)}"


def load(stack: StackFigures) -> str:
    """Return the load at the top."""
    head = stack.layers[0]
    parts = [part for d in known_directions(head) if (part := _load(head, d))]
    waited = dict(awaits(stack)).get("request")
    both = "" if waited is None or len(parts) < 2 else f"; await of both {shown(waited, 'ms')}"
    return f"On average {' and '.join(parts)}{both}." if parts else "The device was idle."


def _load(head: LayerFigures, direction: str) -> str:
    flow, await_ms = head.share.part(direction), head.own[direction].await_ms
    if not flow.ios:
        return ""
    waited = "" if await_ms is None else f", await {shown(await_ms, 'ms')}"
    moved = f"{rate_of_bytes(flow.bytes)}{waited}"
    return f"{short(flow.ios)} {REQUESTS[direction]}/s of {size(flow.size)} ({moved})"


def at_disks(stack: StackFigures, direction: str) -> float | None:
    """
    Return the requests that the disks complete per request at the top, after merging.

    For writes with metadata and the reads that parity needs. None if unknown.
    """
    disks = stack.layers[-1]
    if disks.background:
        return None
    if direction == "write":
        return stack.cost.all_requests_per_write
    return ratio(disks.share.part(direction).ios, stack.layers[0].share.part(direction).ios)


def disk_requests(stack: StackFigures) -> float | None:
    """Return the requests per second at the disks that belong to the stack; None if unknown."""
    return None if stack.layers[-1].background else stack.cost.requests


def awaits(stack: StackFigures) -> Iterator[tuple[str, float]]:
    """Yield each direction with its await at the top, in ms."""
    head = stack.layers[0]
    for direction in await_directions(head):
        await_ms = head.own[direction].await_ms
        if await_ms is not None:
            yield REQUEST[direction], await_ms


def details(report: Report, proposals: tuple[Proposal, ...]) -> tuple[doc.Block, ...]:
    """Return the device, its load, the findings and the proposals in full."""
    first, *others = report.stacks
    return (
        doc.Paragraph(description(report.topology, first), "Device:"),
        doc.Paragraph(paragraph((load(first), *map(sentence, costs(first)))), "Load:"),
        *proposed(report, proposals),
        *([_table(report)] if others or report.others else []),
    )


def tiles(stack: StackFigures) -> Iterator[doc.Tile]:
    """Yield the key figures of *stack*, the longest wait first."""
    head = stack.layers[0]
    waits = sorted(awaits(stack), key=lambda wait: -wait[1])
    if waits:
        (direction, slowest), *rest = waits
        others = (f"of a {d} {shown(ms, 'ms')}" for d, ms in rest)
        yield doc.Tile(f"wait of a {direction}", shown(slowest, "ms"), ", ".join(others))
    if head.share.total.ios:
        directions = [d for d in known_directions(head) if d != "total"]
        parts = (f"{short(head.share.part(d).ios or 0.0)} {REQUESTS[d]}" for d in directions)
        yield doc.Tile("requests per second", short(head.share.total.ios), " + ".join(parts))
    disks = disk_requests(stack)
    if len(stack.layers) > 1 and disks:
        yield doc.Tile("disk requests per second", short(disks), _per_request(stack))
    per, cost, causes = disk_bytes(stack)
    if len(stack.layers) > 1 and cost is not None:
        yield doc.Tile(f"disk bytes per {per}", number(cost, 2), causes)


def _per_request(stack: StackFigures) -> str:
    head = stack.layers[0]
    busy = [known for known in known_directions(head) if head.share.part(known).ios]
    direction = busy[-1] if busy else "total"
    many = at_disks(stack, direction)
    mark = "about " if stack.layers[-1].share.estimated else ""
    return "" if many is None else f"{mark}{short(many)} per {REQUEST[direction]}"


def projected_tiles(stack: StackFigures, proposals: tuple[Proposal, ...]) -> Iterator[doc.Tile]:
    """Yield the waits and the requests below *stack*, now and on each layout that is proposed for it."""
    for proposal in proposals:
        projection, requests = proposal.projection, proposal.requests
        if (
            projection is None
            or requests is None
            or proposal.is_present
            or proposal.top != stack.top.name
        ):
            continue
        where, now, band, _ = requests
        changed = change(now.likely, band.likely, "fewer")
        beside = f"{changed}; range {short(band.low)} to {short(band.high)}"
        if projection.costs is not None:
            before, after = projection.costs
            cost = between(after, partial(number, digits=2))
            beside += f". Disk bytes per byte written: {number(before, 2)} → {cost}"
        if projection.time is not None and (waits := [*means(projection.time)]):
            (direction, before_ms, after_ms), *rest = waits
            others = (f"of a {way} {now_ms} → {then_ms}" for way, now_ms, then_ms in rest)
            wait = f"{before_ms} → {after_ms}"
            yield doc.Tile(f"wait of a {direction}, now → {proposal.wish}", wait, ", ".join(others))
        value = requests_change(now, band)
        yield doc.Tile(f"{where} requests per second, now → {proposal.wish}", value, beside)


def _table(report: Report) -> doc.Table:
    """Return one row per stack, those without a section of their own last."""
    rows = [_row(report, stack) for stack in report.stacks]
    rows += [
        (
            device.full_title,
            _worst(report, device.name),
            doc.Value(report.interval.loads[device.name].total.ios, rate),
            "-",
            "-",
        )
        for device in report.others
    ]
    rest = f"; the first {len(report.stacks)} have sections below" if report.others else ""
    return doc.Table(
        "stacks",
        doc.plain_columns(
            ("Stack", "Worst finding", "Requests/s", "Disk requests/s", "Disk bytes per byte"), 2
        ),
        (doc.Rows(tuple(rows)),),
        caption=f"All active stacks, the worst and busiest first{rest}",
    )


def _worst(report: Report, top: str) -> str:
    worst = report.findings_of(top)
    return f"{worst[0].severity}: {worst[0].rule.name}" if worst else "none"


def _row(report: Report, stack: StackFigures) -> doc.Row:
    disks, requests = stack.layers[-1], disk_requests(stack)
    return (
        stack.top.full_title,
        _worst(report, stack.top.name),
        doc.Value(stack.layers[0].share.total.ios, rate),
        doc.Value(requests, rate, estimated=disks.share.estimated and requests is not None),
        doc.Value(disk_bytes(stack)[1], divided(1, 2)),
    )
