"""
Device-mapper's tables, states and names, by ioctl in a child process.

In a child, because the kernel may keep a request waiting for a dead device, and such a process cannot be
killed. It is left behind then, as a dmsetup would be.
"""

from __future__ import annotations

from stackmap.host import dm_ioctl
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
            self._texts = {} if status else self._parsed(out)
        return self._texts.get(question)

    def _parsed(self, out: bytes) -> dict[str, bytes]:
        if self.words[1] not in TOGETHER:
            return {self.words[1]: out}
        return dict(zip(TOGETHER, out.split(SEPARATOR), strict=True))

    def asked(self) -> bytes:
        """Return the answer to the question, or to those that are asked together."""
        control = dm_ioctl.opened()
        if self.words[1] not in TOGETHER:
            return dm_ioctl.statuses(control)
        return SEPARATOR.join(dm_ioctl.tables(control))
