"""An update after uevents finds what reading everything finds, on machines that change at random."""

from __future__ import annotations

import random

import pytest

from stackmap.discover import discover
from stackmap.discover.rediscovery import Rediscovery
from tests.machine import DrawnHost, block, lvm_uuid, mapped

MOUNTS = "/proc/self/mountinfo"


class Machine(DrawnHost):
    """
    Disks with partitions, arrays, and mapped devices on any of them; each change tells the names in its uevents.

    *root*: dmsetup answers. ``changes``: methods that change something and return those names.
    """

    def __init__(self, chance: random.Random, *, root: bool) -> None:
        super().__init__({"/proc/version": "Linux version 6.1.0\n", MOUNTS: ""}, {}, {})
        self.chance, self.root = chance, root
        self.numbers: dict[str, str] = {}  # of every device, by name
        self.tables: dict[str, tuple[str, str, list[str], str]] = {}  # dm name, uuid, below, target
        self.tag = 0
        self.changes = [
            self.add_disk, self.add_disk, self.add_partition, self.add_mapped, self.add_mapped,
            self.add_array, self.remove, self.replace, self.resize, self.rename, self.reload,
            self.suspend, self.fail_member, self.offline, self.mount, self.sign, self.nothing,
        ]  # fmt: skip

    def run(self, *command):
        self._answer()
        return super().run(*command)

    def metadata(self, of):
        if of == "arrays":
            return super().metadata(of)
        return [
            {"vg_name": "vg", "lv_name": name[3:], "segtype": target, "tags": [self.tag]}
            for name, uuid, _, target in self.tables.values()
            if uuid.startswith("LVM-")
        ]

    def change_tag(self):
        """LVM writes its metadata; udev sees that on a PV."""
        state = self.chance.getstate()
        topology = discover(self)
        self.chance.setstate(state)
        pvs = [
            device.name
            for device in topology
            if "pv" in [use.kind for use in device.uses]
            or any(topology[e.above].uuid.startswith("LVM-") for e in topology.above(device.name))
        ]
        self.tag += bool(pvs)
        return {self.chance.choice(pvs)} if pvs else set()

    def _answer(self):
        """Let dmsetup tell the present tables."""
        if not self.root:
            return
        info, table, status = [], [], []
        for device, (name, uuid, below, target) in self.tables.items():
            state = "s" if self.files[f"/sys/block/{device}/dm/suspended"] == "1\n" else "-"
            info.append(f"{name}|{self.numbers[device].replace(':', '|')}|L-{state}w|{uuid}")
            share = 2048 // max(1, len(below))
            for place, other in enumerate(below if target != "raid" else ()):
                number = self.numbers.get(other, other)
                start = place * share
                table.append(f"{name}: {start} {share} linear {number} {start}")
                status.append(f"{name}: {start} {share} linear ")
            if target == "raid":
                members = " ".join(f"- {self.numbers.get(other, other)}" for other in below)
                table.append(f"{name}: 0 2048 raid raid1 1 0 {len(below)} {members}")
                health = "".join(self.chance.choice("AAAaD") for _ in below)
                status.append(f"{name}: 0 2048 raid raid1 {len(below)} {health} 2048/2048 idle 0")
        for words, lines in (("info", info), ("table", table), ("status", status)):
            self.commands[f"dmsetup {words}"] = "".join(f"{line}\n" for line in lines)

    def add_disk(self):
        name = self.chance.choice(
            ["sda", "sdb", "sdaa", "nvme0n1", "nvme0c1n1", "nvme0c2n1", "vda"]
        )
        return {name} if self._add(name, f"8:{self.chance.randrange(9) * 16}") else set()

    def add_partition(self):
        disks = [
            name for name in self.numbers if name.startswith(("sd", "vd")) and self._is_disk(name)
        ]
        if not disks:
            return set()
        disk = self.chance.choice(disks)
        name = f"{disk}{self.chance.randrange(1, 4)}"
        if name in self.numbers:
            return set()
        major, minor = self.numbers[disk].split(":")
        number = f"{major}:{int(minor) + int(name[-1])}"
        if number in self.numbers.values():
            return set()
        path = f"/sys/block/{disk}/{name}"
        self.files |= {
            f"{path}/uevent": f"MAJOR={major}\nMINOR={number.split(':')[1]}\nDEVNAME={name}\n",
            f"{path}/size": "512\n", f"{path}/start": f"{self.chance.randrange(9) * 512}\n",
            f"{path}/ro": "0\n", f"{path}/partition": "1\n",
        }  # fmt: skip
        self.numbers[name] = number
        return {name} if self.chance.random() < 0.5 else {name, disk}

    def add_mapped(self):
        number = self.chance.randrange(6)
        name = f"dm-{number}"
        if name in self.numbers:
            return set()
        below = self._some()
        layer = self.chance.choice(["", "", "_rimage_0", "_rmeta_0", "-real"])
        dm_name = f"vg-lv{self.chance.randrange(4)}{layer}"
        if dm_name in [each[0] for each in self.tables.values()]:
            return set()
        uuid = self.chance.choice([lvm_uuid(number), "CRYPT-LUKS2-x", "mpath-y", ""])
        self.files |= mapped(number, dm_name, uuid, below=tuple(below))
        self.numbers[name] = f"254:{number}"
        self.tables[name] = (dm_name, uuid, below, self.chance.choice(["linear", "raid"]))
        return {name}

    def add_array(self):
        name = f"md{self.chance.randrange(2)}"
        if not self._add(name, f"9:{name[-1]}"):
            return set()
        path = f"/sys/block/{name}/md"
        self.files |= {
            f"{path}/level": "raid1\n", f"{path}/raid_disks": "2\n", f"{path}/chunk_size": "0\n",
            f"{path}/array_state": "clean\n", f"{path}/degraded": "0\n", f"{path}/sync_action": "idle\n",
            f"{path}/sync_completed": "none\n", f"{path}/uuid": "u\n",
        }  # fmt: skip
        for slot, member in enumerate(self._some()):
            self.files |= {
                f"{path}/dev-{member}/slot": f"{slot}\n", f"{path}/dev-{member}/state": "in_sync\n",
                f"{path}/dev-{member}/offset": "2048\n",
            }  # fmt: skip
        return {name}

    def remove(self):
        return self._removed(self._any())

    def replace(self):
        """Another device takes a removed one's name, and perhaps its number."""
        name = self._any()
        if not name.startswith(("sd", "vd")) or not self._is_disk(name):
            return set()
        number, gone = self.numbers[name], self._removed(name)
        other = self.chance.choice([name, "sdz"])
        if other in self.numbers or not self._add(other, number, self.chance.randrange(9)):
            return gone
        return gone | {other}

    def resize(self):
        name = self._any()
        self._write(name, "size", self.chance.choice(["0", "4096", "8192"]))
        return {name}

    def rename(self):
        if not self.tables:
            return set()
        name = self.chance.choice(list(self.tables))
        dm_name = f"vg-new{self.chance.randrange(99)}"
        if dm_name not in [each[0] for each in self.tables.values()]:
            self.tables[name] = (dm_name, *self.tables[name][1:])
            self._write(name, "dm/name", dm_name)
        return {name}

    def reload(self):
        if not self.tables:
            return set()
        name = self.chance.choice(list(self.tables))
        below = [each for each in self._some() if each != name]
        folder = f"/sys/block/{name}/slaves/"
        self.files = {
            path: text for path, text in self.files.items() if not path.startswith(folder)
        }
        self.files |= {f"{folder}{other}": "" for other in below}
        self.tables[name] = (*self.tables[name][:2], below, self.chance.choice(["linear", "raid"]))
        return {name}

    def suspend(self):
        if self.tables:
            self._write(
                self.chance.choice(list(self.tables)), "dm/suspended", self.chance.choice("01")
            )
        return set()

    def fail_member(self):
        states = [path for path in self.files if path.endswith("/state") and "/md/dev-" in path]
        for path in states[:1]:
            self.files[path] = self.chance.choice(["faulty\n", "in_sync\n"])
        return set()

    def offline(self):
        name = self._any()
        path = f"/sys/block/{name}/device/state"
        if path in self.files:
            self.files[path] = self.chance.choice(["offline\n", "running\n"])
        return set()

    def mount(self):
        number = self.numbers.get(self._any(), "8:0")
        self.files[MOUNTS] = f"30 1 {number} / /srv rw - ext4 /dev/{self._any()} rw\n"
        return set()

    def sign(self):
        name = self._any()
        kind = self.chance.choice(["LVM2_member", "zfs_member", "ext4"])
        model = f"disk{self.chance.randrange(9)}"
        self.properties |= {self.numbers.get(name, ""): {"ID_FS_TYPE": kind, "ID_MODEL": model}}
        return {name}

    def nothing(self):
        return {self._any()}

    def _add(self, name, number, sequence=1):
        if name in self.numbers or number in self.numbers.values():
            return False
        self.files |= block(name, number, queue__scheduler="none", device__model=name[:3])
        self.files[f"/sys/block/{name}/device/state"] = "running\n"
        uevent = f"/sys/block/{name}/uevent"
        self.files[uevent] = self.files[uevent].replace("DISKSEQ=1", f"DISKSEQ={sequence}")
        self.numbers[name] = number
        return True

    def _removed(self, name):
        """Remove *name* and its partitions; what uses it still says so."""
        inside = f"/{name}/"
        gone = {
            name,
            *(n for n in self.numbers if n.rstrip("0123456789") == name and n[:2] != "dm"),
        }
        self.files = {
            path: text for path, text in self.files.items()
            if inside not in path.partition("/md/")[0].partition("/slaves/")[0]
        }  # fmt: skip
        for each in gone:
            number = self.numbers.pop(each, "")
            self.properties.pop(number, None)
            self.tables.pop(each, None)
        return gone

    def _write(self, name, what, text):
        for path in (
            f"/sys/block/{name}/{what}",
            f"/sys/block/{name.rstrip('0123456789')}/{name}/{what}",
        ):
            if path in self.files:
                self.files[path] = f"{text}\n"

    def _is_disk(self, name):
        return f"/sys/block/{name}/size" in self.files

    def _any(self):
        return self.chance.choice(list(self.numbers) or ["none"])

    def _some(self):
        names = list(self.numbers)
        return self.chance.sample(names, min(len(names), self.chance.randrange(4)))


