"""
``ps`` and ``/proc/PID/stat`` of md's threads: the CPU time of each array's thread.

md has one thread per array, named ``md0_raid5``. Under LVM all of them are named ``mdX_raid5``
(dm-raid.c), so their names do not say which volume they serve. Kernel threads are children of
process 2; a container sees none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stackmap.host import Host
from stackmap.model.target_status import RaidThread
from stackmap.sources.sysfs import attribute, output

KERNEL_THREADS = ("ps", "--ppid=2", "--no-headers", "--format=pid,comm")
TICKS = 100  # per second: USER_HZ of every architecture that Debian and Red Hat support
_NAME = re.compile(r"md\S+_raid(?:1|10|4|5|6)")
_STAT = re.compile(r"\d+ \((.*)\) \S(?: -?\d+){10} (\d+) (\d+) .*", re.DOTALL)


def find(host: Host) -> tuple[RaidThread, ...]:
    """Return md's threads; () where the kernel's threads are not visible."""
    named = (line.split(None, 1) for line in output(host, *KERNEL_THREADS).splitlines())
    return tuple(
        RaidThread(int(words[0]), words[1].strip())
        for words in named
        if len(words) > 1 and words[0].isdecimal() and _NAME.fullmatch(words[1].strip())
    )


def read(host: Host, threads: Iterable[RaidThread]) -> tuple[str, ...]:
    """Return the ``stat`` of each of *threads*; "" of one that ended."""
    return tuple(attribute(host, f"/proc/{thread.pid}/stat") for thread in threads)


def parse(
    threads: Iterable[RaidThread], stats: Iterable[str]
) -> Iterator[tuple[RaidThread, float]]:
    """Yield each thread that still runs, with the CPU seconds it has used."""
    for thread, stat in zip(threads, stats, strict=True):
        match = _STAT.fullmatch(stat)
        if match and match[1] == thread.name[: len(match[1])]:
            yield thread, (int(match[2]) + int(match[3])) / TICKS
