"""``stackmap record``: topology and counters into a capture."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from stackmap.discover import discover
from stackmap.errors import SourceError
from stackmap.host.recording import RecordingHost
from stackmap.host.unprivileged import UnprivilegedHost
from stackmap.sampling import samples
from stackmap.sources import limits, uptime

if TYPE_CHECKING:
    from stackmap.cli import Session


@click.command()
@click.argument("out", type=click.Path())
@click.argument("interval", type=click.FloatRange(min=0, min_open=True), default=1.0)
@click.argument("count", type=click.IntRange(min=1), default=10)
@click.pass_obj
def command(session: Session, out: str, interval: float, count: int) -> None:
    """
    Record the topology, and the counters of COUNT intervals of INTERVAL seconds (10 of 1).

    OUT is a new directory; ``stackmap --from OUT`` reads it back.
    """
    with RecordingHost(session.host, out) as host:
        topology = discover(host, metadata=True, geometry=True)
        tuple(limits.read(host, topology))  # what explain asks besides
        with contextlib.suppress(SourceError):  # for --since-boot; a capture may lack it
            uptime.read(host)
        discover(UnprivilegedHost(host))  # what a reader without dmsetup's answers would ask
        times: list[float] = []
        with contextlib.suppress(KeyboardInterrupt):  # what was taken so far is a capture
            times.extend(sample.time for sample in samples(host, interval, count + 1))
    spent = times[-1] - times[0] if times else 0.0
    click.echo(f"{out}: {max(0, len(times) - 1)} intervals, {spent:.1f} s", err=True)
