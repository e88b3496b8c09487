"""
Hostile values in every field that reaches a printed command.

Each value is refused, or printed as one operand: as it is in its field, below its root, and none that a tool could
take for an option. The printed lines are parsed back by ``shlex``, and by the tools' own option parsers in a
namespace with an empty /dev. ``python -m tests.fuzz.pasted [COUNT [SEED]]`` tries COUNT values and prints how many were
refused, printed and faulty.
"""

from __future__ import annotations

import random
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from stackmap.document.rule_words import filled
from stackmap.errors import LayoutError, PlanRefused
from stackmap.features.plan.guard import guarded
from stackmap.features.plan.plan import PlanContext, mangled
from stackmap.features.plan.strategies import STRATEGIES
from stackmap.model.command_line import NO_COMMAND
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.topology import Edge, Topology
from tests.features.plan.plans import (
    ARRAY_UUID,
    cached_context,
    dm_uuid,
    lv_context,
    md_context,
    mount,
)
from tests.fuzz.running import Tally

VALUES = 50  # of a case
PARTS = (
    "-", "--", '--config=log{file="/tmp/x" level=7 overwrite=1}', "-a", "-rf", "--all", "/", "..", ".", "/..",
    "../mapper/data", "/dev/", "/dev/sda", "/dev/mapper/", "/srv", "vg", "lv", "data", "web-1", ":", ":0-99", "@",
    "@tag", "=", "=ls", ",", "x=y", "rw", "ro", "noatime", "\n", "\t", "\0", "\x1b[2J", " ", "  ", ";", "; reboot",
    "$(reboot)", "`reboot`", "&& reboot", "|", ">", "/etc/passwd", "'", '"', "\\", "\\x20", "*", "?", "[a]", "{a,b}",
    "~", "\\x80", "!!", "#", "%", "\u202e", "\u200b", "\u2028", "\udc80", "\ud83d", "é", "磁", "0", "1", "17", "-1", "९",
    "missing", "detached", "faulty", "UUID=x", "LABEL=x", "if=x", "a" * 130, "a" * 5000, "",
)  # fmt: skip
VALID = ("data", "vg0", "web-1", "/srv", "/srv/a b", "/dev/sdz", "/dev/mapper/x", "rw,noatime", "ext4", "writeback",
         "raid:0", "x.y_z+1")  # fmt: skip


# What some fields allow of their own.
GOOD = {"cache mode": "passthrough", "pool_lv": "fast_cvol", "file of a VM": "117", "type": "xfs",
        "MD_UUID": "99999999:01020304:05060708:090a0b0c", "options": "ro,nosuid"}  # fmt: skip


def hostile(chance: random.Random, field: str) -> str:
    """Return a value for *field*: parts of attacks and of real names."""
    if chance.random() < 0.05:
        return GOOD.get(field.partition(" (")[0], chance.choice(VALID))
    if chance.random() < 0.15:
        return chance.choice(VALID)
    return "".join(chance.choice(PARTS) for _ in range(chance.choice((1, 1, 2, 3))))


# A field: the context with the value in it, the method that prints it, and the operand that it must be printed as.
Field = Callable[[str], tuple[PlanContext, str, str]]


def _pv(value: str) -> tuple[PlanContext, str, str]:
    context = lv_context("linear", 1, "raid1", attributes="-wi-a-----")
    pvs = (context.group.pvs[0], replace(context.group.pvs[1], path=value, free=250))
    return replace(context, groups={"vg": replace(context.group, pvs=pvs)}), "mirror", value


def _vg(value: str) -> tuple[PlanContext, str, str]:
    context = lv_context("raid5_ls", 4, "raid6")
    target = context.target._replace(label=f"{value}/lv")
    group = replace(context.group, name=value)
    changed = replace(_with(context, target), groups={value.partition("/")[0]: group})
    return changed, "convert", f"{value}/lv"


def _lv(value: str) -> tuple[PlanContext, str, str]:
    context = lv_context("linear", 1, "raid1", attributes="-wi-a-----", name=value)
    target = context.target._replace(uuid=dm_uuid("lv"))
    return _with(context, target), "mirror", f"vg/{value}"


def _pool(value: str) -> tuple[PlanContext, str, str]:
    return (
        cached_context("raid6:layout=ls_6", "writecache", value),
        "convert",
        re.sub("_c(pool|vol)$", "", value),
    )


def _mode(value: str) -> tuple[PlanContext, str, str]:
    context = cached_context("raid6:layout=ls_6", "cache", "fast_cpool")
    devices = [
        d._replace(facts={"mode": value}) if d.kind is Kind.CACHE else d for d in context.topology
    ]
    return replace(context, topology=Topology(devices, context.topology.edges)), "convert", value


def _point(value: str) -> tuple[PlanContext, str, str]:
    return *_mounted(value, "ext4", "rw"), value


def _type(value: str) -> tuple[PlanContext, str, str]:
    return *_mounted("/srv", value, "rw"), value


