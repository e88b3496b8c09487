"""
Offsets of structure members, from the running kernel's own type information (BTF).

Format: Documentation/bpf/btf.rst. A module's types continue the numbers and the strings of vmlinux's.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from stackmap.errors import ParseError

MAGIC = 0xEB9F
STRUCT, UNION, ENUM = 4, 5, 6
# Kinds that only rename or qualify the type that they refer to: typedef, volatile, const, restrict, type tag.
QUALIFIERS = frozenset({8, 9, 10, 11, 18})
# Bytes after the 12 of every type: once (int, array, variable, declaration tag), and per element.
ONCE = {1: 4, 3: 12, 14: 4, 17: 4}
EACH = {STRUCT: 12, UNION: 12, ENUM: 8, 13: 8, 15: 12, 19: 12}

_HEADER = struct.Struct("=HBBIIIII")
_TRIPLE = struct.Struct("=III")
_PAIR = struct.Struct("=Ii")


class _Type(NamedTuple):
    """A type; ``at``: its members in ``owner``. ``refers``: the type that it qualifies."""

    owner: "Btf"
    at: int
    kind: int
    members: int
    has_bitfields: bool
    refers: int


class Btf:
    """
    The types of the kernel, or of a module on top of *base*, the kernel's.

    ``ParseError`` if *data* is not BTF.
    """

    def __init__(self, data: bytes, base: "Btf | None" = None) -> None:
        try:
            magic, _, _, head, types, types_length, strings, length = _HEADER.unpack_from(data)
        except struct.error as error:
            raise ParseError(f"BTF: {error}") from error
        if magic != MAGIC:
            raise ParseError("BTF: wrong magic number")
        self._base = base
        self._data = data
        self._first_type: int = base.end_type if base else 1
        self._first_string: int = base.end_string if base else 0
        self._strings = data[head + strings : head + strings + length]
        self.end_string: int = self._first_string + length
        self._at: list[int] = []
        self._structures: dict[str, int] = {}
        try:
            self._index(head + types, head + types + types_length)
        except (struct.error, ValueError) as error:
            raise ParseError(f"BTF: {error}") from error
        self.end_type: int = self._first_type + len(self._at)

    def offset(self, structure: str, path: str) -> int | None:
        """
        Return the byte offset of ``member.member`` in *structure*; None if there is no such member.

        Members of anonymous structures and unions are found as in C.
        """
        number, total = self._number(structure), 0
        for name in path.split("."):
            member = None if number is None else self._member(number, name)
            if member is None:
                return None
            offset, number = member
            total += offset
        return total

    def constant(self, name: str) -> int | None:
        """Return the value of the enumerator *name*; None if no enumeration has it."""
        place = self._strings.find(b"\0" + name.encode() + b"\0")
        if place < 0:
            return self._base.constant(name) if self._base else None
        wanted = self._first_string + place + 1
        for at in self._at:
            _, info, _ = _TRIPLE.unpack_from(self._data, at)
            for element in range(info & 0xFFFF if info >> 24 & 31 == ENUM else 0):
                text, value = _PAIR.unpack_from(self._data, at + 12 + EACH[ENUM] * element)
                if text == wanted:
                    return int(value)
        return None

    def _index(self, at: int, end: int) -> None:
        unpack = _TRIPLE.unpack_from
        while at < end:
            name, info, _ = unpack(self._data, at)
            kind, elements = info >> 24 & 31, info & 0xFFFF
            if kind == STRUCT and name:
                self._structures.setdefault(self._text(name), self._first_type + len(self._at))
            self._at.append(at)
            at += 12 + ONCE.get(kind, 0) + EACH.get(kind, 0) * elements

    def _text(self, offset: int) -> str:
        if self._base and offset < self._first_string:
            return self._base._text(offset)
        start = offset - self._first_string
        return self._strings[start : self._strings.index(b"\0", start)].decode("ascii", "replace")

    def _number(self, structure: str) -> int | None:
        number = self._structures.get(structure)
        return self._base._number(structure) if number is None and self._base else number

    def _type(self, number: int) -> _Type:
        if self._base and number < self._first_type:
            return self._base._type(number)
        at = self._at[number - self._first_type]
        _, info, refers = _TRIPLE.unpack_from(self._data, at)
        return _Type(self, at + 12, info >> 24 & 31, info & 0xFFFF, bool(info >> 31), refers)

    def _member(self, number: int, name: str) -> tuple[int, int] | None:
        """Return offset and type of the member *name* of type *number*, without qualifiers."""
        owner_type = self._type(number)
        while owner_type.kind in QUALIFIERS:
            owner_type = self._type(owner_type.refers)
        if owner_type.kind not in (STRUCT, UNION):
            return None
        for member_name, kind, offset in owner_type.owner._members(owner_type):
            if member_name and self._text(member_name) == name:
                return offset, kind
            inner = None if member_name else self._member(kind, name)
            if inner:
                return offset + inner[0], inner[1]
        return None

    def _members(self, structure: _Type) -> Iterator[tuple[int, int, int]]:
        """Yield name, type and byte offset of each member."""
        for place in range(structure.members):
            name, kind, bits = _TRIPLE.unpack_from(self._data, structure.at + 12 * place)
            yield name, kind, (bits & 0xFFFFFF if structure.has_bitfields else bits) // 8
