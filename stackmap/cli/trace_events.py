"""``stackmap trace --events``: requests one by one, and what each caused below."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from stackmap.cli.output import as_text
from stackmap.document.requests import closing, request_blocks
from stackmap.find import find_existing
from stackmap.measurement.requests import RequestTrace
from stackmap.render.requests_json import requests_json, summary_json

if TYPE_CHECKING:
    from stackmap.analysis.requests.request import Request
    from stackmap.host.tracing import TracingHost
    from stackmap.model.topology import Topology

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
OPERATIONS = ("read", "write", "discard", "flush")


class EventOptions(NamedTuple):
    """Which requests to print, and how. ``slower``: seconds, None for all. ``operation``: None for all."""

    follow: bool
    slower: float | None
    operation: str | None
    as_json: bool
    heading: bool

    def wants(self, request: Request) -> bool:
        """Whether to print *request*; one that did not complete is as slow as any."""
        slow = self.slower is None or request.seconds is None or request.seconds >= self.slower
        return slow and self.operation in (None, request.operation)


def _duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)", value or "")
    if value is not None and match is None:
        raise click.BadParameter(f"must be a time such as 20ms or 500us, not {value}")
    return float(match[1]) * UNITS[match[2]] if match else None


def event_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of ``--events``."""
    for option in (
        click.option("--operation", type=click.Choice(OPERATIONS), help="Print only such requests."),
        click.option("--slower", metavar="TIME", callback=_duration, help="Print only slower requests: 20ms."),
        click.option("--follow", is_flag=True, help="Print what each request caused below."),
        click.option("--events", is_flag=True, help="Print requests, one per line."),
    ):  # fmt: skip
        command = option(command)
    return command


def print_events(
    host: TracingHost,
    topology: Topology,
    names: tuple[str, ...],
    seconds: float,
    options: EventOptions,
) -> None:
    """Print the requests of *names*, of all volumes by default, for some *seconds*."""
    chosen = find_existing(topology, names) or [device.name for device in topology.tops]
    trace = RequestTrace(host, topology, chosen, follow=options.follow)
    start: float | None = None
    count = 0
    for requests in trace.requests(seconds):
        wanted = [each for each in requests if options.wants(each)]
        count += len(wanted)
        if start is None and requests:
            start = min(each.queued for each in requests)
        for text in _texts(topology, wanted, start or 0.0, options):
            click.echo(text)
    if options.as_json:
        click.echo(json.dumps(summary_json(count, trace.dispatched, trace.lost)))
        return
    blocks = closing(topology, count, trace.dispatched, trace.lost, follow=options.follow)
    click.echo(as_text(blocks), nl=False)


def _texts(
    topology: Topology, requests: list[Request], start: float, options: EventOptions
) -> Iterator[str]:
    if options.as_json:
        found = requests_json(topology, requests, start, follow=options.follow)
        yield from map(json.dumps, found)
    elif requests:
        blocks = request_blocks(topology, requests, start, follow=options.follow)
        yield as_text(blocks, heading=options.heading)
