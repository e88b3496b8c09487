"""The section at the top: what is wrong, what is proposed and what that will give, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.findings.rule import Finding
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.whatif.projection import Projection
from stackmap.analysis.whatif.volume_context import volume_context
from stackmap.document.blocks import Block, Listing, Paragraph, Rows, Section, Table, Tile, Tiles
from stackmap.document.report import methods
from stackmap.document.report.figures import (
    at_disks,
    disk_requests,
    slowest,
    wasted,
    what_becomes_of_it,
    what_it_is,
    what_it_is_asked_for,
)
from stackmap.document.report.names import REQUESTS, known_directions, listed, plural, short
from stackmap.document.report.plan import safety
from stackmap.document.report.projection import capacity, change, gives, to
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.document.units import number, percent, rate
from stackmap.model.load import Load

OTHERS = 1.05  # times what a stack's disks do for it: above that others matter
MOST_TOLD = 4  # findings in the summary
NOTHING_PROPOSED = (
    "Nothing. This page tells what is; stackmap report NAME --to LAYOUT adds what another layout would "
    "give, and the way there."
)
HOW_LONG = (
    "How long a request will take is not projected, only how many there will be; and it holds for the load "
    "that was measured."
)
NOTHING_WRONG = "No rule found anything wrong in what was measured."


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return the summary: of the first stack in full, of the others a row each."""
    first, *others = report.stacks
    blocks: list[Block] = [*_about(report, first, proposals)]
    blocks += _wrong(report)
    blocks += _proposed(report, proposals)
    if others or report.others:
        blocks.append(_table(report))
    return Section("summary", "Summary", tuple(blocks))


