"""
The least that a tree of mapped devices takes: names, sizes and tables by ioctl, without stackmap's
classes, checks and columns, and without a child for questions that the kernel does not answer.
"""

import fcntl
import os
import struct
from collections.abc import Iterator

import click  # noqa: F401 - what every command begins with

HEADER = struct.Struct("=6Ii3IQ128s129s7x")
SPEC, LISTED = struct.Struct("=QQiI16s"), struct.Struct("=QI")
LIST, TABLE, AS_TABLE, SMALL, LARGE = 2, 12, 1 << 4, 2048, 1 << 23


def mapped() -> Iterator[tuple[str, str, int, str, int, str]]:
    """Yield the name, uuid, minor number, target, sectors and parameters of each segment."""
    control = os.open("/dev/mapper/control", os.O_RDWR)

    def ask(command: int, buffer: bytearray, number: int = 0, flags: int = 0) -> tuple:
        HEADER.pack_into(buffer, 0, 4, 0, 0, len(buffer), 312, 0, 0, flags, 0, 0, number, b"", b"")
        fcntl.ioctl(control, 3 << 30 | 312 << 16 | 0xFD << 8 | command, buffer, True)
        return HEADER.unpack_from(buffer)

    listed, numbers = bytearray(LARGE), []
    at = ask(LIST, listed)[4]
    step = 1
    while step:
        number, step = LISTED.unpack_from(listed, at)
        numbers.append(number)
        at += step
    one, at = bytearray(SMALL), 0
    for number in numbers:
        head = ask(TABLE, one, number, AS_TABLE)
        name, uuid = head[11].rstrip(b"\0").decode(), head[12].rstrip(b"\0").decode()
        at = head[4]
        for _ in range(head[5]):
            _, length, _, step, kind = SPEC.unpack_from(one, at)
            words = one[at + SPEC.size : one.index(0, at + SPEC.size)].decode()
            yield name, uuid, os.minor(number), kind.rstrip(b"\0").decode(), length, words
            at = head[4] + step


if __name__ == "__main__":
    for name, _, minor, kind, length, words in mapped():
        print(f"{name:24} dm-{minor:<6} {kind:10} {length >> 11:8} MiB  {words}")
