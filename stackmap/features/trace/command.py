"""``stackmap trace``: distributions per layer and exact parity decisions, or requests one by one (``--events``)."""

import json
import re
import signal
from contextlib import closing
from types import FrameType
from typing import NamedTuple

import click
from click.core import ParameterSource

from stackmap.cli import options as opt
from stackmap.cli.output import print_blocks, tell
from stackmap.cli.session import Session, tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.features.trace.additions import max_overhead_option
from stackmap.features.trace.cost import LONGEST
from stackmap.features.trace.document import MEANINGS, trace_document
from stackmap.features.trace.events.document import (
    request_blocks,
    requests_json,
    summary_json,
    totals_blocks,
)
from stackmap.features.trace.events.measure import RequestTrace
from stackmap.features.trace.events.request import Request
from stackmap.features.trace.figures import traced_stacks
from stackmap.features.trace.json import trace_json
from stackmap.features.trace.measure import TraceOptions, Tracer, clean, interval_of
from stackmap.features.trace.record import TraceRecord, from_capture, parse
from stackmap.host.tracing import LiveTracingHost
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.model.topology import Topology

SECONDS = 10.0
COLUMNS = 60  # of a heat map at most
OPERATIONS = ("read", "write", "discard", "flush")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class EventOptions(NamedTuple):
    """Which requests to print. ``slower``: seconds, None for all. ``operation``: None for all."""

    follow: bool = False
    slower: float | None = None
    operation: str | None = None

    def wants(self, request: Request) -> bool:
        """Whether to print *request*; one that did not complete counts as slow."""
        slow = self.slower is None or request.seconds is None or request.seconds >= self.slower
        return slow and self.operation in (None, request.operation)


def _duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)", value or "")
    if value is not None and match is None:
        raise click.BadParameter(f"must be a time such as 20ms or 500us, not {value}")
    return float(match[1]) * UNITS[match[2]] if match else None


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME...] [SECONDS]")
@click.option("--clean", "is_cleaning", is_flag=True, help="Remove the probes of a killed trace.")
@max_overhead_option
@click.option("--heatmap", is_flag=True, help="Add latency over time.")
@click.option("--events", is_flag=True, help="Print requests, one per line.")
@click.option("--follow", is_flag=True, help="Print what each request caused below.")
@click.option(
    "--slower", metavar="TIME", callback=_duration, help="Print only slower requests: 20ms."
)
@click.option(
    "--operation", type=click.Choice(OPERATIONS), help="Print only requests of this kind."
)
@opt.json_option
@opt.csv_option
@opt.no_heading_option
@opt.legend_option(lambda: {"Columns": MEANINGS})
@click.pass_obj
def command(
    session: Session,
    /,
    words: tuple[str, ...],
    is_cleaning: bool,
    max_overhead: float,
    heatmap: bool,
    events: bool,
    follow: bool,
    slower: float | None,
    operation: str | None,
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Show latency and request sizes per layer.

    Probes run for SECONDS (default 10) and are removed at the end. RAID4/5/6 volumes
    get the exact number of full-stripe, reconstruct and read-modify-write rows.
    """
    names, seconds, count = opt.split_words(words)
    if count is not None:
        raise click.UsageError("trace measures once: give SECONDS, no COUNT")
    if seconds is not None and seconds > LONGEST:
        raise click.UsageError(f"SECONDS is at most {LONGEST:g}")
    listed = EventOptions(follow, slower, operation)
    events = events or listed != EventOptions()
    if heatmap and events:
        raise click.UsageError("--heatmap cannot be combined with --events: it shows distributions")
    if is_cleaning:
        removed = clean(session.tracing_host)
        for line in removed:
            click.echo(f"removed: {line}")
        if not removed:
            click.echo("nothing to remove")
        return
    if not session.live:
        _refuse_limits(seconds)
    topology = discover(session.host)
    chosen = find_all(topology, list(names))
    session.tell_missing(topology, names)
    tell_unknown(topology)
    seconds = seconds or SECONDS
    slices = max(2, min(COLUMNS, round(seconds))) if heatmap else 0
    options = TraceOptions(seconds, max_overhead / 100, slices)
    if events:
        host = session.tracing_host
        print_events(
            host, topology, chosen, options, listed, as_json=as_json, heading=not no_heading
        )
        return
    record = _record(session, topology, chosen, options)
    trace = parse(record)
    interval = corrected(topology, interval_of(record))
    stacks = traced_stacks(
        topology, trace, Ledger(topology, interval.loads, interval.seconds), chosen
    )
    if as_json:
        click.echo(json.dumps(trace_json(stacks, trace)))
        return
    print_blocks(trace_document(stacks, trace), heading=not no_heading)


def _refuse_limits(seconds: float | None) -> None:
    if seconds is not None:
        raise click.UsageError("the trace in a capture has its own length: leave out SECONDS")
    for name in ("max_overhead", "heatmap"):
        source = click.get_current_context().get_parameter_source(name)
        if source is ParameterSource.COMMANDLINE:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for a new trace: leave it out with --from")


def _record(
    session: Session, topology: Topology, chosen: list[str], options: TraceOptions
) -> TraceRecord:
    """Trace this machine, or return the trace that the capture has."""
    if not session.live:
        return from_capture(session.host)
    host = session.tracing_host

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)  # the second one: at once
        tell("interrupted: the figures are of a shorter time")
        host.stop()

    tracer = Tracer(host, topology, chosen)
    signal.signal(signal.SIGINT, stop)
    return tracer.run(options)


def print_events(
    host: LiveTracingHost,
    topology: Topology,
    chosen: list[str],
    limits: TraceOptions,
    options: EventOptions,
    *,
    as_json: bool,
    heading: bool,
) -> None:
    """Print the requests of *chosen*, of all volumes if empty, within *limits*."""
    trace = RequestTrace(host, topology, chosen, follow=options.follow)
    signal.signal(signal.SIGINT, lambda *_: host.stop())
    count = 0
    # A closed pipe ends the trace too.
    with closing(trace.requests(limits.seconds, limits.max_overhead)) as batches:
        for requests in batches:
            wanted = [request for request in requests if options.wants(request)]
            count += len(wanted)
            if as_json:
                objects = requests_json(topology, wanted, trace.start, follow=options.follow)
                # One write, because each write is flushed.
                click.echo("".join(f"{json.dumps(entry)}\n" for entry in objects), nl=False)
            elif wanted:
                blocks = request_blocks(topology, wanted, trace.start, follow=options.follow)
                print_blocks(blocks, heading=heading)
    if trace.stopped:
        tell(trace.stopped)
    if as_json:
        click.echo(
            json.dumps(
                summary_json(count, trace.totals, trace.events, trace.lost, trace.overhead.share)
            )
        )
    else:
        print_blocks(totals_blocks(topology, count, trace.totals, trace.lost, trace.overhead.share))