def _about(report: Report, stack: StackFigures, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    tiles = (*_tiles(stack), *_projected(stack, proposals))
    if tiles:
        yield Tiles(tiles)
    said = (what_it_is_asked_for(stack), what_becomes_of_it(stack))
    yield Paragraph(what_it_is(report.topology, stack), "What it is:")
    yield Paragraph(" ".join(filter(None, said)), "What it does:")


def _tiles(stack: StackFigures) -> Iterator[Tile]:
    head = stack.layers[0].share
    if head.total.ios:
        beside = " + ".join(
            f"{short(head.part(d).ios or 0.0)} {REQUESTS[d]}"
            for d in known_directions(stack.layers[0])
            if d != "total"
        )
        yield Tile("requests asked for a second", short(head.total.ios), beside)
    disks = disk_requests(stack)
    if len(stack.layers) > 1 and disks:
        yield Tile("done by the disks for these", short(disks), _per_request(stack))
    cost = stack.parity
    if cost is not None and cost.cost_bytes_per_byte is not None:
        spared = wasted(stack)
        ideal = f"{number(cost.ideal_bytes_per_byte, 2)} with full stripes"
        more = f", {percent(spared)} less" if spared else ""
        yield Tile(
            "disk bytes for a byte written", number(cost.cost_bytes_per_byte, 2), ideal + more
        )
    waits = sorted(slowest(stack), key=lambda each: -each[1])
    if waits:
        direction, took = waits[0]
        rest = ", ".join(f"{REQUESTS[d]} {shown(ms, 'ms')}" for d, ms in waits[1:])
        yield Tile(f"mean wait of {REQUESTS[direction]}", shown(took, "ms"), rest)


def _per_request(stack: StackFigures) -> str:
    direction = known_directions(stack.layers[0])[-1]
    many = at_disks(stack, direction)
    word = REQUESTS[direction].removesuffix("s")
    mark = "about " if stack.layers[-1].share.estimated else ""
    return "" if many is None else f"one {word} becomes {mark}{short(many)}"


def _wrong(report: Report) -> Iterator[Block]:
    """Yield what the rules found that matters, and how much else they did."""
    grave = [each for each in report.findings if each.is_grave]
    rest = len(report.findings) - len(grave)
    remarks = f"{plural(rest, 'more remark')} under Findings." if rest else ""
    if not grave:
        yield Paragraph(" ".join(filter(None, (NOTHING_WRONG, remarks))), "What is wrong:")
        return
    more = len(grave) - MOST_TOLD
    lead = f"{plural(len(grave), 'finding')}, the worst first."
    yield Paragraph(lead if len(grave) > 1 else "One finding.", "What is wrong:")
    items = [_told(report, each) for each in grave[:MOST_TOLD]]
    if more > 0:
        items.append(f"{plural(more, 'more finding')} under Findings.")
    if remarks:
        items.append(remarks)
    yield Listing(tuple(items))


def _told(report: Report, finding: Finding) -> str:
    words = words_of(report.topology, finding.observed)
    return f"{finding.severity.capitalize()}: {filled(finding.rule.sentence, words)}"


def _projected(stack: StackFigures, proposals: tuple[Proposal, ...]) -> Iterator[Tile]:
    """Yield what the disks would do, of each layout that is proposed for *stack*."""
    for each in proposals:
        found = each.projection
        if found is None or found.is_check or found.idle or each.top != stack.top.name:
            continue
        now, then = found.now.disks.requests, found.projected.disks.requests
        if now is not None and then is not None:
            beside = f"{short(then.low)} to {short(then.high)}; {change(now.likely, then.likely, 'fewer')}"
            yield Tile(f"projected for the disks of {each.wish}", short(then.likely), beside)


def _proposed(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    if not proposals:
        yield Paragraph(NOTHING_PROPOSED, "What is proposed:")
    several = len(proposals) > 1
    for place, each in enumerate(proposals, 1):
        mark = f" ({place})" if several else ""
        name = report.topology[each.top].full_title
        if each.projection is not None and each.projection.is_check:
            yield Paragraph(f"{to(each)} is what {name} has already.", f"What is proposed{mark}:")
            continue
        yield Paragraph(f"{name} as {to(each)}{_way(each)}.", f"What is proposed{mark}:")
        yield from _mended(report, each, mark)
        if each.projection is None:
            yield Paragraph(
                f"Nothing was projected: {each.unprojected}.", f"What it will give{mark}:"
            )
        else:
            given = (gives(each.projection), _on_shared_disks(report, each.projection))
            yield Paragraph(" ".join(filter(None, given)), f"What it will give{mark}:")
        yield Paragraph(_risk(report, each), f"What it risks{mark}:")


def _on_shared_disks(report: Report, projection: Projection) -> str:
    """
    Return what a disk does for others too, now and then; "" where they serve nobody else, or nothing is projected.

    A disk at a time: a layout of more members is not on the same disks, and which it will be on nobody has said.
    """
    now, then = projection.now.disks, projection.projected.disks
    disks = volume_context(report.topology, projection.device.name).disks
    rates = [report.interval.loads.get(name, Load()).total.ios for name in disks]
    if projection.idle or now.requests is None or then.requests is None or None in rates:
        return ""
    every = sum(rate or 0.0 for rate in rates)
    if every <= OTHERS * now.requests.likely:
        return ""
    each, ours = every / len(disks), now.requests.likely / len(disks)
    left = each - ours + then.requests.likely / max(1, then.count)
    who = (
        f"it serves, {report.topology[disks[0]].title} does {short(each)}"
        if len(disks) == 1
        else f"they serve, these {len(disks)} disks do {short(each)} each"
    )
    return (
        f"With all else that {who} a second on average now; as one of the {plural(then.count, 'disk')} of the "
        f"new layout, it would be about {short(left)}: {change(each, left, 'fewer')}."
    )


def _way(proposal: Proposal) -> str:
    chosen, plan = proposal.chosen, proposal.plan
    if chosen is None or plan is None:
        return ". There is no plan for it yet; How to get there says why"
    return f", in {plural(len(plan.steps), 'step')}: {chosen.strategy.summary}"


def _mended(report: Report, proposal: Proposal, mark: str) -> Iterator[Block]:
    """Yield which findings the proposed layout mends, and which of the stack's it does not."""
    grave = [each for each in report.findings_of(proposal.top) if each.is_grave]
    if not grave:
        return
    mended = [_short(report, each) for each in grave if proposal.mends(each)]
    left = [_short(report, each) for each in grave if not proposal.mends(each)]
    does = f"It mends {listed(mended)}." if mended else "It mends none of the findings."
    yield Paragraph(" ".join((does, *_not_mended(left))), f"What it mends{mark}:")


def _not_mended(left: list[str]) -> Iterator[str]:
    if left:
        yield (
            f"It does not mend {listed(left)}: on the same disks it is at most less load that helps. "
            "Look there first."
        )


def _short(report: Report, finding: Finding) -> str:
    return f"{finding.rule.name} ({title(report.topology, finding.device)})"


def _risk(report: Report, proposal: Proposal) -> str:
    """Return what must be weighed: the plan's risks, the space, and what nobody knows."""
    plan, found, context = proposal.plan, proposal.projection, proposal.context
    parts = [f"While that is done, the volume {safety(plan, context)}."] if plan and context else []
    if plan is not None and plan.unchecked:
        parts += [f"NOT CHECKED: {each}." for each in plan.unchecked]
    if found is not None:
        parts.append(capacity(found))
        parts.append(
            "The plan found room for that." if plan is not None and capacity(found) else ""
        )
        parts.append("" if found.idle else HOW_LONG)
    if methods.is_short(report):
        parts.append(
            f"All rests on {methods.duration(report.period.seconds or 0.0)} of measurement."
        )
    words = " ".join(filter(None, parts))
    return words or "It cannot be told: there is neither a plan nor a projection."


def _table(report: Report) -> Table:
    """Return a row a stack, with what is told of it below."""
    rows = tuple(_row(report, stack) for stack in report.stacks)
    others = tuple(
        (
            device.full_title,
            _worst(report, device.name),
            rate(report.interval.loads[device.name].total.ios),
            "-",
            "-",
        )
        for device in report.others
    )
    told = len(report.stacks)
    rest = f"; the first {told} are told of below, any other where it is named" if others else ""
    return Table(
        "stacks",
        ("Stack", "Worst finding", "Requests/s", "At its disks", "Bytes a byte written"),
        (Rows((*rows, *others)),),
        words=2,
        caption=f"All that did something, the worst and the most loaded first{rest}",
    )


def _worst(report: Report, top: str) -> str:
    found = report.findings_of(top)
    return f"{found[0].severity}: {found[0].rule.name}" if found else "none"


def _row(report: Report, stack: StackFigures) -> tuple[str, ...]:
    disks = stack.layers[-1]
    cost = None if stack.parity is None else stack.parity.cost_bytes_per_byte
    if stack.parity is None:
        cost = disks.byte_amplification.get("write")
    return (
        stack.top.full_title,
        _worst(report, stack.top.name),
        rate(stack.layers[0].share.total.ios),
        ("~" if disks.share.estimated else "") + rate(disk_requests(stack)),
        number(cost, 2),
    )
