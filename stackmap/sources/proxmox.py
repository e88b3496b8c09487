"""
Proxmox VE: whose disk an LV is, by its name ("vm-100-disk-0"), and that guest's name.

``/etc/pve/qemu-server/100.conf`` and ``/etc/pve/lxc/100.conf`` are lines of
``key: value``, snapshots after a line in brackets; they need root.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stackmap.sources.sysfs import attribute

if TYPE_CHECKING:
    from stackmap.host import Host

_GUEST = re.compile(r"(?:vm|base|subvol)-(\d+)-(?:disk-\d+|cloudinit|state-.+)")

# Where a guest is described, and the key of its name there.
FOLDERS = {"/etc/pve/qemu-server": "name", "/etc/pve/lxc": "hostname"}


def guest_number(volume: str) -> str:
    """
    Return the number of the guest whose disk the LV called *volume* is, "" if it is none's.

    >>> guest_number("vm-100-disk-0"), guest_number("vm-disk1")
    ('100', '')
    """
    match = _GUEST.fullmatch(volume)
    return match[1] if match else ""


def guest_name(host: Host, number: str) -> tuple[str, str]:
    """Return the name of guest *number* and the file that says it, "" and "" where none does."""
    for folder, key in FOLDERS.items():
        path = f"{folder}/{number}.conf"
        if found := parse(attribute(host, path), key):
            return found, path
    return "", ""


def parse(text: str, key: str) -> str:
    """Return the value of *key* before the first snapshot, "" if there is none."""
    current = text.partition("\n[")[0]
    lines = (line.partition(":") for line in current.splitlines())
    return next((value.strip() for word, _, value in lines if word == key), "")
