"""
The first page: the problem in one number, what to do first, what a change gives and takes, and what is not known.

It needs no knowledge of RAID: a layout is described by the copies that it keeps, or the disks that may fail.
"""

from collections.abc import Iterator

from stackmap.document import describe
from stackmap.document.blocks import Block, Folded, Listing, Paragraph, Section, Tiles
from stackmap.document.episodes import first_line
from stackmap.document.rule_words import FIRST, before_converting, shown
from stackmap.document.sentences import at_disks as disk_bytes
from stackmap.document.wording import (
    change,
    duration,
    listed,
    number,
    paragraph,
    plural,
    sentence,
    short,
    size,
)
from stackmap.features.plan.document import numbers
from stackmap.features.report.figures import Report
from stackmap.features.report.proposals import Proposal, proposed_layout, risks_of
from stackmap.features.report.summary import awaits, details, projected_tiles, tiles
from stackmap.features.whatif.sentences import between, is_wide
from stackmap.features.whatif.time_words import latency_change
from stackmap.ledger.amplification import StackFigures
from stackmap.model.raid import Layout

MOST_RISKS = 3
COPY_RATES = (50 * 1024**2, 200 * 1024**2)  # bytes per second, slow and fast
HELPS = 0.95  # a layout with at most this part of the present requests helps


def decision_section(
    report: Report, proposals: tuple[Proposal, ...], others: tuple[Proposal, ...]
) -> Section:
    """Return the decision about the first stack; *others*: layouts to compare, where none is asked for."""
    first = report.stacks[0]
    figures, projected = tuple(tiles(first)), tuple(projected_tiles(first, proposals))
    if len(proposals) == 1 and len(projected) > 1:  # a wait is projected, beside the present one
        figures = (projected[0], *figures[1:2], *projected[1:])
    elif projected:
        figures = (*figures[:2], *projected)
    changes: list[Block] = []
    for proposal in proposals:
        mark = f" {proposal.wish}" if len(proposals) > 1 else ""
        changes.append(
            Paragraph(paragraph((_gain(proposal), _time(proposal))), f"What it gives{mark}:")
        )
        changes.append(Paragraph(paragraph(_takes(proposal)), f"What it takes{mark}:"))
    blocks: tuple[Block, ...] = (
        *([Tiles(figures)] if figures else []),
        Paragraph(_problem(report, first), "Problem:"),
        Paragraph(_first(report, proposals), FIRST),
        *changes,
        *_alternatives(report, others),
        *_risks(report, proposals),
        *_not_judged(report, proposals),
        Folded(
            "Summary: device, load, findings, proposal", details(report, proposals), printed=False
        ),
    )
    return Section("summary", "Decision", blocks, folded=False)


def _problem(report: Report, stack: StackFigures) -> str:
    """Return how long programs wait, and what the disks do for it."""
    users = describe.users(stack.top)
    who = f"{stack.top.full_title}{f', used by {users}' if users else ''}"
    waits = [
        f"a {what} takes {shown(ms, 'ms')}"
        for what, ms in sorted(awaits(stack), key=lambda e: -e[1])
    ]
    per, cost, _ = disk_bytes(stack)
    moved = ""
    if cost is not None and len(stack.layers) > 1:
        moved = f"For each {per}, the disks move {number(cost, 2)} bytes."
    said = f"On {who}, {listed(waits)} on average." if waits else f"{who}: its waits are unknown."
    grave = any(finding.is_grave for finding in report.findings_of(stack.top.name))
    return paragraph(
        (said, moved, "" if grave else "No rule found a problem in the measured interval.")
    )


def _first(report: Report, proposals: tuple[Proposal, ...]) -> str:
    """Return the first step: before a conversion, the causes of the wait that no layout changes."""
    top = proposals[0].top if proposals else ""
    decision = report.judged.decide(top)
    if decision.episode and not proposals:
        return first_line(report.judged)
    if before := before_converting(report.topology, decision):
        return before
    planned = next((proposal for proposal in proposals if proposal.plan is not None), None)
    if planned is not None and planned.plan is not None:
        name = report.topology[planned.top].full_title
        return (
            f"Convert {name} to {proposed_layout(planned)}: {plural(len(planned.plan.steps), 'step')}, "
            "with their commands under How to get there."
        )
    if not proposals:
        return first_line(report.judged)
    asked = proposals[0]
    if asked.is_present:
        return f"Nothing: {asked.wish} is the present layout."
    return (
        f"Get a plan for {asked.wish}; see `stackmap plan`. There is none yet: "
        f"{asked.unplanned or 'no method fits'}."
    )


