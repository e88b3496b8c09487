"""
Device-mapper's tables, states and names, by ioctl in a child process.

In a child, because the kernel may keep a request waiting for a dead device, and such a process cannot be
killed. It is left behind then, as a dmsetup would be.
"""

from __future__ import annotations

from stackmap.errors import SourceError
from stackmap.host import dm_ioctl
from stackmap.host.command import Command
from stackmap.host.forked import ForkedQuestion

TOGETHER = ("table", "info")  # one request per device answers both
SEPARATOR = b"\0"


class Mapper:
    """Device-mapper of this machine. Its questions are "table", "info" and "status"."""

    def __init__(self) -> None:
        self._begun: dict[str, MapperQuestion] = {}

    def start(self, question: str) -> None:
        """Ask *question* now for a later ``answer``; what is started together shares a child."""
        if question not in self._begun:
            begun = [self._begun[other] for other in TOGETHER if other in self._begun]
            shared = question in TOGETHER and begun
            self._begun[question] = begun[0] if shared else MapperQuestion(question)

    def answer(self, question: str, seconds: float) -> bytes | None:
        """Return the output of that dmsetup command; None if this kernel does not answer by ioctl."""
        child = self._begun.pop(question, None) or MapperQuestion(question)
        return child.text(question, seconds)


class MapperQuestion(ForkedQuestion):
    """A child that asks device-mapper."""

    def __init__(self, question: str) -> None:
        self._texts: dict[str, bytes] | None = None
        super().__init__(("device-mapper", question))

    def text(self, question: str, seconds: float) -> bytes | None:
        """Return the answer to *question*; None if the kernel refused. ``SourceTimeout`` after *seconds*."""
        if self._texts is None:
            status, out, _ = self.answer(seconds)
            self._texts = {} if status else self._parsed(out, seconds)
        return self._texts.get(question)

    def _parsed(self, out: bytes, seconds: float) -> dict[str, bytes]:
        if self.words[1] not in TOGETHER:
            return {self.words[1]: out}
        table, info, names = out.split(SEPARATOR)
        return {"table": table + _masked_tables(names.decode().split(), seconds), "info": info}

    def asked(self) -> bytes:
        """Return the answer to the question, or to those that are asked together."""
        control = dm_ioctl.opened()
        if self.words[1] not in TOGETHER:
            return dm_ioctl.statuses(control)
        found = dm_ioctl.tables(control)
        return SEPARATOR.join((found.table, found.info, b" ".join(found.left_out)))


def _masked_tables(names: list[str], seconds: float) -> bytes:
    """Return what ``dmsetup table`` prints of *names*, which masks keys; b"" if it cannot."""
    if not names:
        return b""
    try:
        status, out, _ = Command(("dmsetup", "table", "--", *names)).answer(seconds)
    except SourceError:  # not installed: the uuids of these devices still name their kind
        return b""
    # dmsetup leaves the name out of the lines of a single device.
    one = b"".join(f"{names[0]}: ".encode() + line for line in out.splitlines(keepends=True))
    return b"" if status else one if len(names) == 1 else out
