"""Offsets from BTF that is written here, structure by structure."""

import struct

import pytest

from stackmap.errors import ParseError
from stackmap.host.btf import MAGIC, Btf

INT, POINTER, ARRAY, STRUCT, UNION, TYPEDEF = 1, 2, 3, 4, 5, 8


class Writer:
    """Types in BTF's format; numbers continue after *first*, strings after *strings* bytes."""

    def __init__(self, first: int = 1, strings: int = 0) -> None:
        self.types, self.strings, self.base = b"", b"\0", strings
        self.next = first

    def text(self, word):
        if not word:
            return 0
        self.strings += word.encode() + b"\0"
        return self.base + len(self.strings) - len(word) - 1

    def add(self, kind, name="", size=0, extra=b"", elements=0, flag=0):
        info = flag << 31 | kind << 24 | elements
        self.types += struct.pack("=III", self.text(name), info, size) + extra
        self.next += 1
        return self.next - 1

    def structure(self, name, members, kind=STRUCT, flag=0):
        extra = b"".join(struct.pack("=III", self.text(n), t, bits) for n, t, bits in members)
        return self.add(kind, name, 64, extra, len(members), flag)

    def data(self):
        head = struct.pack(
            "=HBBIIIII", MAGIC, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings)
        )
        return head + self.types + self.strings


def kernel():
    btf = Writer()
    number = btf.add(INT, "int", 4, struct.pack("=I", 32))
    btf.add(ARRAY, extra=struct.pack("=III", number, number, 4))
    inner = btf.structure("bvec_iter", [("bi_sector", number, 0), ("bi_size", number, 64)])
    alias = btf.add(TYPEDEF, "iter_t", inner)
    union = btf.structure("", [("a", number, 0), ("b", number, 0)], UNION)
    btf.structure("bio", [("bi_bdev", number, 64), ("", union, 128), ("bi_iter", alias, 192)])
    values = b"".join(
        struct.pack("=Ii", btf.text(name), value) for name, value in (("ONE", 1), ("TRACED", 7))
    )
    btf.add(6, "", 4, values, 2)
    btf.structure("bits", [("low", number, 3 << 24 | 5), ("high", number, 9 << 24 | 40)], flag=1)
    return btf


def test_members_nested_anonymous_and_of_bit_fields():
    btf = Btf(kernel().data())
    assert btf.offset("bio", "bi_bdev") == 8
    assert btf.offset("bio", "b") == 16
    assert btf.offset("bio", "bi_iter.bi_size") == 24 + 8
    assert btf.offset("bits", "high") == 5


@pytest.mark.parametrize(
    ("structure", "member"), [("bio", "none"), ("none", "a"), ("bio", "bi_bdev.x"), ("int", "a")]
)
def test_what_is_not_there_is_none(structure, member):
    assert Btf(kernel().data()).offset(structure, member) is None


def test_a_module_refers_to_the_kernels_types_and_strings():
    base = kernel()
    module = Writer(base.next, len(base.strings))
    module.structure("stripe_head", [("pad", 1, 0), ("biter", 4, 128)])
    btf = Btf(module.data(), Btf(base.data()))
    assert btf.offset("stripe_head", "biter.bi_size") == 16 + 8
    assert btf.offset("bio", "bi_bdev") == 8


def test_enumerators():
    base = kernel()
    btf = Btf(base.data())
    assert (btf.constant("TRACED"), btf.constant("ONE"), btf.constant("bio")) == (7, 1, None)
    assert Btf(Writer(base.next, len(base.strings)).data(), btf).constant("TRACED") == 7


@pytest.mark.parametrize("data", [b"", b"\0" * 24, kernel().data()[:40]])
def test_damaged_data_is_an_error(data):
    with pytest.raises(ParseError):
        Btf(data)
