"""What each target's words mean; the strings are a kernel's own where it could be made to print them."""

from contextlib import suppress
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.ledger.causes import Cause
from stackmap.model.device import Kind, Role
from stackmap.model.dm_targets import DM_TARGETS, DmTarget
from stackmap.sources import dm
from stackmap.sources.dm_targets import DAMAGE, PARSERS, parser, status_of

DATA, METADATA, CACHE, ORIGIN, COW, JOURNAL, PATH = (
    Role.DATA, Role.METADATA, Role.CACHE, Role.ORIGIN, Role.COW, Role.JOURNAL, Role.PATH,
)  # fmt: skip

# A line of `dmsetup table` each, and the devices it names with their roles and first bytes.
TABLES = {
    "linear 8:96 2048": [("8:96", DATA, 2048 * 512)],
    "striped 3 128 8:96 133120 8:112 2048 8:128 2048": [
        ("8:96", DATA, 133120 * 512),
        ("8:112", DATA, 2048 * 512),
        ("8:128", DATA, 2048 * 512),
    ],
    "raid raid5_ls 4 128 nosync region_size 4096 3 254:28 254:29 254:30 254:31 - -": [
        ("254:28", METADATA, 0),
        ("254:29", DATA, 0),
        ("254:30", METADATA, 0),
        ("254:31", DATA, 0),
    ],
    "raid raid0 1 128 2 - 254:7 - 254:8": [("254:7", DATA, 0), ("254:8", DATA, 0)],
    "mirror disk 3 254:17 4096 nosync 2 254:18 0 254:19 0 1 handle_errors": [
        ("254:17", METADATA, 0),
        ("254:18", DATA, 0),
        ("254:19", DATA, 0),
    ],
    "mirror core 2 1024 sync 2 8:16 7 8:32 7": [("8:16", DATA, 7 * 512), ("8:32", DATA, 7 * 512)],
    "snapshot 254:67 254:68 P 8": [("254:67", ORIGIN, 0), ("254:68", COW, 0)],
    "snapshot-merge 254:67 254:68 P 8": [("254:67", ORIGIN, 0), ("254:68", COW, 0)],
    "snapshot-origin 254:67": [("254:67", DATA, None)],
    "thin-pool 254:70 254:71 128 0 0 ": [("254:70", METADATA, 0), ("254:71", DATA, 0)],
    "thin 254:72 1": [("254:72", DATA, None)],
    "thin 254:72 5 254:9": [("254:72", DATA, None), ("254:9", ORIGIN, 0)],
    "cache 254:80 254:79 254:81 128 2 metadata2 writeback mq 0": [
        ("254:81", ORIGIN, 0),
        ("254:79", CACHE, 0),
        ("254:80", METADATA, 0),
    ],
    "writecache s 254:84 254:83 4096 0": [("254:84", ORIGIN, 0), ("254:83", CACHE, 0)],
    "crypt aes-xts-plain64 :64:logon:cryptsetup:23aa-d0 0 8:66 32768": [
        ("8:66", DATA, 32768 * 512)
    ],
    "integrity 254:59 0 4 J 2 meta_device:254:58 internal_hash:crc32c": [
        ("254:59", DATA, 0),
        ("254:58", METADATA, None),
    ],
    "multipath 1 queue_if_no_path 0 2 1 service-time 0 1 2 8:32 1 1 round-robin 0 1 1 8:48 1": [
        ("8:32", PATH, 0),
        ("8:48", PATH, 0),
    ],
    "multipath 0 1 alua 1 1 historical-service-time 2 1 2 2 1 8:32 1 8:48 1": [
        ("8:32", PATH, 0),
        ("8:48", PATH, 0),
    ],
    "verity 1 8:1 8:2 4096 4096 100 1 sha256 abcd - 2 use_fec_from_device 8:3": [
        ("8:1", DATA, 0),
        ("8:2", METADATA, None),
        ("8:3", METADATA, None),
    ],
    "era 8:1 8:2 8192": [("8:2", DATA, 0), ("8:1", METADATA, 0)],
    "clone 8:1 8:2 8:3 8 1 no_hydration": [
        ("8:2", DATA, 0),
        ("8:3", ORIGIN, 0),
        ("8:1", METADATA, 0),
    ],
    "delay 7:2 0 20": [("7:2", DATA, 0)],
    "delay 7:2 0 20 7:3 5 30 7:2 0 7": [("7:2", DATA, 0), ("7:3", DATA, 5 * 512)],
    "flakey 254:90 0 30 0 0 ": [("254:90", DATA, 0)],
    "dust 8:1 3 512": [("8:1", DATA, 3 * 512)],
    "ebs 8:1 3 8 1": [("8:1", DATA, 3 * 512)],
    "unstriped 4 512 2 259:0 11": [("259:0", DATA, 11 * 512)],
    "switch 3 1024 0 8:1 0 8:2 0 8:3 5": [
        ("8:1", PATH, 0),
        ("8:2", PATH, 0),
        ("8:3", PATH, 5 * 512),
    ],
    "log-writes 8:1 8:2": [("8:1", DATA, 0), ("8:2", JOURNAL, None)],
    "zoned 8:1 8:2": [("8:1", DATA, None), ("8:2", DATA, None)],
    "vdo V4 8:1 262144 4096 32768 16380 deduplication on": [("8:1", DATA, 0)],
    "vdo V4 /dev/dm-1 262144 4096 32768 16380": [("/dev/dm-1", DATA, 0)],
    "inlinecrypt aes-xts-plain64 - 0 8:1 4096": [("8:1", DATA, 4096 * 512)],
    "default-key aes-xts-plain64 - 0 8:1 11 1 allow_discards": [("8:1", DATA, 11 * 512)],
    "pcache 259:0 8:1 4 cache_mode writeback data_crc true": [
        ("8:1", ORIGIN, 0),
        ("259:0", CACHE, 0),
    ],
    "vdo V2 254:3 262144 4096 32768 16380 on auto name ack 1": [("254:3", DATA, 0)],
    "zero ": [],
    "error ": [],
    "error 8:1 0": [("8:1", DATA, None)],
    "made-in-2031 8:1 0": [],
}


