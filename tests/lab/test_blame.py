"""
Whose load it was: every row of ``blame`` against what the kernel passed on from one device to another.

``block_bio_remap`` counts each bio that a device sent to one below, so a disk's
arrivals are the sum of what its senders sent, and what nobody above did.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from tests.lab import judged, truth
from tests.lab.judged import FEW
from tests.lab.truth import Sent

pytestmark = pytest.mark.lab("all")

EXACT = 0.01
KINDS = {"read": "R", "write": "W"}
NOBODY = "not from any device above"

# Which devices send it for each loader: by their names, a star for what follows.
RAID = {
    row: f"lab/{name}_{part}*"
    for name in ("r5", "r10", "r1")
    for row, part in ((f"lab/{name}", "rimage"), (f"metadata of lab/{name}", "rmeta"))
}
POOL = "lab/thin1, lab/thin2 through lab/pool-tpool"
THIN = {POOL: "lab/pool_tdata", f"metadata of {POOL}": "lab/pool_tmeta"}
SENDERS = RAID | THIN | {
    "lab/one": "lab/one", "lab/two": "lab/two", "secret": "sdg1", "patient": "sdg2",
}  # fmt: skip
# Of each workload who loads which disks.
LOADERS = {
    "r5": ("abcd", ["lab/r5"]),
    "r10": ("abcd", ["lab/r10"]),
    "three": ("ab", ["lab/r5", "lab/r10", "lab/r1"]),
    "linears": ("e", ["lab/one", "lab/two"]),
    "thins": ("e", [*THIN]),
    "crypt": ("g", ["secret"]),
    "partitions": ("g", ["secret", "patient"]),
    "beside": ("abcd", ["lab/r5"]),
}
# Volumes over one table on two disks: guesses, each in a range.
SPREAD = {"striped": "lab/striped", "bent": "lab/bent"}


@pytest.fixture
def out(lab, kernel):
    return lab("sharing", kernel=kernel, disks=7, timeout=1800)


@cache
def blamed(out, name, *names):
    """Return ``blame -J`` of *names* over all of a workload, and what the kernel counted."""
    said = judged.asked(
        out / "sharing.tar",
        "blame",
        "-J",
        "--input",
        str(out / f"sharing.{name}.diskstats"),
        *names,
    )
    return said, truth.read(out / f"sharing.{name}.truth")


@cache
def numbers(out):
    """Return major:minor by the names people use, and by the kernel's."""
    known = judged.devices(out / "sharing.tar").values()
    return {name: d["dev"] for d in known for name in (d["name"], d["label"]) if name}


def standing_on(out, disk):
    """Return the numbers of the devices directly above *disk*; above a partition each event names its disk."""
    known = judged.devices(out / "sharing.tar").values()
    return [d["dev"] for d in known if any(below["name"] == disk for below in d["below"])]


def passed_on(out, counted, senders, disk, kind):
    """Return what devices of such a name sent to *disk*."""
    stem, star, _ = senders.partition("*")
    there = {
        dev
        for name, dev in numbers(out).items()
        if name == stem or (star and name.startswith(stem))
    }
    target = numbers(out)[disk]
    return sum((counted.remapped(dev, target, kind) for dev in there), Sent())


def close(said, counted):
    return abs(said - counted) <= max(EXACT * counted, 1e-6) or (
        counted < FEW and abs(said - counted) <= 1
    )


@pytest.mark.parametrize("name", LOADERS)
def test_each_loader_sent_what_the_kernel_passed_on(out, name):
    """Requests and bytes, reads and writes, at each disk, metadata on rows of its own."""
    disks, expected = LOADERS[name]
    for letter in disks:
        disk = f"sd{letter}"
        said, counted = blamed(out, name, disk)
        busy = {row["name"]: row for row in said["devices"][0]["loaders"] if row["request_share"]}
        assert set(expected) <= set(busy)
        for loader, row in busy.items():
            for direction, kind in KINDS.items() if loader != NOBODY else ():
                true = passed_on(out, counted, SENDERS[loader], disk, kind)
                figures = row[direction]
                assert close(figures["arrivals"] * said["seconds"], true.count), (disk, loader)
                assert close(figures["bytes"] * said["seconds"], true.bytes), (disk, loader)
            assert not row["estimated"]


def test_metadata_is_told_apart(out):
    """Of a pool in use there is some, on a row of its own."""
    said, _ = blamed(out, "thins", "sde")
    shares = {row["name"]: row["request_share"] for row in said["devices"][0]["loaders"]}
    assert 0.01 < shares[f"metadata of {POOL}"] < shares[POOL]


@pytest.mark.parametrize("name", [*LOADERS, *SPREAD])
def test_what_nobody_above_sent_is_what_the_kernel_passed_on_from_nowhere(out, name):
    """0 but where somebody read a disk directly; in its range beside a guess."""
    for letter in LOADERS[name][0] if name in LOADERS else "ef":
        disk = f"sd{letter}"
        said, counted = blamed(out, name, disk)
        (row,) = (row for row in said["devices"][0]["loaders"] if row["name"] == NOBODY)
        number = numbers(out)[disk]
        for direction, kind in KINDS.items():
            sent = (counted.remapped(above, number, kind).count for above in standing_on(out, disk))
            true = counted.taken(number, kind).count - sum(sent)
            low, high = ends(row[direction], "arrivals", said["seconds"])
            assert low - 1 - EXACT * true <= true <= high + 1 + EXACT * true, (disk, direction)
            assert true < FEW or (name, disk) == ("beside", "sda")


