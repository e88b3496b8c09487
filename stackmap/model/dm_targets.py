"""
Device-mapper targets: one record per target, with every fact about it but the form of its lines.

``sources/dm_targets`` has the parsers of its table and its status, by the same name. A target that has only one
of the two, or no line among the tests' tables, fails ``tests/sources/test_dm_targets.py``, which says what is
missing. A target without a record is not an error: its devices come from sysfs, and its cost is unknown.
"""

from enum import Enum
from typing import NamedTuple

from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology

POOL = "thin-pool"
THIN = "thin"
VDO_BLOCK = 4096  # bytes, the unit of its status (drivers/md/dm-vdo/constants.h, VDO_BLOCK_SIZE)

Range = tuple[float, float | None]

ONE: Range = (1.0, 1.0)


class Expected(NamedTuple):
    """
    Bytes below per byte read and per byte written; ``why``: what decides within the range, in words.

    A range is the lowest and the highest; the highest is None where it is unlimited (a first write to a
    thin chunk may zero all of it).
    """

    read: Range
    write: Range
    why: str = ""

    def times(self, other: "Expected") -> "Expected":
        """Return the amplification of two layers, one below the other."""
        return Expected(
            _product(self.read, other.read),
            _product(self.write, other.write),
            "; ".join(filter(None, (self.why, other.why))),
        )


def _product(a: Range, b: Range) -> Range:
    return a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1]


UNCHANGED = Expected(ONE, ONE)
# A thin volume reads nothing where nothing was written. Its pool also counts the blocks that it copies and zeroes.
ALLOCATING = Expected((0.0, None), (1.0, None), "a first write zeroes or copies its chunk")


class Keys(Enum):
    """Where the table of a target may have a key."""

    ANYWHERE = "any long word"  # not known; also of targets without a record
    SECOND_WORD = "the second word"
    NOWHERE = "none, though some words are long"


class DmTarget(NamedTuple):
    """
    A target.

    ``what``: the words of the column WHAT; a word that names facts of the device ("{cipher}") is left out where
    one of them is unknown. ``kind``: of a device whose segments all have this target. ``passes_on``: it passes
    each request on, once, to one device below. A request may be split at a boundary; the kernel then counts
    each piece (``bio_split_to_limits`` before the request is accounted). So its own counters say what it sent,
    and a disk shared by several such devices can be divided exactly. All others create requests of their own:
    ``extra`` is the ledger's cause of those that are not in the layout ("" for other), and ``expected`` their
    cost, None where it is unknown or follows from the layout. ``polled``: its status has figures that change
    without a uevent. ``merges``: it is request-based.
    """

    name: str
    what: tuple[str, ...]
    kind: Kind = Kind.DM
    passes_on: bool = False
    extra: str = ""
    expected: Expected | None = None
    polled: bool = False
    merges: bool = False
    keys: Keys = Keys.ANYWHERE


DM_TARGETS = {
    target.name: target
    for target in (
        DmTarget("linear", ("linear",), passes_on=True),
        DmTarget("striped", ("striped",), passes_on=True, keys=Keys.NOWHERE),
        DmTarget("unstriped", ("unstriped",), passes_on=True),
        DmTarget("crypt", ("crypt", " {cipher}"), Kind.CRYPT, passes_on=True, keys=Keys.SECOND_WORD),
        DmTarget("inlinecrypt", ("crypt", " {cipher}"), Kind.CRYPT, passes_on=True, keys=Keys.SECOND_WORD),
        DmTarget("default-key", ("crypt", " {cipher}"), Kind.CRYPT, passes_on=True, keys=Keys.SECOND_WORD),
        DmTarget("multipath", ("multipath", ", {paths} paths", ", {selector}"), Kind.MULTIPATH, passes_on=True, merges=True, polled=True),
        DmTarget("delay", ("delay", " {delay}"), passes_on=True),
        DmTarget("flakey", ("flakey",), passes_on=True),
        DmTarget("dust", ("dust",), passes_on=True),
        DmTarget("switch", ("switch",), passes_on=True),
        DmTarget("zoned", ("zoned",), passes_on=True),
        DmTarget("raid", ("raid",), polled=True, keys=Keys.NOWHERE),
        DmTarget("mirror", ("mirror",), keys=Keys.NOWHERE),
        DmTarget(
            POOL,
            ("thin-pool", ", data {data used}, metadata {metadata used}"),
            Kind.THIN_POOL,
            extra="cow",
            expected=UNCHANGED,
            polled=True,
        ),
        DmTarget(THIN, ("thin", ", {mapped} mapped"), Kind.THIN, extra="cow", expected=ALLOCATING),
        DmTarget(
            "cache",
            ("cache", " {mode}", ", {policy}", ", {cache used} used"),
            Kind.CACHE,
            extra="cache",
            expected=Expected((0.0, None), (1.0, None), "hits, promotions and writeback"),
            polled=True,
        ),
        DmTarget(
            "writecache",
            ("cache", ", {cache used} used"),
            Kind.CACHE,
            extra="cache",
            expected=Expected((0.0, 1.0), (1.0, 2.0), "each byte is written back later"),
            polled=True,
        ),
        # Its cache is persistent memory, which may be written without block I/O.
        DmTarget("pcache", ("cache",), Kind.CACHE, extra="cache", expected=Expected((0.0, 1.0), (0.0, 1.0), "writes gather in the cache")),
        DmTarget(
            "snapshot",
            ("snapshot", ", {used} used"),
            Kind.SNAPSHOT,
            extra="cow",
            expected=Expected(ONE, (1.0, None), "a first write copies its chunk out"),
            polled=True,
        ),
        DmTarget(
            "snapshot-merge",
            ("snapshot-merge",),
            extra="cow",
            expected=Expected(ONE, (1.0, None), "the snapshot is being merged"),
            polled=True,
        ),
        DmTarget(
            "snapshot-origin",
            ("snapshot-origin",),
            extra="cow",
            expected=Expected(ONE, (1.0, None), "a first write copies its chunk to each snapshot"),
        ),
        DmTarget(
            "integrity",
            ("integrity",),
            extra="integrity",
            expected=Expected((0.0, None), (1.0, 2.2), "the journal writes it twice, a bitmap 1.2 times"),
            polled=True,
        ),
        DmTarget(
            "verity",
            ("verity",),
            expected=Expected((1.0, None), (0.0, 0.0), "hashes are read too"),
            keys=Keys.NOWHERE,  # long are the root hash and the salt
        ),
        DmTarget("era", ("era",), expected=UNCHANGED),
        DmTarget("clone", ("clone",)),
        DmTarget("ebs", ("ebs",)),
        DmTarget("log-writes", ("log-writes",)),
        DmTarget("vdo", ("vdo", ", {used} used"), polled=True),
        DmTarget("zero", ("zero",)),
        DmTarget("error", ("error",)),
    )
}  # fmt: skip

UNKNOWN = DmTarget("", ())


def target_of(device: Device) -> DmTarget:
    """Return the record of the target of *device*, ``UNKNOWN`` without one, or if it has several."""
    return DM_TARGETS.get(device.target, UNKNOWN)


def is_passthrough(device: Device) -> bool:
    """Whether *device* only passes on the requests it receives."""
    return target_of(device).passes_on if device.target else device.kind is Kind.PARTITION


def passes_on(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* passes its requests on down this edge, one by one."""
    return edge.role is Role.PATH or is_passthrough(topology[edge.above])
