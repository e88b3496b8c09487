"""The first section: what is wrong, what is proposed and what it would change."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.findings.rule import Finding
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.whatif.projection import Projection
from stackmap.analysis.whatif.volume_context import volume_context
from stackmap.document.blocks import (
    Block,
    Folded,
    Listing,
    Paragraph,
    Rows,
    Section,
    Table,
    Tile,
    Tiles,
)
from stackmap.document.cost_sentences import at_disks as disk_bytes
from stackmap.document.cost_sentences import costs
from stackmap.document.plan import safety
from stackmap.document.report import methods
from stackmap.document.report.proposals import proposed_layout
from stackmap.document.report.stack_summary import (
    at_disks,
    awaits,
    description,
    disk_requests,
    load,
)
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.document.units import number, rate, size
from stackmap.document.whatif import (
    between,
    capacity,
    compared,
    effect,
    requests_change,
    two_digits,
)
from stackmap.document.wording import (
    REQUESTS,
    change,
    known_directions,
    listed,
    paragraph,
    plural,
    sentence,
    short,
)
from stackmap.model.load import Load

OTHERS = 1.05  # a disk that serves this many times the stack's requests has other users
MOST_FINDINGS = 4  # in the summary
MOST_RISKS = 3  # beside the decision
NOTHING_PROPOSED = (
    "None. Run `stackmap report NAME --to LAYOUT -o FILE` to project another layout and plan the "
    "migration."
)
NO_LATENCY = "The projection counts requests, not latency, and holds only for the measured load."
NOTHING_WRONG = "No rule found a problem in the measured interval."
TO_JUDGE = "To judge overload, compare with a quiet time: `stackmap explain --baseline CAPTURE`."


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return the decision about the first stack: before and after, what to do, and the risks; then the details."""
    first, *others = report.stacks
    tiles = tuple(_projected(first, proposals)) or tuple(_tiles(first))
    details = (
        Paragraph(description(report.topology, first), "Device:"),
        Paragraph(paragraph((load(first), *map(sentence, costs(first)))), "Load:"),
        *_wrong(report),
        *_proposed(report, proposals),
        *([_table(report)] if others or report.others else []),
    )
    blocks = (
        *([Tiles(tiles)] if tiles else []),
        Paragraph(_to_do(report, proposals), "Do:"),
        *_main_risks(report, proposals),
        Folded("Summary: device, load, findings, proposal", details),
    )
    return Section("summary", "Decision" if proposals else "Summary", blocks, folded=False)


def _to_do(report: Report, proposals: tuple[Proposal, ...]) -> str:
    """Return what to do: the proposal that has a plan, else what the worst finding advises."""
    planned = next((each for each in proposals if each.plan is not None and each.chosen), None)
    if planned is not None and planned.plan is not None:
        name = report.topology[planned.top].full_title
        return (
            f"Convert {name} to {proposed_layout(planned)}: {plural(len(planned.plan.steps), 'step')}, "
            "with their commands under How to get there."
        )
    worst = next((each for each in report.findings if each.is_grave), None)
    if worst is not None:
        return filled(worst.rule.advice, words_of(report.topology, worst.observed))
    return f"Nothing yet: {_why_not(proposals)}." if proposals else f"{NOTHING_WRONG} {TO_JUDGE}"


def _why_not(proposals: tuple[Proposal, ...]) -> str:
    first = proposals[0]
    if first.projection is not None and first.projection.is_check:
        return "this is the present layout"
    return f"there is no plan: {first.unplanned or 'no method fits'}"