def _options(value: str) -> tuple[PlanContext, str, str]:
    return *_mounted("/srv", "ext4", value), value


def _mounted(point: str, kind: str, options: str) -> tuple[PlanContext, str]:
    uses = (Use("mount", point, "/proc/self/mountinfo"),)
    mounts = {point: mount(kind, options)}
    return lv_context("raid5_ls", 4, "raid10", uses=uses, mounts=mounts), "copy"


def _crypt(value: str) -> tuple[PlanContext, str, str]:
    crypt = Device(
        "dm-50", Kind.CRYPT, "254:50", dm_name=value, uuid="CRYPT-LUKS2-x", state="active"
    )
    more = [crypt], [Edge("dm-50", "dm-9", Role.DATA)]
    return lv_context("raid5_ls", 4, "raid10", more=more), "copy", value


def _guest(value: str) -> tuple[PlanContext, str, str]:
    uses = (Use("vm", value, "/etc/libvirt/qemu/x.xml"),)
    return lv_context("raid5_ls", 4, "raid10", uses=uses), "copy", f"--domain={value}"


def _guest_file(value: str) -> tuple[PlanContext, str, str]:
    uses = (Use("vm", "guest", f"/etc/pve/qemu-server/{value}.conf"),)
    number = f"/etc/pve/qemu-server/{value}.conf".rpartition("/")[2].removesuffix(".conf")
    return lv_context("raid5_ls", 4, "raid10", uses=uses), "copy", number


def _alias(value: str) -> tuple[PlanContext, str, str]:
    context = md_context("raid5", 3, "raid6", onto=("sdd",))
    target = context.target._replace(facts={"metadata": "1.2", "alias": value})
    linked = re.fullmatch(r"[A-Za-z0-9#+.:=@_-]+", value)  # udev makes another link of others
    return _with(context, target), "grow", f"/dev/md/{value}" if linked else "/dev/md0"


def _multipath(value: str) -> tuple[PlanContext, str, str]:
    return *_disk(
        kind=Kind.MULTIPATH, dm_name=value
    ), f"/dev/mapper/{mangled(value)}" if value else "/dev/sdd"


def _disk(**changes: object) -> tuple[PlanContext, str]:
    context = md_context("raid5", 3, "raid6", onto=("sdd",))
    devices = [d._replace(**changes) if d.name == "sdd" else d for d in context.topology]
    return replace(context, topology=Topology(devices, context.topology.edges)), "grow"


def _uuid(value: str) -> tuple[PlanContext, str, str]:
    context = md_context("raid5", 3, "raid6", onto=("sdd",))
    return _with(context, context.target._replace(uuid=value)), "grow", value or ARRAY_UUID


def _with(context: PlanContext, target: Device) -> PlanContext:
    devices = [target if d.name == target.name else d for d in context.topology]
    return replace(context, target=target, topology=Topology(devices, context.topology.edges))


FIELDS: dict[str, Field] = {
    "pv_name (LVM report)": _pv, "vg_name (LVM report)": _vg, "lv_name (LVM report)": _lv,
    "pool_lv (LVM report)": _pool, "cache mode (dm table)": _mode, "mount point (mountinfo)": _point,
    "type (mountinfo)": _type, "options (mountinfo)": _options, "dm name of LUKS": _crypt,
    "name of a VM": _guest, "file of a VM": _guest_file, "MD_DEVNAME (udev)": _alias,
    "dm name of a multipath disk": _multipath, "MD_UUID (udev)": _uuid,
}  # fmt: skip
ADVICE = {
    "device": "run `stackmap blame {device}`", "lv": "run `lvremove -- {lv}`",
    "kernel_name": "`echo 4096 > /sys/block/{kernel_name}/md/stripe_cache_size`",
    "wanted": "`echo {wanted} > /sys/block/sda/queue/max_sectors_kb`",
}  # fmt: skip


def printed(field: str, value: str) -> tuple[list[str], str]:
    """Return the lines that are printed for *value*, [] if it is refused, and the operand that it is in them."""
    try:
        context, method, operand = FIELDS[field](value)
        plan = guarded(context, STRATEGIES[method].plan(context))
    except (PlanRefused, LayoutError):
        return [], ""
    return [line for step in plan.steps[1:] for line in (step.line, *step.undo_lines)], operand


def faults_of(lines: list[str], operand: str) -> Iterator[str]:
    """Yield what is wrong with *lines*, whose words must have *operand*."""
    commands = [command for line in lines for command in _commands(shlex.split(line))]
    words = [word for command in commands for word in command]
    if not any(operand in (word, word.partition("=")[2]) for word in words):
        yield f"{operand!r} is not printed as it is"
    for command in commands:
        yield from (f"{command}: {fault}" for fault in _command_faults(command))
    if not "".join(lines).isprintable():
        yield "unprintable characters"


