"""
What writes cost beyond data and parity: every cause, against the kernel's histograms.

dm-integrity, bitmaps at a low rate, thin pools with one and two volumes, a
cache cold and warm, arrays that lack a member, far layouts, crypt on RAID6,
partitions. And loads that counters alone once misread.
"""

from __future__ import annotations

import json
import re

import pytest

import stackmap
from stackmap.model.topology import Machine
from tests.lab import judged
from tests.lab.boots import KERNELS
from tests.lab.truth import Sent

pytestmark = pytest.mark.lab("all")

EXACT = 0.01  # of the kernel's count
RANGE = re.compile(
    r"^disk bytes per byte written: [0-9.]+, an estimate between ([0-9.]+) and ([0-9.]+)"
)
SAID = re.compile(r"^disk bytes per byte [a-z ]+: ([0-9.]+)")

WORKLOADS = (
    "lab.safe-rand4k-write",
    "lab.safe-seq192k-write",
    "lab.safe-rand16k-mixed",
    "lab.r10-slow-write",
    "lab.r5-slow-write",
    "lab.r5-seq1m-write",
    "lab.r5-scan",
    "lab.thin-first-write",
    "lab.thin-again",
    "lab.two-thins",
    "lab.thin-shared-write",
    "backup.thin",
    "lab.cached-cold",
    "lab.cached-warm",
    "lab.four",
    "five.ext4-1k",
    "degraded.rand4k-write",
    "degraded.rand4k-read",
    "degraded.rand16k-mixed",
    "far.seq256k-write",
    "far.seq256k-read",
    "far.rand4k-mixed",
    "far.rand128k-write",
    "files.ext4-fsync",
    "six.rand4k-write",
    "six.seq192k-write",
    "mostly.rand4k-mixed",
    "mostly.seq256k-write",
)
SHARED = {
    "lab.two-thins",
    "lab.four",
    "backup.thin",
}  # several volumes on one pool: their parts are ranges
# Causes that devices of their own show, by the ending of their labels.
BESIDE = {"bitmap": ("_rmeta_",), "metadata": ("_tmeta", "-cmeta")}


def scenario(lab, kernel):
    return judged.measured(lab("costs", kernel=kernel, disks=16, timeout=1800))


@pytest.fixture(params=KERNELS)
def workloads(request, lab):
    return scenario(lab, request.param)


def known(workload):
    return judged.devices(workload.folder / f"{workload.stack}.tar")


def stack_of(devices, top):
    """Return the devices of a stack by name, each after those above it."""
    found, todo = {}, [top]
    while todo:
        name = todo.pop(0)
        found.pop(name, None)
        found[name] = devices[name]
        todo += [below["name"] for below in devices[name]["below"]]
    return found


def to_disks(workload, top, kinds="RW"):
    """
    Return the bytes of *kinds* that each device of the stack of *top* sent to disks.

    md tells no remap of some of its writes; its members have no other user here.
    """
    devices, counted, found = known(workload), workload.counted, {}
    for name, device in stack_of(devices, top).items():
        for edge in device["below"]:
            below = devices[edge["name"]]
            if below["kind"] not in ("disk", "partition") or device["kind"] == "partition":
                continue
            disk = devices[below["below"][0]["name"]] if below["below"] else below
            passed = (
                counted.arrived(disk["dev"], kind)
                if device["kind"] == "array"
                else counted.remapped(device["dev"], disk["dev"], kind)
                for kind in kinds
            )
            found[name] = found.get(name, 0) + sum(passed, Sent()).bytes
    return found


def at_top(workload, said):
    number = known(workload)[said["device"]]["dev"]
    return sum((workload.counted.arrived(number, kind) for kind in "RW"), Sent()).bytes


def test_every_workload_was_measured(workloads):
    assert set(workloads) == set(WORKLOADS)
    assert [name for name, workload in workloads.items() if workload.status] == []


