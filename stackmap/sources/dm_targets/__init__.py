"""
How to read each device-mapper target's words: one line per target, one function per meaning.

All else that stackmap knows about a target is in its record in ``model/dm_targets``. The forms are
those of each target's ``.status`` function in the kernel (drivers/md/dm-*.c).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from stackmap.model.device import Role
from stackmap.model.raid import Layout
from stackmap.sources.dm_targets import own_requests, passthrough
from stackmap.sources.dm_targets.segment import Below, DmStatus, Segment, sectors_to_bytes

ACTIVE = DmStatus("active")
# First words of a status without figures.
BROKEN = {
    "Fail": "failed",
    "Error": "failed",
    "Invalid": "invalid",
    "Merge": "merge failed",
    "Overflow": "overflow",
    "Unknown": "unknown",
}
DAMAGE = (ValueError, IndexError, KeyError, ArithmeticError)  # words that a reader does not expect


def _active(_: Segment) -> DmStatus:
    return ACTIVE


def _places(*places: tuple[int, Role]) -> Callable[[Segment], list[Below]]:
    """Return a reader of whole devices: the indexes of their words, with their roles."""
    return lambda segment: [Below(segment.words[place], role, 0) for place, role in places]


def _offset_at(place: int) -> Callable[[Segment], list[Below]]:
    """Return a reader of ``DEV offset`` at an index."""

    def below(segment: Segment) -> list[Below]:
        number, start = segment.words[place : place + 2]
        return [Below(number, Role.DATA, sectors_to_bytes(start), segment.length)]

    return below


def _fact(name: str, place: int) -> Callable[[Segment], Mapping[str, str]]:
    """Return a reader of one word as a fact."""
    return lambda segment: {name: segment.words[place]}


def _chunk(segment: Segment) -> Mapping[str, str]:
    return {"block": str(sectors_to_bytes(segment.words[3]))}


class Parser(NamedTuple):
    """Parsers of a target: devices, layout and facts from its table, the rest from its status."""

    name: str
    below: Callable[[Segment], list[Below]] = lambda _: []
    layout: Callable[[Segment], Layout | None] = lambda _: None
    facts: Callable[[Segment], Mapping[str, str]] = lambda _: {}
    status: Callable[[Segment], DmStatus] = _active


PARSERS = {
    parser.name: parser
    for parser in (
        Parser("linear", _offset_at(0)),
        Parser("striped", passthrough.striped, passthrough.striped_layout, status=passthrough.striped_status),
        Parser("raid", own_requests.raid, own_requests.raid_layout, own_requests.raid_facts, own_requests.raid_status),
        Parser("mirror", own_requests.mirror, own_requests.mirror_layout, status=own_requests.mirror_status),
        # cipher key iv_offset DEV offset: the key is not read
        Parser("crypt", _offset_at(3), facts=_fact("cipher", 0)),
        # The same words. Both kernels print the key, or "-" for it.
        Parser("inlinecrypt", _offset_at(3), facts=_fact("cipher", 0)),
        Parser("default-key", _offset_at(3), facts=_fact("cipher", 0)),
        Parser("multipath", passthrough.multipath, facts=passthrough.multipath_facts, status=passthrough.multipath_status),
        # META DATA block low_water …
        Parser("thin-pool", _places((0, Role.METADATA), (1, Role.DATA)), facts=own_requests.thin_pool_facts, status=own_requests.thin_pool_status),
        Parser("thin", own_requests.thin, facts=_fact("thin id", 1), status=own_requests.thin_status),
        # META CACHE ORIGIN block …
        Parser("cache", _places((2, Role.ORIGIN), (1, Role.CACHE), (0, Role.METADATA)), facts=own_requests.cache_facts, status=own_requests.cache_status),
        # p|s ORIGIN CACHE block …: the cache device has its own metadata, and the block size is in bytes
        Parser("writecache", _places((1, Role.ORIGIN), (2, Role.CACHE)), facts=_fact("block", 3), status=own_requests.writecache_status),
        # CACHE ORIGIN options …
        Parser("pcache", _places((1, Role.ORIGIN), (0, Role.CACHE))),
        # ORIGIN COW P chunk
        Parser("snapshot", _places((0, Role.ORIGIN), (1, Role.COW)), facts=_chunk, status=own_requests.snapshot_status),
        Parser("snapshot-merge", _places((0, Role.ORIGIN), (1, Role.COW)), facts=_chunk, status=own_requests.snapshot_status),
        Parser("snapshot-origin", passthrough.every_device),
        Parser("integrity", passthrough.integrity, facts=passthrough.integrity_facts, status=passthrough.integrity_status),
        Parser("verity", passthrough.verity, facts=_fact("hash", 7), status=passthrough.verity_status),
        # META ORIGIN block: the origin holds the data unchanged
        Parser("era", _places((1, Role.DATA), (0, Role.METADATA))),
        # META DESTINATION SOURCE region …
        Parser("clone", _places((1, Role.DATA), (2, Role.ORIGIN), (0, Role.METADATA)), status=own_requests.clone_status),
        Parser("delay", passthrough.delay, facts=passthrough.delay_facts),
        Parser("flakey", _offset_at(0)),
        Parser("dust", _offset_at(0)),
        Parser("ebs", _offset_at(0)),
        Parser("unstriped", passthrough.unstriped),
        Parser("switch", passthrough.switch),
        Parser("log-writes", passthrough.log_writes),
        Parser("zoned", passthrough.every_device),
        # V4 DEV physical_blocks …: the device follows the version in every version; LVM gives its path
        Parser("vdo", _places((1, Role.DATA)), status=passthrough.vdo_status),
        Parser("zero"),
        Parser("error", passthrough.every_device, status=lambda _: DmStatus("failed")),
    )
}  # fmt: skip

UNKNOWN = Parser("")


def has_status(name: str) -> bool:
    """Whether the status of target *name* says more than that it is in use."""
    return parser(name).status is not _active


def parser(name: str) -> Parser:
    """Return the parsers of target *name*."""
    return PARSERS.get(name, UNKNOWN)


def status_of(line: Segment) -> DmStatus:
    """Return the content of a status *line*, nothing known if its words are unexpected."""
    if line.words and line.words[0] in BROKEN:
        return DmStatus(BROKEN[line.words[0]])
    try:
        return parser(line.target).status(line)
    except DAMAGE:
        return DmStatus()
