"""``stackmap iostat``: counters by device, and what each layer does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.averages import average, with_average
from stackmap.analysis.corrections import corrected
from stackmap.discover import discover
from stackmap.find import find_all
from stackmap.sampling import choose, intervals, since_boot

CHUNK = 65536

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology


def split_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], float | None, int | None]:
    """
    Return the names, the interval and the count in ``[NAME...] [INTERVAL [COUNT]]``.

    >>> split_words(("vghdd", "5", "3"))
    (('vghdd',), 5.0, 3)
    """
    names = list(words)
    numbers: list[str] = []
    while names and len(numbers) < 2 and _is_number(names[-1]):
        numbers.insert(0, names.pop())
    if not numbers:
        return tuple(names), None, None
    interval, *count = numbers
    if not 0 < float(interval) < float("inf"):
        raise click.UsageError(f"INTERVAL must be more than 0 seconds, not {interval}")
    if count and not (count[0].isdecimal() and int(count[0])):
        raise click.UsageError(f"COUNT must be a whole number above 0, not {count[0]}")
    return tuple(names), float(interval), int(count[0]) if count else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _report(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value in (None, "last", "average", "all") or (value.isdecimal() and int(value)):
        return value
    raise click.BadParameter(f"takes a number from 1, last, average or all, not {value}")


@dataclass(frozen=True, slots=True)
class Looks:
    """How to show the figures."""

    per_layer: bool
    extended: bool
    skip_idle: bool
    as_json: bool
    no_heading: bool
    why: bool


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME...] [INTERVAL [COUNT]]")
@click.option("-l", "--per-layer", is_flag=True, help="A row a layer: what it does to the I/O.")
@click.option(
    "--input",
    "text",
    metavar="FILE",
    type=click.File("rb"),
    help="Statistics taken elsewhere: iostat or sar text, or /proc/diskstats under TS lines; "
    "- for standard input.",
)
@click.option(
    "--report",
    metavar="N|last|average|all",
    callback=_report,
    help="Which of the reports in FILE, or of the intervals in CAPTURE: average unless an "
    "INTERVAL asks for all.",
)
@click.option("--since-boot", "boot", is_flag=True, help="Averages since boot, no current rate.")
@click.option("-x", "--extended", is_flag=True, help="Merges, discards, flushes and busy% too.")
@click.option("-z", "--skip-idle", is_flag=True, help="Leave out what did nothing.")
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object an interval.")
@click.option("-n", "--no-heading", is_flag=True, help="No headings.")
@click.option("--why", is_flag=True, help="Say why counters were corrected.")
@click.option("-y", "skip_first", is_flag=True, help="As iostat's, and always so here.")
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    text: BinaryIO | None,
    report: str | None,
    boot: bool,
    skip_first: bool,  # noqa: ARG001 - nothing is since boot unless asked for; -y is for fingers
    **looks: bool,
) -> None:
    """
    Show the counters of each device, or with --per-layer what each layer of a stack does.

    NAME is a VG, an LV, a device, a mount point. One interval of a second is
    measured; with INTERVAL one after another, COUNT of them or until
    interrupted.
    """
    names, seconds, count = split_words(words)
    topology = discover(session.host)
    chosen = find_all(topology, names)
    for reason in topology.unknown:
        click.echo(f"stackmap: not known: {reason}", err=True)
    if text is not None:
        reports = _from_text(topology, text)
    elif boot:
        reports = iter([since_boot(session.host)])
    elif session.live:
        once = 1 if seconds is None else count
        reports = with_average(intervals(session.host, seconds or 1.0, once))
    else:
        reports = intervals(session.host, seconds or 1.0, count)
    recorded = text is not None or not session.live
    which = report or ("average" if recorded and seconds is None else "all")
    if which == "average":
        reports, which = average(reports), "all"
    show = _layers if looks["per_layer"] else _devices
    wanted = choose(reports, which, "capture" if text is None else text.name)
    for page in show(topology, chosen, Looks(**looks))(wanted):
        click.echo(page, nl=False)


Show = Callable[[Iterator["Interval"]], Iterator[str]]


def _from_text(topology: Topology, text: BinaryIO) -> Iterator[Interval]:
    from stackmap.analysis.naming import resolved
    from stackmap.sources import statistics

    chunks = iter(partial(text.read, CHUNK), b"")
    for interval in statistics.intervals(chunks, text.name):
        yield resolved(topology, interval)[0]


def _layers(topology: Topology, chosen: list[str], looks: Looks) -> Show:
    from stackmap.analysis.amplification import heads, stack_figures, stack_tops
    from stackmap.render.layers import layers_table
    from stackmap.render.layers_json import layers_json
    from stackmap.render.notes import notes

    def show(reports: Iterator[Interval]) -> Iterator[str]:
        for report in reports:
            right, done = corrected(topology, report)
            wanted = chosen or heads(topology, right.loads)
            tops = chain.from_iterable(stack_tops(topology, right.loads, top) for top in wanted)
            stacks = [stack_figures(topology, right.loads, top) for top in dict.fromkeys(tops)]
            if not chosen or looks.skip_idle:
                stacks = [stack for stack in stacks if not stack.idle] or stacks[:1]
            if looks.as_json:
                yield json.dumps(layers_json(stacks, right, done)) + "\n"
                continue
            tables = (layers_table(s, right, heading=not looks.no_heading) for s in stacks)
            yield "\n".join(tables) + notes(right, done, why=looks.why) + "\n"

    return show


def _devices(topology: Topology, chosen: list[str], looks: Looks) -> Show:
    from stackmap.render.iostat import iostat_json, iostat_table
    from stackmap.render.notes import notes

    rows = list((topology.select(chosen) if chosen else topology).rows())

    def show(reports: Iterator[Interval]) -> Iterator[str]:
        for report in reports:
            right, done = corrected(topology, report)
            if looks.as_json:
                yield json.dumps(iostat_json(rows, right)) + "\n"
                continue
            yield iostat_table(
                rows,
                right,
                extended=looks.extended,
                skip_idle=looks.skip_idle,
                heading=not looks.no_heading,
            )
            yield notes(right, done, why=looks.why) + "\n"

    return show