@pytest.mark.parametrize("name", [*LOADERS, *SPREAD])
def test_shares_sum_to_one_and_the_account_closes(out, name):
    """Of requests and of bytes; by the kernel's count of what arrived."""
    for letter in LOADERS[name][0] if name in LOADERS else "ef":
        said, _ = blamed(out, name, f"sd{letter}")
        (device,) = said["devices"]
        if not any(row["request_share"] for row in device["loaders"]):
            continue  # nothing came here
        for share in ("request_share", "byte_share"):
            assert sum(row[share] for row in device["loaders"]) == pytest.approx(1)
        if (name, letter) == ("beside", "a"):
            assert device["closure"] > 1.1
        elif not any(row["estimated"] for row in device["loaders"]):
            assert device["closure"] == pytest.approx(1, abs=EXACT)


@pytest.mark.parametrize("name", SPREAD)
def test_a_guess_is_within_its_range_and_the_truth_too(out, name):
    """A volume over one table on two disks, at both ends: from the disk, and from the volume."""
    volume = SPREAD[name]
    said, counted = blamed(out, name, volume)
    seconds = said["seconds"]
    (told,) = said["volumes"]
    for load in told["loads"]:
        true = sum((passed_on(out, counted, volume, load["device"], kind) for kind in "RW"), Sent())
        for what, number in (("arrivals", true.count), ("bytes", true.bytes)):
            low, high = ends(load, what, seconds)
            assert low * (1 - EXACT) - 1e-6 <= number <= high * (1 + EXACT) + 1e-6
    assert len(told["loads"]) == 2


def ends(figures, what, seconds):
    """Return the range of a figure, twice the figure where it is no estimate; over the whole span."""
    low, high = (figures["range"] or {}).get(what) or (figures[what], figures[what])
    return low * seconds, high * seconds


@pytest.mark.parametrize(
    ("name", "volume", "senders"),
    [
        ("three", "lab/r5", "lab/r5_rimage*"),
        ("three", "lab/r10", "lab/r10_rimage*"),
        ("three", "lab/r1", "lab/r1_rimage*"),
        ("r10", "lab/r10", "lab/r10_rimage*"),
        ("linears", "lab/two", "lab/two"),
        ("partitions", "secret", "sdg1"),
    ],
)
def test_the_disks_a_volume_loads(out, name, volume, senders):
    """Requests and bytes at each; its shares of all that it sent sum to 1, and are the kernel's."""
    said, counted = blamed(out, name, volume)
    (told,) = said["volumes"]
    true = {
        load["device"]: sum(
            (passed_on(out, counted, senders, load["device"], k) for k in "RW"), Sent()
        )
        for load in told["loads"]
    }
    everything = sum(each.count for each in true.values())
    assert everything > FEW
    assert sum(load["of_volume"] for load in told["loads"]) == pytest.approx(1)
    for load in told["loads"]:
        here = true[load["device"]]
        arrived = sum(counted.taken(numbers(out)[load["device"]], kind).count for kind in "RW")
        assert close(load["arrivals"] * said["seconds"], here.count)
        assert close(load["bytes"] * said["seconds"], here.bytes)
        assert load["of_volume"] == pytest.approx(here.count / everything, rel=EXACT, abs=0.002)
        assert load["of_device"] == pytest.approx(here.count / arrived, rel=EXACT, abs=0.002)


GROUPS = {"/alpha.slice": ("lab/one", "W"), "/beta.slice": ("lab/two", "R")}


@pytest.mark.parametrize("group", GROUPS)
def test_a_control_group_sent_what_its_volume_took(out, group):
    """Two groups made by hand, each on a volume of its own; as the running stackmap told them."""
    assert (out / "groups.err").read_text() == ""
    reports = [json.loads(line) for line in (out / "groups.json").read_text().splitlines()]
    volume, kind = GROUPS[group]
    number = numbers(out)[volume]
    rows = [
        (row["iops"] * report["seconds"], row["bytes"] * report["seconds"])
        for report in reports
        for row in report["groups"]
        if (row["group"], row["number"]) == (group, number)
    ]
    sent = truth.read(out / "groups.truth").arrived(number, kind)
    assert sent.count > 100
    assert sum(ios for ios, _ in rows) == pytest.approx(sent.count, rel=EXACT)
    assert sum(size for _, size in rows) == pytest.approx(sent.bytes, rel=EXACT)
    others = {
        row["group"] for report in reports for row in report["groups"] if row["number"] == number
    }
    assert others == {group}


def test_a_running_stackmap_blames_as_the_kernel_does(out):
    """In a live machine: over all intervals, what each of two volumes sent to their disk."""
    reports = [json.loads(line) for line in (out / "groups.json").read_text().splitlines()]
    counted = truth.read(out / "groups.truth")
    for volume, kind, direction in (("lab/one", "W", "write"), ("lab/two", "R", "read")):
        told = sum(
            row[direction]["arrivals"] * report["seconds"]
            for report in reports
            for row in report["devices"][0]["loaders"]
            if row["name"] == volume
        )
        assert close(told, passed_on(out, counted, volume, "sde", kind).count)
