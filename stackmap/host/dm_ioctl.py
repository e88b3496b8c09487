"""
Device-mapper's answers to ``dmsetup table``, ``status --noflush`` and ``info``, without dmsetup.

dmsetup sends two requests per device and copies 16 KiB for each. Here one DM_TABLE_STATUS per device
returns table, name, uuid, number and state. Structures: include/uapi/linux/dm-ioctl.h. The text is dmsetup's.

``Mapper`` asks in a child process, because the kernel may keep a request waiting for a dead device, and such a
process cannot be killed. It is left behind then, as a dmsetup would be. A table may contain a key. It
is masked in the child, and the request tells the kernel to erase its copy.
"""

import errno
import os
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stackmap.errors import SourceError
from stackmap.host.command import ForkedQuestion
from stackmap.host.table_keys import masked_bytes

CONTROL = "/dev/mapper/control"
INTERFACE = (4, 0, 0)  # the version requested; the kernel answers with its own
GET_VERSION, LIST_DEVICES, TABLE_STATUS, TARGET_MESSAGE = 0, 2, 12, 14
READ_ONLY, SUSPENDED, AS_TABLE, LIVE, INACTIVE = 1, 2, 1 << 4, 1 << 5, 1 << 6
BUFFER_FULL, NO_FLUSH, HAS_ANSWER = 1 << 8, 1 << 11, 1 << 16
SECURE_DATA = 1 << 15  # erase the kernel's copy of the answer (dm-ioctl.c, free_params)

_HEADER = struct.Struct("=6Ii3IQ128s129s7x")  # struct dm_ioctl
_SECTOR = struct.Struct("=Q")  # struct dm_target_msg, before the message
_SPEC = struct.Struct("=QQiI16s")  # struct dm_target_spec
_LISTED = struct.Struct("=QI")  # struct dm_name_list: number, offset of the next

# The kernel copies the whole buffer both ways, and few devices need libdevmapper's 16 KiB.
BUFFER, BUFFER_GROWTH = 2048, 4

TOGETHER = ("table", "info")  # one request per device answers both
SEPARATOR = b"\0"

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


# Answers a command in a buffer, or raises ``OSError``: the control device, or a model of it in a test.
Kernel = Callable[[int, bytearray], None]


class Control:
    """Requests that read device-mapper's state. Each may raise ``OSError``."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._buffer = bytearray(BUFFER)
        self._version = self._request(GET_VERSION)[:3]

    def listed(self) -> list[int]:
        """Return the number of each device."""
        at = self._request(LIST_DEVICES)[4]
        numbers = []
        step = 1
        while step:
            number, step = _LISTED.unpack_from(self._buffer, at)
            if number:
                numbers.append(number)
            at += step
        self._buffer = bytearray(BUFFER)  # a list of many needs a large one
        return numbers

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
        targets, at = [], start
        for _ in range(count):
            first, length, _, following, kind = _SPEC.unpack_from(self._buffer, at)
            targets.append(Target(first, length, _text(kind), self._string(at + _SPEC.size)))
            at = start + following
        return targets

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


def tables(control: Control) -> tuple[bytes, bytes]:
    """Return the output of ``dmsetup table``, without keys, and of ``info``."""
    table: list[bytes] = []
    info: list[bytes] = []
    for number in control.listed():
        if device := control.device(number, AS_TABLE | SECURE_DATA):
            info.append(_info(device))
            table += _lines(device)
    return masked_bytes(b"".join(table)), b"".join(info)


def statuses(control: Control) -> bytes:
    """Return the output of ``dmsetup status --noflush``, without keys."""
    devices = (control.device(number, NO_FLUSH) for number in control.listed())
    return masked_bytes(b"".join(line for device in devices if device for line in _lines(device)))


def opened() -> Control:
    """Return device-mapper of this machine; ``OSError`` without it or without root."""
    import fcntl

    descriptor = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)

    def kernel(command: int, buffer: bytearray, /) -> None:
        # _IOWR(DM_IOCTL, command, struct dm_ioctl)
        fcntl.ioctl(descriptor, 3 << 30 | _HEADER.size << 16 | 0xFD << 8 | command, buffer, True)

    return Control(kernel)


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


class Mapper:
    """Device-mapper of this machine. Its questions are "table", "info" and "status"."""

    def __init__(self) -> None:
        self._begun: dict[str, MapperQuestion] = {}

    def start(self, question: str) -> None:
        """Ask *question* now for a later ``answer``; what is started together shares a child."""
        if question not in self._begun:
            begun = [self._begun[other] for other in TOGETHER if other in self._begun]
            shared = question in TOGETHER and begun
            self._begun[question] = begun[0] if shared else MapperQuestion(question)

    def answer(self, question: str, seconds: float) -> bytes | None:
        """Return the output of that dmsetup command; None if this kernel does not answer by ioctl."""
        child = self._begun.pop(question, None) or MapperQuestion(question)
        return child.text(question, seconds)


class MapperQuestion(ForkedQuestion):
    """A child that asks device-mapper. It is heard once: what it did not answer is refused for all its questions."""

    def __init__(self, question: str) -> None:
        self._texts: dict[str, bytes] | None = None
        self._refusal: SourceError | None = None
        super().__init__(("device-mapper", question))

    def text(self, question: str, seconds: float) -> bytes | None:
        """Return the answer to *question*; None if the kernel refused. ``SourceTimeout`` after *seconds*."""
        if self._refusal is not None:
            raise self._refusal
        if self._texts is None:
            try:
                status, out, _ = self.answer(seconds)
            except SourceError as error:
                self._refusal = error
                raise
            self._texts = {} if status else self._parsed(out)
        return self._texts.get(question)

    def _parsed(self, out: bytes) -> dict[str, bytes]:
        if self.words[1] not in TOGETHER:
            return {self.words[1]: out}
        return dict(zip(TOGETHER, out.split(SEPARATOR), strict=True))

    def asked(self) -> bytes:
        """Return the answer to the question, or to those that are asked together."""
        control = opened()
        if self.words[1] not in TOGETHER:
            return statuses(control)
        return SEPARATOR.join(tables(control))
