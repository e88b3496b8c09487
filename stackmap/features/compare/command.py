"""``stackmap compare``: two recordings of a volume beside each other."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import click

from stackmap.cli.options import csv_option, json_option, legend_option, no_heading_option
from stackmap.cli.output import print_blocks, tell
from stackmap.cli.progress import Progress
from stackmap.cli.session import SOME_MISSING, Session, tell_unknown
from stackmap.discover.find import find, not_found
from stackmap.errors import InputError, NameNotFound
from stackmap.features.compare.compare import Pairs, Unmatched, by_title, compare, pairs_of
from stackmap.features.compare.document import MEANINGS, document
from stackmap.features.compare.recording import MAX_BATCHES, Recording, recording_of
from stackmap.host.file_tree import is_capture, open_text
from stackmap.ledger.layers import counted_tops
from stackmap.measurement.capture_part import Resolution
from stackmap.measurement.source import IntervalSelection, Measurement, Source
from stackmap.model.topology import Topology
from stackmap.sampling.snapshots import TopologyInterval

RENAMED = "use --map BEFORE=AFTER for a renamed volume"


class Side(NamedTuple):
    """One of the two: its name, its first topology, its intervals, and the tops that did something in the first."""

    name: str
    topology: Topology
    reports: Iterator[TopologyInterval]
    tops: list[str]


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
    help="Compare a renamed volume: OLD=NEW (repeatable).",
)
@json_option
@csv_option
@no_heading_option
@legend_option(lambda: {"Columns and rows": MEANINGS})
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
    Compare two recordings of a volume at similar load.

    BEFORE and AFTER are captures, CAPTURE@SINCE..UNTIL for a part of one, or
    texts as --input reads them. Volumes are matched by name, then by mount point. Without NAME, all volumes with I/O are compared.
    """
    session.host  # noqa: B018 - a --from that cannot be read is an error, even if both sides are captures
    with ExitStack() as opened:
        old, new = (
            _side(word, opened.enter_context(_source(session, word))) for word in (before, after)
        )
        unmatched: tuple[Unmatched, ...] = ()
        lacking: list[str] = []
        if names or mapped:
            pairs, lacking = _pairs(old, new, names, mapped)
        else:
            pairs, unmatched = _tops(old, new)
        was, now = zip(*pairs, strict=True)
        recordings = _recording(old, was), _recording(new, now)
    comparison = replace(compare(*recordings, pairs), unmatched=unmatched)
    if not (names or mapped):
        busy = tuple(stack for stack in comparison.stacks if not stack.idle)
        comparison = replace(comparison, stacks=busy)
    if not comparison.stacks:
        raise InputError(
            "no volume that both recordings have was busy; pair renamed ones with --map OLD=NEW"
        )
    if as_json:
        from stackmap.features.compare.json import compare_json

        click.echo(json.dumps(compare_json(comparison)))
    else:
        print_blocks(document(comparison), heading=not no_heading)
    if lacking:
        session.status = SOME_MISSING


def _side(name: str, source: Source) -> Side:
    progress = Progress(f"reading {source.name}")
    measured = Measurement(source, IntervalSelection(which="all"), progress=progress)
    tell_unknown(measured.topology)
    reports = measured.reports()
    first = next(reports)
    tops = counted_tops(measured.topology, first[1].loads)
    return Side(name, measured.topology, chain([first], reports), tops)


def _recording(side: Side, tops: tuple[str, ...]) -> Recording:
    recording = recording_of(side.name, side.topology, tops, side.reports)
    if not recording.batches:
        raise InputError(f"{side.name}: no interval to compare")
    return recording


def _source(session: Session, word: str) -> Source:
    """Open a capture, a part of one, or a text: of the machine that it tells of, else of that of *session*."""
    path, part = _split(word)
    if is_capture(path):
        return Session(path, part).machine(resolution=Resolution(MAX_BATCHES, MAX_BATCHES))
    if any(part.values()):
        raise click.UsageError(f"{word}: only a capture has parts, not a text")
    from stackmap.measurement.text import TextSource  # two captures do not pay for the formats

    text, own = open_text(path), Session(None, {})
    if text.seekable():
        text = own.take(text)
    return TextSource(text, (own if own.tells else session).machine(), session.note)


def _split(word: str) -> tuple[str, dict[str, str]]:
    """
    Return the path and the part in ``CAPTURE@SINCE..UNTIL``; a path may contain an @ itself.

    >>> _split("monday@14:30..15:30")
    ('monday', {'since': '14:30', 'until': '15:30'})
    """
    path, at_sign, part = word.rpartition("@")
    since, dots, until = part.partition("..")
    if not (at_sign and dots) or os.path.exists(word):
        return word, {}
    return path, {key: text for key, text in (("since", since), ("until", until)) if text}


def _tops(old: Side, new: Side) -> tuple[Pairs, tuple[Unmatched, ...]]:
    """Return the pairs of tops, and the tops that the other side lacks."""
    pairs, unmatched = pairs_of(old.topology, old.tops, new.topology, new.tops)
    if not pairs:
        absent = ", ".join(top.title for top in unmatched)
        only = f" (only one has {absent})" if absent else ""
        raise NameNotFound(f"no top volume is in both{only}; {RENAMED}")
    return pairs, unmatched


def _pairs(
    old: Side, new: Side, names: tuple[str, ...], mapped: tuple[str, ...]
) -> tuple[Pairs, list[str]]:
    """Return the pairs that *names* and *mapped* mean, and the names that one side lacks."""
    pairs = [_mapped(old.topology, new.topology, pair) for pair in mapped]
    lacking: list[str] = []
    for name in names:
        matches = _matches(old.topology, new.topology, name)
        pairs += [(was, now) for was, now in matches.items() if now]
        lacking += [old.topology[was].title for was, now in matches.items() if not now]
        lacking += [] if matches else [name]
    pairs = list(dict.fromkeys(pairs))
    if not pairs:
        raise NameNotFound(f"no volume is in both: {', '.join(lacking)}; {RENAMED}")
    for name in lacking:
        tell(f"not in both: {name}")
    return pairs, lacking


def _matches(before: Topology, after: Topology, name: str) -> dict[str, str | None]:
    """
    Return the devices that *name* means before, and for each the device with its title after.

    Without one, a single device that *name* means after, as for a mount point;
    but not by kernel name, which another device may have taken.
    """
    titles, devices = by_title(after), find(before, name)
    matches = {was: titles.get(before[was].title) for was in devices}
    if list(matches.values()) == [None]:
        called = find(after, name)
        matches[devices[0]] = called[0] if len(called) == 1 and called[0] != name else None
    return matches


def _mapped(before: Topology, after: Topology, text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not (old and sign and new):
        raise click.BadParameter(f"must be BEFORE_NAME=AFTER_NAME, not {text}", param_hint="--map")
    pair = []
    for topology, name, when in ((before, old, "before"), (after, new, "after")):
        devices = find(topology, name)
        if not devices:
            raise NameNotFound(f"{when}: {not_found(topology, [name])}")
        if len(devices) > 1:
            words = f"{name} matches {len(devices)} devices {when}"
            raise click.BadParameter(words, param_hint="--map")
        pair += devices
    return pair[0], pair[1]
