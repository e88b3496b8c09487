"""A row of a view of ``top``, and the events and loads of control groups that rows show."""

from __future__ import annotations

from typing import NamedTuple

from stackmap.errors import OperandRefused
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.command_line import NO_COMMAND, quoted, stackmap_command
from stackmap.model.device import Use
from stackmap.model.operand import DeviceTitle, Fixed
from stackmap.rules.rule import Finding


class Event(NamedTuple):
    """Something that happened in the interval that ended at ``time``."""

    time: float | None
    text: str


class GroupLoad(NamedTuple):
    """
    The I/O per second that a control group and the groups inside it sent to ``device``.

    ``group``: its path. ``kind`` and ``name``: those of its owner.
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
        """Return the sum with the load of a group inside."""
        return self._replace(ios=self.ios + inner.ios, bytes=self.bytes + inner.bytes)


class Row(NamedTuple):
    """
    A row of a view. ``key``: unique in the view. ``name``: its text, untrusted.

    ``device``: the kernel name of its device, "" for none. ``stack``: the top of its stack, "" for none.
    ``layer``: the index of a layer in that stack, None for other rows. ``about``: the finding, event,
    user or control group that the row shows. ``shows``: the command for this row alone, and ``title``
    the name that the command takes.
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
        """The command line for this row alone."""
        interval = () if self.shows in ("explain", "tree") else (Fixed("1"),)
        try:
            names = (DeviceTitle(self.title),) if self.title else ()
        except OperandRefused:
            return NO_COMMAND
        return quoted((*stackmap_command(self.shows, *names), *interval))

    @property
    def depth(self) -> int:
        """1 for a row that details another one."""
        return int(self.layer is not None)
