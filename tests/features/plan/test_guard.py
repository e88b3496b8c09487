"""The guard of a plan, in real shells: programs that tell what this host has, and note what else is run."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from dataclasses import replace

import pytest

from stackmap.features.plan.guard import FUNCTION, _Target
from stackmap.features.plan.inputs import _origin
from stackmap.features.plan.plan import Origin, path_of
from stackmap.features.plan.strategies import STRATEGIES, outcomes
from stackmap.host.live import LiveHost
from stackmap.model.command_line import words
from stackmap.model.operand import LvmName
from stackmap.model.topology import Machine, Topology
from tests.features.plan.plans import (
    ARRAY_UUID,
    EXTENT,
    cached_context,
    lv_context,
    md_context,
    pool_context,
)
from tests.shells import SHELLS, parametrized

MACHINE_ID = "4a1c0c0f5cdb4a29a9c3f8a1ef6d5b77"
HASH = hashlib.sha256(f"stackmap {MACHINE_ID}".encode()).hexdigest()
ORIGIN = Origin("lab", 1_795_257_542.0, machine_id=HASH)
VG = "vvvvvv-vvvv-vvvv-vvvv-vvvv-vvvv-vvvvvv"
LV = "lvlvlv-lvlv-lvlv-lvlv-lvlv-lvlv-lvlvlv"
OTHER = "OTHERx-vvvv-vvvv-vvvv-vvvv-vvvv-vvvvvv"
OTHER_ARRAY = "99999999:01020304:05060708:090a0b0c"

PVS = {
    f"/dev/sd{letter}": f"pvpvp{letter}-pvpv-pvpv-pvpv-pvpv-pvpv-pvpvpv" for letter in "abcdefgh"
}
DISK = 1024**3
# By method: a context that it has a plan for.
CONTEXTS = {
    "mirror": lambda: lv_context("linear", 1, "raid1", attributes="-wi-a-----"),
    "convert": lambda: lv_context("raid5_ls", 4, "raid6"),
    "copy": lambda: lv_context("raid5_ls", 4, "raid10", attributes="Rwi-aor---"),
    "grow": lambda: md_context("raid5", 3, "raid6", onto=("sdd",)),
    "move": lambda: _as_pv(
        md_context("raid5", 3, "raid10:members=4", onto=("sdd", "sde", "sdf", "sdg"))
    ),
    "array-copy": lambda: md_context(
        "raid5", 3, "raid10:members=4", onto=("sdd", "sde", "sdf", "sdg")
    ),
}


def _as_pv(context):
    group = lv_context("linear", 1, "linear").group
    pv = replace(group.pvs[0], path="/dev/md0", device="md0", extents=16, free=8)
    return replace(context, groups={"vg": replace(group, pvs=(pv,), volumes={})})


def planned(method, **changes):
    """The context and the plan of a method."""
    context = replace(CONTEXTS[method](), origin=ORIGIN, pv_uuids=PVS, **changes)
    (found,) = (each for each in outcomes(context) if each.strategy.name == method)
    assert found.plan is not None, found.refused
    return context, found.plan


# What each program answers on this host; the rest is noted.
STUB = """#!/bin/sh
PATH=/usr/bin:/bin
for last do :; done
case "$(basename "$0") $*" in
  "lvs "*vg_uuid*) echo "  {vg} {lv} {bytes}" ;;
  "pvs "*pv_uuid*) case $last in {pvs} esac ;;
  "pvs "*) echo "  {vg} {disk}" ;;
  "mdadm --detail --export "*-new) echo MD_UUID={new} ;;
  "mdadm --detail --export "*|"mdadm --examine --export "*) echo MD_UUID={array} ;;
  "blockdev "*md0) echo {array_bytes} ;;
  "blockdev "*_new) echo {bytes} ;;
  "blockdev "*) echo {disk} ;;
  "wipefs --noheadings "*) echo "{signature}" ;;
  "cat /etc/machine-id") echo {machine} ;;
  "cat "*) cat "$@" ;;
  *) echo "$(basename "$0") $*" >> {told} ;;
