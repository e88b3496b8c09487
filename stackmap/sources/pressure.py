"""
Pressure stall information: how long tasks waited for I/O, of the machine and of each control group.

``some avg10=0.00 … total=1234`` is the time in microseconds in which at least one task waited, ``full``
that in which all non-idle tasks did. Only tasks that sleep in the kernel for I/O count: a program that
polls for asynchronous I/O (QEMU, many databases) waits without being counted.
"""

from collections.abc import Iterable, Mapping

from stackmap.host import Host
from stackmap.model.device import Stalled
from stackmap.sources.cgroup import ROOT
from stackmap.sources.sysfs import attribute

PATH = "/proc/pressure/io"
OF_GROUP = "io.pressure"  # control groups of version 2


def parse(text: str) -> Stalled | None:
    r"""
    Return the seconds since boot; None if unknown.

    >>> parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=1000000")
    Stalled(some=2.5, full=1.0)
    """
    totals = {}
    for line in text.splitlines():
        words = line.split()
        total = words[-1].removeprefix("total=") if words else ""
        if words and words[-1] != total and total.isdecimal():
            totals[words[0]] = int(total) / 1e6
    return Stalled(totals["some"], totals.get("full")) if "some" in totals else None


def read_group(host: Host, path: str) -> float | None:
    """Return the seconds in which some task of the control group at *path* waited; None if unknown."""
    stalled = parse(attribute(host, f"{path}/{OF_GROUP}"))
    return None if stalled is None else stalled.some


def read_groups(host: Host, names: Iterable[str]) -> Mapping[str, float]:
    """Return these seconds by control group ("/system.slice/x.service"), without unknown ones."""
    stalled = ((name, read_group(host, f"{ROOT}{name}")) for name in names)
    return {name: seconds for name, seconds in stalled if seconds is not None}
