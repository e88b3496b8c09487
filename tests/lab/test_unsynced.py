"""
What parity that was never worked out gives back when a disk dies, and of which arrays explain warns.

The truth is what was written: 32 blocks of 4 KiB to each, on disks full of
noise. With three chunks of data in a stripe md reads all of them for a small
write and works parity out; with four it goes on from the parity that is there.
"""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.lab("all")

BLOCK, BLOCKS = 4096, 32
APART = 320 * 1024
FEW = 3  # of 32 at least are on the disk that died: of five disks' 64 KiB chunks it has all that are 320 KiB apart


@pytest.fixture
def left(lab, kernel):
    return lab("unsynced", kernel=kernel, disks=5, size="64M", timeout=400)


def lost(folder, name, when):
    """Return how many blocks were read otherwise than they were written."""
    written, read = (folder / "written").read_bytes(), (folder / f"{name}.{when}").read_bytes()
    assert len(written) == BLOCKS * BLOCK
    return sum(
        written[place * BLOCK :][:BLOCK] != read[place * APART :][:BLOCK] for place in range(BLOCKS)
    )


@pytest.mark.parametrize("name", ["three", "four"])
def test_all_is_there_while_all_disks_are(left, name):
    """Else what is lost would prove nothing."""
    assert lost(left, name, "whole") == 0


def test_explain_warns_of_the_array_that_lost(left):
    """Of the one that gave back what nobody wrote, and not of the one that did not."""
    found = json.loads((left / "explain.json").read_text())["findings"]

    assert lost(left, "four", "degraded") >= FEW
    assert lost(left, "three", "degraded") == 0
    assert [each["label"] for each in found if each["id"] == "SM304"] == ["vg/four"]
