"""Paths of answers in a capture, and the encoding of their text."""

from __future__ import annotations


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


def decoded(content: bytes) -> str:
    r"""Return *content* as text; bytes that are not UTF-8 become ``\xNN``."""
    return content.decode("utf-8", "backslashreplace")


def encoded(text: str) -> bytes:
    r"""Return *text* as bytes; surrogates of a non-UTF-8 file name become ``\udcNN``."""
    return text.encode("utf-8", "backslashreplace")
