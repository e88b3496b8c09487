"""A line of a view of the screen, and what it may be about."""

from __future__ import annotations

from typing import NamedTuple

from stackmap.analysis.findings.rule import Finding
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.command_line import operand, quoted
from stackmap.model.device import Use


class Event(NamedTuple):
    """Something that happened in the interval that ended at ``time``."""

    time: float | None
    text: str


class GroupLoad(NamedTuple):
    """
    What the control group at the path ``group`` and those inside it sent to ``device``: rates per second.

    ``kind`` and ``name``: those of its owner.
    """

    group: str
    kind: str
    name: str
    device: str
    ios: float
    bytes: float

    @property
    def who(self) -> tuple[str, str, str]:
        """The owner and the device."""
        return self.kind, self.name, self.device

    def plus(self, inner: CgroupLoad) -> GroupLoad:
        """Return the sum with what a group inside sent."""
        return self._replace(ios=self.ios + inner.ios, bytes=self.bytes + inner.bytes)


class Row(NamedTuple):
    """
    A line of a view. ``key`` is unique in it.

    ``name``: untrusted. ``device``: the kernel name of what it is about, "" for none. ``stack``:
    the row that folds it, "" for none; ``layer``: its index in that stack.
    ``about``: a finding, an event, a user or a control group. ``shows`` is the command that
    shows it alone, by its ``title``.
    """

    key: str
    name: str
    device: str = ""
    stack: str = ""
    layer: int | None = None
    about: Finding | Event | Use | GroupLoad | None = None
    folded: bool = False
    shows: str = "iostat -l"
    title: str = ""

    @property
    def command(self) -> str:
        """The command line that shows it alone."""
        name = operand(self.title) if self.title else ()
        interval = () if self.shows in ("explain", "tree") else ("1",)
        return quoted(("stackmap", *self.shows.split(), *name, *interval))

    @property
    def depth(self) -> int:
        """1 for a row that details another one."""
        return int(self.layer is not None)
