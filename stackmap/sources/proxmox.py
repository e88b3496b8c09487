"""
Proxmox VE guests, by the names of their LVs ("vm-100-disk-0").

``/etc/pve/qemu-server/100.conf`` and ``/etc/pve/lxc/100.conf`` hold lines of
``key: value``, with snapshots after a line in brackets; they need root.
"""

from __future__ import annotations

from stackmap.host import Host
from stackmap.sources.sysfs import attribute

_KINDS = ("vm", "base", "subvol")

# Directories of guest configurations, and the key of the guest's name.
FOLDERS = {"/etc/pve/qemu-server": "name", "/etc/pve/lxc": "hostname"}


def guest_number(volume: str) -> str:
    """
    Return the number of the guest that the LV *volume* belongs to, "" for none.

    >>> guest_number("vm-100-disk-0"), guest_number("vm-disk1")
    ('100', '')
    """
    kind, _, rest = volume.partition("-")
    number, _, part = rest.partition("-")
    what, _, which = part.partition("-")
    is_disk = what == "disk" and which.isdecimal()
    is_state = what == "state" and which != ""
    is_guest = kind in _KINDS and number.isdecimal()
    return number if is_guest and (is_disk or is_state or part == "cloudinit") else ""


def guest_name(host: Host, number: str) -> tuple[str, str]:
    """Return the name of guest *number* and the file that says so, "" and "" if unknown."""
    for folder, key in FOLDERS.items():
        path = f"{folder}/{number}.conf"
        if found := parse(attribute(host, path), key):
            return found, path
    return "", ""


def parse(text: str, key: str) -> str:
    """Return the value of *key* before the first snapshot, "" without one."""
    current = text.partition("\n[")[0]
    lines = (line.partition(":") for line in current.splitlines())
    return next((value.strip() for word, _, value in lines if word == key), "")
