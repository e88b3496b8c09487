"""What people paste as root: any name, through every way of every plan, is an argument and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.document.rule_words import filled
from stackmap.errors import LayoutError, PlanRefused
from stackmap.features.plan import document, lvm_steps, md_new_array
from stackmap.features.plan.strategies import STRATEGIES, outcomes
from stackmap.model.command_line import NO_COMMAND, quoted
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.operand import Composed, LvPath, MdName
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.rules.table import RULES
from tests.features.plan.plans import cached_context, lv_context, md_context, mount, pool_context
from tests.shells import NASTY, SHELLS, parametrized, told
from tests.terminal_text import render_text

LVM_TYPES = {"linear": 1, "striped": 3, "raid0": 3, "raid1": 2, "raid5_ls": 4, "raid5_n": 4, "raid6": 5,
             "raid10": 4}  # fmt: skip
MD_TYPES = {"raid0": 2, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 4}
WANTED = ("linear", "striped:members=3", "raid0:members=2", "raid1", "raid1:copies=3", "raid5:members=4",
          "raid5:members=3", "raid5:chunk=128k,members=4", "raid5:layout=n", "raid6:members=5",
          "raid6:members=4", "raid6:layout=ls_6", "raid10:members=4")  # fmt: skip
LIBVIRT, PVE, PCT = (
    "/etc/libvirt/qemu/x.xml",
    "/etc/pve/qemu-server/100.conf",
    "/etc/pve/lxc/101.conf",
)


def users(name):
    """A mount, swap and guests under this name, and what mountinfo says of the mount."""
    point = f"/{name}"
    uses = [(Use("mount", point, ""),), (Use("swap", "[SWAP]", ""),)]
    uses += [(Use("vm", name, source),) for source in (LIBVIRT, PVE, PCT)]
    return uses, {point: mount("ext4", "rw,noatime")}


def renamed(context, **changes):
    """The context with its target changed; *alias* is its md name."""
    if "alias" in changes:
        changes["facts"] = {**context.target.facts, "alias": changes.pop("alias")}
    changed = context.target._replace(**changes)
    devices = [changed if d.name == changed.name else d for d in context.topology.devices.values()]
    return replace(context, target=changed, topology=Topology(devices, context.topology.edges))


def on_disks(context, name):
    """The context with members that are multipath maps of this name, each with a number."""
    devices = [
        d._replace(kind=Kind.MULTIPATH, dm_name=f"{name}{d.name}") if d.kind is Kind.DISK else d
        for d in context.topology.devices.values()
    ]
    return replace(context, topology=Topology(devices, context.topology.edges))


def lvm_contexts(name, wanted):
    """LVs of all types under users of this name, with LUKS, caches and a thin pool."""
    uses, mounts = users(name)
    crypt = Device("dm-50", Kind.CRYPT, "254:50", dm_name=name, uuid="CRYPT-LUKS2-x", state="active",
                   uses=uses[0])  # fmt: skip
    luks = [crypt], [Edge("dm-50", "dm-9", Role.DATA)]
    for number, (segtype, members) in enumerate(LVM_TYPES.items()):
        attributes = "-wi-ao----" if segtype in ("linear", "striped", "raid0") else "rwi-aor---"
        some = {"attributes": attributes, "mounts": mounts}
        yield lv_context(segtype, members, wanted, uses=uses[number % len(uses)], **some)
        yield lv_context(segtype, members, wanted, more=luks, **some)
    for segtype, pool in (
        ("cache", "fast_cpool"),
        ("cache", "fast_cvol"),
        ("writecache", "fast_cvol"),
    ):
        yield cached_context(wanted, segtype, pool)
    yield pool_context(wanted)
    seal = Device("dm-40", Kind.MEMBER, "", target="integrity", state="active")
    yield lv_context("raid5", 4, wanted, more=([seal], [Edge("dm-0", "dm-40", Role.DATA)]))


def md_contexts(name, wanted):
    """Arrays of this name on devices of this name, under users of this name; one is a PV."""
    uses, mounts = users(name)
    for number, (level, members) in enumerate(MD_TYPES.items()):
        for spare in range(5):
            onto = tuple(f"sd{letter}" for letter in "abcdefgh"[members : members + spare])
            context = md_context(
                level, members, wanted, onto=onto, mounts=mounts, uses=uses[number % 2]
            )
            yield on_disks(renamed(context, alias=name), name)
            yield as_pv(renamed(context, alias=name, uses=()))


def as_pv(context):
    """The array as the PV of a VG that is half full."""
    group = lv_context("linear", 1, "linear").group
    pv = replace(
        group.pvs[0],
        path=f"/dev/md/{context.target.facts['alias']}",
        device="md0",
        extents=16,
        free=8,
    )
    return replace(context, groups={"vg": replace(group, pvs=(pv,), volumes={})})


def plans_of(name, wanted):
    """Yield each plan for stacks of this name, with its context."""
    for context in (*lvm_contexts(name, wanted), *md_contexts(name, wanted)):
        try:
            found = outcomes(context)
        except (PlanRefused, LayoutError):
            continue
        yield from ((context, each) for each in found if each.plan is not None)


def all_lines(name, wanteds):
    """Each line of every plan for stacks of this name, with its command; a plan without a new line is not printed."""
    found, ways, seen = {}, set(), set()
    for context, outcome in (plan for wanted in wanteds for plan in plans_of(name, wanted)):
        ways.add(outcome.strategy.name)
        own = own_lines(outcome.plan)
        if not own <= seen:
            found |= {line: command for command, line in printed(context, outcome)}
            seen |= own
    return found, ways


def own_lines(plan):
    """The lines of the guard, and those of each step and its undo with their guards in front."""
    lines = {quoted(command) for command in plan.guard}
    return lines | {line for step in plan.steps for line in (step.line, *step.undo_lines)}


def printed(context, outcome):
    """The commands of a plan as they are printed: each alone on its line, and whole."""
    lines = [
        line.strip() for line in render_text(document.document(context, outcome, [])).splitlines()
    ]
    guard, *steps = outcome.plan.steps
    wanted = [line for step in steps for line in (step.line, *step.undo_lines)]
    own = set(wanted)
    assert [line for line in lines if line in own] == wanted
    assert set(guard.line.split("\n")) <= {*lines, *(f"  {line}" for line in lines),
                                           *(f"    {line}" for line in lines)}  # fmt: skip
    checks = {check for step in steps for check in (*step.guard, *step.undo_guard)}
    commands = [
        *checks,
        *outcome.plan.guard,
        *(command for step in steps for command in (step.command, *step.undo)),
    ]
    for step in steps:
        assert step.line == " && ".join(map(quoted, (*step.guard, step.command)))
    return [(list(command), quoted(command)) for command in commands]


@pytest.fixture(scope="module")
def pasted():
    """The commands and lines of every plan for each nasty name; those of LVM's own names are there once."""
    found = {name: all_lines(name, WANTED) for name in NASTY}
    assert set().union(*(ways for _, ways in found.values())) == set(STRATEGIES)
    return {name: lines for name, (lines, _) in found.items()}


