"""
Plans for objects with hostile names, run on a real machine as they are printed: in the guest, as root.

    pasted_plans.py FOLDER

``pasted_names.py`` makes the objects. What changes nothing, or can be undone, is run: LVM in its test mode, mounts,
mappings of LUKS and spares of arrays for real, VMs by a stub. FOLDER/values.json tells what was planned and run, and
which objects were there before and after.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stackmap.discover import discover
from stackmap.errors import LayoutError, PlanRefused
from stackmap.features.plan.guard import FUNCTION, guarded
from stackmap.features.plan.inputs import plan_context
from stackmap.features.plan.plan import Plan, PlanContext, Step
from stackmap.features.plan.strategies import STRATEGIES
from stackmap.host.live import LiveHost
from stackmap.model.command_line import quoted
from stackmap.model.device import Device
from stackmap.model.layout_request import parse
from tests.lab.pasted_names import MAKERS, SAFE, Value, lvm_uuids, ran, renamed_by_udev, say

STUBS = ("virsh", "qm", "pct")


def planned(
    context: PlanContext, method: str, device: Device, wanted: str, onto: tuple[str, ...]
) -> Plan:
    """Return the plan as `stackmap plan` makes it."""
    given = replace(
        context, target=device, request=parse(wanted), onto=onto, contents=dict.fromkeys(onto, "")
    )
    return guarded(given, STRATEGIES[method].plan(given))


WAYS: dict[str, tuple[str, str]] = {
    "LV": ("mirror", "raid1"), "VG": ("mirror", "raid1"), "PV": ("mirror", "raid1"),
    "array": ("grow", "raid5:members=4"), "udev property": ("grow", "raid5:members=4"),
    "LUKS mapping": ("copy", "raid5:members=4"), "VM": ("copy", "raid5:members=4"),
    "mount point": ("copy", "raid5:members=4"),
}  # fmt: skip


def plan_of(value: Value, context: PlanContext, first_array: str) -> Plan | None:
    """Plan for *value*; keep the lines, or why there are none."""
    topology = context.topology
    method, wanted = WAYS[value.kind]
    target = value.target or first_array
    device = next((d for d in topology if target in (d.label, d.name)), None)
    onto: tuple[str, ...] = ()
    if value.kind == "PV":
        onto = (value.truth,)
    elif value.kind in ("array", "udev property"):
        members = sorted(edge.below for edge in topology.below(target))
        onto = (members[0].replace("sde", "sdh"),) if members else ()
    if device is None or any(name not in topology for name in onto):
        value.refused = f"not in the topology: {target} {onto}"
        return None
    try:
        plan = planned(context, method, device, wanted, onto)
    except (PlanRefused, LayoutError) as refusal:
        value.refused = str(refusal)
        return None
    value.lines = [line for step in plan.steps for line in (step.line, *step.undo_lines)]
    return plan


# What is run of a plan, and what it did.


def paste(value: Value, line: str, text: str = "", **more: str) -> bool:
    """Run *line* in a shell that has the guard's function; return whether it went well."""
    environment = dict(os.environ, PATH=f"{SAFE}:{os.environ['PATH']}", **more)
    done = subprocess.run(
        ["bash", "-c", os.fsencode(f"{FUNCTION}\n{line}")], input=text, env=environment,
        capture_output=True, text=True, errors="backslashreplace", check=False,
    )  # fmt: skip
    said = (done.stdout + done.stderr)[-2000:]
    value.ran.append({"line": line, "status": done.returncode, "said": said})
    return done.returncode == 0


def step_with(plan: Plan, *command: str) -> Step:
    return next(step for step in plan.steps if step.command[: len(command)] == command)


def in_test_mode(value: Value, plan: Plan) -> None:
    """LVM: the guard of the LV, and that of a PV under test, read the real UUIDs; the change is only tried."""
    step = step_with(plan, "lvconvert")
    last = step.guard[-1:] if value.kind == "PV" else ()
    line = " && ".join(quoted(command) for command in (step.guard[0], *last, step.command))
    paste(value, line, LVM_SYSTEM_DIR=f"{SAFE}/lvm")
    value.addressed = [word for word in step.command if "/" in word]


def unmounted(value: Value, plan: Plan) -> None:
    """Unmount and mount again, for real; the guard was run for LVs."""
    before = mounted()
    step = step_with(plan, "umount")
    paste(value, quoted(step.command))
    value.addressed = sorted(before - mounted())
    paste(value, quoted(step_with(plan, "e2fsck").command))
    for command in step.undo:
        paste(value, quoted(command))
    value.addressed += sorted(mounted() ^ before)


