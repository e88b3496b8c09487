"""
Device-mapper by ioctl, against a model of the kernel's side written from include/uapi/linux/dm-ioctl.h.

A real kernel is compared with dmsetup, byte for byte, by tests/lab/test_mapper.py.
"""

from __future__ import annotations

import errno
import os
import struct
import time
from dataclasses import dataclass

import pytest

from stackmap.errors import SourceTimeout
from stackmap.host import dm_ioctl
from stackmap.host.dm_ioctl import Control, mangled, statuses, tables

AS_TABLE, BUFFER_FULL, SECURE_DATA = 1 << 4, 1 << 8, 1 << 15
HEADER = 312


@dataclass
class Mapped:
    """A mapped device of the model; lines are (start, length, target, words of the table, of the status)."""

    name: bytes
    uuid: bytes
    minor: int
    lines: tuple[tuple[int, int, bytes, bytes, bytes], ...] = (
        (0, 2048, b"linear", b"8:0 11", b""),
    )
    flags: int = 1 << 5


class ModelKernel:
    """
    Answers as dm-ioctl.c does; ``left_in_memory`` has the devices whose table the kernel does not erase.

    ``copied``: the bytes of all buffers, which the kernel copies in and out.
    """

    def __init__(self, devices):
        self.devices = {os.makedev(254, d.minor): d for d in devices}
        self.left_in_memory = []
        self.requests = self.copied = 0

    def __call__(self, command, buffer, /):
        self.requests += 1
        self.copied += len(buffer)
        flags, (number,) = (
            struct.unpack_from("=I", buffer, 28)[0],
            struct.unpack_from("=Q", buffer, 40),
        )
        struct.pack_into("=3I", buffer, 0, 4, 48, 0)
        room = struct.unpack_from("=I", buffer, 12)[0]
        if command == 2:
            data = self._list()
        elif command == 12:
            if number not in self.devices:
                raise OSError(errno.ENXIO, "No such device or address")
            device = self.devices[number]
            if flags & AS_TABLE and not flags & SECURE_DATA:
                self.left_in_memory.append(device.name)
            data = b"".join(self._lines(device, table=bool(flags & AS_TABLE)))
            struct.pack_into("=I", buffer, 20, len(device.lines))
            struct.pack_into("=Q128s129s", buffer, 40, number, device.name, device.uuid)
            flags |= device.flags
        else:
            return
        if HEADER + len(data) > room:
            struct.pack_into("=I", buffer, 28, flags | BUFFER_FULL)
            return
        struct.pack_into("=II", buffer, 16, HEADER, struct.unpack_from("=I", buffer, 20)[0])
        struct.pack_into("=I", buffer, 28, flags)
        buffer[HEADER : HEADER + len(data)] = data

    def _list(self):
        entries = []
        for number, device in self.devices.items():
            entry = struct.pack("=QI", number, 0) + device.name + b"\0"
            entry += bytes(-len(entry) % 8)
            entry += struct.pack("=II", 0, 0)
            entries.append(bytearray(entry + bytes(-len(entry) % 8)))
        for entry in entries[:-1]:
            struct.pack_into("=I", entry, 8, len(entry))
        return b"".join(entries) or bytes(16)

    @staticmethod
    def _lines(device, *, table):
        at = 0
        for start, length, kind, words, state in device.lines:
            text = (words if table else state) + b"\0"
            line = struct.pack("=QQiI16s", start, length, 0, 0, kind) + text
            line += bytes(-len(line) % 8)
            at += len(line)
            yield line[:20] + struct.pack("=I", at) + line[24:]


LVM = b"LVM-" + b"x" * 64


def answers(*devices):
    kernel = ModelKernel(devices)
    return tables(Control(kernel)), kernel


def test_tables_and_states_are_dmsetups_text():
    """Several lines of one device, one without a table, and one with an empty parameter."""
    (table, info), _ = answers(
        Mapped(
            b"vg-lv", LVM, 0, ((0, 2048, b"linear", b"8:0 11", b""), (2048, 7, b"zero", b"", b""))
        ),
        Mapped(b"empty", b"", 300, (), flags=2 | 1),
    )

    assert table == b"vg-lv: 0 2048 linear 8:0 11\nvg-lv: 2048 7 zero \nempty: \n"
    assert info == b"vg-lv|254|0|L--w|" + LVM + b"\nempty|254|300|--sr|\n"


