"""The sections on the load over time and by hour of day, and on request sizes, with their charts."""

from collections.abc import Iterable, Iterator

from stackmap.document import blocks as doc
from stackmap.document.episodes import slower
from stackmap.document.rule_words import shown
from stackmap.document.wording import (
    REQUESTS,
    await_directions,
    divided,
    kib,
    known_directions,
    number,
    paragraph,
    percent,
    plural,
    rate,
    sentence,
    size,
)
from stackmap.features.report.figures import Report, span
from stackmap.ledger.amounts import Share
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.time_series import Stretch, extremes_of
from stackmap.model.load import ratio
from stackmap.rules.decision import SHOWN

CHARTS = (
    ("ios", "requests/s", "Requests"),
    ("bytes", "bytes/s", "Throughput"),
    ("await_ms", "ms", "Mean await"),
)
DAY = 86400.0  # a capture without a clock counts seconds from 0
FEWEST_HOURS = 2
Extent = tuple[str, tuple[float, float] | None, float | None]  # direction, lowest and highest, mean
FEWEST_DISKS, MOST_DISKS = 2, 8  # lines of a chart


def load_section(report: Report) -> doc.Section:
    """Return the charts of each stack, or a sentence if there is only one interval."""
    shares = _at_disks(report)
    parts = [
        doc.Part(stack.top.full_title, (*_charts(report, stack, share), *_by_hour(report, stack)))
        for stack, share in zip(report.stacks, shares, strict=True)
    ]
    intro = [doc.Paragraph(_resolution(report)), *_episodes(report)]
    return doc.Section("load", "The load over time", (*intro, *doc.side_by_side(parts)))


def _episodes(report: Report) -> Iterator[doc.Block]:
    """Yield when each of the worst episodes was, which the charts shade."""
    times = report.judged.times
    if times is None or not times.worst:
        return
    clock, worst = times.series.clock(), report.episodes[:SHOWN]
    episodes = "; ".join(slower(report.topology, times.series, clock, episode) for episode in worst)
    many = f"{len(worst)} worst of {times.total}" if times.total > SHOWN else "worst first"
    yield doc.Paragraph(f"The charts shade episodes of slow I/O ({many}): {episodes}.")


def _at_disks(report: Report) -> list[tuple[Share, ...]]:
    """Return each stack's share of its disks per point; computed for all stacks, which may share disks."""
    tops = [stack.top.name for stack in report.stacks]
    if not report.course[1:]:  # no chart of one point
        return [()] * len(tops)
    ledgers = (Ledger(report.topology, stretch.interval.loads) for stretch in report.course)
    disks = [stack.layers[-1].layer.devices for stack in report.stacks]
    shares = [list(map(ledger.share, tops, disks)) for ledger in ledgers]
    return list(zip(*shares, strict=True))


def _resolution(report: Report) -> str:
    course, period = report.course, report.kept.period
    if len(course) < 2:
        return "Nothing to plot: only one interval. The tables have its figures."
    axis = "Times are UTC."
    if _axis(course) != "time":
        axis = "The text has no full time stamps, so the axis counts its reports."
    per_point, intervals = course[0].count, plural(period.count, "interval")
    if per_point == 1:
        return f"Each point is one of {intervals}. {axis}"
    seconds = course[0].interval.seconds
    long = f" ({number(seconds, 0)} s)" if seconds else ""
    return (
        f"{intervals}; each point is the mean of {per_point}{long}. The shaded band spans the lowest and "
        f"highest interval. {axis}"
    )


def _axis(course: tuple[Stretch, ...]) -> str:
    return "time" if all((stretch.start or 0.0) > DAY for stretch in course) else "number"


def _charts(
    report: Report, stack: StackFigures, at_disks: tuple[Share, ...]
) -> Iterator[doc.Block]:
    course, name = report.course, stack.top.name
    if len(course) < 2:
        return
    for figure, unit, title in CHARTS:
        head = stack.layers[0]
        directions = await_directions(head) if figure == "await_ms" else known_directions(head)
        lines = [line for d in directions if (line := _line(course, name, d, figure))]
        if lines:
            extents = (
                (d, extremes_of(course, (name, d, figure)), getattr(head.own[d], figure))
                for d in directions
            )
            words = sentence(_extents(unit, extents))
            chart = _chart(course, f"{figure}-{name}", title, unit, lines)
            yield chart._replace(words=words, shaded=_shaded(report, name))
    if len(stack.layers) > 1:
        yield from _disks(report, stack, at_disks)
        yield from _await_per_disk(report, stack)


def _chart(
    course: tuple[Stretch, ...], key: str, title: str, unit: str, lines: Iterable[doc.Line]
) -> doc.Chart:
    """Return a chart over the instants of *course*, over the numbers of its reports if it has none."""
    axis = _axis(course)
    x = tuple(map(float, range(1, len(course) + 1)))
    if axis == "time":
        x = tuple(stretch.start or 0.0 for stretch in course)
    return doc.Chart(key, title, unit, axis, x, tuple(lines))


