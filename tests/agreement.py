"""
What lsblk, ``dmsetup deps`` and lvs say stands on what, for any machine that was dumped with their answers.

``cmd/lsblk.json``, ``cmd/dmsetup-deps.txt`` with ``cmd/dmsetup-info.txt``, and
``cmd/lvs.json`` are read; each becomes something to be equal to. Where a
difference is right, its reason stands here.
"""

from __future__ import annotations

import json
import re

from stackmap.discover.find import find

# What of an LV lvs names as below it; names in brackets are hidden LVs.
BELOW = ("devices", "metadata_devices", "pool_lv", "data_lv", "metadata_lv", "origin", "mirror_log")

# Not asked when a machine is dumped: a scenario that has some dumps itself.
UNDUMPED = ("loop", "ram")


def said(machine, name):
    # lsblk prints a name of device-mapper's as it is, which need not be UTF-8.
    return json.loads((machine / "cmd" / name).read_text(errors="replace"))


def lsblk(machine):
    """Each line of lsblk's tree: the device, and the one it stands on."""
    todo = [(device, None) for device in said(machine, "lsblk.json")["blockdevices"]]
    while todo:
        device, below = todo.pop()
        yield device, below
        todo += [(above, device) for above in device.get("children", [])]


def edges_by_lsblk(machine):
    """Return the edges that lsblk draws, by the kernel's names."""
    return {(device["kname"], below["kname"]) for device, below in lsblk(machine) if below}


def edges_by_dmsetup(machine, topology):
    """Return what `dmsetup deps` lists, below what `dmsetup info` numbers."""
    numbers = {device.number: device.name for device in topology}
    names = {}
    told = (machine / "cmd" / "dmsetup-info.txt").read_text()
    if told == "No devices found\n":  # of md alone
        return set()
    for line in told.splitlines():
        name, major, minor, *_ = line.split("|")
        names[name] = numbers[f"{major}:{minor}"]
    found = set()
    for line in (machine / "cmd" / "dmsetup-deps.txt").read_text().splitlines():
        name, _, numbered = line.partition(": ")
        for major, minor in re.findall(r"\((\d+), (\d+)\)", numbered):
            if below := numbers.get(f"{major}:{minor}"):  # a disk that is gone has no name
                found.add((names[name], below))
    return found


def pvs_by_lvs(machine, topology):
    """Return, of each LV that has a device, the PVs below it by lvs: {label: {kernel's name}}."""
    rows = [row for report in said(machine, "lvs.json")["report"] for row in report["lv"]]
    told = {}
    for row in rows:  # one for each segment of each LV
        told.setdefault(f"{row['vg_name']}/{_bare(row['lv_name'])}", []).append(row)
    labels = {device.label for device in topology}
    # A snapshot that merges is an error target to the kernel: what is read of it is read of its origin.
    return {
        label: set() if _merges(rows) else _pvs(label, told, topology, set())
        for label, rows in told.items()
        if label in labels
    }


def pvs_by_topology(machine, topology):
    """Return the same by the edges: down from each LV as far as the first PV."""
    expected = pvs_by_lvs(machine, topology)
    pvs = set().union(*expected.values())
    return {
        device.label: _reached(device.name, pvs, topology)
        for device in topology
        if device.label in expected
    }


def _reached(name, pvs, topology):
    found, seen, todo = set(), set(), [edge.below for edge in topology.below(name)]
    while todo:
        below = todo.pop()
        if below in pvs:
            found.add(below)
        elif below not in seen:
            seen.add(below)
            todo += [edge.below for edge in topology.below(below)]
    return found


def _pvs(label, told, topology, seen):
    """Follow what lvs says is below, LV by LV, to the PVs."""
    if label in seen or label not in told:
        return set()
    seen.add(label)
    group = label.partition("/")[0]
    found = set()
    for name in _named_below(label, told):
        if name.startswith("/dev/"):
            found.update(find(topology, name)[:1])
        else:
            found |= _pvs(f"{group}/{name}", told, topology, seen)
    return found


def _named_below(label, told):
    for row in told[label]:
        kind = row["segtype"]
        for field in BELOW:
            if field == "origin" and kind == "thin" and _in_its_pool(label, row, told):
                continue  # a thin snapshot shares blocks inside of the pool, and reads no origin
            yield from (_bare(name) for name in (row.get(field) or "").split(",") if name)
        if kind == "integrity":
            yield f"{label.partition('/')[2]}_imeta"  # told by its name alone
    # What merges back into its origin is read through the origin until it is done.
    for other, rows in told.items():
        group, _, name = other.partition("/")
        if _merges(rows) and f"{group}/{_bare(rows[0]['origin'])}" == label:
            yield name


def _merges(rows):
    return any(row.get("lv_merging") == "merging" and row["origin"] for row in rows)


def _in_its_pool(label, row, told):
    origin = told.get(f"{label.partition('/')[0]}/{_bare(row['origin'])}", [{}])[0]
    return origin.get("pool_lv") == row["pool_lv"]


def _bare(name):
    """Return a name without the brackets of a hidden LV and the extent at which it begins."""
    return re.sub(r"\(\d+\)$", "", name.strip("[]")).strip("[]")