def _commands(words: list[str]) -> Iterator[list[str]]:
    """Yield the commands of a line of ``a && b``."""
    command: list[str] = []
    for word in [*words, "&&"]:
        if word == "&&":
            yield command
            command = []
        else:
            command.append(word)


OPTION = re.compile(r"--?[a-z][a-z-]*(=.*)?", re.DOTALL)


def _command_faults(command: list[str]) -> Iterator[str]:
    if command[0] == "sh":
        return
    if "--" in command:
        behind = command[command.index("--") + 1 :]
        yield from (f"{word!r} looks like an option" for word in behind if word.startswith("-"))
    for word in command[1:]:
        if word.startswith("-") and word != "--" and not OPTION.fullmatch(word):
            yield f"{word!r} is no option"
        path = word.partition("=")[2] if word.startswith(("if=", "of=", "--backup-file=")) else word
        if path.startswith("/") and {"..", "."} & {*path.split("/")}:
            yield f"{word!r} leaves its root"


def values(tally: Tally, chance: random.Random, folder: Path) -> None:  # noqa: ARG001 - like the others
    """One case: some values in fields that are chosen."""
    faults = []
    for _ in range(VALUES):
        field = chance.choice((*FIELDS, *ADVICE))
        value = hostile(chance, field)
        faults += [f"{field} {value!r}: {fault}" for fault in _judged(field, value)]
    tally.case(f"{VALUES} values", faults)


def _judged(field: str, value: str) -> list[str]:
    if field in ADVICE:
        return list(_advice_faults(field, value))
    lines, operand = printed(field, value)
    return list(faults_of(lines, operand)) if lines else []


def _advice_faults(name: str, value: str) -> Iterator[str]:
    """Yield what is wrong with advice about *value*."""
    line = filled(ADVICE[name], {name: value}).split("`")[1]
    if line == NO_COMMAND:
        return
    words = shlex.split(line)
    if not any(value in word for word in words):
        yield f"{line}: not as it is"
    if "/../" in line and name == "kernel_name":
        yield f"{line}: leaves its root"
    if value.startswith("-") and words[-2:] != ["--", value]:
        yield f"{line}: an option"


# What the tools say where they take a word for an option that they do not have, or for one too many.
COMPLAINTS = re.compile(
    r"(un(recogni[sz]ed|known|expected) (option|argument|operand)|invalid option|bad usage|Usage:|usage:)"
)
TOOLS = ("lvm", "mdadm", "umount", "mount", "dd", "wipefs", "cryptsetup", "swapoff", "cmp")
MARK = "@ran@"  # no value has it
NAMESPACE = """
mount --make-rprivate / && mount -t tmpfs none /dev || exit
: > /dev/null
"""


def is_possible() -> str:
    """Return why the tools cannot be tried here; "" if they can."""
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} missing"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "unshare --mount needs root"


def parsed_by_tools(lines: list[str], folder: Path) -> list[str]:
    """Run each command of *lines* with an empty /dev; return what a tool complained of as an option."""
    commands = {
        shlex.join(command)
        for line in lines
        for command in _commands(shlex.split(line))
        if command[0] not in ("sh", "planned", "qm", "pct", "virsh") and shutil.which(command[0])
    }
    script = NAMESPACE + "".join(
        f"printf '%s\\n' {MARK}{shlex.quote(command)}\ntimeout 20 {command} 2>&1 < /dev/null\n"
        for command in sorted(commands)
    )
    file = folder / "pasted.sh"
    file.write_text(script)
    done = subprocess.run(
        ["unshare", "--mount", "sh", str(file)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=folder,
    )
    answers = done.stdout.split(MARK)[1:]
    assert len(answers) == len(commands), done.stderr[-500:]
    return [answer for answer in answers if COMPLAINTS.search(answer.partition("\n")[2])]


def main() -> None:
    """Print how many values were printed and refused by field, and what is wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = sys.argv[2] if len(sys.argv) > 2 else "pasted"
    chance, ends, faults = random.Random(seed), Counter[str](), []
    lines: set[str] = set()
    for number in range(count):
        field = (*FIELDS, *ADVICE)[number % (len(FIELDS) + len(ADVICE))]
        value = hostile(chance, field)
        faults += [f"{field} {value!r}: {fault}" for fault in _judged(field, value)]
        if field in FIELDS:
            some, _ = printed(field, value)
            ends[f"{field}: {'printed' if some else 'refused'}"] += 1
            lines.update(some)
    for end, times in sorted(ends.items()):
        print(f"{times:6} {end}")
    print(f"{count} values, {len(lines)} lines, {len(faults)} faults", *faults[:20], sep="\n")
    if why := is_possible():
        print(f"not parsed by the tools: {why}")
    else:
        complaints = parsed_by_tools(sorted(lines), Path("/tmp"))
        print(f"parsed by the tools; {len(complaints)} complaints", *complaints[:10], sep="\n")


if __name__ == "__main__":
    main()