@parametrized()
@pytest.mark.parametrize("name", NASTY)
def test_every_way_of_every_plan(pasted, name, shell, tmp_path):
    """Each program gets the words of the model, and no other runs."""
    lines = pasted[name]
    # An array whose name begins with "-" has no plan.
    assert len(lines) > (80 if name.startswith("-") else 200)
    assert told(shell, list(lines), tmp_path / "empty") == list(lines.values())


def test_every_program_is_tried(pasted):
    """Otherwise a way is missing above."""
    programs = {command[0] for lines in pasted.values() for command in lines.values()}

    assert programs == {
        "cmp", "cryptsetup", "dd", "e2fsck", "lvchange", "lvconvert", "lvcreate", "lvremove", "lvrename",
        "mdadm", "mount", "pct", "planned", "pvcreate", "pvmove", "pvremove", "qm", "sh", "swapoff", "swapon",
        "umount", "vgextend", "vgreduce", "virsh", "wipefs",
    }  # fmt: skip


def test_a_name_is_not_an_option(pasted):
    """What begins with "-" is no word of a command: it is refused, or part of a path."""
    for name in (name for name in NASTY if name.startswith("-")):
        assert [] == [each for each in pasted[name].values() if name in each]


@pytest.mark.parametrize(
    "letter", ["\n", "\t", "\0", "\x1b", "\u2028", "\u200b", "\u202e", "\ud83d"]
)
def test_what_cannot_be_printed_has_no_plan(letter):
    """Not even where only the way back has the name."""
    assert list(plans_of("plain", "raid10:members=4"))
    for _, outcome in plans_of(f"a{letter}b", "raid10:members=4"):
        words = "".join(w for s in outcome.plan.steps[1:] for c in (s.command, *s.undo) for w in c)
        assert letter not in words


