"""
What stackmap rests on that differs between kernels, and the kernels on which it was seen.

``./run docs`` makes the section VERSIONS of stackmap-kernel(7) from it. A newer kernel is a column: its release in
``BOOTED``, and what was seen on it in ``seen``. A fact that was not looked at on a kernel has nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Debian's kernels that the lab booted (tests/lab/boot), by the first two numbers of their release.
BOOTED = {"6.1": "6.1.0-56", "6.12": "6.12.117", "7.3": "7.3.4"}


class KernelFact(NamedTuple):
    """
    A fact that differs between kernels.

    ``since``: the first release with it, "" if unknown. ``commit``: its first twelve digits, "" if unknown.
    ``seen``: what was seen, by the keys of ``BOOTED``. ``relied_on``: what in stackmap asks for the fact, and how.
    """

    name: str
    since: str
    commit: str
    seen: Mapping[str, str]
    relied_on: str


KERNEL_FACTS = (
    KernelFact(
        "LVM RAID volumes are counted twice by default",
        "6.5",
        "526d10061bc2",
        {"6.1": "once", "6.12": "twice", "7.3": "twice: 100 requests of raid0, 1, 4, 5, 6 and 10 are 200"},
        "the corrections ask queue/iostats",
    ),
    KernelFact(
        "bio-based devices count a request at its end",
        "6.3",
        "5f27571382ca",
        {"6.1": "at its start", "6.12": "at its end"},
        "figures allow for the requests in flight at both ends",
    ),
    KernelFact(
        "busy time counts a short request by its time, and not until the next tick",
        "6.10",
        "99dc422335d8",
        dict.fromkeys(("6.12", "7.3"), "yes: with one request in flight it is what fio waited, within 3 %"),
        "the time of empty flushes on LVM RAID volumes asks the release, and uses no busy time before",
    ),
    KernelFact(
        "md RAID4/5/6 cuts requests at full stripes and counts the pieces",
        "about 7.1",
        "d51e1668fad6",
        {"6.1": "whole", "6.12": "whole", "7.3": "27 writes of 1 MiB are 162 with stripes of 192 KiB"},
        "accounted, fiojob and the range of an array's own writes ask queue/chunk_sectors, which is then the full stripe",
    ),
    KernelFact(
        "dm passes on a flush that carries data as one request",
        "about 7.0",
        "",
        {
            "6.1": "as two",
            "6.12": "as two: a page of LVM's bitmap is 2 writes and 3 flushes of the disk",
            "7.3": "as one: 1 write and 2 flushes",
        },
        "whatif asks the mean write at the rmeta sub-LVs, or the release if there was none",
    ),
    KernelFact(
        "the bytes after the end of a string are part of a histogram's key",
        "about 6.16",
        "",
        {"6.1": "no", "6.12": "no", "7.3": "yes: one size of request had an entry per request"},
        "trace has no keys that are strings",
    ),
    KernelFact(
        'a condition like rwbs ~ "*Z*" is looked for beyond the end of the string',
        "",
        "",
        {"7.3": "yes: 0.4 % of the writes had a Z there"},
        'trace compares beginnings only: "WZ*"',
    ),
    KernelFact(
        "WRITE_ZEROES is WZ in the letters of a tracepoint, not N",
        "",
        "",
        {"6.1": "N", "6.12": "N", "7.3": "WZ"},
        "trace knows both",
    ),
    KernelFact(
        "a kprobe is skipped that interrupts the handler of another",
        "",
        "",
        {"6.1": "yes", "6.12": "yes", "7.3": "yes: 2 to 6 % of the ends of requests, emulated"},
        "trace withholds latencies that are fewer than the requests",
    ),
    KernelFact(
        "fprobes can be defined as events; they are not skipped",
        "6.5",
        "",
        {"6.1": "no", "7.3": "yes: every end was counted"},
        "trace tries one for the ends of requests, and a kprobe if it is refused",
    ),
    KernelFact(
        "md has a bitmap without locks (llbitmap)",
        "6.18",
        "",
        dict.fromkeys(BOOTED, "not built by Debian")
        | {"7.3": "built from its source: 300 writes on clean bits of RAID10 wrote 104 blocks of 512 bytes more, again: none"},
        "the fact bitmap is md/bitmap_type",
    ),
)  # fmt: skip
