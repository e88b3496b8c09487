"""Units of size, in bytes, and shares as text."""

import re

from stackmap.errors import UsageError

SECTOR = 512  # of the kernel, device-mapper and sysstat, for any sector size of a disk
KIB, MIB, GIB = 1024, 1024**2, 1024**3
_SIZE = r"([0-9]{1,6})([mgt])(?:i?b)?"
_BYTES = {"m": MIB, "g": GIB, "t": 1024 * GIB}


def parse_size(text: str) -> int:
    """
    Return the bytes that *text* means, at least 1 MiB.

    >>> parse_size("500M"), parse_size("2 GiB")
    (524288000, 2147483648)
    """
    found = re.fullmatch(_SIZE, text.lower().replace(" ", ""))
    if found is None or int(found[1]) == 0:
        raise UsageError(f"{text!r} is not a size; write 500M, 2G or 1T")
    return int(found[1]) * _BYTES[found[2]]


def percent(part: float, whole: float) -> str:
    """
    Return *part* of *whole* as a percentage; 100 % of nothing.

    >>> percent(1, 8), percent(0, 0)
    ('12.5 %', '100.0 %')
    """
    return f"{100 * part / whole if whole else 100:.1f} %"
