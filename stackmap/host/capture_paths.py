"""Where the answer to each question is kept, and how its bytes become text: the same for all hosts."""

from __future__ import annotations


def command_file(command: tuple[str, ...]) -> str:
    """
    Return where what *command* prints is kept: its words, without options.

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
    """Return where udev keeps what it knows of the block device with *number*."""
    return f"/run/udev/data/b{number}"


def decoded(content: bytes) -> str:
    r"""Return *content* as text; bytes that are no UTF-8 stay visible as ``\xNN``."""
    return content.decode("utf-8", "backslashreplace")


def encoded(text: str) -> bytes:
    r"""Return *text* as bytes; a name in a directory that was no UTF-8 stays visible as ``\udcNN``."""
    return text.encode("utf-8", "backslashreplace")
