"""The volumes of a fleet: a table with the worst first, and a page for a migration programme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stackmap import __version__
from stackmap.document import blocks as doc
from stackmap.document.interval import instant
from stackmap.document.units import UNKNOWN, number, rate, size
from stackmap.document.wording import plural
from stackmap.features.fleet.volumes import Fleet, LevelSum, Trouble, Volume
from stackmap.model.load import ratio
from stackmap.model.units import MIB

LEGEND = (
    "cost: bytes read and written at the members per byte written, parity and data alone; ideal: with full-stripe "
    "writes only; wasted: what the disks did beyond the reads and the ideal writes; slowest: a member that "
    "explain calls slow, await ÷ median of its peers; RAID10 saves: bytes at the members that RAID10 would not move; - unknown"
)


def _mib(value: float | None) -> str:
    return number(ratio(value, MIB))


def _flow(value: float | None) -> str:
    return UNKNOWN if value is None else f"{size(value)}/s"


def _slowest(volume: Volume) -> str:
    member = volume.slowest
    return UNKNOWN if member is None else f"{member.device} {member.ratio:.1f}×"


class Column(NamedTuple):
    """``key`` for -o; ``heading`` with a line break for terminals."""

    key: str
    heading: str
    text: Callable[[Volume], str]
    default: bool = True


COLUMNS = (
    Column("host", "host", lambda v: v.key.host),
    Column("volume", "volume", lambda v: v.key.name),
    Column("level", "level", lambda v: v.level),
    Column("iops", "IOPS", lambda v: rate(v.iops)),
    Column("cost", "cost", lambda v: number(v.cost, 2)),
    Column("ideal", "ideal", lambda v: number(v.ideal, 2)),
    Column("wasted", "wasted\nMiB/s", lambda v: _mib(v.wasted_bytes)),
    Column("wasted-iops", "wasted\nIOPS", lambda v: rate(v.wasted_requests)),
    Column("slowest", "slowest\nmember", _slowest),
    Column("raid10", "RAID10\nsaves\nMiB/s", lambda v: _mib(v.raid10_saves)),
    Column("raid10-iops", "RAID10\nsaves\nIOPS", lambda v: rate(v.raid10_saves_requests), default=False),
    Column("written", "written\nMiB/s", lambda v: _mib(v.write_bytes), default=False),
    Column("disk-bytes", "disk bytes\nper byte", lambda v: number(v.disk_bytes_per_byte, 2), default=False),
    Column("members", "members", lambda v: UNKNOWN if v.members is None else str(v.members), default=False),
    Column("state", "state", lambda v: v.state or UNKNOWN, default=False),
    Column("device", "device", lambda v: v.key.top, default=False),
    Column("job", "job", lambda v: v.key.job, default=False),
)  # fmt: skip
# Of the table by level.
LEVEL_COLUMNS: tuple[tuple[str, Callable[[LevelSum], str]], ...] = (
    ("level", lambda s: s.level),
    ("volumes", lambda s: f"{s.volumes:.0f}"),
    ("written\nMiB/s", lambda s: _mib(s.write_bytes)),
    ("wasted\nMiB/s", lambda s: _mib(s.wasted_bytes)),
    ("wasted\nIOPS", lambda s: rate(s.wasted_requests)),
    ("RAID10 saves\nMiB/s", lambda s: _mib(s.raid10_saves)),
    ("on volumes", lambda s: UNKNOWN if s.raid10_saves is None else f"{s.gaining:.0f}"),
)
WORDS = 3
MOST_TROUBLES = 20  # lines
DEFAULT = tuple(column.key for column in COLUMNS if column.default)


def fleet_document(fleet: Fleet, columns: Sequence[str]) -> list[doc.Block]:
    """Return the sums, the table and what is missing; *columns*: their keys."""
    return [
        doc.Headline((_sums(fleet), f"{fleet.window} to {instant(fleet.time)}")),
        *_health(fleet.health),
        _table(fleet.volumes, columns),
        *_remarks(fleet),
    ]


def fleet_page(fleet: Fleet) -> doc.Page:
    """Return the page: sums, sums by level, the ranking, and what is missing."""
    sections = (
        doc.Section(
            "sums", "Totals", (*_totals(fleet), *_health(fleet.health), *_remarks(fleet)), folded=False
        ),
        doc.Section("levels", "By level", (_levels(fleet.levels),), folded=False),
        doc.Section("ranking", "Ranking, worst first", (_table(fleet.volumes, [c.key for c in COLUMNS]),), folded=False),
    )  # fmt: skip
    about = (
        f"{fleet.window} to {instant(fleet.time)}",
        f"Made by stackmap {__version__}, which only reads.",
    )
    return doc.Page("Fleet report: the cost of RAID", about, sections)


def _health(troubles: Sequence[Trouble]) -> Iterable[doc.Block]:
    """Yield one line per trouble; of many, the first."""
    lines = [f"{each.what}: {_trouble(each)}" for each in troubles[:MOST_TROUBLES]]
    if len(troubles) > MOST_TROUBLES:
        lines.append(f"and {len(troubles) - MOST_TROUBLES} more; --json lists all")
    if lines:
        yield doc.Listing(tuple(lines))


def _trouble(trouble: Trouble) -> str:
    where = f"{trouble.name} on {trouble.host}" if trouble.name else trouble.host
    if trouble.value is None:
        return where
    if trouble.what == "full":
        return f"{where}, {trouble.value:.0%} used"
    return f"{where}, {number(trouble.value, 1)}× the await of its peers"


def _sums(fleet: Fleet) -> str:
    wasted, requests = map(fleet.sum_of, ("wasted_bytes", "wasted_requests"))
    volumes = f"{plural(fleet.total, 'volume')} on {plural(fleet.hosts, 'host')}"
    if wasted is None:
        return f"{volumes}; their waste at the disks is unknown"
    verb = "wastes" if fleet.total == 1 else "waste"
    return f"{volumes} {verb} {_flow(wasted)} and {rate(requests)} IOPS at the disks"


def _totals(fleet: Fleet) -> Iterable[doc.Block]:
    written, wasted, requests, saved = map(
        fleet.sum_of, ("write_bytes", "wasted_bytes", "wasted_requests", "raid10_saves")
    )
    gaining = sum(each.gaining for each in fleet.levels)
    yield doc.Paragraph(f"{_sums(fleet)}.")
    if saved:
        yield doc.Paragraph(
            f"RAID10 would move {_flow(saved)} less at the members of {plural(gaining, 'volume')}. "
            "It stores each byte twice, so check the capacity first: run `stackmap whatif VOLUME "
            "--to raid10` on the host."
        )
    yield doc.Tiles((
        doc.Tile("Hosts", str(fleet.hosts)),
        doc.Tile("Volumes and arrays", str(fleet.total)),
        doc.Tile("Written", _flow(written)),
        doc.Tile("Wasted at the disks", _flow(wasted), f"{rate(requests)} IOPS"),
        doc.Tile("RAID10 saves", _flow(saved), f"on {plural(gaining, 'volume')}"),
    ))  # fmt: skip


def _table(volumes: Iterable[Volume], columns: Sequence[str]) -> doc.Table:
    chosen = [column for key in columns for column in COLUMNS if column.key == key]
    return doc.Table(
        "fleet",
        tuple(column.heading for column in chosen),
        (doc.Rows(tuple(tuple(column.text(v) for column in chosen) for v in volumes)),),
        words=_leading_words(chosen),
        legend=LEGEND,
    )


def _leading_words(chosen: Sequence[Column]) -> int:
    """Return the number of leading columns that are text."""
    words = {column.key for column in COLUMNS[:WORDS]} | {"state", "device", "job"}
    return next((n for n, column in enumerate(chosen) if column.key not in words), len(chosen))


def _levels(levels: Iterable[LevelSum]) -> doc.Table:
    """Return the sums of each level; volumes whose figure is unknown are not in the sum."""
    rows = tuple(tuple(text(level) for _, text in LEVEL_COLUMNS) for level in levels)
    return doc.Table("levels", tuple(heading for heading, _ in LEVEL_COLUMNS), (doc.Rows(rows),))


def _remarks(fleet: Fleet) -> Iterable[doc.Block]:
    if len(fleet.volumes) < fleet.total:
        yield doc.Paragraph(
            f"The worst {len(fleet.volumes)} of {fleet.total} volumes; --limit 0 shows all."
        )
    for note in fleet.notes:
        yield doc.Paragraph(note, "note:")
    if fleet.partial:
        yield doc.Paragraph("The results are partial.", "Caution:")
        yield doc.Listing(fleet.partial)
