"""
What devices and the kernel report of errors and wear, beside I/O.

``Health``: what a disk says of itself. ``ERROR_COUNTS``: the keys in ``Device.counts``, and what each counts. A line there
adds one; ``sources/error_counts.py`` says where the kernel shows it, and a rule in ``rules/errors.py`` what to do.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple


class Health(NamedTuple):
    """
    The health of a disk since it was made; None for what it does not say.

    ``failing``: whether its own judgement is that it fails. ``used`` and ``spare``: shares of its rated life and of
    its spare blocks. ``media_errors``: reads and writes that it could not correct. ``pending`` and ``reallocated``:
    sectors. ``hot``: seconds above the temperature at which it warns; ``throttled``: seconds in which it slowed itself
    down because of heat. ``written``: bytes that hosts wrote.
    ``power_on``: seconds. ``temperature``: °C. ``unknown``: why nothing is known, "" if something is.
    """

    failing: bool | None = None
    used: float | None = None
    spare: float | None = None
    media_errors: int | None = None
    pending: int | None = None
    reallocated: int | None = None
    hot: int | None = None
    throttled: int | None = None
    written: int | None = None
    power_on: int | None = None
    temperature: int | None = None
    unknown: str = ""

    @property
    def times(self) -> dict[str, float | None]:
        """The seconds in which it was held back, by the cause."""
        return {HEAT: self.throttled}


HEAT = "heat"
# The limits of a disk of Amazon, in the order of the fields of ``Exceeded``.
LIMITS = (
    "the volume's IOPS",
    "the volume's throughput",
    "the instance's IOPS",
    "the instance's throughput",
)


class Exceeded(NamedTuple):
    """
    What a disk of Amazon counts since it was attached: seconds over the limits of the volume and of the instance.

    ``queue``: requests waiting now. ``reads``, ``writes``: latency as bins of bounds in microseconds and requests.
    None where it does not say.
    """

    volume_iops: float | None
    volume_bytes: float | None
    instance_iops: float | None
    instance_bytes: float | None
    queue: int
    reads: tuple[tuple[int, int, int], ...] = ()
    writes: tuple[tuple[int, int, int], ...] = ()

    @property
    def times(self) -> dict[str, float | None]:
        """The seconds over each limit, by its name."""
        return dict(zip(LIMITS, self[:4], strict=True))

    @property
    def longest(self) -> float:
        """The longest of its times, in seconds."""
        return max(seconds or 0.0 for seconds in self.times.values())


class Life(NamedTuple):
    """
    What may still be written to a disk: bytes between ``low`` and ``high``.

    ``used``: the share of its life that is used, None if not known: the bytes are then those of a new disk.
    ``rated``: whether the user gave them.
    """

    low: float
    high: float
    used: float | None = None
    rated: bool = False


NO_LIVES: Mapping[str, Life] = MappingProxyType({})

PATH_FAILURES = "path_failures"


class ErrorCount(NamedTuple):
    """
    ``one`` and ``many``: what is counted, in words. ``help``: what it counts, and since when.

    ``usual``: healthy devices count it too, so a state does not show it.
    """

    key: str
    one: str
    many: str
    help: str
    usual: bool = False

    def words(self, number: int) -> str:
        """Return *number* with its noun."""
        return f"{number} {self.one if number == 1 else self.many}"


ERROR_COUNTS: Mapping[str, ErrorCount] = {
    count.key: count
    for count in (
        ErrorCount("command_errors", "failed command", "failed commands",
                   "SCSI commands that ended with an error since the disk was attached; refused ones too", usual=True),
        ErrorCount("timeouts", "command timeout", "command timeouts",
                   "SCSI commands that timed out since the disk was attached"),
        ErrorCount("link_lowered", "lowered SATA link", "lowered SATA links",
                   "1 while the kernel holds the SATA link below the speed of its port"),
        ErrorCount("corrected_sectors", "corrected sector", "corrected sectors",
                   "sectors of a member whose read errors md corrected, since the array was assembled"),
        ErrorCount("bad_sectors", "bad sector", "bad sectors",
                   "sectors of 512 bytes in md's bad block list of a member"),
        ErrorCount("mismatched_sectors", "mismatched sector", "mismatched sectors",
                   "sectors that differed between members in the last check or resync of an array"),
        ErrorCount("checksum_errors", "checksum error", "checksum errors",
                   "sectors whose checksum was wrong, since the dm-integrity device was activated"),
        ErrorCount(PATH_FAILURES, "path failure", "path failures",
                   "how often multipath stopped using this path, since its table was loaded"),
        ErrorCount("btrfs_io_errors", "btrfs I/O error", "btrfs I/O errors",
                   "read, write and flush errors of all devices of the btrfs; kept across mounts"),
        ErrorCount("btrfs_corruptions", "btrfs corruption", "btrfs corruptions",
                   "wrong checksums and generations on all devices of the btrfs; kept across mounts"),
    )
}  # fmt: skip


def errors(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of errors among *counts*; a key is absent where the kernel does not count it."""
    return {key: counts[key] for key in ERROR_COUNTS if key in counts}


def error_words(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield each count above 0 that healthy devices do not have, in words."""
    for key, number in errors(counts).items():
        if number > 0 and not ERROR_COUNTS[key].usual:
            yield ERROR_COUNTS[key].words(number)


def grown_errors(before: Mapping[str, int], now: Mapping[str, int]) -> Iterator[str]:
    """Yield the errors counted between two readings of one device, in words; not counts that only the second has."""
    for key, number in errors(now).items():
        more = number - before.get(key, number)
        if more > 0:
            yield f"{ERROR_COUNTS[key].words(more)} (now {number})"
