"""Where boundaries lie, and what does not keep to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.analysis.findings.boundaries import boundaries
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rules import RULES, checks
from stackmap.cli import stackmap
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from tests.drawn import DISKS, disk, passing, topology

SAMPLES = Path(__file__).parents[2] / "sample_topologies"
KIB = 1024


def array(level="raid5", members=4, chunk=64 * KIB, **more):
    """md0 on the first disks."""
    device = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout(level, members, chunk), state="active", **more
    )
    return [device], [Edge("md0", name, Role.DATA, start=1024 * KIB) for name in DISKS[:members]]


def partition(start, below="md0"):
    return [Device("part", Kind.PARTITION, "259:0")], [Edge("part", below, Role.DATA, start=start)]


def told(*parts, mounted=None):
    """What is not as it should be: severity, name and device."""
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
    """3 + 1 in chunks of 64 KiB: a chunk's boundary will do, a stripe's is better, no boundary is bad."""
    expected = [(severity, name, "part")] if name else []

    assert told(array(), partition(int(start * KIB))) == expected


@pytest.mark.parametrize(("start", "well"), [(63 * 512, False), (2048 * 512, True), (4096, True)])
def test_a_partition_on_a_disk(start, well):
    """Sector 63, where DOS began, is beside the 4 KiB that disks write at once."""
    assert (told(partition(start, "sda")) == []) == well


def test_offsets_add_up_on_the_way_down():
    """A partition at 32 KiB, encrypted from 32 KiB on: two wrongs are 64 KiB, and that is right."""
    crypt = (
        [passing("luks", Kind.CRYPT, target="crypt")],
        [Edge("luks", "part", Role.DATA, start=32 * KIB)],
    )
    found = topology(array(), partition(32 * KIB), crypt)

    assert boundaries(found, "part").past(0) == 32 * KIB
    assert boundaries(found, "luks").past(0) == 0


def test_what_is_not_known_has_no_boundaries():
    """A start that nothing tells: no line, not a wrong one."""
    unknown = ([Device("part", Kind.PARTITION, "259:0")], [Edge("part", "md0", Role.DATA)])

    assert boundaries(topology(array(), unknown), "part") is None
    assert told(array(), unknown) == []


def with_disks(*changed):
    """The array, with some of its disks as given."""
    others = [disk(name) for name in DISKS if name not in {each.name for each in changed}]
    devices, edges = array()
    return Context(Topology([*changed, *others, *devices], edges))


def names(context):
    return [line.rule.name for line in checks(context) if line.severity != "good"]


def test_flash_and_turning_disks_in_one_array():
    """All wait for the slowest."""
    mixed = with_disks(disk("sda", rotational=False), disk("sdb", rotational=True))
    alike = with_disks(disk("sda", rotational=True), disk("sdb", rotational=True))

    assert (names(mixed), names(alike)) == (["mixed-members"], [])


def test_one_disk_under_two_members():
    """Two partitions of sda in one RAID1: it is critical, a failure takes both copies."""
    device = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2), state="active")
    parts = [Device(f"sda{n}", Kind.PARTITION, f"8:{n}") for n in (1, 2)]
    edges = [Edge("md0", part.name, Role.DATA) for part in parts]
    edges += [Edge(part.name, "sda", Role.DATA) for part in parts]

    assert told(([device, *parts], edges)) == [("critical", "same-disk-twice", "md0")]


@pytest.mark.parametrize(
    ("policy", "size", "severity"),
    [("bitmap", 2**40, None), ("resync", 2**40, "warning"), ("resync", 2**30, "info")],
)
def test_a_large_array_has_a_bitmap(policy, size, severity):
    """mdadm gives one to what is 100 GiB or more; a small one is soon compared."""
    expected = [(severity, "no-bitmap", "md0")] if severity else []

    assert told(array(facts={"consistency": policy}, size=size)) == expected


@pytest.mark.parametrize(("rows", "well"), [("256", True), ("255", False)])
def test_the_stripe_cache_holds_some_stripes(rows, well):
    """Sixteen of 64 KiB chunks are 256 rows of 4 KiB."""
    assert (told(array(facts={"stripe cache": rows})) == []) == well


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
    """192 KiB: 384 sectors, 48 blocks of 4 KiB or 192 of 1 KiB; what a mount does not tell is not judged."""
    assert (told(array(), mounted={"md0": options}) == []) == well


@pytest.mark.parametrize(("chunk", "well"), [(192, True), (64, False), (384, True)])
def test_thin_chunks_are_whole_stripes(chunk, well):
    """On stripes of 192 KiB."""
    pool = passing("pool", Kind.THIN_POOL, target="thin-pool", facts={"block": str(chunk * KIB)})
    parts = ([pool], [Edge("pool", "md0", Role.DATA, start=0)])

    assert (told(array(), parts) == []) == well


def test_the_best_request_size_is_passed_up():
    """A volume that says 0 on an array that says 192 KiB: mkfs will not know."""
    said = {"optimal_io_size": str(192 * KIB)}
    devices, edges = array(queue=said)
    for told_size, expected in (("0", [("info", "optimal-size", "lv")]), (str(192 * KIB), [])):
        lv = passing("lv", queue={"optimal_io_size": told_size})
        parts = ([*devices, lv], [*edges, Edge("lv", "md0", Role.DATA, start=192 * KIB)])
        assert told(parts) == expected


def test_encryption_in_small_sectors():
    """512 bytes on disks that write 4096 at once."""
    lower = disk("sda", queue={"physical_block_size": "4096"})
    for logical, expected in (("512", ["crypt-sector"]), ("4096", [])):
        crypt = passing("luks", Kind.CRYPT, target="crypt", queue={"logical_block_size": logical})
        context = Context(Topology([lower, crypt], [Edge("luks", "sda", Role.DATA, start=4096)]))
        assert names(context) == expected


@pytest.mark.parametrize(("offset", "well"), [("0", True), ("3584", False), ("-1", False)])
def test_what_the_kernel_calls_misaligned(offset, well):
    """-1: it cannot be aligned at all."""
    device = replace(disk("sda"), queue={"alignment_offset": offset})

    assert (names(Context(Topology([device]))) == []) == well


@pytest.mark.parametrize("sample", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_the_samples_are_well_laid_out(sample):
    """--exit-code says so too."""
    result = CliRunner().invoke(
        stackmap, ["--from", str(SAMPLES / sample), "check", "-J", "--exit-code"]
    )
    found = json.loads(result.stdout)["checks"]

    assert result.exit_code == 0
    assert {each["id"] for each in found} <= {rule.id for rule in RULES if not rule.needs_load}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["laptop-luks-lvm", "iostat-worst.txt"], 11),
        (["raid5-raid10-medusa", "iostat-1.txt"], 10),
        (["ceph-nvme", "iostat-one-run.txt"], 0),
    ],
)
def test_the_exit_status_says_how_bad(words, status):
    """11 critical, 10 warning, 0 below; only where it was asked for."""
    sample, text = words
    arguments = ["--from", str(SAMPLES / sample), "explain", "--input"]
    arguments.append(str(SAMPLES / sample / "input" / text))

    assert CliRunner().invoke(stackmap, [*arguments, "--exit-code"]).exit_code == status
    assert CliRunner().invoke(stackmap, arguments).exit_code == 0
