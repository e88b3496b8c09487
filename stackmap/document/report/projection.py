"""The section on what the measured load would be on the layout that is proposed, with its band."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.whatif.projection import DeviceLoad, Projection
from stackmap.analysis.whatif.quantities import Band
from stackmap.document.blocks import (
    Bar,
    Bars,
    Block,
    Listing,
    Paragraph,
    Part,
    Rows,
    Section,
    Table,
)
from stackmap.document.report.figures import laid_out
from stackmap.document.report.names import plural, sentence, short
from stackmap.document.units import rate, size
from stackmap.model.topology import Topology
from stackmap.render.whatif import lines, sentences

NONE_ASKED = (
    "Nothing was projected: no other layout was asked for. stackmap report NAME --to LAYOUT adds what the "
    "measured load would be on it."
)
INTRO = (
    "The load that was measured, as it would be on the layout that is proposed, by the model in "
    "stackmap-whatif(8). Each figure is the most likely one; where it has a band, the truth lies between "
    "the least and the most, as far as the model goes. Members are what the layout itself sends; disks are what is "
    "left after requests merged."
)
HEADINGS = ("Per second", "now", "projected", "least", "most", "change")
HEADINGS_OF_CHECK = ("Per second", "measured", "model", "least", "most", "off by")
CHECKED = (
    "This is the present layout, so the projection checks the model, which is off by what the last "
    "column says."
)


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return a part a proposal; why there is none."""
    blocks: list[Block] = [Paragraph(INTRO if proposals else NONE_ASKED)]
    for number, each in enumerate(proposals):
        blocks.append(Part(heading(report.topology, each), tuple(_blocks(each, number))))
    return Section("projection", "What another layout would give", tuple(blocks))


def heading(topology: Topology, proposal: Proposal) -> str:
    """Return which stack, and which layout."""
    return f"{topology[proposal.top].full_title} as {proposal.wish}"


def to(proposal: Proposal) -> str:
    """Return the layout that is proposed, in words; as it was asked for where it cannot be."""
    return proposal.wish if proposal.layout is None else laid_out(proposal.layout)


def _blocks(proposal: Proposal, number: int) -> Iterator[Block]:
    projection = proposal.projection
    if projection is None:
        yield Paragraph(f"Nothing was projected: {proposal.unprojected}.")
        return
    if projection.idle:
        yield Listing(tuple(sentences(projection)))
        return
    yield Paragraph(
        CHECKED if projection.is_check else f"From {_now(projection)} to {to(proposal)}."
    )
    bars = _bars(projection)
    if bars is not None:
        yield bars
    yield Table(
        f"projection-{number}",
        HEADINGS_OF_CHECK if projection.is_check else HEADINGS,
        (Rows(tuple(line.cells for line in lines(projection))),),
        caption=f"Averages over {_window(projection)}, a second",
    )
    if projection.intervals > 1:
        rows = tuple(
            (key.replace("_", " "), *map(rate, (each.p50, each.p95, each.peak)))
            for key, each in projection.levels.items()
        )
        yield Table(
            f"levels-{number}",
            ("Requests/s", "half of the time below", "95 % of the time below", "peak"),
            (Rows(rows),),
            caption="Over the time that was measured",
        )
    yield Listing(tuple(map(sentence, sentences(projection))))


def _now(projection: Projection) -> str:
    layout = projection.now.layout
    return "one device" if layout is None else laid_out(layout)


def _window(projection: Projection) -> str:
    long = f"{projection.seconds:.0f} s in " if projection.seconds else ""
    return f"{long}{plural(projection.intervals, 'interval')}"


def _bars(projection: Projection) -> Bars | None:
    now, then = projection.now.disks.requests, projection.projected.disks.requests
    if now is None or then is None:
        return None
    here, there = ("measured", "model") if projection.is_check else ("now", "projected")
    bars = (
        Bar(f"all disks, {here}", now.likely),
        _banded(f"all disks, {there}", then),
        Bar(f"each disk, {here}", now.likely / max(1, projection.now.disks.count)),
        _banded(f"each disk, {there}", then.scaled(1 / max(1, projection.projected.disks.count))),
    )
    return Bars("Requests at the disks", "requests/s", bars)


def _banded(label: str, band: Band) -> Bar:
    return Bar(label, band.likely, band.low, band.high)


def gives(projection: Projection) -> str:
    """Return in sentences what the proposed layout would make of the load at the disks; that there is none."""
    now, then = projection.now.disks, projection.projected.disks
    if projection.idle:
        return next(sentences(projection))
    if now.requests is None or then.requests is None:
        return "What the disks would do cannot be told, for it is not known what they do now."
    low, likely, high = then.requests.low, then.requests.likely, then.requests.high
    words = (
        f"For the load that was measured its disks would do about {short(likely)} requests a second, "
        f"between {short(low)} and {short(high)}, where they do {short(now.requests.likely)} now: "
        f"{change(now.requests.likely, likely, 'fewer')}. That is {short(likely / max(1, then.count))} "
        f"for each of {plural(then.count, 'disk')}, where it is "
        f"{short(now.requests.likely / max(1, now.count))} for each of {now.count} now."
    )
    return f"{words} {_bytes(now, then)}".rstrip()


def _bytes(now: DeviceLoad, then: DeviceLoad) -> str:
    if not now.bytes or then.bytes is None:
        return ""
    return (
        f"The bytes that they move would go from {size(now.bytes)}/s to {size(then.bytes)}/s, "
        f"{change(now.bytes, then.bytes)}."
    )


def change(now: float, then: float, less: str = "less") -> str:
    """
    Return how much more or less *then* is, in per cent; *less* may be "fewer".

    >>> change(774.1, 356.0, "fewer"), change(100, 100.2), change(100, 250)
    ('54 % fewer', 'no change', '150 % more')
    """
    if not now:
        return "where there was nothing" if then else "no change"
    share = round(100 * (then / now - 1))
    return "no change" if not share else f"{abs(share)} % {'more' if share > 0 else less}"


def capacity(projection: Projection) -> str:
    """Return what the proposed layout holds on as many members of the same size; "" if not known."""
    now, then, need = projection.now, projection.projected, projection.need
    if need is None or then.usable is None or now.usable is None:
        return ""
    if projection.needs_larger:
        return (
            f"It takes larger members: {plural(need.members, 'member')} of {size(need.member_bytes)} for the "
            f"{size(now.usable)} that there are; as large as now they would hold {size(then.usable)}."
        )
    if need.members <= then.members.count:
        return (
            f"{plural(then.members.count, 'member')} of {size(need.member_bytes)} hold {size(then.usable)}, "
            f"enough for the {size(now.usable)} that there are."
        )
    return (
        f"It takes more space: {plural(then.members.count, 'member')} as large as now "
        f"({size(need.member_bytes)}) would hold {size(then.usable)} of the {size(now.usable)} that there "
        f"are; for all of it, it takes {need.members} of them, or larger ones: "
        f"{size(need.members * need.member_bytes)} of disks for {size(now.members.count * need.member_bytes)}."
    )
