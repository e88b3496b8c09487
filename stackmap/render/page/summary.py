"""The section at the top: what is wrong, what is proposed and what that will give, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import StackFigures
from stackmap.analysis.findings.finding import Finding, Severity
from stackmap.analysis.report import Report
from stackmap.render.filled import filled, shown, words_of
from stackmap.render.page.blocks import Block, Listing, Paragraph, Rows, Section, Table, Tile, Tiles
from stackmap.render.page.figures import (
    at_disks,
    disk_requests,
    slowest,
    wasted,
    what_becomes_of_it,
    what_it_is,
    what_it_is_asked_for,
)
from stackmap.render.page.names import REQUESTS, known_directions, named, plural, short
from stackmap.render.units import number, percent, rate

GRAVE = (Severity.CRITICAL, Severity.WARNING)
MOST_TOLD = 4  # findings in the summary
NOTHING_WRONG = "no rule found anything wrong in what was measured."


def section(report: Report) -> Section:
    """Return the summary: of the first stack in full, of the others a row each."""
    first, *others = report.stacks
    blocks: list[Block] = [*_about(report, first)]
    blocks += _wrong(report)
    blocks += _proposed(report)
    if others or report.others:
        blocks.append(_table(report))
    return Section("summary", "Summary", tuple(blocks))


def _about(report: Report, stack: StackFigures) -> Iterator[Block]:
    tiles = tuple(_tiles(stack))
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
        yield Tile("asked for", f"{short(head.total.ios)} requests/s", beside)
    disks = disk_requests(stack)
    if len(stack.layers) > 1 and disks:
        yield Tile("done by the disks for it", f"{short(disks)} requests/s", _per_request(stack))
    cost = stack.parity
    if cost is not None and cost.cost_bytes_per_byte is not None:
        spared = wasted(stack)
        ideal = f"{number(cost.ideal_bytes_per_byte, 2)} with full stripes"
        more = f"; {percent(spared)} of it avoidable" if spared else ""
        yield Tile("disk bytes a byte written", number(cost.cost_bytes_per_byte, 2), ideal + more)
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
    grave = [each for each in report.findings if each.severity in GRAVE]
    rest = len(report.findings) - len(grave)
    remarks = f"{plural(rest, 'more remark')} under Findings." if rest else ""
    if not grave:
        yield Paragraph(" ".join(filter(None, (NOTHING_WRONG, remarks))), "What is wrong:")
        return
    more = len(grave) - MOST_TOLD
    lead = "what the rules found, the worst first" if len(grave) > 1 else "one thing"
    yield Paragraph(f"{lead}.", "What is wrong:")
    items = [_told(report, each) for each in grave[:MOST_TOLD]]
    if more > 0:
        items.append(f"{plural(more, 'more finding')} under Findings.")
    if remarks:
        items.append(remarks)
    yield Listing(tuple(items))


def _told(report: Report, finding: Finding) -> str:
    words = words_of(report.topology, finding.seen)
    return f"{finding.severity.capitalize()}: {filled(finding.rule.says, words)}"


def _proposed(report: Report) -> Iterator[Block]:  # noqa: ARG001
    yield Paragraph(
        "nothing: no other layout was asked for (--to), so this page describes what is.",
        "What is proposed:",
    )


def _table(report: Report) -> Table:
    """Return a row a stack, with what is told of it below."""
    rows = tuple(_row(report, stack) for stack in report.stacks)
    others = tuple(
        (
            named(device),
            rate(report.interval.loads[device.name].total.ios),
            "-",
            "-",
            "in no section of its own: ask for it by name",
        )
        for device in report.others
    )
    return Table(
        "stacks",
        ("Stack", "Requests/s", "At its disks", "Bytes a byte written", "Worst finding"),
        (Rows((*rows, *others)),),
        caption="All that did something, the worst and the most loaded first",
    )


def _row(report: Report, stack: StackFigures) -> tuple[str, ...]:
    found = report.findings_of(stack.top.name)
    worst = f"{found[0].severity}: {found[0].rule.name}" if found else "none"
    disks = stack.layers[-1]
    cost = None if stack.parity is None else stack.parity.cost_bytes_per_byte
    if stack.parity is None:
        cost = disks.byte_amplification.get("write")
    return (
        named(stack.top),
        rate(stack.layers[0].share.total.ios),
        ("~" if disks.share.estimated else "") + rate(disk_requests(stack)),
        number(cost, 2),
        worst,
    )
