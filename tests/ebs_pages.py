"""Pages of Amazon's NVMe log 0xD0, built from the published layout, and as nvme-cli prints them."""

from __future__ import annotations

import struct

COUNTS = (2, 3, 5, 7, 11, 13)  # requests, bytes, microseconds
OVER = (17_000_000, 19_000_000, 23_000_000, 29_000_000)  # microseconds
QUEUE = 31
BINS = ((0, 37, 41), (37, 43, 47))


def page(magic=0x3C23B510, *, bins=BINS, count=None, over=OVER):
    """A page of 4 KiB whose every figure is another prime."""
    histogram = struct.pack("<Q", len(bins) if count is None else count)
    histogram += b"".join(struct.pack("<QQII", *each, 0) for each in bins)
    head = struct.pack("<II11Q", magic, 0, *COUNTS, *over, QUEUE).ljust(512, b"\0")
    return (head + histogram.ljust(1544, b"\0") + histogram.ljust(1544, b"\0")).ljust(4096, b"\0")


def dump(content):
    """As nvme-cli prints it."""
    rows = [content[place : place + 16] for place in range(0, len(content), 16)]
    lines = [f'{16 * n:04x}: {row.hex(" ")} "{"." * len(row)}"' for n, row in enumerate(rows)]
    head = ["Device:nvme0n1 log-id:208 namespace-id:0x1", "       0  1  2  3  4  5  6  7"]
    return "\n".join([*head, *lines, ""])
