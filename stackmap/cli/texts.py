"""What is said on stderr of a text whose names are looked up in a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.naming import Names, of_another
from stackmap.render.text import safe
from stackmap.sources import statistics

if TYPE_CHECKING:
    from stackmap.model.interval import Interval
    from stackmap.model.machine import Machine
    from stackmap.model.topology import Topology

CHUNK = 1 << 18
MOST_NAMED = 5  # of the names that nobody bears


def intervals(topology: Topology, text: BinaryIO) -> Iterator[Interval]:
    """Yield the intervals of *text* as they come, under kernel names; say what is strange about it."""
    names = Names(topology)
    told = Another(topology.machine)
    # read1 gives what a pipe has, and does not wait for more.
    chunks = iter(partial(text.read1, CHUNK), b"")  # type: ignore[attr-defined]  # click's are buffered
    try:
        for interval in statistics.intervals(chunks, text.name):
            told.tell(interval.machine)
            yield names.resolved(interval)
    finally:
        tell_strangers(names.strangers)


class Another:
    """Tells, once, that a text is of another machine than the topology, or of another boot."""

    def __init__(self, ours: Machine) -> None:
        self._ours = ours
        self._seen: Machine | None = None
        self._told = False

    def tell(self, theirs: Machine) -> None:
        """Say so, if what the text says of its machine gives that away."""
        if self._told or theirs is self._seen:
            return
        self._seen = theirs
        what = of_another(self._ours, theirs)
        if what:
            self._told = True
            click.echo(
                f"stackmap: names may mean other devices: the text is of {safe(what)}", err=True
            )


def tell_strangers(strangers: Mapping[str, int], said: str = "") -> None:
    """Say how many rows bore names that no device bears, and *said*, what became of them."""
    if not strangers:
        return
    names = ", ".join(safe(name) for name in list(strangers)[:MOST_NAMED])
    more = ", …" if len(strangers) > MOST_NAMED else ""
    rows = sum(strangers.values())
    click.echo(
        f"stackmap: {rows} rows of {len(strangers)} names that no device bears{said}: {names}{more}",
        err=True,
    )