# Blocks of 1 KiB lie across chunks, which the histograms' count of pieces does not see.
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "five.ext4-1k"])
def test_each_layer_is_what_the_kernel_counted(workloads, name):
    """Requests and bytes of each layer, reads and writes apart, within 1 % or in the range."""
    workload = workloads[name]
    found = [v for top in judged.judged_tops(workload) for v in judged.verdicts(workload, top)]
    assert found
    assert [v for v in found if not v.right(EXACT)] == []


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in SHARED])
def test_all_that_the_disks_did_is_the_cost(workloads, name):
    """Per byte at the top, in the figure, in its causes and in the sentence."""
    workload = workloads[name]
    (top,) = workload.tops
    said = workload.said(top)
    truth = sum(to_disks(workload, said["device"]).values()) / at_top(workload, said)

    assert said["disk_bytes_per_byte"] == pytest.approx(truth, rel=EXACT)
    assert sum(said["causes"].values()) == pytest.approx(truth, rel=EXACT)
    written = said["disk_bytes_per_byte_written"]
    per_byte = truth if written is None else written
    told = [float(found[1]) for each in said["findings"] if (found := SAID.search(each))]
    assert told == pytest.approx([per_byte] * len(told), abs=0.005)
    assert told or truth - said["causes"]["data"] < 0.02


@pytest.mark.parametrize(
    "name", ["lab.safe-rand16k-mixed", "mostly.rand4k-mixed", "far.rand4k-mixed"]
)
def test_the_cost_of_writes_leaves_out_what_was_read(workloads, name):
    """All that the disks did less the volume's reads, per byte written."""
    workload = workloads[name]
    (top,) = workload.tops
    said, devices = workload.said(top), known(workload)
    number = devices[said["device"]]["dev"]
    read, written = (workload.counted.arrived(number, kind).bytes for kind in "RW")
    moved = sum(to_disks(workload, said["device"]).values())

    assert said["disk_bytes_per_byte_written"] == pytest.approx((moved - read) / written, rel=EXACT)


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in SHARED])
@pytest.mark.parametrize("cause", BESIDE)
def test_a_cause_with_devices_of_its_own_is_exact(workloads, name, cause):
    """Bitmap and metadata are what their devices sent to the disks."""
    workload = workloads[name]
    (top,) = workload.tops
    said, devices = workload.said(top), known(workload)
    sent = to_disks(workload, said["device"])
    of_cause = [n for n in sent if any(end in devices[n]["label"] for end in BESIDE[cause])]
    truth = sum(sent[n] for n in of_cause) / at_top(workload, said)

    assert said["causes"].get(cause, 0) == pytest.approx(truth, rel=EXACT, abs=0.001)


@pytest.mark.parametrize("name", ["rand4k-write", "seq192k-write", "rand16k-mixed"])
def test_checksums_are_what_integrity_adds(workloads, name):
    """Beyond what arrives at the members, of which data and parity are the parts."""
    workload = workloads[f"lab.safe-{name}"]
    said, devices = workload.said("lab/safe"), known(workload)
    members = [n for n, d in devices.items() if d["target"] == "integrity"]
    arrived = sum(
        workload.counted.arrived(devices[n]["dev"], kind).bytes for n in members for kind in "RW"
    )
    causes, top = said["causes"], at_top(workload, said)
    beside = causes["integrity"] + causes.get("bitmap", 0)

    assert said["disk_bytes_per_byte"] - beside <= arrived / top * (1 + EXACT)
    assert sum(causes[c] for c in ("data", "parity")) > 1.3
    assert causes["integrity"] > 1


