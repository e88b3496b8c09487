"""A load whose reads and writes the input does not separate: the range holds what they were."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.model.load import Flow, Load
from tests.features.whatif.test_whatif import (
    KIB,
    PAGE,
    RANDOM,
    did,
    interval,
    machine,
    moved,
    projected,
)

# The same requests, all of 64 KiB; and reads of 128 KiB beside writes of 4 KiB.
LARGE = interval(
    moved(did(53, 64 * KIB), did(41, 64 * KIB)),
    read=did(200, PAGE),
    write=did(500, PAGE),
)
UNEQUAL = interval(
    moved(did(10, 128 * KIB), did(300, 4 * KIB)), read=did(230, PAGE), write=did(150, PAGE)
)


def undirected(measured, *, with_bytes=True):
    """Return *measured* as a text has it that gives requests of reads and writes together only."""

    def one(load: Load) -> Load:
        sides = {
            way: Flow(bytes=getattr(load, way).bytes) if with_bytes else Flow()
            for way in ("read", "write")
        }
        return Load(**sides, whole=load.total)

    return replace(measured, loads={name: one(load) for name, load in measured.loads.items()})


@pytest.mark.parametrize("wish", ["raid10", "raid1", "raid6", "linear", "raid0"])
@pytest.mark.parametrize("measured", [RANDOM, LARGE, UNEQUAL], ids=["random", "large", "unequal"])
def test_the_range_holds_what_separate_figures_give(measured, wish):
    """With the bytes of each, the bytes below are those that separate requests give."""
    truth = projected(machine("raid5"), measured, wish).projected.members
    then = projected(machine("raid5"), undirected(measured), wish).projected.members

    assert then.total.low <= truth.data.likely <= then.total.high
    assert then.carried.low * 0.999 <= truth.carried.likely <= then.carried.high * 1.001


def test_where_even_bytes_are_not_separate():
    """Both the requests and the bytes of RAID10 lie between those of reads alone and of writes alone."""
    found = projected(machine("raid5"), undirected(RANDOM, with_bytes=False), "raid10")
    then = found.projected.members

    assert not found.bytes_known
    assert found.costs is None
    assert (then.total.low, then.total.high) == pytest.approx((94, 188))
    assert (then.carried.low, then.carried.high) == pytest.approx((94 * 8 * KIB, 188 * 8 * KIB))


def test_what_a_written_byte_costs_needs_no_requests():
    """RAID5 read and wrote 4 bytes per byte written, RAID10 writes 2."""
    now, then = projected(machine("raid5"), undirected(RANDOM), "raid10").costs

    assert (now, then.low, then.high) == pytest.approx((4, 2, 2))


@pytest.mark.parametrize(("read", "write"), [(0, 41), (53, 0)], ids=["writes", "reads"])
def test_one_direction_alone_is_exact(read, write):
    """No byte was moved in the other one, so every request was of this one."""
    measured = interval(
        moved(did(read, 8 * KIB), did(write, 8 * KIB)),
        read=did(read / 4, 8 * KIB) + did(write, PAGE),
        write=did(write, PAGE),
    )
    then = projected(machine("raid5"), undirected(measured), "raid10").projected.members

    assert (then.total.low, then.total.high) == pytest.approx((read + 2 * write,) * 2)