def parts(topology):
    """All that a topology is made of."""
    return list(topology.devices.values()), set(topology.edges), topology.unknown, topology.machine


@pytest.mark.parametrize("root", [True, False], ids=["root", "user"])
@pytest.mark.parametrize("seed", range(40))
def test_an_update_finds_what_a_whole_discovery_finds(seed, root):
    machine = Machine(random.Random(seed), root=root)
    machine.add_disk()
    options = {"geometry": bool(seed % 2)}
    again = Rediscovery(**options)
    again.whole(machine)
    names: set[str] = set()
    for step in range(60):
        if machine.chance.random() < 0.3:
            names |= machine.change_tag()
        for _ in range(machine.chance.choice((1, 1, 3))):
            names |= machine.chance.choice(machine.changes)()
        if machine.chance.random() < 0.3:
            names = set()
            again.whole(machine)
            continue
        state = machine.chance.getstate()
        found = again.update(machine, frozenset(names))
        machine.chance.setstate(state)  # the health of RAID members is drawn when it is asked for
        whole = discover(machine, **options)
        assert parts(found) == parts(whole), f"step {step}"


def test_lvm_and_md_are_asked_again_only_about_theirs():
    """They take longer than all else together, and LVM looks at every device."""
    machine = Machine(random.Random(1), root=True)
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32"), ("sdd", "8:48")):
        machine._add(name, number)
    machine.properties["8:16"] = {"ID_FS_TYPE": "LVM2_member"}
    machine.files |= mapped(1, "vg-lv", lvm_uuid(1), below=("sda",))
    machine.numbers["dm-1"] = "254:1"
    machine.tables["dm-1"] = ("vg-lv", lvm_uuid(1), ["sda"], "linear")
    again = Rediscovery()

    def changes(*names):
        before = again.metadata_changes
        again.update(machine, frozenset(names))
        return again.metadata_changes - before

    assert changes() == 1
    assert changes("sdc") == 0
    assert [changes(name) for name in ("dm-1", "sda", "sdb")] == [1, 1, 1]
    machine.properties["8:48"] = {"ID_FS_TYPE": "linux_raid_member"}
    assert changes("sdd") == 1
    machine.add_array()
    assert changes(*[name for name in machine.numbers if name.startswith("md")]) == 1
