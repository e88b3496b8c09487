"""``stackmap trace``: latency and size distributions per layer, and exact parity decisions."""

from __future__ import annotations

import json
import signal
from types import FrameType
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from stackmap.cli.options import (
    json_option,
    legend_option,
    no_heading_option,
    split_words,
)
from stackmap.cli.output import print_text, tell
from stackmap.cli.session import tell_unknown
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.features.trace import counts as trace_counts
from stackmap.features.trace import record as trace_record
from stackmap.features.trace.additions import max_overhead_option
from stackmap.features.trace.document import trace_document
from stackmap.features.trace.events.command import EventOptions, event_options, print_events
from stackmap.features.trace.json import trace_json
from stackmap.features.trace.measure import TraceOptions, Tracer, clean, interval_of
from stackmap.features.trace.overhead import LONGEST
from stackmap.features.trace.stacks import traced_stacks
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.features.trace.record import TraceRecord
    from stackmap.model.topology import Topology

SECONDS = 10.0
COLUMNS = 60  # of a heat map at most


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME...] [SECONDS]")
@click.option("--clean", "is_cleaning", is_flag=True, help="Remove the probes of a killed trace.")
@max_overhead_option
@click.option("--heatmap", is_flag=True, help="Add latency over time.")
@event_options
@json_option
@no_heading_option
@legend_option
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
    names, seconds, count = split_words(words)
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
    trace = trace_counts.parse(record)
    interval = corrected(topology, interval_of(record))
    stacks = traced_stacks(
        topology, trace, Ledger(topology, interval.loads, interval.seconds), chosen
    )
    if as_json:
        click.echo(json.dumps(trace_json(stacks, trace)))
        return
    print_text(trace_document(stacks, trace), heading=not no_heading)


def _refuse_limits(seconds: float | None) -> None:
    """Raise ``UsageError`` for options of a new trace."""
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
        return trace_record.from_capture(session.host)
    host = session.tracing_host

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)  # the second one: at once
        tell("interrupted: the figures are of a shorter time")
        host.stop()

    tracer = Tracer(host, topology, chosen)
    signal.signal(signal.SIGINT, stop)
    return tracer.run(options)