def _main_risks(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    """Yield the three main risks of the first proposal; without one, the worst findings."""
    if proposals:
        parts = tuple(filter(None, _risks(report, proposals[0])))[:MOST_RISKS]
        yield Paragraph("" if parts else "unknown.", "Risks:")
        yield Listing(parts)
        return
    grave = [each for each in report.findings if each.is_grave]
    if grave:
        yield Paragraph("", "Findings:")
        yield Listing(tuple(_finding(report, each) for each in grave[:MOST_RISKS]))


def _tiles(stack: StackFigures) -> Iterator[Tile]:
    head = stack.layers[0]
    if head.share.total.ios:
        directions = [d for d in known_directions(head) if d != "total"]
        parts = (f"{short(head.share.part(d).ios or 0.0)} {REQUESTS[d]}" for d in directions)
        yield Tile("requests per second", short(head.share.total.ios), " + ".join(parts))
    disks = disk_requests(stack)
    if len(stack.layers) > 1 and disks:
        yield Tile("disk requests per second", short(disks), _per_request(stack))
    per, cost, causes = disk_bytes(stack)
    if len(stack.layers) > 1 and cost is not None:
        yield Tile(f"disk bytes per {per}", number(cost, 2), causes)
    found = sorted(awaits(stack), key=lambda each: -each[1])
    if found:
        (direction, slowest), *rest = found
        others = (f"{d} await {shown(ms, 'ms')}" for d, ms in rest)
        yield Tile(f"{direction} await", shown(slowest, "ms"), ", ".join(others))


def _per_request(stack: StackFigures) -> str:
    direction = known_directions(stack.layers[0])[-1]
    many = at_disks(stack, direction)
    mark = "about " if stack.layers[-1].share.estimated else ""
    word = REQUESTS[direction].removesuffix("s")
    return "" if many is None else f"{mark}{short(many)} per {word}"


def _projected(stack: StackFigures, proposals: tuple[Proposal, ...]) -> Iterator[Tile]:
    """Yield the requests below *stack* now and on each layout that is proposed for it."""
    for each in proposals:
        found = each.projection
        if found is None or found.is_check or found.idle or each.top != stack.top.name:
            continue
        where, now, then = compared(found)
        if now.requests is None or then.requests is None:
            continue
        band = then.requests
        changed = change(now.requests.likely, band.likely, "fewer")
        beside = f"{changed}; range {short(band.low)} to {short(band.high)}"
        if found.costs is not None:
            cost = between(found.costs[1], two_digits)
            beside += f". Disk bytes per byte written: {two_digits(found.costs[0])} → {cost}"
        value = requests_change(now.requests, band)
        yield Tile(f"{where} requests per second, now → {each.wish}", value, beside)


def _wrong(report: Report) -> Iterator[Block]:
    """Yield the worst findings, and how many there are."""
    grave = [each for each in report.findings if each.is_grave]
    remarks = len(report.findings) - len(grave)
    more = f"{plural(remarks, 'remark')} under Findings." if remarks else ""
    if not grave:
        yield Paragraph(paragraph((NOTHING_WRONG, more)), "Findings:")
        return
    count = f"{plural(len(grave), 'finding')}, the worst first."
    yield Paragraph(count if len(grave) > 1 else "One finding.", "Findings:")
    items = [_finding(report, each) for each in grave[:MOST_FINDINGS]]
    if len(grave) > MOST_FINDINGS:
        items.append(f"{plural(len(grave) - MOST_FINDINGS, 'more finding')} under Findings.")
    yield Listing((*items, more) if more else tuple(items))


def _finding(report: Report, finding: Finding) -> str:
    words = words_of(report.topology, finding.observed)
    return f"{finding.severity.capitalize()}: {filled(finding.rule.sentence, words)}"


def _proposed(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    if not proposals:
        yield Paragraph(NOTHING_PROPOSED, "Proposal:")
    for place, each in enumerate(proposals, 1):
        mark = f" {place}:" if len(proposals) > 1 else ":"
        name = report.topology[each.top].full_title
        if each.projection is not None and each.projection.is_check:
            present = f"{proposed_layout(each)} is the present layout of {name}."
            yield Paragraph(present, f"Proposal{mark}")
            continue
        way = "There is no plan for it: see How to get there."
        if each.chosen is not None and each.plan is not None:
            count = plural(len(each.plan.steps), "step")
            way = f"The plan has {count}: {each.chosen.strategy.summary}."
        yield Paragraph(f"{name} as {proposed_layout(each)}. {way}", f"Proposal{mark}")
        effects = f"No projection: {each.unprojected}."
        if each.projection is not None:
            effects = paragraph(
                (effect(each.projection), _on_shared_disks(report, each.projection))
            )
        yield Paragraph(effects, f"Effect{mark}")
        yield from _fixes(report, each, mark)
        risks = paragraph(_risks(report, each))
        yield Paragraph(
            risks or "Unknown: there is neither a plan nor a projection.", f"Risks{mark}"
        )


def _on_shared_disks(report: Report, projection: Projection) -> str:
    """
    Return what each disk would serve in all, now and then.

    "" where the disks have no other users, or nothing is projected. The figure
    is per disk, because the disks of a layout with more members are not chosen yet.
    """
    now, then = projection.now.disks, projection.projected.disks
    disks = volume_context(report.topology, projection.device.name).disks
    rates = [report.interval.loads.get(name, Load()).total.ios for name in disks]
    if projection.idle or now.requests is None or then.requests is None or None in rates:
        return ""
    every = sum(each or 0.0 for each in rates)
    if every <= OTHERS * now.requests.likely:
        return ""
    each, ours = every / len(disks), now.requests.likely / len(disks)
    after = each - ours + then.requests.likely / max(1, then.count)
    serve = f"these {len(disks)} disks serve {short(each)} requests/s each"
    if len(disks) == 1:
        serve = f"{report.topology[disks[0]].title} serves {short(each)} requests/s"
    return (
        f"With all other load, {serve} now. As one of the {plural(then.count, 'disk')} of the new "
        f"layout, a disk would serve about {short(after)}: {change(each, after, 'fewer')}."
    )


def _fixes(report: Report, proposal: Proposal, mark: str) -> Iterator[Block]:
    """Yield which findings the proposed layout fixes, and which of the stack's it does not."""
    grave = [each for each in report.findings_of(proposal.top) if each.is_grave]
    if not grave:
        return
    fixed = [_short(report, each) for each in grave if proposal.mends(each)]
    said = f"It fixes {listed(fixed)}." if fixed else "It fixes none of the findings."
    after = _load_per_disk(proposal) if len(fixed) < len(grave) else ""
    yield Paragraph(paragraph((said, _not_fixed(report, proposal), after)), f"Fixes{mark}")


def _not_fixed(report: Report, proposal: Proposal) -> str:
    """Return the findings of the stack that the layout does not fix; "" for none."""
    grave = (each for each in report.findings_of(proposal.top) if each.is_grave)
    left = [_short(report, each) for each in grave if not proposal.mends(each)]
    return f"It does not fix {listed(left)}." if left else ""


def _load_per_disk(proposal: Proposal) -> str:
    """Return how the load per disk changes; without a projection, what to do first."""
    found = proposal.projection
    now, then = (None, None) if found is None else (found.now.disks, found.projected.disks)
    if now is None or then is None or now.requests is None or then.requests is None:
        return "Look at these findings first."
    before = now.requests.likely / max(1, now.count)
    after = then.requests.likely / max(1, then.count)
    return f"Requests per disk: {change(before, after, 'fewer')}; measure again afterwards."


def _short(report: Report, finding: Finding) -> str:
    return f"{finding.rule.name} ({title(report.topology, finding.device)})"


def _risks(report: Report, proposal: Proposal) -> Iterator[str]:
    """Yield the plan's risks, what is unknown and the space it needs, the gravest first; some may be ""."""
    plan, found, context = proposal.plan, proposal.projection, proposal.context
    if plan is not None and context is not None:
        yield safety(plan, context)
    yield _not_fixed(report, proposal)
    if methods.is_short(report):
        yield f"The measurement covers only {methods.duration(report.period.seconds or 0.0)}."
    if found is not None and not found.idle:
        yield NO_LATENCY
    if plan is not None:
        yield from (f"NOT CHECKED: {each}." for each in plan.unchecked)
    if found is not None:
        space = capacity(found)
        yield space
        yield _planned_space(found) if plan is not None and space else ""


def _planned_space(projection: Projection) -> str:
    """Return that the plan found space for all present data."""
    usable = projection.now.usable
    return f"The plan found free space for {size(usable)}." if usable else ""


def _table(report: Report) -> Table:
    """Return one row per stack, those without a section of their own last."""
    rows = [_row(report, stack) for stack in report.stacks]
    rows += [
        (
            device.full_title,
            _worst(report, device.name),
            rate(report.interval.loads[device.name].total.ios),
            "-",
            "-",
        )
        for device in report.others
    ]
    rest = f"; the first {len(report.stacks)} have sections below" if report.others else ""
    return Table(
        "stacks",
        ("Stack", "Worst finding", "Requests/s", "Disk requests/s", "Disk bytes per byte"),
        (Rows(tuple(rows)),),
        words=2,
        caption=f"All active stacks, the worst and busiest first{rest}",
    )


def _worst(report: Report, top: str) -> str:
    found = report.findings_of(top)
    return f"{found[0].severity}: {found[0].rule.name}" if found else "none"


def _row(report: Report, stack: StackFigures) -> tuple[str, ...]:
    disks = stack.layers[-1]
    return (
        stack.top.full_title,
        _worst(report, stack.top.name),
        rate(stack.layers[0].share.total.ios),
        ("~" if disks.share.estimated else "") + rate(disk_requests(stack)),
        number(disk_bytes(stack)[1], 2),
    )
