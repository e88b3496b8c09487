"""Each operand of a printed command has a type; nothing else can be part of one."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import stackmap
from stackmap.errors import OperandRefused
from stackmap.features.plan.plan import path_of
from stackmap.features.plan.strategies import outcomes, require_finished
from stackmap.model import operand
from stackmap.model.command_line import quoted, words
from stackmap.model.device import Device, Kind, Use
from stackmap.model.operand import (
    BlockDevicePath,
    DeviceTitle,
    GuestName,
    KernelName,
    LvmName,
    LvPath,
    MapName,
    MdName,
    MountPoint,
    Number,
    PvPath,
    Uuid,
    mount_options,
)
from stackmap.model.raid import layout
from tests.features.plan.plans import lv_context, mount

SOURCES = sorted(Path(stackmap.__file__).parent.rglob("*.py"))
# What the words of a program may be made of text: other types check the text, these allow what the code has in it.
FIXED = frozenset({"words", "Fixed", "Script", "assigned", "stackmap_command"})

INVALID = [
    (PvPath, '--config=log{file="/etc/shadow" level=7 overwrite=1}'),
    (PvPath, "/dev/sda:0-99"),
    (PvPath, "@tag"),
    (MountPoint, "-a"),
    (MountPoint, "srv"),
    (
        MountPoint,
        "/srv/\\x80",
    ),  # as a byte that is no UTF-8 is read; that directory has another name
    (MountPoint, "/srv/../etc"),
    (MountPoint, "/srv\n/etc"),
    (MdName, "../mapper/data"),
    (MdName, ".."),
    (MdName, "-rf"),
    (BlockDevicePath, "/dev/md/../mapper/data"),
    (BlockDevicePath, "/dev"),
    (BlockDevicePath, "/dev/"),
    (BlockDevicePath, "/dev//sda"),
    (BlockDevicePath, "/etc/passwd"),
    (BlockDevicePath, "/dev/" + "a" * 5000),
    (LvmName, "."),
    (LvmName, ".."),
    (LvmName, "-x"),
    (LvmName, "a b"),
    (LvmName, "a" * 128),
    (LvPath, "lv"),
    (LvPath, "vg/.."),
    (LvPath, "vg/lv/x"),
    (LvPath, "/lv"),
    (MapName, "a/b"),
    (KernelName, "../../etc/passwd"),
    (GuestName, "17"),
    (GuestName, "c7a5fdbd-cdaf-9455-926a-d65c16db1809"),
    (DeviceTitle, "a\u202eb"),
    (Number, "-1"),
    (Number, "१"),
    (Uuid, "x" * 32),
    (mount_options, "rw,x=/etc"),
    (mount_options, ""),
    (words, "umount /srv;reboot"),
]
VALID = [
    (PvPath, "/dev/mapper/a\\x20b"),
    (MountPoint, "/"),
    (MountPoint, "/srv/..a/-a b"),
    (MdName, "raid:0 x"),
    (BlockDevicePath, "/dev/disk/by-id/scsi-1:0"),
    (LvmName, "..a"),
    (LvPath, "vg/pool_tdata"),
    (GuestName, "web 1"),
    (Number, 0),
    (Uuid, "D9BZ0c-EwYs-Hofi-Kfds-tddb-MuPk-J1g3OD"),
    (Uuid, "0a0b0c0d:01020304:05060708:090a0b0c"),
    (mount_options, "rw,nosuid,relatime"),
]


@pytest.mark.parametrize(("make", "text"), INVALID)
def test_what_is_not_valid_is_refused_with_the_reason(make, text):
    with pytest.raises(OperandRefused) as refused:
        make(text)
    assert 3 == refused.value.exit_code
    assert str(refused.value)


@pytest.mark.parametrize(("make", "text"), VALID)
def test_what_is_valid_is_kept_as_it_is(make, text):
    assert str(text) == make(text)


def test_a_command_is_made_of_words():
    """Plain text is none: mypy holds the code to it, and this the one class that all of them share."""
    assert all(isinstance(word, operand.Word) for word in words("umount --", MountPoint("/srv")))
    assert "umount -- '/srv/a;b'" == quoted(words("umount --", MountPoint("/srv/a;b")))


def _calls():
    for source in SOURCES:
        if source.parts[-2:] in (("model", "operand.py"), ("model", "command_line.py")):
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield "/".join(source.parts[-2:]), node, node.func.id


def _is_fixed(node):
    """Whether text is in the code itself, or a value of a table there."""
    if isinstance(node, ast.IfExp):
        return _is_fixed(node.body) and _is_fixed(node.orelse)
    if isinstance(node, ast.Subscript):  # ROTATIONS[…]
        return isinstance(node.value, ast.Name) and node.value.id.strip("_").isupper()
    if isinstance(node, ast.JoinedStr):
        return all(isinstance(v, ast.Constant) or _is_fixed(v.value) for v in node.values)
    if isinstance(node, ast.BinOp):
        return _is_fixed(node.left) and _is_fixed(node.right)
    if isinstance(node, ast.Name):
        return node.id.strip("_").isupper()
    return isinstance(node, ast.Constant)


def test_fixed_words_are_in_the_code():
    """Text from the system cannot pass for an option: what these take first is a constant."""
    calls = [(name, node) for name, node, function in _calls() if function in FIXED]
    assert len(calls) > 80
    outside = [f"{name}:{node.lineno}" for name, node in calls if not _is_fixed(node.args[0])]
    # `top` has a table of subcommands; the classes and the prefix themselves check each.
    assert [] == [place for place in outside if not place.startswith("top/state.py:")]


def test_nothing_else_makes_a_word_without_a_check():
    assert [] == [
        f"{name}:{node.lineno}"
        for name, node, function in _calls()
        if function in ("Word", "Composed")
    ]


def _in_backticks(text):
    """Yield the values that a formatted string has inside backticks."""
    before = ""
    for part in text.values:
        if isinstance(part, ast.Constant):
            before += part.value
        elif before.count("`") % 2:
            yield part.value


def test_a_command_in_a_sentence_has_no_plain_text():
    """What stands between backticks is pasted as well: it is quoted words, or text of the code."""
    found = [
        (f"{'/'.join(source.parts[-2:])}:{text.lineno}", ast.unparse(value))
        for source in SOURCES
        for text in ast.walk(ast.parse(source.read_text()))
        if isinstance(text, ast.JoinedStr)
        for value in _in_backticks(text)
        if not (isinstance(value, ast.Name) and value.id.isupper())
    ]
    assert {value for _, value in found} <= {
        "quoted(repair)", "removal",  # plan
        "row.command",  # top, which quotes it
        "request",  # whatif: a level and numbers
        "part.replace(' ', UNBROKEN)", "part", "_bars(line, most)",  # the writers
        "error.ctx.command_path", "command", "ctx.command_path", "AFTER[name]", "word",  # the user's own words
    }, found  # fmt: skip


@pytest.mark.parametrize(
    "device",
    [
        Device("md0", Kind.ARRAY, "9:0", state="degraded", layout=layout("raid5", 3, 65536),
               facts={"alias": "../mapper/data"}),
        Device("../sda", Kind.ARRAY, "9:0", state="degraded", layout=layout("raid5", 3, 65536)),
        Device("dm-9", Kind.VOLUME, "254:9", state="degraded", layout=layout("raid5", 3, 65536),
               label="--config=log{}/lv"),
    ],
)  # fmt: skip
def test_no_repair_is_advised_of_a_name_that_is_not_valid(device):
    context = replace(lv_context("raid5", 4, "raid6"), target=device)
    with pytest.raises(OperandRefused):
        require_finished(context)


def test_the_path_of_a_device_stays_in_dev():
    """An alias of md is one component; a kernel name has no way out, either."""
    for device in (
        Device("md127", Kind.ARRAY, "9:127", facts={"alias": "../mapper/data"}),
        Device("../etc/passwd", Kind.DISK, "8:0"),
        Device("dm-1", Kind.VOLUME, "254:1", label="vg/..", uuid="LVM-x"),
    ):
        with pytest.raises(OperandRefused):
            path_of(device)


@pytest.mark.parametrize(
    ("point", "mount", "why"),
    [
        ("-a", mount("ext4", "rw"), "'-a' cannot be a mount point"),
        ("/srv", mount("ext4", "rw,x-y=z"), "the mount option 'x-y=z'"),
        ("/srv", mount("fuse.evil", "rw"), "the file system 'fuse.evil'"),
    ],
)
def test_a_mount_that_is_not_valid_has_no_copy(point, mount, why):
    """The reason is that of the method; there is no command."""
    uses = (Use("mount", point, ""),)
    context = lv_context("raid5", 4, "raid10", uses=uses, mounts={point: mount})
    (copy,) = (each for each in outcomes(context) if each.strategy.name == "copy")

    assert copy.plan is None
    assert why in copy.refused


@pytest.mark.parametrize("alias", ["a b", "?", "$HOME", "; reboot", "a\\x20b", "é"])
def test_an_array_whose_link_has_another_name_goes_by_its_kernel_name(alias):
    """udev replaces characters, and splits at blanks (seen in the lab): /dev/md/ALIAS is not there."""
    array = Device("md127", Kind.ARRAY, "9:127", facts={"alias": alias})

    assert path_of(array) == "/dev/md127"
    assert path_of(array._replace(facts={"alias": "web:0"})) == "/dev/md/web:0"
