"""The mask of keys in lines of tables: what it hides, what it keeps, and where a line may stand."""

from __future__ import annotations

import pytest

from stackmap.host.table_keys import masked, names_with_key
from tests.keyed import LINES, TABLE, WITH_KEY, keys_in
from tests.machine import lvm_uuid


@pytest.mark.parametrize(
    "line",
    [
        LINES["ring"],
        LINES["plain"],
        f"v: 0 8 verity 1 8:1 8:2 4096 4096 4 1 sha256 {'ab' * 32} {'cd' * 32}",
        f"r: 0 8 raid raid1 64 {'A' * 64} 8/8 idle 0 0 -",
        "none: 0 8 crypt cipher_null-ecb - 0 8:1 0",
        "sum: 0 8 integrity 8:1 0 4 J 2 journal_sectors:88 internal_hash:crc32c",
        f"x: 0 8 novel /dev/mapper/{'a1' * 20} /dev/disk/by-id/dm-uuid-{lvm_uuid(3)}",
        f"x: 0 8 novel {lvm_uuid(3)} 1ad3a5c1-5d4a-4e0c-9f43-2f0c6ca1b0f7 AbCdEf-1234-AbCd-1234-AbCd-1234-AbCdEf",
        f"x: 0 8 novel 36005{'0a' * 14} naa.6005{'0a' * 14} eui.{'0a' * 16} 3600",
        f"{'a1' * 20}: 0 8 zero \nx: 0 8 novel {'a1' * 20} data_dev=/dev/{'a1' * 20}",
    ],
    ids=["keyring", "linear", "verity", "raid", "no key", "no keyed hash", "path", "uuid", "wwid", "name"],
)  # fmt: skip
def test_what_is_no_key_stays(line):
    assert masked(line) == line


@pytest.mark.parametrize("name", WITH_KEY)
@pytest.mark.parametrize(
    "form",
    ["{line}", "{words}", "  {words}", "Nov 23 10:00:00 host dmsetup: {line}", "a,,1,rw,{words};b,,2,rw,0 8 zero",
     "dmsetup create x --table '{words}'", '"{line}"', "{name}:\t0\t{tabs}"],
)  # fmt: skip
def test_a_line_may_stand_anywhere(name, form):
    """Its mask keeps the length, and a second one changes nothing."""
    line = LINES[name].strip()
    words = line.partition(": ")[2]
    text = form.format(line=line, words=words, name=name, tabs="\t".join(words.split()[1:]))
    found = masked(text)

    assert keys_in(text)
    assert keys_in(found) == []
    assert len(found) == len(text)
    assert masked(found) == found


@pytest.mark.parametrize("name", [name for name in WITH_KEY if name != "new"])
def test_a_line_may_be_cut(name):
    """As a message quotes it: any piece of a key is masked where the target says which word it is."""
    line = LINES[name].strip()
    for end in range(len(line)):
        assert keys_in(masked(line[:end])) == [], line[:end]


def test_the_names_beside_keys():
    assert names_with_key(TABLE) == list(WITH_KEY)
    assert names_with_key(masked(TABLE)) == []
    assert names_with_key("0 8 crypt aes c0ffee 0 8:1 0") == [""]
