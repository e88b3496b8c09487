"""A few of the values of ``tests/fuzz/pasted.py``, and the tools' own parsers on what is printed of them."""

from __future__ import annotations

import random

import pytest

from tests.fuzz import pasted
from tests.fuzz.running import Tally


def test_hostile_values_are_refused_or_printed_as_they_are(tmp_path):
    tally = Tally("pasted")
    for number in range(8):
        pasted.values(tally, random.Random(f"operands {number}"), tmp_path)

    assert [] == tally.failures


@pytest.mark.parametrize("field", pasted.FIELDS)
def test_each_field_has_values_that_are_printed(field):
    """Otherwise nothing is tried: what is valid reaches a command, under the name that the field gives it."""
    good = [*pasted.VALID, pasted.GOOD.get(field.partition(" (")[0], "x")]
    lines = [found for value in good if (found := pasted.printed(field, value))[0]]

    assert lines
    for some, operand in lines:
        assert [] == list(pasted.faults_of(some, operand))


@pytest.mark.parametrize(
    "line",
    [
        "lvcreate --yes -- vg '--config=log{file=x}'",
        "umount -- -a",
        "mdadm --grow /dev/md/../mapper/data --level=6",
        "dd if=/dev/../etc/x of=/dev/x",
    ],
)
def test_a_fault_is_seen(line):
    """The checks above can fail."""
    assert list(pasted.faults_of([line], line.split()[-1].strip("'")))


def test_the_tools_take_each_operand_for_one(tmp_path):
    """In a namespace with an empty /dev: no tool finds an option that it does not have."""
    if why := pasted.is_possible():
        pytest.skip(why)
    chance = random.Random("tools")
    lines = {
        line
        for field in pasted.FIELDS
        for value in (*pasted.VALID, *(pasted.hostile(chance, field) for _ in range(6)))
        for line in pasted.printed(field, value)[0]
    }
    assert len(lines) > 60
    assert [] == pasted.parsed_by_tools(sorted(lines), tmp_path)
    # And what must not be printed would be seen.
    assert 1 == len(pasted.parsed_by_tools(["mdadm --no-such-option /dev/md0"], tmp_path))
