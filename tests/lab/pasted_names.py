"""
Hostile names that real tools accept: objects of each kind, made in the guest as root; for ``pasted_plans.py``.

What a tool refuses to make is left out.
"""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

PARTS = (
    "-", "--", '--config=log{file="/tmp/x" level=7 overwrite=1}', "-a", "-rf", "--all", "..", ".", "...", "data",
    "web-1", ":", ":0-99", "@", "@tag", "=", "=ls", ",", "x=y", "rw", "\n", "\t", "\x1b[2J", " ", "  ", ";",
    "; reboot", "$(reboot)", "`reboot`", "&& reboot", "|", ">", "'", '"', "\\", "\\x20", "\\040", "*", "?", "[a]",
    "{a,b}", "~", "!!", "#", "%", "%p", "$HOME", "\u202e", "\u200b", "\u2028", "\udc80", "é", "磁", "0", "1", "17",
    "९", "missing", "detached", "faulty", "UUID=x", "LABEL=x", "if=x", "vg", "lv", "--help", "--test", "a" * 99,
)  # fmt: skip
LVM_LETTERS = "aZ09+_.-"
SAFE = "/run/pasted"  # the stub of virsh, LVM's test mode, a key
MIB = 1 << 20
PLAIN = {"m": 80, "c": 44, "g": 46}  # LVs by their first letter: for mounts, LUKS, guests


@dataclass
class Value:
    """A name that was made, of a *kind*; *truth*: how to know its object again; and what came of it."""

    kind: str
    name: str
    target: str
    truth: str = ""
    refused: str = ""
    operand: str = ""
    lines: list[str] = field(default_factory=list)
    ran: list[dict[str, object]] = field(default_factory=list)
    addressed: list[str] = field(default_factory=list)


