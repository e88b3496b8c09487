"""What is said on stderr of a text whose names are looked up in a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.analysis.device_names import Names, of_another
from stackmap.discover import discover, names_only
from stackmap.errors import StackmapError
from stackmap.model.machine import Machine
from stackmap.render.text import safe
from stackmap.sources import statistics

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

CHUNK = 1 << 18
MOST_LOOKED = 4 << 20  # bytes, for the first report
MOST_NAMED = 5  # of the names that nobody bears


def intervals(topology: Topology, text: BinaryIO | Looked) -> Iterator[Interval]:
    """Yield the intervals of *text* as they come, under kernel names; say what is strange about it."""
    from stackmap.cli import tell

    names = Names(topology)
    told = Another(topology.machine)
    # read1 gives what a pipe has, and does not wait for more.
    chunks = iter(partial(text.read1, CHUNK), b"")  # type: ignore[union-attr]  # click's are buffered
    try:
        for interval in statistics.intervals(chunks, text.name, tell):
            told.tell(interval.machine)
            yield names.resolved(interval)
    finally:
        tell_strangers(names.strangers)


def topology_of(
    session: Session, text: BinaryIO, *, geometry: bool = False
) -> tuple[Topology, Looked]:
    """
    Return the topology that *text* is read with, and the text.

    It is that of the host, unless that cannot be: where it bears none of the
    names, and where this machine is not the one that was measured.
    """
    topology = discover(session.host, geometry=geometry)
    looked = Looked(text)
    first = looked.first
    if first is None or not _is_strange(topology, first, live=session.live):
        return topology, looked
    return names_only.topology_from_names(first.loads, first.machine), looked


def _is_strange(topology: Topology, first: Interval, *, live: bool) -> bool:
    names = Names(topology)
    names.resolved(first)
    another = of_another(Machine(topology.machine.host), Machine(first.machine.host))
    return not names.known or (
        live and bool(another or any(map(names_only.is_hidden, names.strangers)))
    )


class Looked:
    """A text whose first report was looked at; it is read from its beginning all the same."""

    def __init__(self, text: BinaryIO) -> None:
        self.name = text.name
        self._text = text
        self._head: list[bytes] = []
        self.first = self._look()

    def read1(self, size: int = -1) -> bytes:
        """Return what there is, *size* bytes at most."""
        return self._head.pop(0) if self._head else self._text.read1(size)  # type: ignore[attr-defined]

    def _look(self) -> Interval | None:
        try:
            reports = statistics.intervals(self._kept(), self.name)
            return next((report for report in reports if report.loads), None)
        except StackmapError:  # said when it is read
            return None

    def _kept(self) -> Iterator[bytes]:
        while sum(map(len, self._head)) < MOST_LOOKED and (chunk := self._text.read1(CHUNK)):  # type: ignore[attr-defined]
            self._head.append(chunk)
            yield chunk


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
