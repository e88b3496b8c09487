"""``report --explain-write``: what one write does on the layout of a volume, member by member, and a full stripe beside it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.document import blocks as doc
from stackmap.document.describe import layout as described
from stackmap.document.wording import divided, listed, plural, size
from stackmap.features.whatif.geometry import Geometry
from stackmap.features.whatif.volume_context import VolumeContext, volume_context
from stackmap.ledger.device_state import is_degraded
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

DATA, COPY, PARITY, READ_ONLY = "data", "copy", "parity", "other data"
COLUMNS = (
    doc.Column("Member", is_text=True),
    doc.Column("Holds", is_text=True),
    *map(doc.Column, ("Read first", "Written", "Requests")),
)
LIMITS = (
    "Counted before merging, with nothing in md's stripe cache, without bitmap and journal. The write begins at the "
    "first byte of a stripe."
)
PAGES = " md reads and writes the members in pages of 4 KiB."


class MemberPart(NamedTuple):
    """What one member does for a write: its part in it, the bytes read first and written, and its requests."""

    holds: str
    read: int
    written: int
    requests: int


class Example(NamedTuple):
    """A write of ``size`` bytes: the part of each member that takes one, by its number."""

    size: int
    parts: Mapping[int, MemberPart]

    @property
    def totals(self) -> tuple[int, int, int]:
        """Bytes read and written, and requests, at all members."""
        read, written, requests = (
            sum(getattr(part, field) for part in self.parts.values())
            for field in ("read", "written", "requests")
        )
        return read, written, requests


def example(layout: Layout, length: int) -> Example:
    """Return the I/O that a write of *length* bytes at the start of a stripe of *layout* causes."""
    geometry = Geometry(layout, max(length, PAGE) * layout.members)
    sums: dict[int, list[int]] = {}
    holds: dict[int, str] = {}

    def count(member: int, place: int, moved: int, requests: int) -> None:
        for at, amount in ((place, moved), (2, requests)):
            sums.setdefault(member, [0, 0, 0])[at] += amount

    if layout.parity:
        for rows, places in geometry.rows(0, length):
            read = geometry.reads_for(rows, places)
            written = geometry.writes_of(rows, places)
            for place, parts in enumerate((read, written)):
                for part in parts:
                    count(part.member, place, part.size, -(-part.size // PAGE))
                    holds.setdefault(part.member, READ_ONLY)
            # The parity of a row follows its data.
            holds |= {part.member: DATA for part in written[: len(places)]}
            holds |= {part.member: PARITY for part in written[len(places) :]}
    else:
        for copies in geometry.write(0, length):
            for number, part in enumerate(copies):
                count(part.member, 1, part.size, 1)
                holds.setdefault(part.member, COPY if number else DATA)
    return Example(length, {m: MemberPart(holds[m], *sums[m]) for m in sorted(sums)})


def write_section(topology: Topology, tops: Iterable[str], length: int) -> doc.Section:
    """Return the example for each stack of *tops*."""
    parts = [
        doc.Part(topology[top].full_title, tuple(_blocks(topology, volume_context(topology, top), length)))
        for top in tops
    ]  # fmt: skip
    return doc.Section("write", f"One write of {size(length)}", doc.side_by_side(parts))


def _blocks(topology: Topology, context: VolumeContext, length: int) -> Iterator[doc.Block]:
    layout, device = context.present, context.device
    if layout is None or layout.level == "linear":
        yield doc.Paragraph(f"{device.title} has no RAID: its disk gets the write as it is.")
        return
    if is_degraded(device) or len(context.members) != layout.members:
        yield doc.Paragraph(f"No example: a member of {device.title} is missing.")
        return
    small = example(layout, length)
    names = [topology[name].title for name in context.members]
    yield doc.Paragraph(_sentence(small, device.title, described(layout)), headline=True)
    yield _diagram(small, names)
    yield _table(small, names, device.name)
    yield doc.Listing(tuple(_full_stripe(layout, small)))
    yield doc.Paragraph(LIMITS + (PAGES if layout.parity else ""))


def _sentence(small: Example, title: str, layout: str) -> str:
    read, written, requests = small.totals
    first = (
        f"reads {size(read)} first, then writes {size(written)}"
        if read
        else f"writes {size(written)}"
    )
    return (
        f"{title} ({layout}) {first} for {size(small.size)}: {plural(requests, 'request')}, "
        f"{(read + written) / small.size:.2f} disk bytes per byte."
    )  # fmt: skip


def _diagram(small: Example, names: list[str]) -> doc.Diagram:
    boxes = [doc.Node("write", ("Write", size(small.size)))]
    for member, part in small.parts.items():
        does = [
            f"{word} {size(amount)}"
            for word, amount in (("read", part.read), ("write", part.written))
            if amount
        ]
        boxes.append(
            doc.Node(
                names[member], (names[member], part.holds, ", then ".join(does)), part.holds != DATA
            )
        )
    links = tuple(
        ("write", names[m], "read" if part.holds == READ_ONLY else "")
        for m, part in small.parts.items()
    )
    untouched = [name for number, name in enumerate(names) if number not in small.parts]
    rest = f"; {listed(untouched)} not touched" if untouched else ""
    return doc.Diagram(f"One write of {size(small.size)}{rest}", tuple(boxes), links)


def _table(small: Example, names: list[str], key: str) -> doc.Table:
    nothing = MemberPart("not touched", 0, 0, 0)
    lines = [(name, small.parts.get(number, nothing)) for number, name in enumerate(names)]
    lines.append(("all members", MemberPart("", *small.totals)))
    rows = tuple(
        (
            name,
            part.holds,
            doc.Value(part.read, _bytes),
            doc.Value(part.written, _bytes),
            doc.Value(part.requests, divided(1, 0)),
        )
        for name, part in lines
    )
    return doc.Table(f"write-{key}", COLUMNS, (doc.Rows(rows),))


def _bytes(number: float | None) -> str:
    return size(int(number or 0))


def _full_stripe(layout: Layout, small: Example) -> Iterator[str]:
    """Yield the cost of a full-stripe write, which reads nothing; without parity, size does not matter."""
    if not layout.parity or layout.stripe is None:
        yield f"Each byte is stored {layout.copies} times: a larger write costs the same per byte."
        return
    full = example(layout, layout.stripe)
    read, written, requests = full.totals
    cost, least = sum(small.totals[:2]) / small.size, (read + written) / full.size
    yield (
        f"A full stripe of {size(full.size)} reads nothing and writes {size(written)}: {least:.2f} disk bytes per byte."
    )
    yield (
        f"It has {requests / (full.size / PAGE):.2f} requests per 4 KiB of data, this write "
        f"{small.totals[2] / (-(-small.size // PAGE)):.2f}."
    )
    if cost > least:
        yield f"So small writes cost {cost / least:.1f} times as many bytes as full stripes."