def _shaded(report: Report, name: str) -> tuple[tuple[float, float], ...]:
    """Return from where to where on the x axis the worst episodes of the stack of *name* were."""
    if report.kept.intervals is None:
        return ()
    clock, stack = report.kept.intervals.clock(), set(report.topology.with_all_below(name))
    spans = [one.span for one in report.episodes if not stack.isdisjoint(one.devices)][:SHOWN]
    if _axis(report.course) == "time":
        return tuple(
            (clock.ends[a] - clock.length(a), clock.ends[b]) for a, b in spans if clock.ends
        )
    per_point = report.course[0].count
    return tuple((a // per_point + 0.5, b // per_point + 1.5) for a, b in spans)


def _line(course: tuple[Stretch, ...], name: str, direction: str, figure: str) -> doc.Line | None:
    """Return the means with their extremes; None without any load."""
    means = tuple(stretch.mean(name, direction, figure) for stretch in course)
    if not any(means):
        return None
    if all(stretch.count == 1 for stretch in course):
        return doc.Line(REQUESTS[direction], means)
    ends = (stretch.ends((name, direction, figure)) or (None, None) for stretch in course)
    low, high = zip(*ends, strict=True)
    return doc.Line(REQUESTS[direction], means, low, high)


def _extents(unit: str, figures: Iterable[Extent]) -> str:
    """Return "reads 12/s to 60/s, mean 33/s; …" of each direction with its ends and its mean."""
    parts = []
    for direction, ends, mean in figures:
        if ends is not None and mean is not None and ends[1]:
            values = (*ends, mean)
            low, high, middle = (
                shown(value, unit).replace(" requests/s", "/s") for value in values
            )
            parts.append(f"{REQUESTS[direction]} {low} to {high}, mean {middle}")
    return "; ".join(parts)


def _disks(report: Report, stack: StackFigures, shares: tuple[Share, ...]) -> Iterator[doc.Block]:
    """Yield the disk requests that belong to the stack, if known."""
    lines = tuple(
        doc.Line(REQUESTS[direction], values)
        for direction in known_directions(stack.layers[0])
        if any(values := tuple(share.part(direction).ios for share in shares))
    )
    if lines:
        belongs = "Requests of this stack only, after merging."
        if shares[0].estimated:
            belongs += " An estimate: other volumes use these disks."
        extents = _extents("requests/s", _at_disks_over_time(stack, shares))
        if extents and any(stretch.count > 1 for stretch in report.course):
            extents += ", each a mean of intervals"
        words = paragraph((sentence(extents), belongs))
        key, title = f"disks-{stack.top.name}", "Disk requests"
        yield _chart(report.course, key, title, "requests/s", lines)._replace(words=words)


def _await_per_disk(report: Report, stack: StackFigures) -> Iterator[doc.Block]:
    """Yield the await of each disk, for all its users; of many, the slowest."""
    disks = stack.layers[-1].layer.devices
    means = {name: report.interval.load(name).total.await_ms for name in disks}
    known = {name: mean for name, mean in means.items() if mean is not None}
    slowest = sorted(known, key=lambda name: -known[name])[:MOST_DISKS]
    lines = []
    for name in (name for name in disks if name in slowest):
        values = tuple(stretch.mean(name, "total", "await_ms") for stretch in report.course)
        lines.append(doc.Line(report.topology[name].title, values))
    if len(lines) < FEWEST_DISKS:
        return
    worst = f"{report.topology[slowest[0]].title} {shown(known[slowest[0]], 'ms')}"
    best = f"{report.topology[slowest[-1]].title} {shown(known[slowest[-1]], 'ms')}"
    many = f" The {MOST_DISKS} slowest of {len(known)} disks." if len(known) > MOST_DISKS else ""
    words = f"Means: {worst} to {best}. Reads and writes of all users together.{many}"
    key, title = f"await-disks-{stack.top.name}", "Await per disk"
    yield _chart(report.course, key, title, "ms", lines)._replace(words=words)


def _at_disks_over_time(stack: StackFigures, shares: tuple[Share, ...]) -> Iterator[Extent]:
    """Yield the range of disk requests over the points; only tops have the extremes of each interval."""
    for direction in known_directions(stack.layers[0]):
        known = [ios for share in shares if (ios := share.part(direction).ios) is not None]
        ends = (min(known), max(known)) if known else None
        yield direction, ends, stack.layers[-1].share.part(direction).ios


def _by_hour(report: Report, stack: StackFigures) -> Iterator[doc.Block]:
    hours = report.kept.hours
    clock = "UTC" if hours.utc else "local time of the text"
    covered = sorted(hours.by_hour)
    if len(covered) < FEWEST_HOURS:
        when = f"in the hour from {covered[0]:02}:00 {clock}" if covered else "at no known hour"
        yield doc.Paragraph(
            f"Unknown: everything was measured {when}.",
            "By hour of day:",
        )
        return
    name, directions = stack.top.name, known_directions(stack.layers[0])
    lines = tuple(
        doc.Line(REQUESTS[d], tuple(hours.by_hour[h].mean((name, d, "ios")) for h in covered))
        for d in directions
    )
    yield doc.Chart(
        f"hours-{name}",
        f"Requests by hour of day ({clock})",
        "requests/s",
        "hour",
        tuple(map(float, covered)),
        lines,
        "The mean of everything measured in that hour, over all days.",
    )
    yield _hours_table(report, name, directions, clock)


def _hours_table(report: Report, name: str, directions: tuple[str, ...], clock: str) -> doc.Table:
    timed = report.kept.period.seconds is not None
    by_hour = report.kept.hours.by_hour
    rows: tuple[doc.Row, ...] = tuple(
        (
            f"{hour:02}:00",
            doc.Value(by_hour[hour].seconds, divided(60, 1) if timed else divided(1, 0)),
            *(doc.Value(by_hour[hour].mean((name, d, "ios")), rate) for d in directions),
            *(doc.Value(by_hour[hour].mean((name, d, "bytes")), kib) for d in directions),
            doc.Value(by_hour[hour].most.get(name), rate),
        )
        for hour in sorted(by_hour)
    )
    headings = (
        f"Hour, {clock}",
        "Measured, min" if timed else "Reports",
        *(f"{REQUESTS[d].capitalize()}/s" for d in directions),
        *(f"KiB/s, {REQUESTS[d]}" for d in directions),
        "Highest requests/s",
    )
    return doc.Table(f"by-hour-{name}", doc.plain_columns(headings), (doc.Rows(rows),))


CAVEAT = (
    "The kernel counts requests and bytes, not the size of each request. The chart uses the mean size "
    "of each interval. Small and large requests in the same interval appear as a size in between."
)


def sizes_section(report: Report) -> doc.Section:
    """Return one part per stack."""
    parts = [doc.Part(s.top.full_title, tuple(_sizes(report, s))) for s in report.stacks]
    return doc.Section("sizes", "Request sizes", (doc.Paragraph(CAVEAT), *doc.side_by_side(parts)))


def _sizes(report: Report, stack: StackFigures) -> Iterator[doc.Block]:
    by_direction = {
        direction: classes
        for direction in known_directions(stack.layers[0])
        if (classes := report.kept.sizes.of(stack.top.name, direction))
    }
    if by_direction:
        yield _size_chart(stack, by_direction)
    yield _mean_sizes(stack)


def _size_chart(stack: StackFigures, by_direction: dict[str, dict[int, float]]) -> doc.Chart:
    """Return the share of requests per size class, by direction."""
    every = span(least for classes in by_direction.values() for least in classes)
    shares = {
        direction: {least: count / sum(classes.values()) for least, count in classes.items()}
        for direction, classes in by_direction.items()
    }
    lines = tuple(
        doc.Line(REQUESTS[direction], tuple(classes.get(least, 0.0) for least in every))
        for direction, classes in shares.items()
    )
    words = []
    for direction, classes in shares.items():
        low = max(classes, key=classes.__getitem__)
        class_ = f"{size(low)} to under {size(low * 2)}" if low else "without data (flushes)"
        words.append(f"{percent(classes[low])} of the {REQUESTS[direction]} were {class_}")
    return doc.Chart(
        f"sizes-{stack.top.name}",
        f"Requests by size at {stack.top.title}",
        "share",
        "size",
        tuple(map(float, every)),
        lines,
        sentence("; ".join(words)),
    )


def _mean_sizes(stack: StackFigures) -> doc.Table:
    directions = known_directions(stack.layers[0])
    rows: list[doc.Row] = []
    for figures in stack.layers:
        flows = [figures.share.part(direction) for direction in directions]
        sizes = ((ratio(flow.bytes, flow.arrivals), flow.size) for flow in flows)
        cells = (doc.Value(mean, kib) for pair in sizes for mean in pair)
        rows.append((figures.layer.word, *cells))
    headings = ["Layer"]
    for direction in directions:
        name = REQUESTS[direction].capitalize()
        headings += [f"{name} arriving, KiB", f"{name} completed, KiB"]
    return doc.Table(
        f"mean-sizes-{stack.top.name}",
        doc.plain_columns(headings),
        (doc.Rows(tuple(rows)),),
        caption="Mean sizes per layer: as requests arrive, and as they complete after merging",
    )
