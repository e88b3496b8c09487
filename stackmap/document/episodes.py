"""Episodes in words: when a stack was slow, by how much, what changed first, who sent it, what the rules find in it."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from stackmap.document import blocks as doc
from stackmap.document.blame import source_name, users
from stackmap.document.rule_words import filled, shown, title, what_to_do_first, words_of
from stackmap.document.wording import REQUESTS, listed, percent, plural, rate, short, size
from stackmap.ledger.episodes import Change, Episode, Pair
from stackmap.ledger.time_series import Clock, IntervalSeries
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.load import total_of
from stackmap.model.topology import Topology
from stackmap.rules.decision import SHOWN, Judged, JudgedEpisode, Times
from stackmap.rules.rule import Severity

NAMED = 6  # devices of one
FOUND = 3  # findings of one
SAME = 1.5  # times the usual load: more is no longer called the same
DAY = 86400
YEAR = 365 * DAY  # printed times without a date count from 1970
# What to do about an episode that no rule explains.
LOOK = {
    **dict.fromkeys(Change, "Find what sent other requests"),
    Change.LOAD: "Find what sent more",
    Change.SLOWER: "See the kernel log",
}
NO_BASELINE = "no baseline: finding incidents takes {least} intervals, here are {count}"


def when(series: IntervalSeries, clock: Clock, span: tuple[int, int]) -> tuple[str, str]:
    """Return the begin and the end of *span* in words: times as the source has them, else the numbers of intervals."""
    first, last = span
    if not clock.ends:
        stamps = [series.stamps[first], series.stamps[last]]
        return (stamps[0], stamps[1]) if all(stamps) else (f"interval {first + 1}", str(last + 1))
    begin, end = _printed(clock, span)
    long = clock.ends[-1] - clock.ends[0] > DAY
    form = "%H:%M" if clock.pace >= 60 else "%H:%M:%S"
    dated = f"%Y-%m-%d {form}" if long and begin > YEAR else form
    days = begin // DAY != end // DAY and long
    zone = " UTC" if series.is_utc else ""
    turned = " (the clock was set back)" if end < clock.ends[last] else ""
    return _moment(begin, dated), _moment(end, dated if days else form) + zone + turned


def _printed(clock: Clock, span: tuple[int, int]) -> tuple[float, float]:
    """Return when *span* begins and ends by the source's clock: after it was set back, the end may be the earlier one."""
    return clock.printed[span[0]] - clock.length(span[0]), clock.printed[span[1]]


def _moment(seconds: float, form: str) -> str:
    return datetime.fromtimestamp(max(seconds, 0.0), UTC).strftime(form)


def episode_blocks(topology: Topology, times: Times) -> list[doc.Block]:
    """Return a headline and a card per episode, worst first; [] for none."""
    if not times.worst:
        return []
    count = times.series.count
    clock = times.series.clock()
    cards = [
        _card(topology, times, clock, episode, number)
        for number, episode in enumerate(times.worst[:SHOWN], 1)
    ]
    how_many = plural(times.total, "episode")
    judged = len(times.worst)
    which = f"; the {judged} worst are judged" if judged < times.total else ""
    headline = doc.Headline((f"{how_many} of slow I/O in {count} intervals{which}",))
    blocks: list[doc.Block] = [headline, *cards]
    if more := len(times.worst) - len(cards):
        blocks.append(doc.Paragraph(f"{plural(more, 'shorter or lighter episode')} in --json."))
    return blocks


def no_baseline(count: int) -> list[doc.Block]:
    """Return a note if *count* intervals are a series that is too short to find episodes in."""
    few = 1 < count < LEAST
    return [doc.Paragraph(NO_BASELINE.format(least=LEAST, count=count), "note:")] if few else []


def _card(
    topology: Topology, times: Times, clock: Clock, judged: JudgedEpisode, number: int
) -> doc.Card:
    episode = judged.episode
    begin, end = when(times.series, clock, episode.span)
    severity = min(
        (cause.severity for cause in judged.findings if cause.is_grave),
        default=Severity.WARNING,
        key=[*Severity].index,
    )
    grave = [cause for cause in judged.findings if cause.is_grave][:FOUND]
    blocks: list[doc.Block] = [doc.Paragraph(_change(episode), "Changed first:")]
    if judged.sources and judged.sources[0][0].tops:
        blocks.append(doc.Paragraph(_sources(topology, judged), "Sent by:"))
    names = [title(topology, name) for name in episode.devices[:NAMED]]
    rest = len(episode.devices) - len(names)
    names += [f"{rest} more"] if rest else []
    blocks.append(doc.Paragraph(listed(names), "Devices:"))
    for finding in grave:
        words = words_of(topology, finding.observed)
        blocks.append(doc.Paragraph(filled(finding.sentence, words), f"{finding.rule.id}:"))
    return doc.Card(
        str(severity),
        f"{begin}–{end}: {how_slow(topology, episode)}.",
        tuple(blocks),
        f"episode-{number}",
        "episode",
    )


def first_line(judged: Judged) -> str:
    """Return the first line of ``explain``: what to do first. Of an episode without a cause it tells what is known: that is no all-clear."""
    topology, decision = judged.context.topology, judged.decide()
    worst = decision.episode
    if worst is None:
        return what_to_do_first(topology, decision, judged.open_questions)
    begin, end = when(worst.series, worst.series.clock(), worst.span)
    if decision.causes:
        return what_to_do_first(topology, decision, time=f"{begin}–{end}")
    return f"{LOOK[worst.changed]} from {begin} to {end}: {how_slow(topology, worst)}. {_change(worst)}"