def ran(words: Iterable[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program; nothing is refused."""
    given = [os.fsencode(word) for word in words]
    return subprocess.run(
        given, input=text, capture_output=True, text=True, errors="backslashreplace", check=False
    )


def made(*words: str, text: str = "") -> bool:
    """Whether a tool made it."""
    done = ran(words, text)
    if done.returncode:
        print(f"  refused: {words}: {done.stderr.strip()[-200:]!r}"[:400], flush=True)
    return done.returncode == 0


def names(kind: str, count: int, *, most: int = 120) -> list[str]:
    """Return *count* names for objects of *kind*: parts of attacks, one component of a path each."""
    chance, found = random.Random(kind), dict.fromkeys(p for p in PARTS if len(p) <= most)
    while len(found) < 3 * count:
        found["".join(chance.choice(PARTS) for _ in range(chance.choice((2, 2, 3))))] = None
    fitting = [
        each
        for each in found
        if "/" not in each and each not in (".", "..") and len(os.fsencode(each)) <= most
    ]
    chance.shuffle(fitting)
    return fitting[:count]


def lvm_names(kind: str, count: int) -> list[str]:
    """Return *count* names of the letters that LVM allows, and some that it does not."""
    chance = random.Random(kind)
    found = dict.fromkeys(
        ("..a", "...", "a..", "+", "++", "_", "a-", "a--", "a--b", "0", "17", "-a", "--all", "lv_old", "y", "n",
         "missing", "raid1", "+100%FREE", ".-", "+-", "a" * 100, "_rmeta", "a.b-c+d_e", "new", "--", ".")
    )  # fmt: skip
    while len(found) < count:
        found[
            "".join(chance.choice(LVM_LETTERS) for _ in range(chance.choice((1, 2, 3, 5, 9, 60))))
        ] = None
    return [*found][:count]


def say(text: str) -> None:
    """Print progress."""
    print(f"{time.monotonic() - BEGUN:.0f} s: {text}", flush=True)


BEGUN = time.monotonic()


def logical_volumes() -> Iterator[Value]:
    """LVs whose own names are hostile, and plain ones for all that stands on LVs."""
    hostile = lvm_names("lv", 75)
    # One process of LVM for all: each line is a command. Its shell has rules of its own for quotes.
    lines = [f"lvcreate -q -y -Wn -Zn -l 1 -n {name} vg /dev/sda" for name in hostile]
    ran(["lvm"], "\n".join(lines) + "\n")
    plain_volumes()
    uuids = lvm_uuids()
    for name in hostile:
        if f"vg/{name}" in uuids:
            yield Value("LV", name, f"vg/{name}", uuids[f"vg/{name}"])


def plain_volumes() -> None:
    """Make LVs with plain names, of one extent of sdb each: as lines of LVM's metadata, restored at once."""
    file = f"{SAFE}/vg.txt"
    made("vgcfgbackup", "-q", "-f", file, "vg")
    text = Path(file).read_text()
    letters = string.ascii_letters + string.digits
    chance, parts = random.Random("plain"), []
    names = [f"{kind}{n}" for kind, count in PLAIN.items() for n in range(count)]
    for extent, name in enumerate(names):
        digits = "".join(chance.choice(letters) for _ in range(32))
        uuid = "-".join(
            digits[start:end] for start, end in pairwise((0, 6, 10, 14, 18, 22, 26, 32))
        )
        parts.append(
            f'{name} {{ id = "{uuid}" status = ["READ", "WRITE", "VISIBLE"] flags = [] segment_count = 1 '
            f'segment1 {{ start_extent = 0 extent_count = 1 type = "striped" stripe_count = 1 '
            f'stripes = ["pv1", {extent}] }} }}\n'
        )
    Path(file).write_text(
        text.replace("logical_volumes {\n", "logical_volumes {\n" + "".join(parts), 1)
    )
    made("vgcfgrestore", "-q", "-y", "-f", file, "vg")
    made("vgchange", "-q", "-a", "y", "vg")


def lvm_uuids() -> dict[str, str]:
    """Return the UUID of each LV."""
    said = ran(["lvs", "--reportformat=json", "-o", "lv_full_name,lv_uuid"]).stdout
    return {lv["lv_full_name"]: lv["lv_uuid"] for lv in json.loads(said)["report"][0]["lv"]}


def groups() -> Iterator[Value]:
    for number, name in enumerate(lvm_names("vg", 18), 31):
        pvs = f"/dev/sde{number}", f"/dev/sdf{number}"
        if made("vgcreate", "-q", "-y", "--", name, *pvs):
            made("lvcreate", "-q", "-y", "-Wn", "-Zn", "-l", "1", "-n", "lv", "--", name, pvs[0])
            yield Value("VG", name, f"{name}/lv")


def physical_volumes() -> Iterator[Value]:
    """PVs on dm devices; the table begins behind the partition's start, so that a PV is there once."""
    made("vgcreate", "-q", "pvs", "/dev/sdg44")
    made("lvcreate", "-q", "-y", "-Wn", "-Zn", "-l", "1", "-n", "lv", "pvs")
    for number, name in enumerate(names("pv", 17), 31):
        if not made(
            "dmsetup", "create", "--table", f"0 28672 linear /dev/sdh{number} 2048", "--", name
        ):
            continue
        ran(["udevadm", "settle"])
        path = os.path.realpath(newest_mapping())
        if made("vgextend", "-q", "-y", "pvs", path):
            yield Value("PV", name, "pvs/lv", os.path.basename(path))


def newest_mapping() -> str:
    """Return the path of the newest dm device."""
    numbers = (int(name[3:]) for name in os.listdir("/sys/block") if name.startswith("dm-"))
    return f"/dev/dm-{max(numbers)}"


def arrays() -> Iterator[Value]:
    """Arrays of three disks; a fourth partition of the same number is for --onto."""
    for number, name in enumerate(names("md", 30, most=30), 1):
        members = [f"/dev/sd{letter}{number}" for letter in "efg"]
        before = kernel_arrays()
        shape = ("--level=5", "--raid-devices=3", "--chunk=64", "--bitmap=none", *members)
        done = made("mdadm", "--create", f"/dev/md/{name}", "--run", "--assume-clean", *shape)
        for array in sorted(kernel_arrays() - before):
            if done:
                yield Value("array", name, array, array_uuid(array))
            else:
                ran(["mdadm", "--stop", f"/dev/{array}"])


def array_uuid(array: str) -> str:
    """Return the UUID of an array, as mdadm prints it."""
    said = ran(["mdadm", "--detail", "--export", f"/dev/{array}"]).stdout
    return said.partition("MD_UUID=")[2].partition("\n")[0]


def kernel_arrays() -> set[str]:
    return {name for name in os.listdir("/sys/block") if name.startswith("md")}


def mounts() -> Iterator[Value]:
    """File systems with hostile labels, on hostile mount points; some by lines of fstab."""
    image = filesystem()
    labels = names("label", 80, most=16)
    for number, name in enumerate(names("mount", 78)):
        device, point = f"/dev/vg/m{number}", f"{'/srv/h' if number % 3 else ''}/{name}"
        written(device, image)
        ran(["e2label", device, labels[number]])
        try:
            os.makedirs(os.fsencode(point))
        except OSError:
            continue
        if number % 5 == 0:  # as fstab has it: octal for blanks, tabs, newlines and backslashes
            escaped = point.translate({ord(c): f"\\{ord(c):03o}" for c in " \t\n\\#"})
            with open("/etc/fstab", "ab") as file:
                file.write(os.fsencode(f"{device} {escaped} ext4 noatime,nosuid 0 0\n"))
            done = made("mount", device)
        else:
            done = made("mount", "-o", "noatime", "--", device, point)
        if done and os.path.ismount(os.fsencode(point)):
            yield Value("mount point", point, f"vg/m{number}", f"{os.stat(device).st_rdev}")


def filesystem() -> bytes:
    """Return an ext4 of 4 MiB without checksums, so that each copy takes another label."""
    file = f"{SAFE}/ext4"
    with open(file, "wb") as image:
        image.truncate(4 * MIB)
    made("mkfs.ext4", "-q", "-F", "-O", "^metadata_csum,^has_journal", file)
    return Path(file).read_bytes()


def written(device: str, image: bytes) -> None:
    """Write *image* to *device*, of zeros."""
    with open(device, "r+b") as file:
        for start in range(0, len(image), 4096):
            block = image[start : start + 4096]
            if block.strip(b"\0"):
                file.seek(start)
                file.write(block)
        os.fsync(file.fileno())


def mappings() -> Iterator[Value]:
    """LUKS mappings of copies of one header."""
    Path(f"{SAFE}/key").write_text("secret")
    header = "/dev/vg/c0"
    made("cryptsetup", "luksFormat", "-q", "--type", "luks1", "--pbkdf-force-iterations", "1000", header,
         f"{SAFE}/key")  # fmt: skip
    with open(header, "rb") as file:
        image = file.read(4 * MIB)
    for number, name in enumerate(names("luks", 44)):
        device = f"/dev/vg/c{number}"
        if number:
            written(device, image)
        if made(
            "cryptsetup", "open", "--type", "luks", "--key-file", f"{SAFE}/key", "--", device, name
        ):
            yield Value("LUKS mapping", name, f"vg/c{number}", device)


def guests() -> Iterator[Value]:
    """VMs of libvirt, by their files; XML has no control characters."""
    os.makedirs("/etc/libvirt/qemu", exist_ok=True)
    fitting = (n for n in names("vm", 60) if n.isprintable() or n.isspace())
    for number, name in zip(range(46), fitting, strict=False):
        disk = f"<disk><source dev='/dev/vg/g{number}'/></disk>"
        text = f"<domain><name>{escape(name)}</name><devices>{disk}</devices></domain>"
        Path(f"/etc/libvirt/qemu/g{number}.xml").write_text(text)
        yield Value("VM", name, f"vg/g{number}", name)


def renamed_by_udev(values: list[Value]) -> Iterator[Value]:
    """Arrays whose udev property is hostile: any rule of udev can set it."""
    lines = []
    fitting = [name for name in names("udev", 2 * len(values), most=200) if "\n" not in name]
    for value, name in zip(values, fitting, strict=False):
        lines.append(f'KERNEL=="{value.target}", ENV{{MD_DEVNAME}}="{rule_text(name)}"')
        yield Value("udev property", name, value.target, value.truth)
    rules = Path("/run/udev/rules.d/99-pasted.rules")
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_bytes(os.fsencode("\n".join(lines) + "\n"))
    ran(["udevadm", "control", "--reload"])
    ran(["udevadm", "trigger", "--settle", "--action=change", "--sysname-match=md*"])


def rule_text(name: str) -> str:
    """Return *name* as a value of a rule of udev."""
    return name.replace("%", "%%").replace("$", "$$").replace('"', r"\"")


MAKERS = (logical_volumes, groups, physical_volumes, arrays, mounts, mappings, guests)