def mounted() -> set[str]:
    lines = Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape").splitlines()
    return {" ".join(line.split()[2:5]) for line in lines}


def closed(value: Value, plan: Plan) -> None:
    """Close a LUKS mapping and open it again, for real."""
    before = mapping_names()
    step = step_with(plan, "cryptsetup", "close")
    paste(value, quoted(step.command))
    value.addressed = sorted(before - mapping_names())
    for command in step.undo:
        paste(value, quoted(command), "secret")
    value.addressed += sorted(mapping_names() ^ before)


def mapping_names() -> set[str]:
    return {
        file.read_bytes().decode(errors="surrogateescape").rstrip("\n")
        for file in Path("/sys/block").glob("dm-*/dm/name")
    }


def shut_down(value: Value, plan: Plan) -> None:
    """The stub of virsh notes its words."""
    step = step_with(plan, "virsh", "shutdown")
    paste(value, quoted(step.command))
    note = Path(f"{SAFE}/said")
    value.addressed = note.read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    note.write_bytes(b"")


def given_a_spare(value: Value, plan: Plan) -> None:
    """The guard, and a spare that is added and removed, for real."""
    step = step_with(plan, "mdadm")
    before = spares()
    if paste(value, step.line):
        value.addressed = sorted(spares() - before)
        for line in step.undo_lines:
            paste(value, line)
        ran(["mdadm", "--zero-superblock", step.command[-1]])
        value.addressed += sorted(spares() ^ before)


def spares() -> set[str]:
    return {
        f"{path.parent.parent.name} {path.name[4:]}"
        for path in Path("/sys/block").glob("md*/md/dev-*")
    }


RUN: dict[str, Callable[[Value, Plan], None]] = {
    "LV": in_test_mode, "VG": in_test_mode, "PV": in_test_mode, "array": given_a_spare,
    "udev property": given_a_spare, "mount point": unmounted,
    "LUKS mapping": closed, "VM": shut_down,
}  # fmt: skip


def state() -> dict[str, object]:
    """Return all that no command may have changed."""
    ran(["udevadm", "settle"])
    return {
        "lvs": lvm_uuids(),
        "mappings": sorted(mapping_names()),
        "mounts": sorted(mounted()),
        "members": sorted(spares()),
        "pvs": sorted(
            ran(["pvs", "--noheadings", "-o", "pv_name,vg_name,pv_uuid"]).stdout.split("\n")
        ),
    }


def prepared() -> None:
    """Make the stubs, and LVM's test mode."""
    os.makedirs(f"{SAFE}/lvm")
    for name in STUBS:
        stub = Path(f"{SAFE}/{name}")
        stub.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {SAFE}/said\n")
        stub.chmod(0o755)
    Path(f"{SAFE}/said").touch()
    tried = Path("/etc/lvm/lvmlocal.conf").read_text() + "global { test = 1 }\n"
    Path(f"{SAFE}/lvm/lvm.conf").write_text(tried)


def judged(values: list[Value], first_array: str) -> None:
    """Plan and run for each of *values*."""
    host = LiveHost()
    topology = discover(host)
    say(f"{len(topology)} devices discovered")
    context = plan_context(host, topology, first_array, parse("raid1"))
    say("LVM's report read")
    kind = ""
    for value in sorted(values, key=lambda value: [*RUN].index(value.kind)):
        if value.kind != kind:
            say(f"begin {value.kind}")
            kind = value.kind
        plan = plan_of(value, context, first_array)
        if plan:
            try:
                RUN[value.kind](value, plan)
            except StopIteration:
                value.refused = f"no step to run: {[str(step.command[0]) for step in plan.steps]}"
    say(f"{sum(1 for value in values if value.lines)} of {len(values)} planned and run")


def main() -> None:
    """Make, plan, run, and write down."""
    folder = Path(sys.argv[1])
    prepared()
    values: list[Value] = []
    for maker in MAKERS:
        values += maker()
        say(f"{len(values)} made: {maker.__name__}")
    ran(["udevadm", "settle"])
    print(ran(["stackmap", "record", str(folder / "capture"), "1", "1"]).stderr)
    say("recorded")
    md = [value for value in values if value.kind == "array"]
    by_lvm = [value for value in values if value.kind in ("LV", "VG", "PV")]
    others = [value for value in values if value not in by_lvm]
    told: dict[str, object] = {"before": state()}

    def write() -> None:
        told.update(last=state(), values=[vars(value) for value in values])
        (folder / "values.json").write_text(json.dumps(told, indent=1))

    for some in (others, by_lvm):
        judged(some, md[0].target)
        write()
    values += renamed_by_udev(md)
    judged(values[-len(md) :], md[0].target)
    write()


if __name__ == "__main__":
    main()
