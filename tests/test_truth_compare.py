"""
The recorded kernels' RAID5 and RAID10 volumes under the same loads, compared: beside the kernel's own count.

What a write costs at the members is in the histograms: bios sent to each of
them, by each bio sent to the volume. The reads that writes cause are those at
the members, less those at the volume (udev probing what was written).
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab import truth
from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
KERNELS = sorted(CAPTURES.glob("vghdd*"))
# The volumes' numbers, and their members'.
R5 = ("254:8", ("254:1", "254:3", "254:5", "254:7"))
R10 = ("254:17", ("254:10", "254:12", "254:14", "254:16"))

if not KERNELS:
    pytest.skip("the recorded kernels are not beside this checkout", allow_module_level=True)


def counted(folder, name, volume):
    """Return bios and bytes written at the members for one at the volume, as the kernel has them."""
    top, members = volume
    kernel = truth.read(folder / "load" / f"{name}.truth")
    sent = kernel.taken(top, "W")
    below = sum((kernel.taken(member, "W") for member in members), start=truth.Sent())
    return below.count / sent.count, below.bytes / sent.bytes


def said(folder, load):
    words = [
        "--from", str(folder / "capture.tar.gz"), "compare", "-J",
        *(str(folder / "load" / f"{level}-{load}.diskstats") for level in ("r5", "r10")),
        "-m", "vm-disk1=vm-disk1-r10",
    ]  # fmt: skip
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (stack,) = json.loads(result.stdout)["stacks"]
    return stack


def ratio(stack, figure):
    (found,) = (
        each
        for each in stack["ratios"]
        if (each["figure"], each["layer"], each["direction"]) == (figure, "members", "write")
    )
    return found["before"]["value"], found["after"]["value"]


@pytest.mark.parametrize("folder", KERNELS, ids=lambda path: path.name)
@pytest.mark.parametrize("load", ["rand4k-write", "seq4k-write"])
def test_ratios_are_the_kernels(folder, load):
    """Requests and bytes at the members for one written, before and after, within a part in a hundred."""
    stack = said(folder, load)
    truths = counted(folder, f"r5-{load}", R5), counted(folder, f"r10-{load}", R10)

    for figure, place in (("requests", 0), ("bytes", 1)):
        for measured, true in zip(ratio(stack, figure), truths, strict=True):
            assert measured == pytest.approx(true[place], rel=0.01)


@pytest.mark.parametrize("folder", KERNELS, ids=lambda path: path.name)
def test_few_intervals_are_told(folder):
    """Recordings of some seconds: figures, but no word on what is significant."""
    stack = said(folder, "rand4k-write")

    assert all(each["change"]["p"] is None for each in stack["ratios"] if each["change"])
    assert any("too few intervals to test significance" in warning for warning in stack["warnings"])
