"""Bytes written to bcache, of which new kernels do not count those that bypass the cache; figures as Linux 6.12 counted them."""

import pytest

from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Edge
from tests.drawn import disk, topology

KIB = 1024


def wrote(requests, kib, read_kib=0):
    """Writes, and reads of 8 KiB, over one second."""
    read = Flow(read_kib / 8, 0.0, read_kib * KIB, 1.0)
    nothing = Flow(0.0, 0.0, 0.0, 0.0)
    return Load(read, Flow(requests, 0.0, kib * KIB, 1.0), nothing, nothing)


def ledger(mode, own, backing, cache, kernel="6.12.1", state="clean", edges=()):
    device = Device("bcache0", Kind.BCACHE, "", facts={"mode": mode, "state": state})
    tree = topology(
        (
            [device, disk("sda"), disk("sdb")],
            [Edge("bcache0", "sda", Role.ORIGIN), Edge("bcache0", "sdb", Role.CACHE), *edges],
        ),
        kernel=kernel,
    )
    interval = corrected(tree, Interval({"bcache0": own, "sda": backing, "sdb": cache}))
    return Ledger(tree, interval.loads, 1.0)


def bytes_of(*given, **more):
    """The bytes of the top's writes in KiB: value, least and most."""
    write = ledger(*given, **more).shares("bcache0")["bcache0"].write
    low, high = write.bounds
    return tuple(pytest.approx(n / KIB) for n in (write.bytes, low.bytes, high.bytes))


@pytest.mark.parametrize(
    ("mode", "counted", "backing", "cache"),
    [
        ("writethrough", 3584, 15360, 2565),  # a stream of 512 KiB: 8 writes before it bypasses
        ("writearound", 0, 3840, 2),
        ("none", 0, 480, 8),
    ],
)
def test_where_the_backing_device_has_every_write_its_bytes_are_exact(
    mode, counted, backing, cache
):
    """All that came, without a range."""
    given = mode, wrote(30, counted), wrote(30, backing), wrote(20, cache)

    assert bytes_of(*given) == (backing, backing, backing)


def test_a_cache_that_writes_back_makes_it_a_range():
    """Of 9000 KiB at the backing device 5000 were read from the cache before, at most: 4000 to 9000 bypassed it."""
    given = "writeback", wrote(60, 7000, 800), wrote(40, 9000, 300), wrote(90, 7400, 5500)

    assert bytes_of(*given) == (11000, 11000, 16000)


def test_nothing_bypassed_what_was_only_written_back():
    """As much was read from the cache as was written back: the own count may be all there was."""
    given = "writeback", wrote(60, 7000), wrote(40, 6000), wrote(90, 7400, 6100)

    assert bytes_of(*given) == (7000, 7000, 13000)


@pytest.mark.parametrize("kernel", ["6.1.0-56-amd64", ""])
def test_a_kernel_that_counts_them_is_left_alone(kernel):
    """Linux 6.1: 15360 KiB, of which 11776 bypassed the cache."""
    given = "writeback", wrote(30, 15360), wrote(23, 11776), wrote(15, 5126)

    assert bytes_of(*given, kernel=kernel) == (15360, 15360, 15360)


def test_without_a_request_nothing_was_written():
    """The cache writes dirty data back long after it came."""
    given = "writeback", wrote(0, 0), wrote(40, 6000), wrote(3, 100, 1000)

    assert bytes_of(*given) == (0, 0, 0)


def test_what_others_write_to_the_backing_device_is_not_the_cache_s():
    """A second device uses it."""
    other = Edge("sdb", "sda", Role.DATA)
    given = "writearound", wrote(30, 0), wrote(30, 3840), wrote(20, 2)

    assert bytes_of(*given, edges=[other]) == (0, 0, 0)


def test_discards_are_those_of_the_backing_device():
    """bcache counts one with 0 bytes."""
    trim = Flow(1.0, 0.0, 0.0, 0.0)
    own, backing = (
        wrote(0, 0)._replace(discard=trim),
        wrote(0, 0)._replace(discard=trim._replace(bytes=8192.0 * KIB)),
    )
    share = ledger("none", own, backing, wrote(0, 0)).shares("bcache0")["bcache0"]

    assert share.part("discard").bytes == 8192 * KIB
