"""Sums over one cut of the graph."""

from stackmap.ledger.layers import totals
from stackmap.model.load import IDLE
from tests.drawn import DISKS, did, moved, topology
from tests.ledger.test_amplification import ARRAY, OTHER, VM, array_loads, loads_of


def test_layers_are_never_added():
    """386 writes were asked for at two tops; the disks completed 200 writes and 100 reads."""
    tops, disks = totals(topology(VM, OTHER), loads_of())

    assert (tops.devices, tops.load.write.ios) == (("other", "vm"), 386)
    assert (disks.devices, disks.load.write.ios, disks.load.read.ios) == (DISKS, 200, 100)


def test_a_disk_that_nothing_stands_on_is_in_both_cuts():
    """Once in each: it was asked, and it did it."""
    loads = dict.fromkeys(DISKS, IDLE) | {"sda": moved(did(13, 512))}
    tops, disks = totals(topology(), loads)

    assert (13, 13) == (tops.load.read.ios, disks.load.read.ios)


def test_an_array_is_neither_top_nor_disk():
    """42 asked for by two volumes are 42, though the array counted them again."""
    tops, _ = totals(topology(ARRAY), array_loads(29))

    assert tops.load.write.ios == 42
