"""What device-mapper targets, md arrays and md's threads report about themselves at an instant."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Counts = Mapping[str, int]
NO_COUNTS: Counts = {}


class TargetStatus(NamedTuple):
    """
    The state and the numbers of one device.

    ``identity``: tells two devices of one name apart. ``state``: as in ``Device``.
    ``counts``: by name, in blocks of the target: thin pool ``data_used``, ``data_total``,
    ``metadata_used``, ``metadata_total``; snapshot ``used``, ``total`` (sectors);
    cache ``used``, ``total``, ``dirty``, ``metadata_used``, ``metadata_total``, and since its table
    was loaded ``read_hits``, ``read_misses``, ``write_hits``, ``write_misses``, ``demotions``,
    ``promotions`` (requests and blocks); writecache ``total``, ``free``, ``writeback``; md
    ``missing`` (members).
    """

    identity: str
    state: str | None
    counts: Counts = MappingProxyType({})


class RaidThread(NamedTuple):
    """A kernel thread that serves one array: ``name`` as in ``ps`` ("md0_raid5"; LVM: "mdX_raid5")."""

    pid: int
    name: str


class StatusReading(NamedTuple):
    """
    The status of every device that has one, read once.

    ``time``: when it was read, seconds since the epoch. ``targets`` by kernel name.
    ``threads``: CPU seconds that each md thread has used.
    """

    time: float
    targets: Mapping[str, TargetStatus]
    threads: Mapping[RaidThread, float] = MappingProxyType({})
