"""``stackmap record``: topology and counters into a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stackmap.discover import discover
from stackmap.host.recording import RecordingHost
from stackmap.host.unprivileged import UnprivilegedHost
from stackmap.sampling import samples

if TYPE_CHECKING:
    from stackmap.cli import Session


@click.command()
@click.argument("out", type=click.Path())
@click.argument("interval", type=click.FloatRange(min=0, min_open=True), default=1.0)
@click.argument("count", type=click.IntRange(min=1), default=10)
@click.pass_obj
def command(session: Session, out: str, interval: float, count: int) -> None:
    """
    Record the topology, and the counters COUNT times INTERVAL seconds apart.

    OUT is a new directory; ``stackmap --from OUT`` reads it back.
    """
    with RecordingHost(session.host, out) as host:
        discover(host, metadata=True)
        discover(UnprivilegedHost(host))  # what a reader without dmsetup's answers would ask
        taken = 0
        try:
            for _ in samples(host, interval, count + 1):
                taken += 1
        except KeyboardInterrupt:
            pass  # what was taken so far is a capture
    click.echo(f"{out}: {max(0, taken - 1)} intervals of {interval:g} s", err=True)
