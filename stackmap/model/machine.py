"""The machine that something was measured on."""

from typing import NamedTuple


class Machine(NamedTuple):
    """Host name, kernel release and boot id, each "" if unknown."""

    host: str = ""
    kernel: str = ""
    boot: str = ""


UNKNOWN_MACHINE = Machine()


def of_another(ours: Machine, theirs: Machine) -> str:
    """Return how *theirs* shows that a text is from another machine or kernel; "" if it does not."""
    told = []
    if ours.host and theirs.host and _short(ours.host) != _short(theirs.host):
        told.append(f"host {theirs.host}, not {ours.host}")
    if ours.kernel and theirs.kernel and ours.kernel != theirs.kernel:
        told.append(f"kernel {theirs.kernel}, not {ours.kernel}")
    return "; ".join(told)


def _short(host: str) -> str:
    return host.partition(".")[0].lower()