def slower(topology: Topology, series: IntervalSeries, clock: Clock, episode: Episode) -> str:
    """Return when and how slow in a few words: "03:10–03:50 vg/web await 6.0 → 95 ms (16×)"."""
    return f"{'–'.join(when(series, clock, episode.span))} {how_slow(topology, episode)}"


def how_slow(topology: Topology, episode: Episode) -> str:
    """Return the device and its await: "vg/web await 6.0 → 95 ms (16×)"."""
    name, awaits = topology[episode.top].title, episode.awaits
    if awaits.during is None:
        return f"{name} completed nothing with requests in flight"
    during = shown(awaits.during, "ms")
    if awaits.usual is None:
        return f"{name} await {during}; it is usually idle"
    stuck = "; some devices completed nothing" if episode.stuck else ""
    return f"{name} await {shown(awaits.usual, 'ms').removesuffix(' ms')} → {during} ({short(awaits.ratio or 0.0)}×){stuck}"


def _change(episode: Episode) -> str:
    if episode.changed is Change.LOAD:
        direction, pair = _most(episode.rates)
        what = REQUESTS[direction]
        if not pair.ratio:
            return f"New load: {rate(pair.during)} {what} per second, usually none."
        return f"More load, {short(pair.ratio)} times the {what} ({_pair(pair, rate)} per second)."
    if episode.changed is Change.SIZE:
        direction, pair = _most(episode.sizes)
        larger = "Larger" if (pair.ratio or 1.0) > 1 else "Smaller"
        return f"{larger} {REQUESTS[direction]} ({_pair(pair, size)})."
    if episode.changed is Change.DIRECTION:
        both = [
            f"{REQUESTS[d]} {_pair(pair, rate)} per second" for d, pair in episode.rates.items()
        ]
        return f"The mix of reads and writes: {', '.join(both)}."
    totals = [pair for pair in episode.rates.values() if pair.during is not None]
    usual, during = (sum(pair[place] or 0.0 for pair in totals) for place in (0, 1))
    what = "The same load took longer"
    if episode.awaits.during is None:
        what = "Requests stopped completing"
    elif during > SAME * usual:
        what = "The load was within its usual range"
    return f"{what} ({_pair(Pair(usual, during), rate)} requests per second)."


def _most(pairs: Mapping[str, Pair]) -> tuple[str, Pair]:
    def change(direction: str) -> tuple[float, float]:
        ratio = pairs[direction].ratio
        return max(ratio, 1 / ratio) if ratio else 0.0, pairs[direction].during or 0.0

    best = max(pairs, key=change)
    return best, pairs[best]


def _pair(pair: Pair, write: Callable[[float | None], str]) -> str:
    return f"{write(pair.usual)} → {write(pair.during)}"


def _sources(topology: Topology, judged: JudgedEpisode) -> str:
    parts = []
    for loader, share in judged.sources[:FOUND]:
        used = ", ".join(users(topology, loader)[:FOUND])
        by = f" ({used})" if used else ""
        parts.append(f"{source_name(topology, loader)}{by} {percent(share, 0)}")
    return f"{'; '.join(parts)} of the requests at {topology[judged.episode.devices[-1]].title}."


def episodes_json(topology: Topology, times: Times) -> list[dict[str, object]]:
    """Return each episode as an object with explicit keys; times in ISO 8601, without a zone as a text prints them."""
    clock = times.series.clock()
    return [
        {
            **_times_json(times.series, clock, judged.episode),
            "intervals": judged.episode.last + 1 - judged.episode.first,
            "top": topology[judged.episode.top].title,
            "devices": list(judged.episode.devices),
            "changed": judged.episode.changed,
            "factor": judged.episode.awaits.ratio,
            "await": judged.episode.awaits._asdict(),
            "rate": _total(judged.episode)._asdict(),
            "rates": {d: pair._asdict() for d, pair in judged.episode.rates.items()},
            "sizes": {d: pair._asdict() for d, pair in judged.episode.sizes.items()},
            "stuck": judged.episode.stuck,
            "sources": [
                {
                    "name": source_name(topology, loader),
                    "uses": users(topology, loader, every=True),
                    "share": share,
                }
                for loader, share in judged.sources
            ],
            "findings": [finding.rule.id for finding in judged.findings],
        }
        for judged in times.worst
    ]


def _total(episode: Episode) -> Pair:
    pairs = episode.rates.values()
    return Pair(total_of(p.usual for p in pairs), total_of(p.during for p in pairs))


def _times_json(series: IntervalSeries, clock: Clock, episode: Episode) -> dict[str, object]:
    first, last = episode.span
    if not clock.ends:
        return {"start": series.stamps[first] or None, "end": series.stamps[last] or None}
    begin, end = _printed(clock, episode.span)
    zone = "Z" if series.is_utc else ""
    form = "%Y-%m-%dT%H:%M:%S" if begin > YEAR else "%H:%M:%S"
    return {"start": _moment(begin, form) + zone, "end": _moment(end, form) + zone}
