"""The name to show for each device name in a text, and the column width it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stackmap.render.name_fields import IOSTAT_WIDTH, SAR_WIDTH, Style

SAR_NAME = re.compile(rb"dev(\d{1,9})-(\d{1,9})$")
MAX_UNRESOLVED = 10_000  # unknown names that are counted
MAX_WIDTH = 64  # of the name column; longer names push their figures


class NameTable:
    """
    The names to show, as given to ``Annotator``.

    ``unresolved``: rows per name that is not in the table.
    """

    def __init__(self, names: Mapping[str, str], numbers: Mapping[str, str], style: Style) -> None:
        self.unresolved: dict[str, int] = {}
        self._names = names
        self._numbers = numbers
        self._style = style
        self._known: dict[bytes, tuple[bytes, str]] = {}

    @property
    def named_any(self) -> bool:
        """Whether any name was looked up."""
        return bool(self._known or self.unresolved)

    def knows(self, name: bytes) -> bool:
        """Whether *name* is a device's."""
        return name in self._known or self._kernel_name(name) in self._names

    def lookup(self, name: bytes) -> tuple[bytes, str]:
        """Return the label for *name* and the kernel name; an unknown name is kept and counted."""
        known = self._known.get(name)
        if known is not None:
            return known
        device = self._kernel_name(name)
        label = self._names.get(device)
        if label is None:
            text = name.decode(errors="surrogateescape")
            if text in self.unresolved or len(self.unresolved) < MAX_UNRESOLVED:
                self.unresolved[text] = self.unresolved.get(text, 0) + 1
            return name, device
        known = self._known[name] = self._labelled(_bytes(label), name), device
        return known

    def widths(self) -> tuple[int, int]:
        """Return the width of the name column in iostat and in sar."""
        only = self._style.only
        labels = {
            name: self._names[name].encode()
            for name in self._numbers.values() or self._names
            if name in self._names and (only is None or name in only)
        }
        iostat = [len(self._labelled(label, _bytes(name))) for name, label in labels.items()]
        sar = [
            len(self._labelled(labels[device], f"dev{number.replace(':', '-')}".encode()))
            for number, device in self._numbers.items()
            if device in labels
        ]
        return (
            min(MAX_WIDTH, max([IOSTAT_WIDTH, *iostat])),
            min(MAX_WIDTH, max([SAR_WIDTH, *iostat, *sar])),
        )

    def _labelled(self, label: bytes, name: bytes) -> bytes:
        return b"%b (%b)" % (label, name) if self._style.append and label != name else label

    def _kernel_name(self, name: bytes) -> str:
        number = SAR_NAME.match(name)
        text = name.decode(errors="surrogateescape")
        if number is None:
            return text.removeprefix("/dev/")
        return self._numbers.get(f"{int(number[1])}:{int(number[2])}", text)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