@pytest.mark.parametrize("uuid", [b"CRYPT-LUKS2-0", b"", LVM])
def test_a_key_is_masked_and_erased(uuid):
    """The key is masked in every table; the rest of the line stays, and the request asks the kernel to erase its copy."""
    secret = ((0, 8, b"crypt", b"aes-xts-plain64 c0ffee 17 8:0 4096", b""),)
    (table, info), kernel = answers(Mapped(b"safe", uuid, 1, secret), Mapped(b"lv", LVM, 3))

    assert table == (
        b"safe: 0 8 crypt aes-xts-plain64 000000 17 8:0 4096\nlv: 0 2048 linear 8:0 11\n"
    )
    assert info.count(b"\n") == 2
    assert kernel.left_in_memory == []


def test_a_key_in_a_status_is_masked():
    """Of a target that is not known."""
    words = b"8:0 " + b"6b" * 16 + b" 5"
    control = Control(ModelKernel([Mapped(b"new", b"", 1, ((0, 8, b"novel", b"", words),))]))

    assert statuses(control) == b"new: 0 8 novel 8:0 " + b"0" * 32 + b" 5\n"


def test_answers_larger_than_the_buffer_are_whole():
    """In the list and in a table: 3,000 devices, and 500 lines of one."""
    lines = tuple((i * 8, 8, b"linear", b"8:16 %d" % (i * 977), b"") for i in range(500))
    many = [Mapped(b"lv%d" % i, LVM, i) for i in range(3000)]
    (table, _), _ = answers(*many, Mapped(b"long", LVM, 4000, lines))

    assert table.count(b"\n") == 3500
    assert b"long: 3992 8 linear 8:16 487523\n" in table


def test_a_device_that_is_removed_meanwhile_is_left_out():
    kernel = ModelKernel([Mapped(b"a", LVM, 1), Mapped(b"b", LVM, 2)])
    control = Control(kernel)
    listed = control.listed()
    del kernel.devices[os.makedev(254, 1)]
    control.listed = lambda: listed

    assert tables(control)[0] == b"b: 0 2048 linear 8:0 11\n"


def test_statuses_are_dmsetups_text():
    raid = ((0, 8, b"raid", b"raid5_ls 3 ...", b"raid5_ls 3 AAA 8/8 idle 0 0 -"),)
    control = Control(ModelKernel([Mapped(b"vg-r", LVM, 1, raid), Mapped(b"vg-l", LVM, 2)]))

    assert (
        statuses(control) == b"vg-r: 0 8 raid raid5_ls 3 AAA 8/8 idle 0 0 -\nvg-l: 0 2048 linear \n"
    )


def test_without_devices_there_is_no_text():
    (table, info), _ = answers()

    assert (b"", b"") == (table, info)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (b"vg-lv", b"vg-lv"),
        (b"a b", b"a\\x20b"),
        (b"a\\x20b", b"a\\x20b"),
        (b"\xc3\xa4|", b"\\xc3\\xa4\\x7c"),
    ],
)
def test_names_are_mangled_as_libdevmapper_does(name, printed):
    assert mangled(name) == printed


def test_a_device_of_lvm_costs_one_request_and_a_small_buffer():
    """With a large one, as the list of thousands needs, 2,000 devices took ten times as long in a guest."""
    _, kernel = answers(*(Mapped(b"lv%d" % i, LVM, i) for i in range(3000)))

    assert kernel.requests < 3020
    assert kernel.copied < 3020 * 2048 + (1 << 22)


def test_both_questions_of_a_child_that_does_not_answer_are_refused(monkeypatch):
    """Its pipes are closed after the first: their numbers may be those of other files by then."""

    class Hanging(dm_ioctl.MapperQuestion):
        def asked(self):
            time.sleep(60)
            return b""

    monkeypatch.setattr(dm_ioctl, "MapperQuestion", Hanging)
    mapper = dm_ioctl.Mapper()
    for question in dm_ioctl.TOGETHER:
        mapper.start(question)

    for question in dm_ioctl.TOGETHER:
        with pytest.raises(SourceTimeout, match="no answer within"):
            mapper.answer(question, 0.05)
