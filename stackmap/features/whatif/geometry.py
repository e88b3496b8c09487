"""
Where a layout stores each byte, and what a request of the volume causes there: for counts and for time.

Copies write each piece several times. Parity works in rows: an update of k of a row's d data pages writes k + p
and first reads the smaller of two sets: the pages to write and the parity (read-modify-write), or the data pages
that are not written (reconstruct-write, which wins a tie). A full row reads nothing (stackmap-kernel(7), "RAID
write paths"). The simulation sends these rows; ``scattered`` and ``sequential`` count them.

A piece is cut at chunks, and further where a row's pages begin or end. So each segment is one request per member.

A *run* is what arrives at once, in chunks. Random runs find no row in the cache. Sequential
runs find what the run before left there.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import pairwise
from math import expm1, floor, lcm
from typing import NamedTuple

from stackmap.features.whatif.quantities import solve
from stackmap.model.raid import PAGE, Layout

ROWS = 256  # of the stripe cache, or the pages of four chunks if that is more (raid5.c, raid5_run)
CHUNKS_IN_CACHE = 4
ASYMMETRIC = ("la", "ra")
MAX_PAGES = 1e12  # over which writes are spread
MAX_CHUNKS = 64.0  # longer runs are full stripes, except for their ends


class Part(NamedTuple):
    """A request at the member ``member``: from ``offset``, ``size`` bytes."""

    member: int
    offset: int
    size: int


class Rows(NamedTuple):
    """Alike rows of a stripe: from ``start`` in each chunk, ``length`` bytes."""

    stripe: int
    start: int
    length: int


def row_update(
    data: int, parity: int, written: int, cached: int = 0, *, known: int = 0, partial: int = 0
) -> tuple[int, bool]:
    """
    Return the pages that md reads to write *written* of a row's *data* pages, and whether it reconstructs.

    In the stripe cache are *cached* of the other data pages, and *known* of those to write and the parity. Of
    *partial* of the written ones only a part is written: to reconstruct, md needs them as it needs the others.

    >>> row_update(3, 1, 1), row_update(7, 1, 1), row_update(3, 1, 3), row_update(7, 1, 1, known=1)
    ((2, True), (2, False), (0, True), (1, False))
    """
    others, modify = max(0, data - written + partial - cached), written + parity - known
    return (others, True) if others <= modify else (modify, False)


class Geometry:
    """A layout with its members' places; ``missing``: members that failed."""

    def __init__(self, layout: Layout, size: int, missing: AbstractSet[int] = frozenset()) -> None:
        self.layout, self._missing = layout, missing
        self._size = max(PAGE, size)
        self._chunk = layout.chunk or self._size
        # The chunks of each row, by stripe and page, of which the stripe cache has the page.
        self._cached: OrderedDict[tuple[int, int], set[int]] = OrderedDict()
        self.stripes = max(ROWS, CHUNKS_IN_CACHE * self._chunk // PAGE)
        chunks = range(layout.data + layout.parity if layout.parity else 0)
        # The member of each data and parity chunk, by stripe: they repeat after as many stripes as members.
        self._turns = [
            [self._member(turn, place) for place in chunks] for turn in range(layout.members)
        ]

    def read(self, offset: int, size: int) -> Iterator[tuple[bool, tuple[Part, ...]]]:
        """Yield the parts of each piece that a read needs: one of several copies if True, else all of them."""
        for piece in self._pieces(offset, size):
            alive = self._alive(piece)
            if alive:
                yield len(alive) > 1, alive
            else:  # from all others of its row
                _, at, length = self._copies(*piece)[0]
                others = (m for m in range(self.layout.members) if m not in self._missing)
                yield False, tuple(Part(m, at, length) for m in others)

    def write(self, offset: int, size: int) -> Iterator[tuple[Part, ...]]:
        """Yield the writes of each piece, without parity: one per copy."""
        yield from map(self._alive, self._pieces(offset, size))

    def _alive(self, piece: tuple[int, int, int]) -> tuple[Part, ...]:
        return tuple(part for part in self._copies(*piece) if part.member not in self._missing)

    def _pieces(self, offset: int, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield chunk, offset in it and length of each piece."""
        end = offset + max(size, 1)
        while offset < end:
            chunk, start = divmod(offset, self._chunk)
            length = min(end - offset, self._chunk - start)
            yield chunk, start, length
            offset += length

    def _copies(self, chunk: int, start: int, length: int) -> tuple[Part, ...]:
        layout, size = self.layout, self._chunk
        n, copies = layout.members, layout.copies
        if layout.parity:
            stripe, place = divmod(chunk, layout.data)
            return (Part(self._turns[stripe % n][place], stripe * size + start, length),)
        if layout.level == "linear":
            member = min(n - 1, (chunk * size + start) * n // self._size)
            return (Part(member, chunk * size + start, length),)
        row, first = divmod(chunk, n)
        if layout.variant == "far":
            part = self._size // n
            places = [(first + copy, copy * part + row * size) for copy in range(copies)]
        elif layout.variant == "offset":
            places = [(first + copy, (row * copies + copy) * size) for copy in range(copies)]
        else:  # near, as a mirror is too, with as many copies as members
            slots = (divmod(chunk * copies + copy, n) for copy in range(copies))
            places = [(member, row * size) for row, member in slots]
        return tuple(Part(member % n, at + start, length) for member, at in places)

    def _member(self, turn: int, place: int) -> int:
        """Return the member of a data chunk; ``place`` from the layout's data chunks on is parity."""
        layout = self.layout
        n, parity = layout.members, layout.parity
        if layout.has_parity_members:
            return place
        first = (n - 1 - turn if layout.variant not in ("ra", "rs") else turn) % n
        if place >= layout.data:
            return (first + place - layout.data) % n
        if layout.variant in ASYMMETRIC:
            parity_members = {(first + number) % n for number in range(parity)}
            return [member for member in range(n) if member not in parity_members][place]
        return (first + parity + place) % n

    def rows(self, offset: int, size: int) -> Iterator[tuple[Rows, set[int]]]:
        """
        Yield the rows that a write touches, and the data chunks of each that it writes.

        A page of which it writes a part is a row of its own: another write may have the rest.
        """
        data, chunk = self.layout.data, self._chunk
        end = offset + max(size, 1)
        first, last = offset - offset % PAGE, -(-end // PAGE) * PAGE
        edges = {
            border % chunk // PAGE * PAGE + at
            for border in (offset, end)
            if border % PAGE
            for at in (0, PAGE)
        }
        for stripe in range(first // (chunk * data), (last - 1) // (chunk * data) + 1):
            base = stripe * chunk * data
            spans = []
            for place in range(data):
                low, high = max(first, base + place * chunk), min(last, base + (place + 1) * chunk)
                if low < high:
                    spans.append((place, low - base - place * chunk, high - base - place * chunk))
            cuts = sorted({cut for _, low, high in spans for cut in (low, high)} | edges)
            touched = []
            for low, high in pairwise(cuts):
                places = {place for place, start, end in spans if start <= low and high <= end}
                if places:
                    touched.append((Rows(stripe, low, high - low), places))
            # md comes to the rows in the order of the write's sectors: from one chunk on to the next.
            yield from sorted(touched, key=lambda row: (min(row[1]), row[0].start))

    def parts_of_pages(
        self, rows: Rows, places: set[int], offset: int, size: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the data chunks of *rows* of which a write has a part of the page, and how many bytes."""
        if rows.length > PAGE:
            return
        for place in places:
            page = (rows.stripe * self.layout.data + place) * self._chunk + rows.start
            written = min(page + PAGE, offset + size) - max(page, offset)
            if written < PAGE:
                yield place, written

    def reads_for(
        self, rows: Rows, places: set[int], partial: AbstractSet[int] = frozenset()
    ) -> tuple[Part, ...]:
        """
        Return what must be read before the data chunks *places* of *rows* are written.

        *partial*: those of which only a part of the page is written.
        """
        return self._parts(rows, self._wanted(rows, places, partial))

    def writes_of(self, rows: Rows, places: set[int]) -> tuple[Part, ...]:
        """Return the writes of the data chunks *places* of *rows* and of their parity; the cache keeps these pages."""
        written = places | set(range(self.layout.data, self.layout.data + self.layout.parity))
        held = self._wanted(rows, places, frozenset()) | written
        for row in _page_rows(rows):
            self._keep(row, held)
        return self._parts(rows, written - self._lost(rows))

    def _wanted(self, rows: Rows, places: set[int], partial: AbstractSet[int]) -> set[int]:
        data, parity = self.layout.data, self.layout.parity
        checks, others = set(range(data, data + parity)), set(range(data)) - places
        known, lost = self._known(rows), self._lost(rows)
        others |= partial
        held, cached = len(known & (checks | places)), len(known & others)
        _, rebuilds = row_update(
            data, parity, len(places), cached, known=held, partial=len(partial)
        )
        # What is read must be there. md counts a row's missing members as more than all reads (6.12,
        # handle_stripe_dirtying): without its parity it reads the other data, though it writes no parity.
        if lost & (places | checks):
            rebuilds = True
        elif lost & others:
            rebuilds = False
        wanted = others if rebuilds else places | checks
        if lost & wanted:  # two of RAID6: the missing page is made of all others
            wanted = others | places | checks
        return wanted - known - lost

    def _parts(self, rows: Rows, places: set[int]) -> tuple[Part, ...]:
        at = rows.stripe * self._chunk + rows.start
        members = self._turns[rows.stripe % self.layout.members]
        return tuple(Part(members[place], at, rows.length) for place in sorted(places))

    def _lost(self, rows: Rows) -> set[int]:
        """Return the chunks of *rows* on members that failed."""
        if not self._missing:
            return set()
        members = self._turns[rows.stripe % self.layout.members]
        return {place for place, member in enumerate(members) if member in self._missing}

    def remember(self, writes: Sequence[tuple[int, int]], random: Callable[[], float]) -> None:
        """
        Fill the stripe cache as if *writes*, of offset and size, had gone on before.

        How many pages they write again shows over how many they are spread, so how many of these the cache has.
        """
        touched = [
            (row, place)
            for offset, size in writes
            for rows, places in self.rows(offset, size)
            for row in _page_rows(rows)
            for place in places
        ]
        pages, rows = set(touched), dict.fromkeys(row for row, _ in touched)
        if len(pages) == len(touched):
            return  # a stream, or as good as one
        spread = solve(lambda n: n * -expm1(-len(touched) / n), len(pages), 1.0, MAX_PAGES)
        share = self.stripes * len(pages) / len(rows) / spread
        every = set(range(self.layout.data + self.layout.parity))
        for row in rows:
            if random() < share:
                self._keep(row, every)

    def _keep(self, row: tuple[int, int], places: AbstractSet[int]) -> None:
        self._cached.setdefault(row, set()).update(places)
        self._cached.move_to_end(row)
        if len(self._cached) > self.stripes:
            self._cached.popitem(last=False)

    def _known(self, rows: Rows) -> set[int]:
        """Return the chunks of which the stripe cache has all of *rows*."""
        pages = (self._cached.get(row) for row in _page_rows(rows))
        known = set(next(pages) or ())
        for page in pages:
            known &= page or set()
        return known


def _page_rows(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield each of *rows*, as stripe and page."""
    first = rows.start // PAGE
    return ((rows.stripe, page) for page in range(first, first + rows.length // PAGE))


class Cost(NamedTuple):
    """Pages read, pages written, and row updates, each per page of data."""

    reads: float
    writes: float
    updates: float

    def mixed(self, other: "Cost", share: float) -> "Cost":
        """Return the cost if *share* of the pages cost as *other*."""
        pairs = zip(self, other, strict=True)
        return Cost(*((1 - share) * own + share * others for own, others in pairs))


def cold_reads(data: int, parity: int, written: float) -> float:
    """Return the pages read by an update of *written* pages with an empty cache; linear between whole pages."""
    whole = floor(written)
    if whole >= data:
        return 0.0
    reads = row_update(data, parity, whole)[0] if whole else 0
    part = written - whole
    return reads if not part else reads + part * (cold_reads(data, parity, whole + 1) - reads)


def scattered(data: int, parity: int, run: float) -> Cost:
    """Return the cost of random runs of *run* chunks, with nothing in the cache."""
    # Each in stripes of its own, and the next one starts a chunk further on in its stripe.
    return _between(run, lambda n: _counted(data, parity, n, n + data + (1 - n) % data))


def sequential(data: int, parity: int, run: float) -> Cost:
    """Return the cost of sequential runs of *run* chunks, with everything before in the cache."""
    return _between(run, lambda n: _counted(data, parity, n, n))


def run_of(data: int, parity: int, updates: float) -> float:
    """Return the random run, in chunks and at least 1, that takes *updates* row updates per page."""
    if updates >= scattered(data, parity, 1.0).updates or data == 1:
        return 1.0
    return solve(lambda run: -scattered(data, parity, run).updates, -updates, 1.0, MAX_CHUNKS)


def _between(run: float, cost: Callable[[int], Cost]) -> Cost:
    """Return the cost of a fractional *run* as a mix of the next shorter and the next longer one."""
    run = min(max(run, 1.0), MAX_CHUNKS)
    shorter = floor(run)
    share = (run - shorter) * (shorter + 1) / run  # of the pages, in the longer ones
    return cost(shorter).mixed(cost(shorter + 1), share) if share else cost(shorter)


@cache
def _counted(data: int, parity: int, chunks: int, step: int) -> Cost:
    """Count what runs of *chunks* cost, one every *step* chunks, until one starts where the first did in its stripe."""
    runs = lcm(data, step) // step
    layout = Layout("raid5", data + parity, data, parity, 1, PAGE)
    geometry = Geometry(layout, runs * step * PAGE)
    reads = writes = updates = 0
    for place in range(runs):
        for rows, written in geometry.rows(place * step * PAGE, chunks * PAGE):
            reads += len(geometry.reads_for(rows, written))
            writes += len(geometry.writes_of(rows, written))
            updates += 1
    pages = runs * chunks
    return Cost(reads / pages, writes / pages, updates / pages)
