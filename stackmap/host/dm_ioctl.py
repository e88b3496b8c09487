"""
Device-mapper's answers to ``dmsetup table``, ``status --noflush`` and ``info``, without dmsetup.

dmsetup sends two requests per device and copies 16 KiB for each. Here one DM_TABLE_STATUS per device
returns table, name, uuid, number and state. Structures: include/uapi/linux/dm-ioctl.h. The text is dmsetup's.

The tables of crypt and integrity may contain a key, which ``dmsetup table`` masks. So such a table is left to
dmsetup. The status, which contains no key, names the targets of a device whose maker may use them.
"""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

CONTROL = "/dev/mapper/control"
INTERFACE = (4, 0, 0)  # the version requested; the kernel answers with its own
UUIDS_SINCE = (4, 45, 0)  # the first version whose list contains uuids, if asked to
GET_VERSION, LIST_DEVICES, TABLE_STATUS, TARGET_MESSAGE = 0, 2, 12, 14
READ_ONLY, SUSPENDED, AS_TABLE, LIVE, INACTIVE = 1, 2, 1 << 4, 1 << 5, 1 << 6
BUFFER_FULL, NO_FLUSH, HAS_ANSWER = 1 << 8, 1 << 11, 1 << 16
LIST_UUIDS = 1 << 14  # DM_UUID_FLAG: the list shall contain them (dm-ioctl.c, list_devices)
HAS_UUID = 1

_HEADER = struct.Struct("=6Ii3IQ128s129s7x")  # struct dm_ioctl
_SECTOR = struct.Struct("=Q")  # struct dm_target_msg, before the message
_SPEC = struct.Struct("=QQiI16s")  # struct dm_target_spec
_LISTED = struct.Struct("=QI")  # struct dm_name_list: number, offset of the next
_AFTER_NAME = struct.Struct("=II")  # event number, flags

# The kernel copies the whole buffer both ways, and few devices need libdevmapper's 16 KiB.
BUFFER, BUFFER_GROWTH = 2048, 4

# The uuids of makers that store no key in a table.
KEYLESS = (b"LVM-", b"mpath-", b"part", b"DMRAID-", b"VDO-", b"CRYPT-VERITY-")
# The targets that may have a key in their table.
WITH_KEY = frozenset({b"crypt", b"inlinecrypt", b"default-key", b"integrity"})

# libdevmapper writes every other byte of a name as \xNN (libdm-common.c: _is_whitelisted_char).
_PLAIN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#+-.:=@_"
_MANGLED = rb"\\x[0-9A-Fa-f]{2}|[^0-9A-Za-z#+\-.:=@_]"


class Target(NamedTuple):
    """A line of a table or of a status, in sectors."""

    start: int
    length: int
    kind: bytes
    words: bytes


class Device(NamedTuple):
    """A device-mapper device with a table or a status; *flags* as in ``struct dm_ioctl``."""

    name: bytes
    uuid: bytes
    number: int
    flags: int
    targets: list[Target]


class Kernel(Protocol):
    """The other side of an ioctl: the control device, or a model of it in a test."""

    def __call__(self, command: int, buffer: bytearray, /) -> None:
        """Answer *command* in *buffer*, or raise ``OSError``."""


class Control:
    """Requests that read device-mapper's state. Each may raise ``OSError``."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._buffer = bytearray(BUFFER)
        self._version = self._request(GET_VERSION)[:3]

    def listed(self) -> list[tuple[int, bytes]]:
        """Return number and uuid of each device; b"" where the list has no uuid."""
        at = self._request(LIST_DEVICES, flags=LIST_UUIDS)[4]
        devices = []
        step = 1
        while step:
            number, step = _LISTED.unpack_from(self._buffer, at)
            if number:
                devices.append((number, self._uuid_after(at)))
            at += step
        self._buffer = bytearray(BUFFER)  # a list of many needs a large one
        return devices

    def device(self, number: int, flags: int) -> Device | None:
        """Return the device with its table (AS_TABLE) or status (NO_FLUSH); None if it was removed."""
        try:
            head = self._request(TABLE_STATUS, number, flags)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            raise
        targets = self._targets(start=head[4], count=head[5])
        return Device(_text(head[11]), _text(head[12]), head[10], head[7], targets)

    def message(self, number: int, text: bytes) -> bytes:
        """Send *text* to the device; return its answer, b"" without one."""
        head = self._request(TARGET_MESSAGE, number, data=_SECTOR.pack(0) + text + b"\0")
        return self._string(head[4]) if head[7] & HAS_ANSWER else b""

    def _targets(self, start: int, count: int) -> list[Target]:
        found, at = [], start
        for _ in range(count):
            first, length, _, following, kind = _SPEC.unpack_from(self._buffer, at)
            found.append(Target(first, length, _text(kind), self._string(at + _SPEC.size)))
            at = start + following
        return found

    def _uuid_after(self, at: int) -> bytes:
        """Return the uuid behind the name of the list's entry at *at*."""
        if self._version < UUIDS_SINCE:
            return b""
        behind = (self._buffer.index(0, at + _LISTED.size) + 1 + 7) & ~7
        _, flags = _AFTER_NAME.unpack_from(self._buffer, behind)
        return self._string(behind + _AFTER_NAME.size) if flags & HAS_UUID else b""

    def _string(self, at: int) -> bytes:
        return bytes(self._buffer[at : self._buffer.index(0, at)])

    def _request(
        self, command: int, number: int = 0, flags: int = 0, data: bytes = b""
    ) -> tuple[Any, ...]:
        """Return the header of the answer, whose data is in the buffer."""
        while True:
            size = len(self._buffer)
            if size < _HEADER.size + len(data):
                self._buffer = bytearray(size * BUFFER_GROWTH)
                continue
            if data:
                self._buffer[_HEADER.size : _HEADER.size + len(data)] = data
            fields = (*INTERFACE, size, _HEADER.size, 0, 0, flags, 0, 0, number, b"", b"")
            _HEADER.pack_into(self._buffer, 0, *fields)
            self._kernel(command, self._buffer)
            head = _HEADER.unpack_from(self._buffer)
            if not head[7] & BUFFER_FULL:
                return head
            self._buffer = bytearray(size * BUFFER_GROWTH)