def segment(words):
    ((only,),) = dm.parse_segments(f"name: 0 65536 {words}").values()
    return only


@pytest.mark.parametrize("words", TABLES)
def test_devices_of_a_table(words):
    """Each device of a table has its role, and its start in bytes if the table has it."""
    line = segment(words)

    found = [(each.number, each.role, each.start) for each in parser(line.target).below(line)]

    assert TABLES[words] == found


def test_stripes_share_the_length():
    """Each of three stripes has a third of the segment."""
    line = segment("striped 3 128 8:0 0 8:16 0 8:32 0")
    assert [65536 * 512 // 3] * 3 == [b.length for b in parser("striped").below(line)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "raid raid5_ls 4 128 nosync region_size 4096 2 1:1 1:2 1:3 1:4",
            ("raid5", 1, 65536, "ls"),
        ),
        ("raid raid6_n_6 3 128 region_size 4096 5 " + "1:1 " * 10, ("raid6", 3, 65536, "n_6")),
        ("raid raid1 3 0 region_size 4096 2 1:1 1:2 1:3 1:4", ("raid1", 1, None, "")),
        ("raid raid10 1 128 4 " + "1:1 " * 8, ("raid10", 2, 65536, "near")),
        (
            "raid raid10 5 64 raid10_format far raid10_copies 3 6 " + "1:1 " * 12,
            ("raid10", 2, 32768, "far"),
        ),
        ("striped 3 128 8:0 0 8:16 0 8:32 0", ("striped", 3, 65536, "")),
        ("mirror core 1 1024 3 8:0 0 8:16 0 8:32 0", ("mirror", 1, None, "")),
    ],
)
def test_layout_of_a_table(words, expected):
    """Level, data chunks a stripe, chunk in bytes, variant."""
    line = segment(words)
    found = parser(line.target).layout(line)
    assert expected == (found.level, found.data, found.chunk, found.variant)


def test_raid_devices_are_counted_from_the_right():
    """Kernels with dm-raid before 1.15.1 print a wrong number of parameters."""
    line = segment("raid raid1 17 0 region_size 4096 2 1:1 1:2 1:3 1:4")
    assert ["1:1", "1:2", "1:3", "1:4"] == [b.number for b in parser("raid").below(line)]


def test_a_key_is_never_kept():
    """A key in a table, as old kernels and --showkeys print it, is in no result."""
    key = "cafe" * 16
    line = segment(f"crypt aes-xts-plain64 {key} 0 8:66 4096")
    crypt = parser("crypt")
    assert key not in f"{crypt.below(line)} {dict(crypt.facts(line))}"