esac
"""
PROGRAMS = (
    "lvs", "pvs", "mdadm", "blockdev", "wipefs", "cat", "lvcreate", "lvconvert", "lvremove", "lvchange",
    "lvrename", "dd", "cmp", "sh", "pvcreate", "pvremove", "pvmove", "vgextend", "vgreduce",
)  # fmt: skip
REAL = ("sha256sum", "cut", "xargs", "sed", "date", "echo", "printf")


def host(folder, new="", **changes):
    """A folder of programs that answer as the host of the plan does, but for *changes*; what else is run goes to `told`."""
    answers = {
        "vg": VG, "lv": LV, "bytes": 24 * EXTENT, "disk": DISK, "array": ARRAY_UUID, "signature": "",
        "array_bytes": 2 * 64 * 1024**2, "machine": MACHINE_ID, "new": new, "told": folder / "told",
        "pvs": " ".join(f"({path}) echo {uuid} ;;" for path, uuid in PVS.items()),
    } | changes  # fmt: skip
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        (programs / name).write_text(STUB.format(**answers))
        (programs / name).chmod(0o755)
    for name in REAL:
        (programs / name).symlink_to(f"/usr/bin/{name}")
    return folder


def pasted(shell, lines, folder):
    """Return the output of *lines* in a shell that goes on after a failure, and what was run."""
    command, _ = SHELLS[shell]
    program = next(
        f"{at}/{command[0]}" for at in ("/usr/bin", "/bin") if os.access(f"/bin/{command[0]}", 1)
    )
    done = subprocess.run(
        [program, *command[1:], "/dev/stdin"],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
        env={"PATH": f"{folder}/bin", "LC_ALL": "C.UTF-8"},
        check=False,
        timeout=120,
    )
    told = folder / "told"
    return done.stderr, told.read_text().splitlines() if told.exists() else []


def changing(run):
    """What was run without waits and comparisons, which only read."""
    return [line for line in run if not line.startswith(("sh -c", "cmp", "mdadm --detail"))]


@parametrized()
@pytest.mark.parametrize("method", STRATEGIES)
def test_on_its_own_host_every_step_runs(method, shell, tmp_path):
    """In the order of the plan, whole."""
    _, plan = planned(method)
    steps = plan.steps[1:]
    new = next((word[7:] for step in steps for word in step.command if word[:7] == "--uuid="), "")
    said, run = pasted(shell, [step.line for step in plan.steps], host(tmp_path / "own", new))

    assert "STOP" not in said
    assert run == [" ".join(step.command) for step in steps]


ELSEWHERE = {
    "the machine": {"machine": "0" * 32},
    "the VG": {"vg": OTHER},
    "the LV": {"lv": OTHER},
    "the bytes": {"bytes": 4096},
    "a PV": {"pvs": "(/dev/sda) echo x ;;"},
    "the bytes of disks": {"disk": 4096},
    "the array": {"array": OTHER_ARRAY},
    "its bytes": {"array_bytes": 4096},
    "a signature": {"signature": "0x438 ext4"},
}
LVM_FACTS, MD_FACTS = (
    {"the VG", "the LV", "the bytes", "a PV", "the bytes of disks"},
    {"the array", "its bytes"},
)


@parametrized()
@pytest.mark.parametrize("what", ELSEWHERE)
@pytest.mark.parametrize("method", STRATEGIES)
def test_step_1_fails_elsewhere(method, what, shell, tmp_path):
    """Each fact that step 1 compares stops it alone."""
    is_lvm = STRATEGIES[method].lvm
    # Only a new array needs disks without a signature, and they are compared by size.
    if what in (MD_FACTS if is_lvm else LVM_FACTS - {"the bytes of disks"}):
        pytest.skip(f"a plan of the method {method} does not touch {what}")
    if what == "a signature" and is_lvm:
        pytest.skip("LVM takes free extents of its PVs")
    _, plan = planned(method)
    folder = host(tmp_path / "other", **ELSEWHERE[what])
    said, run = pasted(shell, [f"{plan.steps[0].line} && dd reached"], folder)

    assert "STOP: " in said
    assert [] == run


@parametrized()
@pytest.mark.parametrize("method", STRATEGIES)
def test_a_plan_that_is_pasted_whole_elsewhere_changes_nothing(method, shell, tmp_path):
    """A paste does not stop at an error; each step that changes something is behind its own guard."""
    _, plan = planned(method)
    lines = [step.line for step in plan.steps]
    lines += [line for step in reversed(plan.steps) for line in step.undo_lines]
    elsewhere = {"vg": OTHER, "lv": OTHER, "array": OTHER_ARRAY}
    _, run = pasted(shell, lines, host(tmp_path / "other", OTHER_ARRAY, **elsewhere))

    assert [] == changing(run)


@parametrized()
@pytest.mark.parametrize("method", STRATEGIES)
def test_without_the_function_nothing_runs(method, shell, tmp_path):
    """As in another shell, in which step 1 was not pasted."""
    _, plan = planned(method)
    lines = [step.line for step in plan.steps[1:]]
    _, run = pasted(shell, lines, host(tmp_path / "own"))

    assert [] == changing(run)


def test_the_function_is_short_and_has_no_name():
    assert len(FUNCTION.splitlines()) < 20
    assert max(map(len, FUNCTION.splitlines())) < 110
    assert FUNCTION.isascii()


@pytest.mark.parametrize(
    "context", [cached_context("raid6", "cache", "fast_cpool"), pool_context("raid1")]
)
def test_the_lv_that_is_seen_is_checked(context):
    """After a cache is off, its LV has the UUID that it has now, not that of the hidden origin."""
    (plan, *_) = (each.plan for each in outcomes(context) if each.plan)
    names = {check[2] for check in plan.guard if check[:2] == ("planned", "lv")}
    assert names <= {"vg/lv", "vg/pool_tdata"}
    assert len(names) == 1


@pytest.mark.parametrize("method", ["mirror", "convert", "copy"])
def test_each_pv_is_checked_by_its_own_size_and_uuid(method):
    """PVs of a VG differ: with the size of another, a check stops the plan here or passes on another disk."""
    context = CONTEXTS[method]()
    sizes = {f"/dev/{pv.device}": DISK + n * EXTENT for n, pv in enumerate(context.group.pvs)}
    devices = [
        device._replace(size=sizes.get(f"/dev/{device.name}", device.size))
        for device in context.topology.devices.values()
    ]
    topology = Topology(devices, context.topology.edges)
    context = replace(context, topology=topology, origin=ORIGIN, pv_uuids=PVS)
    (plan,) = (each.plan for each in outcomes(context) if each.strategy.name == method)
    checks = [[str(word) for word in check] for check in plan.guard]
    seen = {check[2]: int(check[-1]) for check in checks if check[1] == "pv"}
    uuids = {check[2]: check[-1] for check in checks if check[1] == "pv-uuid"}

    assert len(seen) > 1
    assert seen == {path: sizes[path] for path in seen}
    assert uuids == {path: PVS[path] for path in seen}


def without_uuid(context):
    target = context.target._replace(uuid=context.target.uuid[:4] if context.is_lvm else "")
    devices = [target if d.name == target.name else d for d in context.topology.devices.values()]
    return replace(context, target=target, topology=Topology(devices, context.topology.edges))


@pytest.mark.parametrize("method", STRATEGIES)
def test_without_the_uuid_of_the_target_there_is_no_plan(method):
    """The missing fact is named."""
    context = replace(without_uuid(CONTEXTS[method]()), origin=ORIGIN)
    (found,) = (each for each in outcomes(context) if each.strategy.name == method)

    assert found.plan is None
    assert "the UUID of " in found.refused
    assert "is not known" in found.refused


@pytest.mark.parametrize("method", ["mirror", "grow"])
def test_what_is_not_in_the_guard_is_said(method):
    _, plan = planned(method)
    assert not any("machine-id" in each or "UUIDs of the PVs" in each for each in plan.unchecked)
    context = replace(CONTEXTS[method](), origin=Origin("lab"))
    (plan,) = (each.plan for each in outcomes(context) if each.strategy.name == method)

    assert any("the capture has no hash of its machine-id" in each for each in plan.unchecked)
    assert STRATEGIES[method].lvm == any("the UUIDs of the PVs" in each for each in plan.unchecked)
    assert not any(check[1] == "machine" for check in plan.guard)


def test_the_target_is_checked_under_the_name_that_it_has_by_then():
    """Renamed, an LV has its new name; stopped, an array is known by its first member."""
    volume = _Target(replace(CONTEXTS["copy"](), origin=ORIGIN))
    before = volume.checks()[0][1:3]
    volume.follow(words("lvrename --", LvmName("vg"), LvmName("other"), LvmName("third")))
    assert volume.checks()[0][1:3] == before
    volume.follow(words("lvrename --", LvmName("vg"), LvmName("lv"), LvmName("lv_old")))
    assert [str(word) for word in volume.checks()[0][1:3]] == ["lv", "vg/lv_old"]

    context = replace(CONTEXTS["array-copy"](), origin=ORIGIN)
    array = _Target(context)
    assert [str(word) for word in array.checks()[0]] == ["planned", "array", "/dev/md0", ARRAY_UUID]
    array.follow(words("mdadm --stop", path_of(context.target)))
    assert [str(word) for word in array.checks()[0]] == [
        "planned",
        "member",
        "/dev/sda",
        ARRAY_UUID,
    ]


def test_the_origin_of_a_live_plan_is_this_machine_now(monkeypatch):
    monkeypatch.setattr(LiveHost, "machine_id", lambda _: HASH)
    now = time.time()
    found = _origin(LiveHost(), Topology([], [], machine=Machine(host="lab")))

    assert (found.host, found.machine_id, found.source) == ("lab", HASH, "")
    assert now - 1 <= found.time <= time.time()
