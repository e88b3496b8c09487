"""Units of size, in bytes, and shares as text."""

import re

from stackmap.errors import UsageError

SECTOR = 512  # of the kernel, device-mapper and sysstat, for any sector size of a disk
KIB, MIB, GIB = 1024, 1024**2, 1024**3
_SIZE = r"([0-9]{1,6})([kmgt])(?:i?b)?"
_BYTES = {"k": KIB, "m": MIB, "g": GIB, "t": 1024 * GIB}


def parse_size(text: str, least: int = MIB, examples: str = "500M, 2G or 1T") -> int:
    """
    Return the bytes that *text* means, at least *least*; ``UsageError`` with *examples* for any other text.

    >>> parse_size("500M"), parse_size("2 GiB")
    (524288000, 2147483648)
    """
    match = re.fullmatch(_SIZE, text.lower().replace(" ", ""))
    size = 0 if match is None else int(match[1]) * _BYTES[match[2]]
    if size < least:
        raise UsageError(f"{text!r} is not a size; write {examples}")
    return size


def percent(part: float, whole: float) -> str:
    """
    Return *part* of *whole* as a percentage; 100 % of nothing.

    >>> percent(1, 8), percent(0, 0)
    ('12.5 %', '100.0 %')
    """
    return f"{100 * part / whole if whole else 100:.1f} %"