def safety_of(layout: Layout | None) -> str:
    """
    Return how a layout protects data, for readers who know no RAID.

    >>> from stackmap.model.raid import layout
    >>> safety_of(layout("raid10", 4, 65536)), safety_of(layout("raid6", 4, 65536))
    ('each byte is on 2 disks', 'any 2 of its 4 disks may fail')
    >>> safety_of(layout("raid0", 4, 65536)) == safety_of(None) == 'one failed disk loses the data'
    True
    """
    if layout is None or not layout.survivable_failures:
        return "one failed disk loses the data"
    if layout.copies > 1:
        return f"each byte is on {layout.copies} disks"
    return f"any {layout.parity} of its {layout.members} disks may fail"


def _gain(proposal: Proposal) -> str:
    """Return the requests at the disks, now and projected, and how the layout protects data."""
    projection, requests = proposal.projection, proposal.requests
    if projection is None:
        return f"{proposal.wish}: {proposal.unprojected}."
    if requests is None:
        return f"{proposal.wish}: its load cannot be projected."
    before, after = requests.now.likely, requests.then
    safe = safety_of(projection.projected.layout)
    fewer = "" if is_wide(after) else f", {change(before, after.likely, 'fewer')}"
    return (
        f"{proposal.wish} ({safe}): {between(after, short)} {requests.where} requests per second "
        f"instead of {short(before)}{fewer}."
    )


def _time(proposal: Proposal) -> str:
    """Return how long requests will take, or why that is not projected."""
    time = proposal.projection.time if proposal.projection else None
    if time is None:
        return ""
    if projected := latency_change(time):
        return sentence(projected)
    return sentence(f"how long requests will take is not projected: {time.reason}")


def _takes(proposal: Proposal) -> Iterator[str]:
    """Yield the space, the hours and the downtime; "" for what is unknown."""
    projection, plan = proposal.projection, proposal.plan
    held = None if projection is None else projection.now.usable
    if projection is not None and projection.need is not None:
        count, per_member = projection.now.members.count, projection.need.member_bytes
        new, now = size(projection.need.members * per_member), size(count * per_member)
        yield f"Space: {new} of disks instead of {now}, for the same {size(held)}."
    if plan is None:
        yield f"Hours and downtime are unknown: {proposal.unplanned or 'there is no plan'}."
        return
    if amount := sum(step.fills[1] for step in plan.steps if step.fills) or held:
        slow, fast = (duration(amount / rate) for rate in COPY_RATES)
        yield f"Time: {size(amount)} are moved, {fast} to {slow} at an assumed 200 to 50 MiB/s."
    offline = numbers([not step.online for step in plan.steps])
    copied = any(step.fills for step in plan.steps if not step.online)
    yield (
        f"Downtime: {offline}{', with the copy' if copied else ''}; no program can use the volume then."
        if offline
        else "No downtime: programs may go on."
    )


def _alternatives(report: Report, others: tuple[Proposal, ...]) -> Iterator[Block]:
    """Yield which layouts would help and which would not; only without --to."""
    parts: dict[str, list[str]] = {"Would help:": [], "May help:": [], "Would not help:": []}
    for proposal in others:
        if proposal.is_present or proposal.requests is None:
            continue
        few, then = HELPS * proposal.requests.now.likely, proposal.requests.then
        helps, never = then.high <= few, then.likely >= few
        lead = "Would help:" if helps else "Would not help:" if never else "May help:"
        parts[lead].append(_gain(proposal))
    for lead, said in parts.items():
        if said:
            yield Paragraph(paragraph(said), lead)
    if any(parts.values()):
        name = report.stacks[0].top.title
        yield Paragraph(f"For space, hours and commands, add `--to LAYOUT` for {name}.")


def _risks(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    """Yield the main risks of the first proposal."""
    if proposals:
        parts = tuple(filter(None, risks_of(report, proposals[0])))[:MOST_RISKS]
        yield Paragraph("" if parts else "unknown.", "Risks:")
        yield Listing(parts)


def _not_judged(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    """Yield the questions that neither the rules nor the plan could judge."""
    asked = [doubt.question.subject for doubt in report.judged.open_questions]
    plans = [proposal.plan for proposal in proposals if proposal.plan is not None]
    asked += [
        remark.partition(":")[0] for plan in plans for remark in plan.unchecked if ":" in remark
    ]
    if asked:
        yield Paragraph(f"{listed(list(dict.fromkeys(asked)))}.", "Not judged:")
