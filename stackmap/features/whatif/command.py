"""``stackmap whatif``: the measured load on another layout."""

import json
import re

import click

from stackmap.cli import options as opt
from stackmap.cli.output import print_blocks
from stackmap.cli.session import Session
from stackmap.cli.wear import DiskLives, Endurance, wear_options
from stackmap.commands import additions
from stackmap.document.rule_words import before_converting
from stackmap.errors import StackmapError
from stackmap.features.whatif.cache import ASSUMED, Cache
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.document import MEANINGS, comparison, document
from stackmap.features.whatif.json import whatif_json
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.projection import wear_change
from stackmap.features.whatif.services import busiest_disk, constant
from stackmap.features.whatif.timing import Scenario
from stackmap.features.whatif.volume_context import volume_context
from stackmap.measurement.capture_part import MINUTES_OF_A_DAY
from stackmap.model.layout_request import parse
from stackmap.model.units import parse_size
from stackmap.render.figures_json import decision_json
from stackmap.rules.decision import judge
from stackmap.sources.limits import CapMeter

COUNT = 10  # intervals of a second on a live machine
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
MOST_GROWTH = 1000.0
AT_ONCE = 32  # requests that a disk of --disks serves at once
KINDS = {"ssd": AT_ONCE, "nvme": AT_ONCE, "hdd": 1}
CACHES = {"writethrough": False, "writeback": True}


def _growth(_: click.Context, __: click.Parameter, value: str | None) -> float:
    match = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)x?", value or "1")
    if match is None or not 0 < float(match[1]) <= MOST_GROWTH:
        raise click.BadParameter(f"must be a factor such as 2x or 1.5x, not {value}")
    return float(match[1])


def _seconds(text: str) -> float | None:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)", text)
    return float(match[1]) * SECONDS[match[2]] if match and float(match[1]) else None


def _limit(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Return milliseconds."""
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is None:
        raise click.BadParameter(f"must be a time such as 20ms or 500us, not {value}")
    return seconds * 1000


def _disks(_context: click.Context, _option: click.Parameter, value: str | None) -> Service | None:
    """Return the disk of "ssd:100us"."""
    if value is None:
        return None
    kind, _, time = value.lower().partition(":")
    seconds = _seconds(time)
    if kind not in KINDS or seconds is None:
        raise click.BadParameter(
            f"must be {', '.join(KINDS)} and a time, such as ssd:100us, not {value}"
        )
    return constant(seconds, KINDS[kind])


def _cache(context: click.Context, option: click.Parameter, value: str | None) -> Cache | None:
    """Return the cache of "10g", "10g:writeback", "10g:ssd:80us" or "10g:writeback:ssd:80us"."""
    if value is None:
        return None
    size, *words = value.lower().split(":")
    writeback = CACHES[words.pop(0)] if words and words[0] in CACHES else False
    service = _disks(context, option, ":".join(words)) if words else None
    try:
        return Cache(parse_size(size), service or constant(*ASSUMED), writeback, service is None)
    except StackmapError as error:
        raise click.BadParameter(str(error)) from error


@click.command(options_metavar="[--to LAYOUT]... [OPTIONS]")
@opt.measuring_one
@click.option(
    "--to",
    "layouts",
    multiple=True,
    metavar="LAYOUT",
    help="Target layout: raid10, raid5:members=5,chunk=128k (repeatable).",
)
@click.option(
    "--load", "growth", metavar="FACTOR", callback=_growth, help="Project a grown load: 2x."
)
@click.option(
    "--disks", metavar="KIND:TIME", callback=_disks, help="Project other disks: ssd:100us, hdd:8ms."
)
@click.option(
    "--disks-from",
    "capture",
    metavar="CAPTURE",
    type=click.Path(exists=True),
    help="Project the busiest disk of CAPTURE.",
)
@click.option(
    "--cache",
    metavar="SIZE",
    callback=_cache,
    help="Project a cache: 10g, 10g:writeback:ssd:100us.",
)
@click.option(
    "--latency-limit",
    "limit",
    metavar="TIME",
    callback=_limit,
    help="Headroom until p95 exceeds TIME: 20ms.",
)
@wear_options
@opt.json_option
@opt.csv_option
@opt.no_heading_option
@opt.legend_option(lambda: {"Columns and rows": MEANINGS})
@click.pass_obj
def command(
    session: Session,
    /,
    options: opt.MeasuringOptions,
    layouts: tuple[str, ...],
    growth: float,
    disks: Service | None,
    capture: str | None,
    cache: Cache | None,
    limit: float | None,
    wear: bool,
    endurance: Endurance | None,
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Project the measured load on another layout.

    Measures ten seconds, or COUNT times INTERVAL; a capture or FILE is read
    completely. Prints latency, headroom, requests and bytes. Without --to, and
    for the present layout, compares the model with the measurement.
    """
    if disks and capture:
        raise click.UsageError("--disks and --disks-from cannot be combined")
    requests = [parse(layout) for layout in layouts]
    measured = session.measure(options, each=COUNT, resolution=MINUTES_OF_A_DAY, geometry=True)
    topology = measured.topology
    host = measured.source.host
    caps = CapMeter(host, topology, recorded=not session.live)
    live = session.live and options.text is None
    asking = DiskLives(host, live=live, asks=wear, rating=endurance)
    asking.ask(topology)
    intervals = measured.repeatable()
    judged = judge(topology, tuple(caps.over(intervals())), caps.limits)
    lives = asking.of(topology)
    has_trace = not session.live and options.text is None
    traces = [of(session.host) for of in additions("traced")] if has_trace else []
    service = busiest_disk(capture) if capture else disks
    scenario = Scenario(growth, service, limit, cache)
    # Several volumes on one array mean that array.
    devices = dict.fromkeys(volume_context(topology, name).device.name for name in measured.devices)
    for number, name in enumerate(devices):
        projector = Projector(topology, intervals(), name, next(filter(None, traces), None))
        projections = []
        for request in requests or [projector.present]:
            projection = projector.project(request, scenario)
            wear_of_disks = wear_change(projection, topology, projector.context.disks, lives)
            projections.append(projection._replace(wear=wear_of_disks))
        if as_json:
            decision = {"decision": decision_json(topology, judged.decide(name))}
            click.echo(json.dumps(whatif_json(projections) | decision))
            continue
        gap = "\n" if number else ""
        first = before_converting(topology, judged.decide(name))
        several = len(projections) > 1
        blocks = comparison(projections, first) if several else document(projections[0], first)
        print_blocks(blocks, heading=not no_heading, before=gap)
