"""``/proc/drbd`` of DRBD 8; ``drbdadm status`` and ``drbdsetup status`` of DRBD 9, as text and as JSON."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stackmap.model.units import KIB
from stackmap.sources import drbd
from stackmap.sources.printed.columns import objects
from stackmap.sources.printed.facts import BY_RES, DRBD_STATE, Fact, of_path

PROC = re.compile(r"\s*version: \S+ \(api:\S+\)|\s*\d+: cs:\w+ .*")
# A resource or a peer: "web node-id:0 role:Primary suspended:no".
STATUS_ROW = re.compile(
    r"\s*[\w.@+-]{1,128} (?:node-id:\d+ )?(?:connection:\w+ )?role:(?:Primary|Secondary|Unknown)\b(?: [\w-]+:\S+)*"
)
DISKLESS = "Diskless"
QUIET = ("", "Established", "Off")  # replication states in which only new writes are sent
# Keys of JSON in the words of the text.
_KEYS = {"percent-in-sync": "done", "backing-dev": "backing_dev"}


def read_proc(lines: list[str]) -> Iterator[Fact]:
    """Yield the state of each device in /proc/drbd."""
    for name, state in drbd.parse("\n".join(lines)).items():
        yield Fact(name, "listed", "")
        yield Fact(name, DRBD_STATE, state)


def read_status(lines: list[str]) -> Iterator[Fact]:
    """Yield the facts of ``drbdadm status`` and ``drbdsetup status``."""
    return _facts(status(lines))


def read_status_json(text: str) -> Iterator[Fact]:
    """Yield the facts of one resource in ``drbdsetup status --json``."""
    return _facts(status_of_json(json.loads(text)))


def _facts(volumes: "Iterable[Volume]") -> Iterator[Fact]:
    """Yield the facts on each volume; without a minor number only its name is known."""
    for name, words, state in volumes:
        ref = f"drbd{words['minor']}" if words.get("minor", "").isdecimal() else BY_RES + name
        yield Fact(ref, "listed", "")
        yield Fact(ref, "is", BY_RES + name)
        yield Fact(ref, DRBD_STATE, state)
        if words.get("size", "").isdecimal():
            yield Fact(ref, "size", str(int(words["size"][:16]) * KIB))
        if words.get("backing_dev", "").startswith("/dev/"):
            yield Fact(ref, "on", of_path(words["backing_dev"]))


class Record(NamedTuple):
    """A resource or a peer of one as DRBD 9 prints it: its own words, and those of each volume; none: the words are of its only one."""

    name: str
    words: dict[str, str]
    volumes: list[dict[str, str]]

    def each(self) -> list[dict[str, str]]:
        """Return the words of each volume."""
        return self.volumes or [self.words]


class Volume(NamedTuple):
    """A volume of a resource: ``name`` ("web/0"), ``words`` that are printed of it (minor, disk, backing_dev, size …), ``state``."""

    name: str
    words: dict[str, str]
    state: str


def status(lines: Iterable[str]) -> Iterator[Volume]:
    """
    Yield the volumes of ``drbdadm status`` and ``drbdsetup status``.

    >>> [volume.state for volume in status(["web role:Primary", "  disk:UpToDate", "  beta connection:StandAlone"])]
    ['degraded, StandAlone']
    """
    records: list[Record] = []
    for line in lines:
        words = line.split()
        if words and ":" not in words[0]:
            records.append(Record(words.pop(0), {}, []))
        for word in words if records else ():
            key, _, value = word.partition(":")
            if key == "volume":
                records[-1].volumes.append({})
            (records[-1].volumes or [records[-1].words])[-1][key] = value
    # Resources and peers have one form; only a resource has disks of its own.
    starts = [
        n for n, record in enumerate(records) if any("disk" in volume for volume in record.each())
    ]
    for start, end in zip(starts, [*starts[1:], len(records)], strict=True):
        yield from _volumes(records[start], records[start + 1 : end])


def status_of_json(resource: Mapping[str, Any]) -> Iterator[Volume]:
    """Yield the volumes of a resource in ``drbdsetup status --json``."""
    peers = (_record(peer, "peer_devices") for peer in objects(resource.get("connections")))
    yield from _volumes(_record(resource, "devices"), [*peers])


def _record(told: Mapping[str, Any], volumes: str) -> Record:
    """Return a resource or a peer from JSON, in the words of the text."""
    of_volumes = [_words(volume) for volume in objects(told.get(volumes))]
    return Record(str(told.get("name", "")), _words(told), of_volumes)


def _words(told: Mapping[str, Any]) -> dict[str, str]:
    said = {True: "yes", False: "no"}
    return {
        _KEYS.get(key, key.removesuffix("-state")): said[value]
        if isinstance(value, bool)
        else str(value)
        for key, value in told.items()
        if isinstance(value, str | int | float)
    }


def _volumes(resource: Record, peers: Sequence[Record]) -> Iterator[Volume]:
    for own in resource.each():
        number = own.get("volume", "0")
        theirs = [
            {"connection": peer.words.get("connection", drbd.CONNECTED)} | volume
            for peer in peers
            for volume in ([e for e in peer.each() if e.get("volume", "0") == number] or [{}])
        ]
        yield Volume(f"{resource.name}/{number}", own, _state_among(own, theirs))


def _state_among(own: Mapping[str, str], peers: Sequence[Mapping[str, str]]) -> str:
    """Return the state of a volume with the words *own* and those of its *peers*: the worst that holds."""
    if own.get("quorum") == "no":
        return "degraded, no quorum"
    lost = [peer["connection"] for peer in peers if peer["connection"] != drbd.CONNECTED]
    busy = [peer for peer in peers if peer.get("replication", "") not in QUIET]
    if busy and not lost:
        done = f" {busy[0]['done']} %" if "done" in busy[0] else ""
        return drbd.state_of(busy[0]["replication"], []) + done
    # A client has no disk on purpose, such as a tie-breaker.
    kept = [(own.get("disk", ""), own.get("client"))]
    kept += [(peer.get("peer-disk", ""), peer.get("peer-client")) for peer in peers]
    disks = [disk for disk, client in kept if disk and (disk != DISKLESS or client == "no")]
    return drbd.state_of(lost[0] if lost else drbd.CONNECTED, disks)