@pytest.mark.parametrize("name", ["-rf", "a b", "x;y", "", "a/b"])
def test_a_name_that_lvm_does_not_allow_is_refused(name):
    """A capture can claim any."""
    context = lv_context("raid5_ls", 4, "raid6")
    group = replace(context.group, name=name)
    with pytest.raises(PlanRefused, match="cannot be a name of an LV in a command"):
        STRATEGIES["convert"].plan(replace(context, groups={"vg": group}))


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30
)
numbers = count()


@settings(max_examples=10, deadline=None)
@given(st.lists(names, min_size=9, max_size=9), st.sampled_from(WANTED))
def test_any_name(tmp_path_factory, several, wanted):
    """Some names at a time, to start few shells."""
    lines = {line: command for name in several
             for line, command in all_lines(name, [wanted])[0].items()}  # fmt: skip
    for shell in (shell for shell in SHELLS if os.access(f"/usr/bin/{shell}", os.X_OK)):
        folder = tmp_path_factory.mktemp("any") / "empty"
        assert told(shell, list(lines), folder) == list(lines.values())


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0\n\1", exclude_categories=["Cs"])), max_size=40
    )
)
def test_any_word(tmp_path_factory, words):
    """Also what no plan would print."""
    command = ("run", *map(Composed, words))
    for shell in (shell for shell in SHELLS if os.access(f"/usr/bin/{shell}", os.X_OK)):
        folder = tmp_path_factory.mktemp("any") / "empty"
        assert told(shell, [quoted(command)], folder) == [list(command)]


STUB = """#!/bin/sh
for word do printf '%s\\n' "$word" >> {folder}/told; done
cat {folder}/answer
"""


@parametrized()
@pytest.mark.parametrize(("program", "name"), [*product(["lvs", "mdadm"], NASTY)])
def test_a_wait_asks_for_the_name_as_it_is(shell, program, name, tmp_path):
    """The script in it gets the name as an argument, also after a reshape."""
    name = name.strip("-") or "x"
    if program == "lvs":
        name = re.sub(r"[^A-Za-z0-9+_.-]", "_", name)
        step = lvm_steps.waiting(LvPath(f"vg/{name}"), "raid5_ls")
        words = ["--all", "--noheadings", "--options", "--"]
        name = f"vg/{name}"
        answer = "100.00 idle"
    else:
        name = name.replace("/", "_")
        path = MdName(name).path
        step, words = md_new_array.waiting(path, layout("raid1", 2), reshaped=True), ["--detail"]
        name = str(path)
        answer = "State : clean\nRaid Level : raid1\nRaid Devices : 2"
    (tmp_path / "answer").write_text(answer + "\n")
    (tmp_path / "bin").mkdir()
    for stub, text in ((program, STUB.format(folder=tmp_path)), ("sleep", "#!/bin/sh\n")):
        (tmp_path / "bin" / stub).write_text(text)
        (tmp_path / "bin" / stub).chmod(0o755)
    (tmp_path / "empty").mkdir()
    subprocess.run(
        [shell, "-c", step.line],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        cwd=tmp_path / "empty",
        capture_output=True,
        check=False,
        timeout=20,
    )

    heard = (tmp_path / "told").read_text().splitlines()
    assert heard.count(name) >= 2
    assert {*heard} - {name} <= {
        *words,
        "segtype",
        "sync_percent,raid_sync_action,lv_health_status",
    }
    assert list((tmp_path / "empty").iterdir()) == []


@parametrized()
@pytest.mark.parametrize("name", NASTY)
def test_commands_in_advice(shell, name, tmp_path):
    """Where a rule's advice has a name in a command, it is one argument."""
    texts = {rule.advice for rule in RULES} | {rule.caveat for rule in RULES}
    spans = [span for text in texts for span in text.split("`")[1::2] if "{device}" in span]
    assert spans
    for number, span in enumerate(spans):
        (_, line, _) = filled(f"`{span}`", {"device": name}).split("`")
        if "`" in name:
            assert line == NO_COMMAND
            continue
        (command,) = told(shell, [line], tmp_path / str(number))
        assert command[-1] == name
        assert ("--" in command) == name.startswith("-")
