"""What layouts are expected to make of a byte, and when nothing is rated."""

import pytest

from stackmap.ledger.expected import expected
from stackmap.model.device import Device, Kind
from stackmap.model.raid import layout
from tests.drawn import raid_volume, stack_figures, topology
from tests.ledger.test_amplification import loads_of


def volume(level, members, copies=None):
    return Device(
        "vm", Kind.VOLUME, "", target="raid", layout=layout(level, members, 65536, copies)
    )


@pytest.mark.parametrize(
    ("level", "members", "copies", "least", "most"),
    [
        ("raid0", 3, None, 1, 1),
        ("raid1", 3, None, 3, 3),
        ("raid10", 4, 2, 2, 2),
        ("raid10", 6, 3, 3, 3),
        ("raid4", 3, None, 3 / 2, 2),
        ("raid5", 3, None, 3 / 2, 2),
        ("raid5", 8, None, 8 / 7, 2),
        ("raid6", 4, None, 2, 3),
        ("raid6", 8, None, 8 / 6, 3),
    ],
)
def test_a_written_byte_by_level(level, members, copies, least, most):
    """Copies are exact; parity lies between full stripes, n/d, and single pages, 1 + p."""
    assert expected(volume(level, members, copies)).write == pytest.approx((least, most))


def test_what_passes_changes_nothing_and_what_is_unknown_says_nothing():
    """Linear and crypt hand on; a target that is not in the table has no expectation."""
    assert expected(Device("a", Kind.CRYPT, "", target="crypt")).write == (1, 1)
    assert expected(Device("b", Kind.DM, "", target="vdo")) is None


def test_expectations_multiply_on_the_way_down():
    """Below the members nothing changes any more: two copies stay two copies."""
    stack = stack_figures(topology(raid_volume("vm", "raid10", 8)), {}, "vm")

    assert [(1, 1), (2, 2), (2, 2)] == [figures.expected.write for figures in stack.layers]


@pytest.mark.parametrize("state", ["resync 12.5 %", "degraded, check 3.1 %", "reshape", "recover"])
def test_nothing_is_rated_while_a_volume_works_on_its_own(state):
    """The members' I/O is not the workload's alone: no ratio, no parity, and the reason."""
    devices, edges = raid_volume("vm", "raid5", 8)
    at_work = [devices[0]._replace(state=state), *devices[1:]]
    stack = stack_figures(
        topology((at_work, edges), raid_volume("other", "raid10", 17)), loads_of(), "vm"
    )
    _, members, disks = stack.layers

    for figures in (members, disks):
        assert figures.byte_amplification.get("write") is None
        assert state in figures.background
    assert members.share.write.arrivals == 200  # what happened is still shown
    assert stack.parity.cost_bytes_per_byte is None
    assert state in stack.parity.reason


def test_two_layers_that_copy_multiply():
    """Two copies, each on a mirror of three: 6 bytes per byte, not 4."""
    devices, edges = raid_volume("vm", "raid10", 8)
    mirrors = [
        device._replace(target="raid", layout=layout("raid1", 3))
        if "rimage" in device.name
        else device
        for device in devices
    ]
    stack = stack_figures(topology((mirrors, edges)), {}, "vm")

    assert [(1, 1), (2, 2), (6, 6)] == [figures.expected.write for figures in stack.layers]