class Tables(NamedTuple):
    """The output of ``dmsetup table`` and of ``info``; *left_out*: the names whose table may have a key."""

    table: bytes
    info: bytes
    left_out: tuple[bytes, ...]


def tables(control: Control) -> Tables:
    """Return the tables of all devices whose tables have no key, and the state of all."""
    table: list[bytes] = []
    info: list[bytes] = []
    left_out: list[bytes] = []
    for number, uuid in control.listed():
        has_key = not uuid.startswith(KEYLESS) and _has_key(control, number)
        device = control.device(number, NO_FLUSH if has_key else AS_TABLE)
        if device is None:
            continue
        info.append(_info(device))
        if has_key or not WITH_KEY.isdisjoint([target.kind for target in device.targets]):
            left_out.append(device.name)
        else:
            table += _lines(device)
    return Tables(b"".join(table), b"".join(info), tuple(left_out))


def statuses(control: Control) -> bytes:
    """Return the output of ``dmsetup status --noflush``."""
    devices = (control.device(number, NO_FLUSH) for number, _ in control.listed())
    return b"".join(line for device in devices if device for line in _lines(device))


def opened() -> Control:
    """Return device-mapper of this machine; ``OSError`` without it or without root."""
    import fcntl

    descriptor = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)

    def kernel(command: int, buffer: bytearray, /) -> None:
        # _IOWR(DM_IOCTL, command, struct dm_ioctl)
        fcntl.ioctl(descriptor, 3 << 30 | _HEADER.size << 16 | 0xFD << 8 | command, buffer, True)

    return Control(kernel)


def _has_key(control: Control, number: int) -> bool:
    """Whether a target of the device may have a key in its table; a status has none."""
    device = control.device(number, NO_FLUSH)
    return device is not None and any(target.kind in WITH_KEY for target in device.targets)


def _lines(device: Device) -> Iterator[bytes]:
    name = mangled(device.name)
    if not device.targets:
        yield b"%s: \n" % name
    for target in device.targets:
        yield b"%s: %d %d %s %s\n" % (name, *target)


def _info(device: Device) -> bytes:
    """Return the line of ``dmsetup info`` with the columns name, major, minor, attr, uuid."""
    name, uuid, number, flags, _ = device
    major, minor = os.major(number), os.minor(number)
    return b"%s|%d|%d|%s|%s\n" % (mangled(name), major, minor, _letters(flags), mangled(uuid))


@lru_cache
def _letters(flags: int) -> bytes:
    """Return dmsetup's column ``attr``."""
    letters = (
        (LIVE, b"L", b"-"), (INACTIVE, b"I", b"-"), (SUSPENDED, b"s", b"-"), (READ_ONLY, b"r", b"w"),
    )  # fmt: skip
    return b"".join([yes if flags & flag else no for flag, yes, no in letters])


def mangled(name: bytes) -> bytes:
    r"""
    Return *name* as libdevmapper prints it.

    >>> mangled(b"a b"), mangled(b"a\\x20b")
    (b'a\\x20b', b'a\\x20b')
    """
    if not name.translate(None, _PLAIN):
        return name
    return re.sub(_MANGLED, lambda m: m[0] if len(m[0]) > 1 else b"\\x%02x" % m[0][0], name)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]
