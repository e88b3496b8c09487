"""
Every workload of the captures against what the kernel itself counted.

The histograms count each bio sent to each device, and each that was passed on
from one to another; ``load/NAME.diskstats`` spans the same time. Where
/proc/diskstats counts a bio that was split more than once (stackmap-kernel(7), "Merging and splitting": the
volume itself), the figure is the counters', and only bytes are held to the
histogram there.
"""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

import stackmap as library
from stackmap.cli import stackmap
from stackmap.document.pictured_load import PicturedLoad
from stackmap.ledger.ledger import Ledger
from stackmap.measurement.text import TextSource
from tests.lab import truth
from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
LOADS = sorted(CAPTURES.glob("vghdd*/load/*.truth"))
VOLUMES = {"r5": "vm-disk1", "r10": "vm-disk1-r10"}
EXACT = 0.01
FEW = 20  # of so few, one that straddles the window's edge is more than 1 %

if not LOADS:
    pytest.skip("the recorded kernels are not beside this checkout", allow_module_level=True)


def cases():
    """Each workload with each volume it touched."""
    for path in LOADS:
        names = ("r5", "r10") if "r5-to-r10" in path.stem else (path.stem.split("-")[0],)
        for name in names:
            yield pytest.param(path, VOLUMES[name], id=f"{path.parts[-3]}/{path.stem}/{name}")


@pytest.fixture(scope="module")
def measure():
    """Return the stack of a volume over one workload, as ``-J`` prints it, once a module."""
    known = {}

    def run(path, volume):
        if (path, volume) not in known:
            result = CliRunner().invoke(
                stackmap,
                [
                    "--from", str(path.parent.parent / "capture.tar.gz"),
                    "iostat", "--per-layer", "-J", "--input", str(path.with_suffix(".diskstats")), volume,
                ],
                catch_exceptions=False,
            )  # fmt: skip
            assert result.exit_code == 0, result.output
            known[path, volume] = json.loads(result.stdout)
        return known[path, volume]

    return run


def counted(kernel, layer, layers, kind):
    """Return what the histograms say was sent to *layer* by the data layer above it."""
    if layer is layers[-1]:
        return sum(
            (
                kernel.remaps.get((number(above), number(below), kind), truth.Sent())
                for above in layers[-2]["devices"]
                for below in layer["devices"]
            ),
            start=truth.Sent(),
        )
    return sum(
        (kernel.arrived(number(name), kind) for name in layer["devices"]), start=truth.Sent()
    )


def number(name):
    """dm-8 → 254:8, sdb → 8:16, as on those machines."""
    if name.startswith("dm-"):
        return f"254:{name[3:]}"
    return f"8:{16 * (ord(name[2]) - ord('a'))}"


@pytest.mark.parametrize(("path", "volume"), list(cases()))
def test_every_layer_agrees_with_the_kernel(measure, path, volume):
    """Arrivals and bytes of each layer, reads and writes apart, within 1 % of the histograms."""
    report = measure(path, volume)
    layers, kernel = report["stacks"][0]["layers"], truth.read(path)
    compared = 0
    for layer in layers:
        for direction, kind in (("read", "R"), ("write", "W")):
            said, told = layer[direction], counted(kernel, layer, layers, kind)
            assert said["bytes"] * report["seconds"] == pytest.approx(
                told.bytes, rel=EXACT, abs=8192
            )
            if layer is not layers[0]:
                arrived = said["arrivals"] * report["seconds"]
                assert arrived == pytest.approx(told.count, rel=EXACT, abs=FEW * EXACT)
            compared += told.count
    assert compared > 100


@pytest.mark.parametrize(("path", "volume"), list(cases()))
def test_amplification_agrees_with_the_kernel(measure, path, volume):
    """Bytes below a byte above, as the histograms have them."""
    layers, kernel = measure(path, volume)["stacks"][0]["layers"], truth.read(path)
    above = {kind: counted(kernel, layers[0], layers, kind).bytes for kind in "RW"}
    for layer in layers[1:]:
        for direction, kind in (("read", "R"), ("write", "W")):
            told = counted(kernel, layer, layers, kind).bytes
            if above[kind] > 100_000:
                ratio = layer["amplification"]["bytes"][direction]
                assert ratio == pytest.approx(told / above[kind], rel=EXACT)


@pytest.mark.parametrize(("path", "volume"), list(cases()))
def test_all_that_was_sent_to_the_disks_arrived(measure, path, volume):
    """Closure is within 1 % of 1, and IOPS are bytes times shrink."""
    layers = measure(path, volume)["stacks"][0]["layers"]
    for direction in ("read", "write", "total"):
        closure = layers[-1]["closure"][direction]
        assert closure is None or closure == pytest.approx(1, abs=EXACT)
    assert layers[-1]["closure"]["total"] is not None
    for layer in layers:
        ratios = layer["amplification"]
        for direction in ("read", "write", "total"):
            if ratios["iops"][direction] is not None:
                product = ratios["bytes"][direction] * ratios["shrink"][direction]
                assert product == pytest.approx(ratios["iops"][direction], rel=1e-12)