def test_disk_requests_per_write_count_the_bitmap(workloads):
    """At 18 writes per second a bitmap page goes with most writes of RAID10."""
    for name, top in (("lab.r10-slow-write", "lab/r10"), ("lab.r5-slow-write", "lab/r5")):
        workload = workloads[name]
        said, devices = workload.said(top), known(workload)
        disks = [n for n, d in stack_of(devices, said["device"]).items() if d["kind"] == "disk"]
        counted = workload.counted
        done = sum(
            counted.arrived(devices[n]["dev"], kind).count + counted.empty(devices[n]["dev"], kind)
            for n in disks
            for kind in "RW"
        )
        writes = counted.arrived(devices[said["device"]]["dev"], "W").count
        assert said["disk_requests_per_write"] == pytest.approx(done / writes, rel=0.03)


@pytest.mark.parametrize("top", ["lab/thin1", "lab/thin2"])
@pytest.mark.parametrize("name", ["lab.two-thins", "lab.four"])
def test_a_volume_of_a_shared_pool_has_a_range(workloads, name, top):
    """Its own writes are in it, and the parts of both are all that the pool did."""
    workload = workloads[name]
    low, high = workload.said(top)["disk_bytes_per_byte_range"]
    said = workload.said(top)
    assert low <= said["disk_bytes_per_byte"] <= high
    both = [workload.said(each) for each in ("lab/thin1", "lab/thin2")]
    moved = sum(each["disk_bytes_per_byte"] * at_top(workload, each) for each in both)
    truth = sum(to_disks(workload, said["device"]).values())
    assert moved == pytest.approx(truth, rel=EXACT)


def test_the_sentence_of_a_volume_of_a_shared_pool_has_its_range(workloads):
    """thin1 writes whole chunks, of which none is zeroed first: all zeroing is that of thin2, which reads too."""
    workload = workloads["lab.four"]
    one, two = (workload.said(f"lab/thin{n}") for n in "12")
    written = workload.counted.arrived(known(workload)[two["device"]]["dev"], "W").bytes
    moved = sum(to_disks(workload, two["device"], "W").values())
    truth = (moved - at_top(workload, one)) / written
    ((low, high),) = (
        tuple(map(float, found.groups()))
        for each in two["findings"]
        if (found := RANGE.search(each))
    )

    assert low <= truth <= high * (1 + EXACT)
    assert truth > 5


def test_a_snapshot_that_is_read_has_no_part_in_the_copies(workloads):
    """Its origin is written: all that the pool did beyond both volumes' own requests is the origin's."""
    workload = workloads["backup.thin"]
    one, taken = (workload.said(f"lab/{name}") for name in ("thin1", "taken"))
    moved = sum(to_disks(workload, one["device"]).values())
    truth = (moved - at_top(workload, taken)) / at_top(workload, one)
    low, high = one["disk_bytes_per_byte_range"]

    assert low <= truth <= high
    assert truth > 10
    assert one["causes"]["cow"] > 10
    assert taken["disk_bytes_per_byte"] == pytest.approx(1, rel=EXACT)


def test_the_name_of_a_pool_is_the_device_that_carries_its_io(workloads):
    """And one of its volumes brings its table along."""
    workload = workloads["lab.two-thins"]
    said = workload.said("lab/pool")
    sent = sum(to_disks(workload, said["device"]).values())
    tops = judged.layers(
        workload.folder / "lab.tar", workload.folder / "lab.two-thins.diskstats", "lab/thin1"
    )["stacks"]

    assert "tpool" in said["top"]
    assert [each["device"] for each in tops][1:] == [said["device"]]
    moved = said["disk_bytes_per_byte"] * sum(
        said["layers"][0][way]["bytes"] * said["seconds"] for way in ("read", "write")
    )
    assert moved == pytest.approx(sent, rel=EXACT)


def test_first_writes_zero_and_shared_ones_copy(workloads):
    """A chunk of 64 KiB for a write of 4 KiB; only a copy reads."""
    first = workloads["lab.thin-first-write"].said("lab/thin1")["causes"]
    copied = workloads["lab.thin-shared-write"].said("lab/thin1")["causes"]
    assert first["zeroing"] > 5
    assert "cow" not in first
    assert copied["cow"] > 10
    assert copied["cow"] > 10 * copied.get("zeroing", 0)


