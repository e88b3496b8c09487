"""``stackmap trace --events``: requests one by one, and what each caused below."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import click

from stackmap.cli.output import print_blocks, tell
from stackmap.features.trace.events.document import request_blocks, totals_blocks
from stackmap.features.trace.events.json import requests_json, summary_json
from stackmap.features.trace.events.measure import RequestTrace

if TYPE_CHECKING:
    from stackmap.features.trace.events.request import Request
    from stackmap.features.trace.measure import TraceOptions
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.topology import Topology

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


OPTIONS = (
    click.option("--events", is_flag=True, help="Print requests, one per line."),
    click.option("--follow", is_flag=True, help="Print what each request caused below."),
    click.option(
        "--slower", metavar="TIME", callback=_duration, help="Print only slower requests: 20ms."
    ),
    click.option("--operation", type=click.Choice(OPERATIONS), help="Print only such requests."),
)


def event_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of ``--events``."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


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
            wanted = [each for each in requests if options.wants(each)]
            count += len(wanted)
            if as_json:
                found = requests_json(topology, wanted, trace.start, follow=options.follow)
                # One write, because each write is flushed.
                click.echo("".join(f"{json.dumps(each)}\n" for each in found), nl=False)
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