STATUSES = {
    "linear ": "active",
    "striped 3 8:96 8:112 8:128 1 AAA": "active",
    "striped 3 8:96 8:112 8:128 1 ADA": "failed",
    "raid raid5_ls 4 AAAA 122880/122880 idle 0 0 -": "active",
    "raid raid5_ls 4 aaaa 10248/163840 resync 0 0 -": "resync 6.3 %",
    "raid raid5_ls 4 AAAA 30752/122880 check 7 0 -": "check 25.0 %",
    "raid raid6_zr 5 AADAA 30720/122880 check 0 0 -": "degraded, check 25.0 %",
    "raid raid5_ls 4 AADA 122880/122880 idle 0 0 -": "degraded",
    "raid raid1 2 Aa 30720/122880 recover 0 0 -": "recover 25.0 %",
    "raid raid1 2 AA 100/100": "active",
    "raid raid1 2 Aa 0/100 frozen 0 0 -": "not in sync",
    "raid raid5_ls 4 aaDa 0/100 idle 0 0 -": "degraded, not in sync",
    "mirror 2 254:18 254:19 16/16 1 AA 3 disk 254:17 A": "active",
    "mirror 2 254:18 254:19 16/16 1 AA 3 disk 254:17 D": "degraded",
    "mirror 2 254:18 254:19 4/16 1 AA 1 core": "resync 25.0 %",
    "mirror 2 254:18 254:19 16/16 1 AD 1 core": "degraded",
    "snapshot 16/32768 16": "active",
    "snapshot Invalid": "invalid",
    "snapshot-merge 16/32768 16": "merging",
    "snapshot-merge Merge failed": "merge failed",
    "thin-pool 3 113/1024 0/2048 - rw discard_passdown queue_if_no_space - 256 ": "active",
    "thin-pool 3 113/1024 2048/2048 - out_of_data_space discard_passdown error_if_no_space - 1": (
        "out of data space"
    ),
    "thin-pool 3 113/1024 0/2048 - ro discard_passdown queue_if_no_space needs_check 256": (
        "needs check"
    ),
    "thin-pool Fail": "failed",
    "thin 0 -": "active",
    "thin Fail": "failed",
    "cache 8 10/2048 128 1/640 5 107 0 0 0 1 0 2 metadata2 writeback 0 mq 0 rw - ": "active",
    "cache 8 10/2048 128 1/640 5 107 0 0 0 1 0 1 writeback 0 mq 0 ro needs_check": "needs check",
    "cache Fail": "failed",
    "writecache 0 12240 12240 0 522 0 0 0 0 0 0 0 0 0": "active",
    "writecache -5 12240 12240 0": "failed",
    "integrity 0 65536 65536": "active",
    "integrity 0 65536 16384": "recalculate 25.0 %",
    "integrity 0 65536 -": "active",
    "multipath 2 0 1 0 2 1 A 0 1 2 8:192 A 0 0 1 E 0 1 2 8:208 A 0 0 1 ": "active",
    "multipath 2 0 1 0 2 1 A 0 1 2 8:192 F 3 0 1 E 0 1 2 8:208 A 0 0 1 ": "degraded",
    "multipath 2 0 1 0 1 1 E 0 2 0 8:192 F 3 8:208 F 5": "failed",
    "verity V": "active",
    "verity C": "corrupted",
    "clone 8 7/512 8 31/124 2 0 0 rw": "hydrate 25.0 %",
    "vdo /dev/dm-1 normal - online online 31 124": "active",
    "vdo /dev/dm-1 read-only - error offline 31 124": "read-only",
    "error ": "failed",
    "made-in-2031 what ever": "active",
}  # fmt: skip


@pytest.mark.parametrize("words", STATUSES)
def test_state_of_a_status(words):
    """The fault or the running action, else "active"."""
    assert STATUSES[words] == status_of(segment(words)).state


# The kernel's documentation names the words of each status; every figure here is another.
STATUS_FACTS = {
    "vdo /dev/dm-1 read-only - error offline 31 124": {
        "index": "error",
        "compression": "offline",
        "used": "25.0 %",
    },
    "snapshot 31/124 16": {"used": "25.0 %"},
    "thin-pool 3 113/452 31/62 - rw discard_passdown queue_if_no_space - 256": {
        "metadata used": "25.0 %",
        "data used": "50.0 %",
    },
    "cache 8 113/452 128 31/62 19 57 7 93 11 13 23 2 metadata2 writeback 0 mq 0 rw -": {
        "metadata used": "25.0 %",
        "cache used": "50.0 %",
        "dirty": "37.1 %",  # 23 of 62: of the whole cache, as in SM512
        "read hits": "25.0 %",
        "write hits": "7.0 %",
    },
    "writecache 0 62 31 23 5 7": {"cache used": "50.0 %", "writeback": "37.1 %"},
}


@pytest.mark.parametrize("words", STATUS_FACTS)
def test_facts_of_a_status(words):
    """Each fact is of its own words: none is taken for its neighbour."""
    assert STATUS_FACTS[words] == status_of(segment(words)).facts


