"""
What parity that was never worked out gives back when a disk dies, and of which arrays explain warns.

The truth is what was written: 64 blocks of 4 KiB to each, on disks full of
noise. With three chunks of data in a stripe md reads all of them for a small
write and works parity out; with four it goes on from the parity that is there.
"""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.lab("all")

BLOCK = 4096
FEW = 5  # of 64: a block on the disk that died is one of five, or four


@pytest.fixture
def left(lab):
    return lab("unsynced", disks=5, size="96M", timeout=400)


def lost(folder, name, when):
    """Return how many blocks were read otherwise than they were written."""
    written, read = ((folder / f"{name}.{what}").read_bytes() for what in ("written", when))
    assert len(written) == len(read) == 64 * BLOCK
    places = range(0, len(written), BLOCK)
    return sum(written[at : at + BLOCK] != read[at : at + BLOCK] for at in places)


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
