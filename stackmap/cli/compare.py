"""``stackmap compare``: two recordings of a volume beside each other."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import click

from stackmap.analysis.amplification import heads
from stackmap.analysis.compare.compare import compare
from stackmap.analysis.compare.recording import MAX_BATCHES, Recording, RecordingBuilder
from stackmap.analysis.compare.volume_pairs import Pairs, Unmatched, by_title, pairs_of
from stackmap.cli.baseline import TARS
from stackmap.cli.measuring import Wanted, at
from stackmap.cli.output import width
from stackmap.document.compare import document
from stackmap.errors import InputError, NameNotFound
from stackmap.find import find
from stackmap.render.compare_json import compare_json
from stackmap.render.terminal import Style, render_text

if TYPE_CHECKING:
    from stackmap.cli import Session
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

OTHERWISE = "--map BEFORE=AFTER names one that was called otherwise"


@dataclass(frozen=True)
class Source:
    """Where one side comes from: what it is called, its first topology, and its intervals."""

    name: str
    topology: Topology
    reports: Iterator[TopologyInterval]
    tops: list[str]

    def taken(self, tops: list[str]) -> Recording:
        """Return all of its intervals, of the stacks of *tops*."""
        taking = RecordingBuilder(self.name, self.topology, tuple(tops))
        for topology, interval in self.reports:
            taking.add(topology, interval)
        found = taking.result()
        if not found.batches:
            raise InputError(f"{self.name}: no interval to compare")
        return found


@click.command()
@click.argument("before")
@click.argument("after")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "-m",
    "--map",
    "mapped",
    multiple=True,
    metavar="NAME=NAME",
    help="A volume's name BEFORE, and its name AFTER, where they differ; once for each.",
)
@click.option("-J", "--json", "as_json", is_flag=True, help="A JSON object.")
@click.option("-n", "--no-heading", is_flag=True, help="No headings.")
@click.pass_obj
def command(
    session: Session,
    /,
    before: str,
    after: str,
    names: tuple[str, ...],
    mapped: tuple[str, ...],
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Compare two recordings of a volume: what the layers made of its I/O, and the waits.

    BEFORE and AFTER are captures, CAPTURE@SINCE..UNTIL for a part of one, or
    texts as --input takes them. A volume is found again by its name, whatever
    stands below it; without NAME, all that did something.
    """
    session.host  # noqa: B018 - a --from that cannot be read is told, though both may bring a machine
    with ExitStack() as opened:
        old, new = (_source(session, word, opened) for word in (before, after))
        if names or mapped:
            unmatched: tuple[Unmatched, ...] = ()
            pairs, status = _pairs(old, new, names, mapped)
        else:
            (pairs, unmatched), status = _tops(old, new), 0
        recordings = (
            old.taken([one for one, _ in pairs]),
            new.taken([other for _, other in pairs]),
        )
    found = replace(compare(*recordings, pairs), unmatched=unmatched)
    if not (names or mapped):
        found = replace(found, stacks=tuple(each for each in found.stacks if not each.idle))
    if not found.stacks:
        raise InputError("no volume did anything in either recording")
    if as_json:
        click.echo(json.dumps(compare_json(found)))
    else:
        style = Style(width(), headings=not no_heading)
        click.echo(render_text(document(found), style), nl=False)
    sys.exit(status)


def _source(session: Session, word: str, opened: ExitStack) -> Source:
    path, window = _split(word)
    if os.path.isdir(path) or path.endswith(TARS):
        from stackmap.cli import Session as Anew

        there = Anew(path, "auto", (*window, None))
        there.most = MAX_BATCHES  # counters hold what was between: a week is read as fast
        topology, looked = at(there, None)
    elif any(window):
        raise click.UsageError(f"{word}: a part can be taken of a capture, not of a text")
    else:
        there = session
        text = opened.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack closes it
        topology, looked = at(session, text)
    session.tell_unknown(topology)
    reports = Wanted(None, None, looked, "all", boot=False).reports(there, topology)
    first = next(reports)
    tops = heads(topology, first[1].loads)
    return Source(word, topology, chain([first], reports), tops)


def _split(word: str) -> tuple[str, tuple[str | None, str | None]]:
    """
    Return the path and the window in ``CAPTURE@SINCE..UNTIL``; a path may hold an @ itself.

    >>> _split("monday@14:30..15:30")
    ('monday', ('14:30', '15:30'))
    """
    path, at_sign, window = word.rpartition("@")
    since, dots, until = window.partition("..")
    if not (at_sign and dots) or os.path.exists(word):
        return word, (None, None)
    return path, (since or None, until or None)


def _tops(old: Source, new: Source) -> tuple[Pairs, tuple[Unmatched, ...]]:
    """Return the tops that are compared where none is named, and which are not, for they are none in both."""
    pairs, unmatched = pairs_of(old.topology, old.tops, new.topology, new.tops)
    if not pairs:
        raise NameNotFound(f"no volume is in both{_told(unmatched)}; {OTHERWISE}")
    return pairs, unmatched


def _told(unmatched: tuple[Unmatched, ...]) -> str:
    return f" as a top (not: {', '.join(each.title for each in unmatched)})" if unmatched else ""


def _pairs(
    old: Source, new: Source, names: tuple[str, ...], mapped: tuple[str, ...]
) -> tuple[Pairs, int]:
    """Return what of *names* and *mapped* is compared, and the exit status of names that only one of the two has."""
    from stackmap.cli import SOME_MISSING, tell

    pairs = [_mapped(old.topology, new.topology, each) for each in mapped]
    lacking: list[str] = []
    for name in names:
        again = _again(old.topology, new.topology, name)
        pairs += [(was, now) for was, now in again.items() if now]
        lacking += [old.topology[was].title for was, now in again.items() if not now]
        lacking += [] if again else [name]
    pairs = list(dict.fromkeys(pairs))
    if not pairs:
        raise NameNotFound(f"no volume is in both: {', '.join(lacking)}; {OTHERWISE}")
    for name in lacking:
        tell(f"not in both: {name}")
    return pairs, SOME_MISSING if lacking else 0


def _again(before: Topology, after: Topology, name: str) -> dict[str, str | None]:
    """
    Return what *name* meant before, and what each of it is after: the one with its title.

    Else the one that is called *name* there, as what is mounted at it is; but
    a kernel's name that another took over is no sign.
    """
    titles, found = by_title(after), find(before, name)
    again = {was: titles.get(before[was].title) for was in found}
    if list(again.values()) == [None]:
        called = find(after, name)
        again[found[0]] = called[0] if len(called) == 1 and called[0] != name else None
    return again


def _mapped(before: Topology, after: Topology, text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not (old and sign and new):
        raise click.BadParameter(f"takes BEFORE_NAME=AFTER_NAME, not {text}", param_hint="--map")
    found = [_one(before, old, "before"), _one(after, new, "after")]
    return found[0], found[1]


def _one(topology: Topology, name: str, when: str) -> str:
    found = find(topology, name)
    if not found:
        raise NameNotFound(f"no device is named {name} {when}")
    if len(found) > 1:
        raise click.BadParameter(f"{name} means {len(found)} devices {when}", param_hint="--map")
    return found[0]
