"""Answers in a capture: their paths, refusals, the encoding of their text, and udev's format."""

from typing import NamedTuple

MACHINE_ID_HASH = "/machine-id.sha256"
TRACE = "/cmd/stackmap-trace.json"  # what ``record --trace`` adds


class Refusal(NamedTuple):
    """No answer: ``kind`` is a key of ``capture.REFUSALS``, ``message`` the reason."""

    kind: str
    message: str


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