def asked(workload, *words):
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    return judged.asked(
        workload.folder / f"{workload.stack}.tar", *words, "-J", "--input", str(samples)
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_nobody_is_accused(workloads, name):
    """No stranger's I/O, no reads that nobody caused, no device that is not counted."""
    workload = workloads[name]
    found = asked(workload, "explain", *workload.tops)["findings"]
    assert "SM303" not in {each["id"] for each in found}
    for top in workload.tops:
        doubts = [layer["doubt"] or "" for layer in workload.said(top)["layers"]]
        assert not [each for each in doubts if "something else" in each or "is off" in each]
    assert not [
        each for each in asked(workload, "iostat", "-l")["corrections"] if "not-counted" in each
    ]


def test_label_scans_and_empty_flushes_are_named(workloads):
    scanned = workloads["lab.r5-scan"].said("lab/r5")["layers"][-1]["doubt"]
    assert "more reads arrived" in scanned
    assert "LVM scans its labels" in scanned
    flushing = workloads["files.ext4-fsync"]
    flushed = flushing.said("deep/files")["layers"][1]["doubt"]
    kernel = stackmap.open(str(flushing.folder / f"{flushing.stack}.tar")).topology().machine.kernel
    if Machine(kernel=kernel).release >= (
        7,
        0,
    ):  # a flush with data is one request at the volume, too
        assert flushed is None
    else:
        assert "fewer writes arrived" in flushed
        assert "empty flushes" in flushed


def test_a_degraded_array_costs_what_the_kernel_counted(workloads):
    """Writes and reads by themselves; together they cannot be told apart."""
    workload = workloads["degraded.rand4k-write"]
    said = workload.said("five")["parity"]
    assert said["cost_bytes_per_byte"] == pytest.approx(judged.cost(workload, "five"), rel=EXACT)
    read = workloads["degraded.rand4k-read"].said("five")
    assert read["causes"]["data"] == pytest.approx(1)
    assert read["causes"]["degraded"] > 0.1
    assert any("random reads 1.50" in each for each in read["findings"])
    mixed = workloads["degraded.rand16k-mixed"].said("five")["parity"]
    assert "degraded" in mixed["reason"]


@pytest.mark.parametrize("kind", ["live", "recorded"])
@pytest.mark.parametrize("top", ["lab/safe", "lab/r10", "lab/thin1", "lab/thin2"])
def test_live_and_recorded_figures_are_the_kernels(workloads, kind, top):
    """What the top and its disks moved, summed over the intervals that stackmap saw."""
    workload = workloads["lab.four"]
    moved, cost = 0.0, 0.0
    for report in reports(workload, kind):
        (said,) = [each for each in report["stacks"] if each["top"] == top]
        own = sum(said["layers"][0][way]["bytes"] * report["seconds"] for way in ("read", "write"))
        moved += own
        cost += own * (said["disk_bytes_per_byte"] or 0.0)
    said = workload.said(top)
    assert moved == pytest.approx(at_top(workload, said), rel=EXACT)
    if "thin" not in top:
        truth = sum(to_disks(workload, said["device"]).values())
        # What the kernel writes after the load, when nothing is at the top any more, has no ratio.
        assert cost == pytest.approx(truth, rel=0.02)


def reports(workload, kind):
    folder = workload.folder
    if kind == "live":
        lines = (folder / "lab.four.live").read_text().splitlines()
        return [json.loads(line) for line in lines]
    from click.testing import CliRunner

    from stackmap.cli import stackmap

    words = ["--from", str(folder / "lab.four.recorded"), "iostat", "-l", "-J", "--report", "all"]
    result = CliRunner().invoke(stackmap, [*words, *workload.tops], catch_exceptions=False)
    return [json.loads(line) for line in result.stdout.splitlines()]