def test_paths_have_states_of_their_own():
    """A failed path is "failed"; a path of an inactive group is "standby"."""
    line = segment("multipath 2 0 1 0 2 1 A 0 1 2 8:192 F 3 0 1 E 0 1 2 8:208 A 0 0 1 ")
    told = parser("multipath").status(line)
    assert {"8:192": "failed", "8:208": "standby"} == told.paths
    assert {"paths": "1 of 2"} == told.facts
    assert {"8:192": 3, "8:208": 0} == told.failures


def test_members_have_states_of_their_own():
    """Health letters are those of the members in the order of the table."""
    line = segment("raid raid5_ls 4 AaD- 1/2 idle 0 0 -")
    expected = ("active", "out of sync", "failed", "missing")
    assert expected == parser("raid").status(line).members


@given(st.sampled_from([*TABLES, *STATUSES]), st.data())
def test_damage_is_one_of_few_errors(words, data):
    """A damaged line causes only errors that ``discover`` handles."""
    parts = words.split(" ")
    place = data.draw(st.integers(1, len(parts)))
    other = data.draw(st.sampled_from(["", "0", "-1", "x", "8:0", "1/0", "99999"]))
    line = segment(
        " ".join([*parts[:place], other, *parts[place + data.draw(st.integers(0, 2)) :]])
    )
    kind = parser(line.target)
    for read in (kind.below, kind.layout, kind.facts, kind.status):
        with suppress(*DAMAGE):
            read(line)


def known_facts(target, tables, statuses):
    """Return the names of the facts that the parsers of *target* read in these lines."""
    names = set()
    for line in map(segment, tables):
        names |= set(parser(line.target).facts(line)) if line.target == target else set()
    for line in map(segment, statuses):
        names |= set(status_of(line).facts) if line.target == target else set()
    return names


def missing_parts(name, tables=tuple(TABLES), statuses=tuple(STATUSES)):
    """Return what a target needs and lacks, a sentence each; *tables*, *statuses*: its lines in this file."""
    record, missing = DM_TARGETS.get(name), []
    own_tables = [words for words in tables if words.split(" ")[0] == name]
    own_statuses = [words for words in statuses if words.split(" ")[0] == name]
    if name not in PARSERS:
        missing.append(f"{name}: no line in PARSERS of stackmap/sources/dm_targets/__init__.py")
    elif parser(name).status is not UNREAD_STATUS and not own_statuses:
        missing.append(f"{name}: no line of its status in STATUSES of this file")
    if not own_tables:
        missing.append(f"{name}: no line of its table in TABLES of this file")
    if record is None:
        return [*missing, f"{name}: no record in DM_TARGETS of stackmap/model/dm_targets.py"]
    if not "".join(record.what[:1]):
        missing.append(f"{name}: its record has no word for WHAT")
    if record.extra not in ("", *Cause):
        missing.append(f"{name}: {record.extra!r} is no Cause of stackmap/ledger/rows.py")
    if record.passes_on and (record.extra or record.expected):
        missing.append(
            f"{name}: it passes requests on, so it has no extra requests and costs nothing"
        )
    shown = {field for _, field, _, _ in Formatter().parse("".join(record.what)) if field}
    missing += [
        f"{name}: WHAT shows the fact {fact!r}, which its parsers read in none of the lines here"
        for fact in sorted(shown - known_facts(name, own_tables, own_statuses))
    ]
    return missing


UNREAD_STATUS = parser("linear").status


@pytest.mark.parametrize("name", sorted(DM_TARGETS.keys() | PARSERS.keys()))
def test_every_target_is_whole(name):
    """A target has a record, parsers, words for WHAT, and lines of its table and its status here."""
    assert missing_parts(name) == []


def test_a_target_that_is_half_added_is_told_what_it_lacks(monkeypatch):
    """Each part that is forgotten is named, with its place."""
    monkeypatch.setitem(DM_TARGETS, "record", DmTarget("record", ("",), Kind.DM, extra="cwo"))
    monkeypatch.setitem(DM_TARGETS, "crypt", DmTarget("crypt", ("crypt", " {cypher}")))
    monkeypatch.setitem(PARSERS, "parser", PARSERS["thin"])

    assert [line.partition(": ")[2] for line in missing_parts("record")] == [
        "no line in PARSERS of stackmap/sources/dm_targets/__init__.py",
        "no line of its table in TABLES of this file",
        "its record has no word for WHAT",
        "'cwo' is no Cause of stackmap/ledger/rows.py",
    ]
    assert [line.partition(": ")[2] for line in missing_parts("parser")] == [
        "no line of its status in STATUSES of this file",
        "no line of its table in TABLES of this file",
        "no record in DM_TARGETS of stackmap/model/dm_targets.py",
    ]
    assert "the fact 'cypher'" in missing_parts("crypt")[0]
