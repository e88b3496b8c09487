"""
How answers are written in a capture: paths, refusals, the encoding of text, udev's format, and limits.

A live machine needs some of it too, so this module imports little.
"""

import re
from typing import Any, NamedTuple

from stackmap.errors import CaptureError, SourceDenied, SourceError, SourceMissing, SourceTimeout
from stackmap.host.budget import READ_LINE_BYTES, json_size, refuse_large

LISTING = ".names"  # the file with the names in its directory
REFUSALS: dict[str, type[SourceError]] = {
    "denied": SourceDenied,
    "missing": SourceMissing,
    "timeout": SourceTimeout,
    "failed": SourceError,
}
MACHINE_ID_HASH = "/machine-id.sha256"
TRACE = "/cmd/stackmap-trace.json"  # what ``record --trace`` adds


class Refusal(NamedTuple):
    """No answer: ``kind`` is a key of ``REFUSALS``, ``message`` the reason."""

    kind: str
    message: str


def refusal_of(error: SourceError) -> Refusal:
    """Return the refusal to record for *error*."""
    kind = next(word for word, kind in REFUSALS.items() if type(error) is kind)
    return Refusal(kind, str(error))


LATE = 5.0  # seconds after the first sample; an answer that takes longer is reported


def late_answer(what: str, seconds: float | None) -> str:
    """Return a sentence: *what* was answered *seconds* after the first sample; None: no answer."""
    if seconds is None:
        return f"{what}: no answer while it was recorded"
    return f"{what}: answered {seconds:.1f} s after the first sample"


def command_file(command: tuple[str, ...]) -> str:
    """
    Return the path of the output of *command*: its words without options.

    >>> command_file(("dmsetup", "status", "--noflush"))
    '/cmd/dmsetup-status.txt'
    >>> command_file(("lvs", "--all", "--reportformat=json"))
    '/cmd/lvs.json'
    """
    words = "-".join(word for word in command if not word.startswith("-"))
    return (
        f"/cmd/{words.replace('/', '-')}{'.json' if '--reportformat=json' in command else '.txt'}"
    )


# The name of a file with the output of a command that tells of block devices: "lsblk_-O_-P", "proc_mdstat.txt".
_OUTPUT = (
    r"(?:(?:usr|s?bin|sudo|cat|proc|)[_.-])*(?:lsblk|blkid|findmnt|mount|df|swapon|[lpv]vs|vgs|[lpv]vdisplay|vgdisplay|"
    r"dmsetup|mdadm|mdstat|multipath|nvme|btrfs|zpool|partitions|fs-diskio|fs-softraid|lvm|mpio|storage)(?:[ _.-].*)?"
)


def is_output(path: str) -> bool:
    """Whether *path* is named like the output of a command that tells of block devices."""
    return re.fullmatch(_OUTPUT, path.rpartition("/")[2]) is not None


def udev_file(number: str) -> str:
    """Return the path of udev's record of block device *number*."""
    return f"/run/udev/data/b{number}"


def parse_udev(text: str) -> dict[str, str]:
    """
    Return the ``E:`` properties of a file of udev's database, with its ``S:`` links as DEVLINKS.

    Not read through pyudev: importing it and ctypes takes as long as a whole command,
    and libudev reads this very file, as ``lsblk --sysroot`` does.
    """
    lines = [line for line in text.splitlines() if line[1:2] == ":"]
    properties = dict(line[2:].split("=", 1) for line in lines if line[0] == "E" and "=" in line)
    links = ["/dev/" + line[2:] for line in lines if line[0] == "S"]
    if links:
        properties["DEVLINKS"] = " ".join(links)
    return properties


def decoded(content: bytes) -> str:
    r"""Return *content* as text; bytes that are not UTF-8 become ``\xNN``."""
    return content.decode("utf-8", "backslashreplace")


def encoded(text: str) -> bytes:
    r"""Return *text* as bytes; surrogates of a non-UTF-8 file name become ``\udcNN``."""
    return text.encode("utf-8", "backslashreplace")


END_OF_TIME = 253402300800  # the beginning of the year 10,000; later instants cannot be shown


def is_instant(time: float) -> bool:
    """Whether *time* is before the year 10,000; a clock may stand before 1970. False for NaN."""
    return -END_OF_TIME < time < END_OF_TIME


def recorded_text(content: bytes, path: str) -> str:
    """Return an answer as text; ``CaptureError`` naming *path* if it has too many lines."""
    refuse_large(path, READ_LINE_BYTES * content.count(b"\n"))
    return decoded(content)


def parse_json(content: bytes | str, what: str) -> Any:
    """Return the value of JSON text; ``CaptureError`` naming *what* if it is damaged or too large."""
    text = content if isinstance(content, str) else decoded(content)
    try:
        return loaded_json(text, what)
    except ValueError as error:
        raise CaptureError(f"{what} is damaged: {error}") from error


def loaded_json(text: str, what: str) -> Any:
    """Return the value of JSON *text*; ``ValueError`` if it is damaged, ``CaptureError`` naming *what* if it is too large."""
    refuse_large(what, json_size(text))
    import json  # 2 ms; a live tree needs none

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
