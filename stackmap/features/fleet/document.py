"""The volumes of a fleet: a table with the worst first, and a page for a migration programme."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from stackmap import __version__
from stackmap.document import blocks as doc
from stackmap.document.interval import instant
from stackmap.document.sentences import year_range
from stackmap.document.wording import UNKNOWN, plural, size
from stackmap.features.fleet import health
from stackmap.features.fleet.health import Trouble
from stackmap.features.fleet.promql import KIND, LEVEL, MODEL
from stackmap.features.fleet.volumes import Fleet, Group, Volume
from stackmap.model.units import MIB

LEGEND = (
    "cost: bytes read and written at the members per byte written, parity and data alone; ideal: with full-stripe "
    "writes only; wasted: what the disks did beyond the reads and the ideal writes; slowest: a member that "
    "explain calls slow, await ÷ median of its peers; RAID10 saves: bytes at the members that RAID10 would not move"
)

WEAR_LEGEND = (
    "disk life: the disk that the volume wears out first, and how long it lasts if nothing else writes to it; "
    "(all): with everything that writes to it"
)


def _grouped(divisor: float, digits: int) -> Callable[[float | None], str]:
    """Return a function that writes a number in units of *divisor*, its thousands grouped."""
    return lambda value: UNKNOWN if value is None else f"{value / divisor:,.{digits}f}"


_mib, _ratio, _requests, _count = _grouped(MIB, 1), _grouped(1, 2), _grouped(1, 1), _grouped(1, 0)


def _flow(value: float | None) -> str:
    return UNKNOWN if value is None else f"{size(value)}/s"


def _slowest(volume: Volume) -> doc.Cell:
    slowest = volume.slowest
    if slowest is None:
        return doc.Label(UNKNOWN, ("", ""))
    return doc.Label(f"{slowest.device} {slowest.ratio:.1f}×", (slowest.device, f"{slowest.ratio}"))


def _wear(volume: Volume) -> doc.Cell:
    wear = volume.wear
    if wear is None:
        return doc.Label(UNKNOWN, ("",) * 5)
    own, with_all = (
        UNKNOWN if years is None else year_range(years).removesuffix(" years")
        for years in (wear.years, wear.all_years)
    )
    figures = map(str, (*wear.years, *(wear.all_years or ("", ""))))
    return doc.Label(f"{wear.disk} {own} ({with_all})", (wear.disk, *figures))


class Column(NamedTuple):
    """``key`` for -o and --sort; how tables show it, its cell of a volume, and the fields that the cell ``needs``."""

    key: str
    shown: doc.Column
    cell: Callable[[Volume], doc.Cell]
    needs: tuple[str, ...] = ()
    default: bool = True


def _text(key: str, cell: Callable[[Volume], doc.Cell], *, default: bool = True) -> Column:
    """Return a column of text, whose heading is its key."""
    return Column(key, doc.Column(key, key, is_text=True), cell, default=default)


COLUMNS = (
    _text("host", lambda v: v.key.host),
    _text("cluster", lambda v: v.key.cluster, default=False),
    _text("volume", lambda v: v.key.name),
    _text("level", lambda v: v.level),
    Column("iops", doc.Column("IOPS", "requests_per_s"), lambda v: doc.Value(v.iops, _requests), ("reads", "writes")),
    Column("await", doc.Column("await\nms", "await_ms"), lambda v: doc.Value(v.await_ms, _ratio), ("io_seconds", "reads", "writes")),
    Column("cost", doc.Column("cost", "cost"), lambda v: doc.Value(v.cost, _ratio), ("parity_bytes", "parity_write_bytes")),
    Column("ideal", doc.Column("ideal", "ideal"), lambda v: doc.Value(v.ideal, _ratio), ("ideal",)),
    Column("wasted", doc.Column("wasted\nMiB/s", "wasted_bytes_per_s"), lambda v: doc.Value(v.wasted_bytes, _mib), ("wasted_bytes",)),
    Column("wasted-iops", doc.Column("wasted\nIOPS", "wasted_requests_per_s"), lambda v: doc.Value(v.wasted_requests, _requests), ("wasted_requests",)),
    Column("slowest", doc.Column("slowest\nmember", "slowest_member", ("ratio",)), _slowest, ("slowest",)),
    Column("raid10", doc.Column("RAID10\nsaves\nMiB/s", "raid10_saves_bytes_per_s"), lambda v: doc.Value(v.raid10_saves, _mib), ("parity_bytes", "parity_write_bytes")),
    Column("raid10-iops", doc.Column("RAID10\nsaves\nIOPS", "raid10_saves_requests_per_s"), lambda v: doc.Value(v.raid10_saves_requests, _requests), ("parity_bytes", "parity_write_bytes", "disk_requests", "reads", "writes"), default=False),
    Column("written", doc.Column("written\nMiB/s", "written_bytes_per_s"), lambda v: doc.Value(v.write_bytes, _mib), ("write_bytes",), default=False),
    Column("disk-bytes", doc.Column("disk bytes\nper byte", "disk_bytes_per_byte"), lambda v: doc.Value(v.disk_bytes_per_byte, _ratio), ("disk_bytes", "read_bytes", "write_bytes"), default=False),
    Column("members", doc.Column("members", "members"), lambda v: doc.Value(v.members, _count), ("members",), default=False),
    _text("state", lambda v: doc.Label(v.state or UNKNOWN, (v.state or "",)), default=False)._replace(needs=("state",)),
    _text("device", lambda v: v.key.top, default=False),
    _text("uuid", lambda v: v.uuid, default=False),
    _text("job", lambda v: v.key.job, default=False),
    Column("wear", doc.Column("disk life\nyears (all)", "worn_disk", ("years_low", "years_high", "all_years_low", "all_years_high")), _wear, ("wear",), default=False),
)  # fmt: skip
SHOWN = {column.key: column.shown for column in COLUMNS}
SHARED = "array or pool", "arrays or pools"
MOST_TROUBLES = 20  # lines
ON_A_PHONE = ("host", "volume", "cost", "wasted", "slowest")
DEFAULT = tuple(column.key for column in COLUMNS if column.default)
# A page is for a reader without the command line; its columns fit into 1,300 pixels.
PAGE_COLUMNS = (*DEFAULT[:3], "state", *DEFAULT[3:])


def needed_parts(columns: Sequence[str], sort: str) -> set[str]:
    """Return the parts to ask of each volume for *columns*; with the default ones, also wear, where it is known."""
    shown = {*columns, sort, *(("wear",) if columns in (DEFAULT, PAGE_COLUMNS) else ())}
    return {"level", *(field for c in COLUMNS if c.key in shown for field in c.needs)}


def fleet_document(fleet: Fleet, columns: Sequence[str]) -> list[doc.Block]:
    """Return the sums, the table and what is missing; *columns*: their keys."""
    return [
        doc.Headline((_sums(fleet), f"{fleet.window} to {instant(fleet.time)}")),
        *_health(fleet.health),
        _groups(fleet) if fleet.by else _table(fleet, _needed(fleet, columns)),
        *_remarks(fleet),
    ]


def _needed(fleet: Fleet, columns: Sequence[str]) -> Sequence[str]:
    """Return *columns* with the cluster where hosts are of several, and the default ones with wear where it is known."""
    wear = columns in (DEFAULT, PAGE_COLUMNS) and any(volume.wear for volume in fleet.volumes)
    columns = (*columns, "wear") if wear else columns
    clusters = {volume.key.cluster for volume in fleet.volumes}
    return ("cluster", *columns) if len(clusters) > 1 and "cluster" not in columns else columns


def fleet_page(fleet: Fleet) -> doc.Page:
    """Return the page: sums, sums by level, the ranking, and what is missing."""
    sections = (
        doc.Section(
            "sums", "Totals", (*_totals(fleet), *_health(fleet.health), *_remarks(fleet)), folded=False
        ),
        doc.Section("levels", "By level", (_levels(fleet.levels),), folded=False),
        doc.Section("ranking", "Ranking, worst first", (_table(fleet, _needed(fleet, PAGE_COLUMNS)),), folded=False),
    )  # fmt: skip
    about = (
        f"{fleet.window} to {instant(fleet.time)}",
        f"Made by stackmap {__version__}, which only reads.",
    )
    return doc.Page("Fleet report: the cost of RAID", about, sections)


def _health(troubles: Sequence[Trouble]) -> Iterable[doc.Block]:
    """Yield one line per trouble; of many, the first."""
    lines = health.lines(troubles)[:MOST_TROUBLES]
    if len(troubles) > MOST_TROUBLES:
        lines.append(f"and {len(troubles) - MOST_TROUBLES} more; --json lists all")
    if lines:
        yield doc.Listing(tuple(lines))


def _sums(fleet: Fleet) -> str:
    wasted, requests = map(fleet.sum_of, ("wasted_bytes", "wasted_requests"))
    shared = (
        f" and {_count(fleet.shared)} shared {SHARED[fleet.shared != 1]}" if fleet.shared else ""
    )
    own = plural(fleet.total - fleet.shared, "volume")
    volumes = f"{own}{shared} on {plural(fleet.hosts, 'host')}"
    if wasted is None:
        return f"{volumes}; their waste at the disks is unknown"
    verb = "wastes" if fleet.total == 1 else "waste"
    return f"{volumes} {verb} {_flow(wasted)} and {_requests(requests)} IOPS at the disks"


def _totals(fleet: Fleet) -> Iterable[doc.Block]:
    written, wasted, requests, saved = map(
        fleet.sum_of, ("write_bytes", "wasted_bytes", "wasted_requests", "raid10_saves")
    )
    gaining = sum(level.gaining for level in fleet.levels)
    yield doc.Paragraph(f"{_sums(fleet)}.")
    if saved:
        yield doc.Paragraph(
            f"RAID10 would move {_flow(saved)} less at the members of {plural(gaining, 'volume')}. "
            "It stores each byte twice, so check the capacity first: run `stackmap whatif VOLUME "
            "--to raid10` on the host."
        )
    yield doc.Tiles((
        doc.Tile("Hosts", _count(fleet.hosts)),
        doc.Tile("Volumes and arrays", _count(fleet.total)),
        doc.Tile("Written", _flow(written)),
        doc.Tile("Wasted at the disks", _flow(wasted), f"{_requests(requests)} IOPS"),
        doc.Tile("RAID10 saves", _flow(saved), f"on {plural(gaining, 'volume')}"),
    ))  # fmt: skip


def _table(fleet: Fleet, columns: Sequence[str]) -> doc.Table:
    chosen = [column for key in columns for column in COLUMNS if column.key == key]
    return doc.Table(
        "fleet",
        tuple(column.shown._replace(minor=column.key not in ON_A_PHONE) for column in chosen),
        (doc.Rows(tuple(tuple(column.cell(v) for column in chosen) for v in fleet.volumes)),),
        legend="; ".join((LEGEND, *[WEAR_LEGEND] * ("wear" in columns), "- unknown")),
    )


def _groups(fleet: Fleet) -> doc.Table:
    """Return the sums by the label that was asked for; troubles are of hosts and disks, and have no level or kind."""
    of_disks, has_troubles = fleet.by == MODEL, fleet.by not in (KIND, LEVEL)
    rows = tuple(
        (
            doc.Label(group.value or UNKNOWN, (group.value,)),
            doc.Value(round(group.hosts), _count),
            doc.Value(round((group.disks if of_disks else group.volumes) or 0), _count),
            doc.Value(group.requests, _requests),
            doc.Value(group.await_ms, _ratio),
            *(() if of_disks else (
                doc.Value(group.write_bytes, _mib),
                doc.Value(group.wasted_bytes, _mib),
                doc.Value(group.wasted_requests, _requests),
            )),
            *((doc.Value(group.troubles, _count),) if has_troubles else ()),
        )
        for group in sorted(fleet.groups, key=lambda group: -(group.wasted_bytes or group.await_ms or 0))
    )  # fmt: skip
    counted = "disks" if of_disks else "volumes"
    columns = (
        doc.Column(fleet.by, fleet.by, is_text=True),
        doc.Column("hosts", "hosts"),
        doc.Column(counted, counted),
        *(SHOWN[key] for key in ("iops", "await")),
        *(() if of_disks else (SHOWN[key] for key in ("written", "wasted", "wasted-iops"))),
        *((doc.Column("troubles", "troubles"),) if has_troubles else ()),
    )
    return doc.Table("groups", columns, (doc.Rows(rows),))


def _levels(levels: Sequence[Group]) -> doc.Table:
    """Return the sums of each level; volumes whose figure is unknown are not in the sum."""
    rows = tuple(
        (
            level.value,
            doc.Value(level.volumes + level.shared, _count),
            doc.Value(level.write_bytes, _mib),
            doc.Value(level.wasted_bytes, _mib),
            doc.Value(level.wasted_requests, _requests),
            doc.Value(_share(level.wasted_bytes, levels), _requests),
            doc.Value(level.raid10_saves, _mib),
            doc.Value(None if level.raid10_saves is None else level.gaining, _count),
        )
        for level in levels
    )
    headings = {
        "level": True,
        "volumes": True,
        "written\nMiB/s": False,
        "wasted\nMiB/s": True,
        "wasted\nIOPS": False,
        "share of\nwasted %": True,
        "RAID10 saves\nMiB/s": True,
        "on volumes": False,
    }  # whether a phone shows the column
    columns = doc.plain_columns(headings)
    shown = (c._replace(minor=not kept) for c, kept in zip(columns, headings.values(), strict=True))
    return doc.Table("levels", tuple(shown), (doc.Rows(rows),))


def _share(wasted: float | None, levels: Iterable[Group]) -> float | None:
    """Return the percentage of what all levels waste; None without waste."""
    total = sum(level.wasted_bytes or 0 for level in levels)
    return 100 * wasted / total if wasted is not None and total else None


def _remarks(fleet: Fleet) -> Iterable[doc.Block]:
    if not fleet.by and 0 < len(fleet.volumes) < fleet.total:
        shown, total = _count(len(fleet.volumes)), _count(fleet.total)
        yield doc.Paragraph(f"The worst {shown} of {total} volumes; --limit 0 shows all.")
    for note in fleet.notes:
        yield doc.Paragraph(note, "note:")
    if fleet.partial:
        yield doc.Paragraph("The results are partial.", "Caution:")
        yield doc.Listing(fleet.partial)