def test_volumes_that_a_kernel_counts_twice_are_named(measure):
    """6.12 counts LVM RAID volumes twice, 6.1 once: a note names the correction."""
    new = CAPTURES / "vghdd-6.12/load/r5-rand4k-write.truth"
    old = CAPTURES / "vghdd/load/r5-rand4k-write.truth"

    assert measure(new, "vm-disk1")["corrections"] == ["dm-raid-doubled: dm-8"]
    assert measure(old, "vm-disk1")["corrections"] == []


@pytest.mark.parametrize("capture", ["vghdd", "vghdd-6.12"])
@pytest.mark.parametrize(
    ("load", "cost", "full"),
    [("r5-rand4k-write", 4.0, 0.0), ("r5-rand16k-rw", 4.0, 0.0), ("r5-full-stripe", 4 / 3, 1.0)],
)
def test_parity_where_the_truth_is_known_by_construction(measure, capture, load, cost, full):
    """
    One-page rows cost 2 reads and 2 writes a page; full stripes 4/3, and nothing read.

    The full-stripe run on 6.12 caught some stripes half assembled (stackmap-kernel(7), "RAID write paths"): its few reads count.
    """
    parity = measure(CAPTURES / capture / f"load/{load}.truth", "vm-disk1")["stacks"][0]["parity"]

    assert parity["reason"] is None
    assert parity["cost_bytes_per_byte"] == pytest.approx(cost, rel=0.1 if full else EXACT)
    assert parity["full_stripe"]["low"] - 0.02 <= full <= parity["full_stripe"]["high"] + 0.02
    # 6.12 wrote 64 of 4,800 rows in two pieces: a range of 3.5 points.
    assert parity["full_stripe"]["high"] - parity["full_stripe"]["low"] <= 0.04


@pytest.mark.parametrize("path", LOADS, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_a_disk_blames_those_that_loaded_it(path):
    """Each volume's data and metadata on each disk: as many requests and bytes as were passed down."""
    result = CliRunner().invoke(
        stackmap,
        [
            "--from", str(path.parent.parent / "capture.tar.gz"),
            "blame", "-J", "--input", str(path.with_suffix(".diskstats")), *DISKS,
        ],
        catch_exceptions=False,
    )  # fmt: skip
    report, kernel = json.loads(result.stdout), truth.read(path)
    seconds = report["seconds"]
    compared = 0
    for disk in report["devices"]:
        told = blamed(kernel, number(disk["device"]))
        for loader in disk["loaders"]:
            for direction, kind in (("read", "R"), ("write", "W")):
                key = (tuple(loader["tops"]), loader["metadata"], kind)
                expected = told.get(key, truth.Sent())
                if loader["metadata"] or not loader["tops"]:
                    continue  # empty flushes are requests here, and none in the histogram
                said = loader[direction]
                assert said["arrivals"] * seconds == pytest.approx(
                    expected.count, rel=EXACT, abs=0.5
                )
                assert said["bytes"] * seconds == pytest.approx(expected.bytes, rel=EXACT, abs=512)
                compared += expected.count
        assert sum(loader["request_share"] for loader in disk["loaders"]) == pytest.approx(1)
    assert compared > 100


@pytest.mark.parametrize("path", LOADS, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_a_line_of_the_picture_has_what_was_passed_down_it(path):
    """From each data sub-LV to its disk: as many bytes as the kernel's remaps, and as many requests."""
    machine = library.open(str(path.parent.parent / "capture.tar.gz"))
    with path.with_suffix(".diskstats").open("rb") as text:
        whole, interval = next(TextSource(text, machine, print).intervals(which="average"))
    right, kernel, compared = library.corrected(whole, interval), truth.read(path), 0
    load = PicturedLoad(Ledger(whole, right.loads, right.seconds))
    subs = [minor for minors in SUB_LVS.values() for minor in [*minors][1::2]]
    for edge in (edge for minor in subs for edge in whole.below(f"dm-{minor}")):
        numbers = f"254:{edge.above.removeprefix('dm-')}", number(edge.below)
        sent = {kind: kernel.remaps.get((*numbers, kind), truth.Sent()) for kind in "RW"}
        said = load.between([edge])
        moved = sum(each.bytes for each in sent.values())
        assert (said.bytes or 0.0) * right.seconds == pytest.approx(moved, rel=EXACT, abs=512)
        for kind, each in sent.items():
            found = re.search(rf"([\d.]+) {kind.lower()}/s", said.words)
            rate = float(found[1]) if found else 0.0
            assert rate == pytest.approx(each.count / right.seconds, rel=2 * EXACT, abs=0.06)
            compared += each.count
    assert compared > 100


DISKS = ("sda", "sdb", "sdc", "sdd")
SUB_LVS = {
    "dm-8": range(8),
    "dm-17": range(9, 17),
}  # rmeta and rimage by turns, as on both machines


def blamed(kernel, disk):
    """Return what each volume's sub-LVs passed down to *disk*, data and metadata apart."""
    found = {}
    for top, subs in SUB_LVS.items():
        for place, minor in enumerate(subs):
            for kind in "RW":
                sent = kernel.remaps.get((f"254:{minor}", disk, kind), truth.Sent())
                key = ((top,), place % 2 == 0, kind)
                found[key] = found.get(key, truth.Sent()) + sent
    return found
