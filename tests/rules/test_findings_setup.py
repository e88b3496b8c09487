"""Rules of `check`: boundaries of the layers, members of arrays, block sizes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.rules.alignment import boundaries
from stackmap.rules.checks import SETUP, STATE, checks
from stackmap.rules.context import Context
from stackmap.rules.table import RULES
from tests.drawn import DISKS, disk, passing, topology
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
KIB = 1024


def array(level="raid5", members=4, chunk=64 * KIB, **more):
    """md0 on the first disks."""
    device = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout(level, members, chunk), state="active", **more
    )
    return [device], [Edge("md0", name, Role.DATA, start=1024 * KIB) for name in DISKS[:members]]


def partition(start, below="md0"):
    return [Device("part", Kind.PARTITION, "259:0")], [Edge("part", below, Role.DATA, start=start)]


def problems(*parts, mounted=None):
    """The findings that are not good: severity, name and device."""
    context = Context(topology(*parts), mounted=mounted or {})
    return [
        (str(line.severity), line.rule.name, line.device)
        for line in checks(context)
        if line.severity != "good"
    ]


@pytest.mark.parametrize(
    ("start", "severity", "name"),
    [
        (0, None, None),
        (192, None, None),
        (64, "info", "stripe-start"),
        (1024, "info", "stripe-start"),
        (32, "warning", "start"),
        (31.5, "warning", "start"),
    ],
)
def test_a_partition_on_raid5(start, severity, name):
    """3+1 disks, 64 KiB chunks: a chunk boundary is fine, a stripe boundary better, no boundary bad."""
    expected = [(severity, name, "part")] if name else []

    assert problems(array(), partition(int(start * KIB))) == expected


@pytest.mark.parametrize(("start", "well"), [(63 * 512, False), (2048 * 512, True), (4096, True)])
def test_a_partition_on_a_disk(start, well):
    """Sector 63, the first of DOS partitions, is not on a 4 KiB boundary."""
    assert (problems(partition(start, "sda")) == []) == well


def test_offsets_add_up_on_the_way_down():
    """A partition at 32 KiB with a payload offset of 32 KiB: in sum 64 KiB, which is aligned."""
    crypt = (
        [passing("luks", Kind.CRYPT, target="crypt")],
        [Edge("luks", "part", Role.DATA, start=32 * KIB)],
    )
    found = topology(array(), partition(32 * KIB), crypt)

    assert boundaries(found, "part").past(0) == 32 * KIB
    assert boundaries(found, "luks").past(0) == 0


def test_what_is_not_known_has_no_boundaries():
    """An unknown start has no finding."""
    unknown = ([Device("part", Kind.PARTITION, "259:0")], [Edge("part", "md0", Role.DATA)])

    assert boundaries(topology(array(), unknown), "part") is None
    assert problems(array(), unknown) == []


def with_disks(*changed):
    """The array with these disks in place of its own."""
    others = [disk(name) for name in DISKS if name not in {each.name for each in changed}]
    devices, edges = array()
    return Context(Topology([*changed, *others, *devices], edges))


def names(context):
    return [line.rule.name for line in checks(context) if line.severity != "good"]


def test_flash_and_turning_disks_in_one_array():
    """Every write waits for the slowest member."""
    mixed = with_disks(disk("sda", rotational=False), disk("sdb", rotational=True))
    alike = with_disks(disk("sda", rotational=True), disk("sdb", rotational=True))

    assert (names(mixed), names(alike)) == (["mixed-members"], [])


def test_one_disk_under_two_members():
    """Two partitions of sda in one RAID1: critical, because one failure takes both copies."""
    device = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2), state="active")
    parts = [Device(f"sda{n}", Kind.PARTITION, f"8:{n}") for n in (1, 2)]
    edges = [Edge("md0", part.name, Role.DATA) for part in parts]
    edges += [Edge(part.name, "sda", Role.DATA) for part in parts]

    assert problems(([device, *parts], edges)) == [("critical", "same-disk-twice", "md0")]


@pytest.mark.parametrize(
    ("policy", "size", "severity"),
    [("bitmap", 2**40, None), ("resync", 2**40, "warning"), ("resync", 2**30, "info")],
)
def test_a_large_array_has_a_bitmap(policy, size, severity):
    """mdadm creates one for arrays of 100 GiB or more; a small array resyncs quickly."""
    expected = [(severity, "no-bitmap", "md0")] if severity else []

    assert problems(array(facts={"consistency": policy}, size=size)) == expected


@pytest.mark.parametrize(("rows", "well"), [("256", True), ("255", False)])
def test_the_stripe_cache_holds_some_stripes(rows, well):
    """16 stripes with 64 KiB chunks are 256 rows of 4 KiB."""
    assert (problems(array(facts={"stripe cache": rows})) == []) == well


@pytest.mark.parametrize(
    ("options", "well"),
    [
        ({"type": "xfs", "sunit": "128", "swidth": "384"}, True),
        ({"type": "xfs"}, False),
        ({"type": "ext4", "stripe": "48"}, True),
        ({"type": "ext4", "stripe": "192"}, True),
        ({"type": "ext4", "stripe": "16"}, False),
        ({"type": "btrfs"}, True),
    ],
    ids=str,
)
def test_a_file_system_knows_the_stripe(options, well):
    """192 KiB is 384 sectors, 48 blocks of 4 KiB or 192 of 1 KiB. Unknown widths are not judged."""
    assert (problems(array(), mounted={"md0": options}) == []) == well


@pytest.mark.parametrize(("chunk", "well"), [(192, True), (64, False), (384, True)])
def test_thin_chunks_are_whole_stripes(chunk, well):
    """Stripes of 192 KiB."""
    pool = passing("pool", Kind.THIN_POOL, target="thin-pool", facts={"block": str(chunk * KIB)})
    parts = ([pool], [Edge("pool", "md0", Role.DATA, start=0)])

    assert (problems(array(), parts) == []) == well


def test_the_best_request_size_is_passed_up():
    """The volume reports 0, the array 192 KiB."""
    said = Queue(optimal_io_size=192 * KIB)
    devices, edges = array(queue=said)
    for size, expected in ((0, [("info", "optimal-size", "lv")]), (192 * KIB, [])):
        lv = passing("lv", queue=Queue(optimal_io_size=size))
        parts = ([*devices, lv], [*edges, Edge("lv", "md0", Role.DATA, start=192 * KIB)])
        assert problems(parts) == expected


def test_vdo_moves_blocks_and_has_no_stripes():
    """Its optimal_io_size is its block."""
    devices, edges = array(queue=Queue(optimal_io_size=192 * KIB))
    lv = passing("lv", target="vdo", queue=Queue(optimal_io_size=4 * KIB))
    edge = Edge("lv", "md0", Role.DATA, start=192 * KIB)
    assert problems(([*devices, lv], [*edges, edge])) == []
    lv = lv._replace(target="linear")
    assert problems(([*devices, lv], [*edges, edge])) == [("info", "optimal-size", "lv")]


def test_encryption_in_small_sectors():
    """Sectors of 512 bytes on disks with physical sectors of 4096."""
    lower = disk("sda", queue=Queue(physical_block_size=4096))
    for logical, expected in ((512, ["crypt-sector"]), (4096, [])):
        crypt = passing("luks", Kind.CRYPT, target="crypt", queue=Queue(logical_block_size=logical))
        context = Context(Topology([lower, crypt], [Edge("luks", "sda", Role.DATA, start=4096)]))
        assert names(context) == expected


@pytest.mark.parametrize(("offset", "well"), [(0, True), (3584, False), (-1, False)])
def test_what_the_kernel_calls_misaligned(offset, well):
    """-1 means that it cannot be aligned."""
    device = disk("sda")._replace(queue=Queue(alignment_offset=offset))

    assert (names(Context(Topology([device]))) == []) == well


def test_check_reports_the_rules_that_need_no_load():
    """Checks and rules that judge a state, in the order of the table of all rules."""
    assert [*STATE, *SETUP] == [rule for rule in RULES if not rule.needs_load or rule.is_state]


@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_the_samples_are_well_laid_out(sample):
    """`check --exit-code` returns 0, but for the sample whose thin pool is 85 % full."""
    result = CliRunner().invoke(
        stackmap, ["--from", str(SAMPLES / sample), "check", "-J", "--exit-code"]
    )
    found = json.loads(result.stdout)["checks"]

    assert result.exit_code == (10 if sample == "cold-cache" else 0)
    assert {each["id"] for each in found} <= {
        rule.id for rule in RULES if not rule.needs_load or rule.is_state
    }


def test_json_says_of_a_good_start_that_it_is_one():
    """1 MiB, of 4 KiB sectors: the sentence of check's table, not that of a bad one."""
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLES / "ceph-nvme"), "check", "-J"])
    starts = [each for each in json.loads(result.stdout)["checks"] if each["id"] == "SM901"]

    assert {each["severity"] for each in starts} == {"ok"}
    assert "segment start on nvme0n1: 1 MiB, a multiple of 4 KiB" in {each["is"] for each in starts}
    assert not any("not a multiple" in each["is"] for each in starts)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["laptop-luks-lvm", "iostat-worst.txt"], 11),
        (["raid5-raid10-medusa", "iostat-1.txt"], 10),
        (["ceph-nvme", "iostat-one-run.txt"], 0),
    ],
)
def test_the_exit_status_says_how_bad(words, status):
    """11 critical, 10 warning, otherwise 0; only with --exit-code."""
    sample, text = words
    arguments = ["--from", str(SAMPLES / sample), "explain", "--input"]
    arguments.append(str(SAMPLES / sample / "input" / text))

    assert CliRunner().invoke(stackmap, [*arguments, "--exit-code"]).exit_code == status
    assert CliRunner().invoke(stackmap, arguments).exit_code == 0


@pytest.mark.parametrize(
    ("start", "text"), [(64 * 512, "not a multiple of"), (2048 * 512, ", a multiple of")]
)
def test_a_good_result_has_a_sentence_of_its_own(start, text):
    """Sector 64 is 32 KiB, half a chunk; sector 2048 is 1 MiB, sixteen chunks."""
    (found,) = [
        each
        for each in checks(Context(topology(array(), partition(start))))
        if each.rule.name == "start" and each.device == "part"
    ]
    good = found.severity == "good"

    assert good is (text != "not a multiple of")
    assert found.sentence == (found.rule.good_sentence if good else found.rule.sentence)
    assert text in found.sentence
