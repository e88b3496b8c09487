"""What each layer makes of the I/O above it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.errors import InputError
from stackmap.ledger import amplification
from stackmap.ledger.amplification import LayerReport, figures_of, with_shared
from stackmap.ledger.ledger import OTHERS, SCANS, Ledger
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, IDLE_WITHOUT_DISCARDS, IDLE_WITHOUT_FLUSHES, Load
from stackmap.model.raid import PAGE, layout
from stackmap.model.topology import Edge
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, stack_figures, topology

VM = raid_volume("vm", "raid5", 8)
OTHER = raid_volume("other", "raid10", 17)


def loads_of(*, vm_write: float = 100.0) -> dict[str, Load]:
    """100 writes of 4 KiB to vm, each two writes and two reads at the members; the disks merge 3 of 4."""
    loads = {"vm": moved(write=did(vm_write, 4096))}
    for place, name in enumerate(DISKS):
        loads[f"vm_rimage_{place}"] = moved(did(50, 4096), did(50, 4096))
        loads[f"vm_rmeta_{place}"] = moved(write=did(7, 512))
        loads[f"other_rimage_{place}"] = moved(write=did(143, 8192))
        loads[f"other_rmeta_{place}"] = IDLE
        loads[name] = moved(did(25, 4096, 25), did(50, 4096, 150))
    loads["other"] = moved(write=did(286, 8192))
    return loads


def test_one_write_becomes_two_reads_and_two_writes():
    """Members: 200 writes and 200 reads for 100 writes; sizes stay, so shrink is 1."""
    volume, members, _ = stack_figures(topology(VM, OTHER), loads_of(), "vm").layers

    assert (1.0, 2.0) == (volume.iops_amplification["write"], members.iops_amplification["write"])
    assert members.byte_amplification["write"] == 2.0
    assert members.iops_amplification["total"] == 4.0
    assert members.iops_amplification["read"] is None  # nothing was read above
    assert members.share.read.arrivals == 200


def test_a_shared_disk_is_divided_by_what_was_sent():
    """
    vm sent 50 of the 200 writes that arrived at each disk, other 143, metadata 7.

    Arrivals and bytes are exact; of the 50 completions a quarter is vm's, an estimate.
    """
    disks = stack_figures(topology(VM, OTHER), loads_of(), "vm").layers[2]

    assert disks.share.write.arrivals == 200
    assert disks.share.write.bytes == 200 * 4096
    assert disks.share.write.ios == pytest.approx(4 * 50 * 50 / 200)
    assert disks.share.estimated
    assert disks.coalescing["write"] == 4.0


def test_directions_of_a_divided_disk_add_up():
    """Reads merge 1 of 2 there, writes 3 of 4: what both have done is no share of the two together."""
    share = stack_figures(topology(VM, OTHER), loads_of(), "vm").layers[2].share

    assert share.total.ios == pytest.approx(share.read.ios + share.write.ios)
    assert share.total.bytes == share.read.bytes + share.write.bytes


def test_closure_counts_all_senders():
    """50 + 143 + 7 sent and 200 arrived: nothing else ran. Above the members there is no telling."""
    _, members, disks = stack_figures(topology(VM, OTHER), loads_of(), "vm").layers

    assert disks.accounted["write"] == 1.0
    assert members.accounted["write"] is None


def test_metadata_stays_out_of_the_ratios():
    """Its 28 writes a second are on a row of their own."""
    members = stack_figures(topology(VM, OTHER), loads_of(), "vm").layers[1]

    assert members.metadata["write"].ios == 28
    assert members.layer.metadata == tuple(f"vm_rmeta_{place}" for place in range(4))


def test_shares_of_all_senders_make_the_whole():
    """What belongs to vm and to other, and metadata, is all that arrived at the disks."""
    figures = [
        stack_figures(topology(VM, OTHER), loads_of(), top).layers for top in ("vm", "other")
    ]

    sent = sum(
        layers[2].share.write.arrivals + layers[1].metadata["write"].ios for layers in figures
    )

    assert sent == sum(loads_of()[name].write.arrivals for name in DISKS)


AMOUNTS = st.floats(0.01, 1e6)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
def test_iops_are_bytes_times_shrink(ios, size, below, below_size):
    """The identity holds whatever the counters say."""
    loads = loads_of()
    loads["vm"] = moved(write=did(ios, size))
    loads["vm_rimage_0"] = moved(write=did(below, below_size))
    for layer in stack_figures(topology(VM, OTHER), loads, "vm").layers:
        product = layer.byte_amplification["write"] * layer.shrink["write"]

        assert product == pytest.approx(layer.iops_amplification["write"], rel=1e-12)


def test_a_device_that_is_not_among_the_counters_is_unknown():
    """A text with one member left out gives no figure for the members, and says which is missing."""
    loads = loads_of()
    del loads["vm_rimage_2"]
    members = stack_figures(topology(VM, OTHER), loads, "vm").layers[1]

    assert members.iops_amplification["write"] is None
    assert "vm_rimage_2" in members.share.reason


ARRAY = (
    [
        Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), state="active"),
        passing("home"),
        passing("data"),
    ],
    [Edge("home", "md0", Role.DATA), Edge("data", "md0", Role.DATA)]
    + [Edge("md0", name, Role.DATA) for name in DISKS],
)


def array_loads(data_writes: float) -> dict[str, Load]:
    writes = 13 + data_writes
    return {
        "home": moved(write=did(13, 4096)),
        "data": moved(write=did(data_writes, 4096)) if data_writes else IDLE,
        "md0": moved(write=did(writes, 4096)),
        **{name: moved(did(writes / 2, 4096), did(writes / 2, 4096)) for name in DISKS},
    }


def test_two_volumes_on_one_array_are_not_divided():
    """
    Both wrote: whose I/O reached the disks cannot be said, so it is not.

    The array itself is exact, and has figures of its own.
    """
    tree, loads = topology(ARRAY), array_loads(29)
    home = stack_figures(tree, loads, "home")

    assert home.layers[1].share.write.arrivals == 13
    assert home.layers[2].iops_amplification["write"] is None
    assert "serves several" in home.layers[2].share.reason
    assert [s.top.name for s in with_shared(figures_of(Ledger(tree, loads), ["home"]))] == [
        "home",
        "md0",
    ]
    assert stack_figures(tree, loads, "md0").layers[1].iops_amplification["write"] == 2.0


def test_a_volume_whose_neighbours_were_idle_owns_the_array():
    """data did nothing in this interval, so all that the disks did was for home."""
    home = stack_figures(topology(ARRAY), array_loads(0), "home")

    assert home.layers[2].iops_amplification["write"] == 2.0
    assert not home.layers[2].share.estimated


# Two volumes on a striped one of two disks, that cuts what is larger than its chunks.
STRIPED = (
    [passing("spread", target="striped"), passing("left"), passing("right")],
    [
        Edge("left", "spread", Role.DATA),
        Edge("right", "spread", Role.DATA),
        *(Edge("spread", name, Role.DATA, length=1 << 20) for name in DISKS[:2]),
    ],
)


def test_what_a_volume_alone_sends_is_passed_on_by_the_piece():
    """5 writes of 8 chunks are 40 requests below."""
    loads = dict.fromkeys(("sdc", "sdd", "right"), IDLE)
    loads |= {"left": moved(write=did(5, 65536)), "spread": moved(write=did(40, 8192))}
    loads |= {name: moved(write=did(11, 8192, 9)) for name in DISKS[:2]}
    _, spread, disks = stack_figures(topology(STRIPED), loads, "left").layers

    assert (5, 40) == (spread.share.write.arrivals, spread.share.write.ios)
    assert disks.iops_amplification["write"] == disks.iops_amplification["total"] == 8.0
    assert disks.byte_amplification["write"] == 1.0


def test_pieces_of_two_volumes_are_not_divided():
    """7 small writes of one and 5 of the other cut in 8: 47 pieces, and only the bytes are known."""
    loads = dict.fromkeys(("sdc", "sdd"), IDLE)
    loads |= {"left": moved(write=did(5, 65536)), "right": moved(write=did(7, 4096))}
    loads["spread"] = moved(write=did(47, (5 * 65536 + 7 * 4096) / 47))
    loads |= {name: moved(write=did(23.5, 7584)) for name in DISKS[:2]}
    for top, size in (("left", 5 * 65536), ("right", 7 * 4096)):
        disks = stack_figures(topology(STRIPED), loads, top).layers[-1]
        assert disks.share.write.bytes == size
        assert disks.share.write.arrivals is None
        assert "splits requests of several volumes" in disks.share.reason


def test_a_partition_shares_its_disks_merges():
    """The kernel counts one merge at both: 20 sent, 15 of them merged, are 20 arrivals at each."""
    devices = [Device("sda1", Kind.PARTITION, "8:1", merges=True), passing("root")]
    edges = [Edge("root", "sda1", Role.DATA), Edge("sda1", "sda", Role.DATA)]
    both = {name: moved(write=did(5, 4096, 15)) for name in ("sda1", "sda")}  # two counters
    loads = {"root": moved(write=did(20, 4096)), **both}

    _, partitions, disks = stack_figures(topology((devices, edges)), loads, "root").layers

    assert (20, 20) == (partitions.share.write.arrivals, disks.share.write.arrivals)
    assert (5, 5) == (partitions.share.write.ios, disks.share.write.ios)
    assert (1.0, 1.0) == (partitions.accounted["write"], disks.accounted["write"])


def test_a_disk_alone_is_a_stack_of_one_layer():
    """Nothing stands on it: its own counters, and no ratio but 1."""
    figures = stack_figures(topology(), {"sda": moved(did(3, 512))}, "sda")

    assert [1.0] == [layer.iops_amplification["read"] for layer in figures.layers]
    assert disk("sda") == figures.top


def test_a_bitmap_among_the_members_makes_an_estimate():
    """md's internal bitmap has no device of its own: its writes are among the members'."""
    devices, edges = ARRAY
    kept = [d._replace(facts={"consistency": "bitmap"}) if d.name == "md0" else d for d in devices]
    members = stack_figures(topology((kept, edges)), array_loads(29), "md0").layers[1]

    assert members.share.estimated
    assert not stack_figures(topology(ARRAY), array_loads(29), "md0").layers[1].share.estimated


def test_one_way_of_several_is_an_estimate_and_all_together_are_none():
    """Of 40 requests one way is a partition: what went there is a range; at the disks it is whole."""
    devices = [passing("lv", target="striped"), Device("sda1", Kind.PARTITION, "8:1", merges=True)]
    edges = [
        Edge("lv", "sda1", Role.DATA, length=1000),
        Edge("lv", "sdb", Role.DATA, length=1000),
        Edge("sda1", "sda", Role.DATA),
    ]
    loads = dict.fromkeys(("sda", "sda1"), moved(write=did(25, 512)))
    loads |= {"lv": moved(write=did(40, 512)), "sdb": moved(write=did(29, 512))}

    _, partitions, disks = stack_figures(topology((devices, edges)), loads, "lv").layers

    assert partitions.share.estimated
    assert [end.arrivals for end in partitions.share.write.bounds] == [11, 25]
    assert partitions.accounted["write"] is None
    assert (disks.share.write.arrivals, disks.share.estimated) == (40, False)
    assert disks.accounted["write"] is None  # of the second disk nothing tells


def test_what_does_not_close_is_told_by_the_bytes():
    """Four requests for each sent: with as many bytes they were cut, with more they are somebody's."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    sent = {"lv": moved(write=did(100, 65536), aqu=0.1)}
    told = {}
    for size in (16384, 65536):
        loads = sent | {"sda": moved(write=did(400, size), aqu=0.1)}
        figures = stack_figures(topology(parts), loads, "lv", 1.0)
        told[size] = figures.layers[1].diagnosis

    assert "split on the way" in told[16384]
    assert "something else" in told[65536]


@pytest.mark.parametrize("idle", [IDLE, IDLE_WITHOUT_FLUSHES, IDLE_WITHOUT_DISCARDS])
def test_an_idle_partition_is_accounted_for_beside_a_busy_one(idle):
    """Idle devices share a load, on old kernels too; that of a partition that a text did not print is its disk's."""
    partitions = [Device(f"{name}1", Kind.PARTITION, "8:1") for name in ("sda", "sdb")]
    edges = [Edge("lv", each.name, Role.DATA) for each in partitions]
    edges += [Edge(each.name, each.name[:3], Role.DATA) for each in partitions]
    busy = moved(write=did(10, 4096))
    loads = {"lv": busy, "sda1": busy._replace(aqu=0.1), "sda": busy, "sdb1": idle, "sdb": idle}

    *_, disks = stack_figures(topology(([passing("lv"), *partitions], edges)), loads, "lv").layers

    assert disks.accounted["write"] == 1.0


@pytest.mark.parametrize("boundary", [512, PAGE])
def test_a_boundary_of_a_page_cuts_nothing(boundary):
    """No array has one; a capture may say so."""
    queue = Queue(boundary=boundary)
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), queue=queue)
    edges = [Edge("md0", disk, Role.DATA) for disk in DISKS]
    loads = {"md0": moved(write=did(10, 8192))}
    assert not stack_figures(topology(([array], edges)), loads, "md0").layers[0].share.estimated


@pytest.mark.parametrize(
    ("pieces", "size", "accounted"),
    [
        (
            162,
            27 * (1 << 20) / 162,
            1.0,
        ),  # measured on Linux 7.3.4: 27 writes of 1 MiB, stripes of 192 KiB
        (400, 27 * (1 << 20) / 400, 400 / 27),  # more pieces than such cuts can make
        (162, 1 << 20, 6.0),  # more bytes: somebody else's requests
    ],
)
def test_pieces_that_md_counts_are_put_together(pieces, size, accounted):
    """From about Linux 7.1 md splits requests at full stripes; the row of the array has md's own counters."""
    queue = Queue(boundary=192 << 10)
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), queue=queue)
    edges = [Edge("lv", "md0", Role.DATA), *(Edge("md0", disk, Role.DATA) for disk in DISKS)]
    loads = {"lv": moved(write=did(27, 1 << 20)), "md0": moved(write=did(pieces, size))}

    figures = stack_figures(topology(([passing("lv"), array], edges)), loads, "lv")

    assert figures.layers[1].accounted["write"] == pytest.approx(accounted)
    assert figures.layers[1].own["write"].ios == pieces


KIB = 1024


@pytest.mark.parametrize("boundary", [64 * KIB, 192 * KIB, 512 * KIB, 3584 * KIB])
@pytest.mark.parametrize("size", [4 * KIB, 8 * KIB, 20 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB])
@pytest.mark.parametrize("sequential", [True, False])
def test_the_requests_that_were_sent_to_an_array_that_counts_pieces_are_in_the_range(
    boundary, size, sequential
):
    """A stream, or one request at each page of a full stripe: cut as md does it."""
    step = size if sequential else PAGE
    starts = [n * step for n in range(max(1000, boundary // step))]
    pieces = sum((at + size - 1) // boundary - at // boundary + 1 for at in starts)
    queue = Queue(boundary=boundary, max_sectors_kb=1024)
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), queue=queue)
    edges = [Edge("md0", disk, Role.DATA) for disk in DISKS]
    loads = {"md0": moved(write=did(pieces, len(starts) * size / pieces))}

    head, disks = stack_figures(topology(([array], edges)), loads, "md0").layers

    low, high = (each.arrivals for each in head.share.write.bounds)
    assert low * 0.999 <= len(starts) <= high == pieces
    assert head.own["write"].ios == pieces
    assert (size == PAGE) == (low == pytest.approx(high, rel=1e-3))
    assert disks.per_counted_piece("write") == head.share.write.is_range
    assert not head.per_counted_piece("write")


@pytest.mark.parametrize(
    ("level", "boundary"), [("raid10", 64 * KIB), ("raid5", 0), ("raid5", None)]
)
def test_requests_that_are_counted_whole_are_exact(level, boundary):
    """Before Linux 7.1, and in arrays without parity, whose chunk the queue has there."""
    queue = Queue(boundary=boundary, max_sectors_kb=1024)
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout(level, 4, 65536), queue=queue)
    edges = [Edge("md0", disk, Role.DATA) for disk in DISKS]
    (head, _) = stack_figures(
        topology(([array], edges)), {"md0": moved(write=did(100, 1 << 20))}, "md0"
    ).layers
    assert not head.share.write.is_range


def test_reads_beside_writes_do_not_hide_each_other():
    """As many too many of the one as too few of the other: together they would close."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    loads = {"lv": moved(did(50, 512), did(50, 512)), "sda": moved(did(90, 512), did(10, 512))}
    figures = stack_figures(topology(parts), loads, "lv", 1.0)

    assert figures.layers[1].accounted["total"] == 1.0
    assert "something else" in figures.layers[1].diagnosis


def test_requests_under_way_at_the_edges_are_told_by_the_queue():
    """9 sent are not there yet: with a queue of 5 that is no wonder, with none it is."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    told = []
    for queue in (5.0, 0.0):
        loads = {"lv": moved(did(100, 512), aqu=queue), "sda": moved(did(91, 512), aqu=0.0)}
        figures = stack_figures(topology(parts), loads, "lv", 1.0)
        told.append(figures.layers[1].diagnosis)

    assert "in flight" in told[0]
    assert "accounting is off" in told[1]


@pytest.mark.parametrize(("arrived", "cause"), [(51, "in flight"), (52, "something else")])
def test_one_request_more_may_have_come_between_two_readings(arrived, cause):
    """The counters of two devices are read one after the other: with nothing in flight 1 may differ, not 2."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    loads = {
        "lv": moved(did(50, 512), in_flight_at_ends=0),
        "sda": moved(did(arrived, 512), in_flight_at_ends=0),
    }

    assert cause in stack_figures(topology(parts), loads, "lv", 1.0).layers[1].diagnosis


def test_a_device_completes_no_more_than_it_counted():
    """103 sent and 101 arrived, read a moment apart: the disk completed 97, all of them lv's."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    loads = {"lv": moved(did(103, 512)), "sda": moved(did(97, 512, 4))}
    disks = stack_figures(topology(parts), loads, "lv").layers[1]

    assert (disks.share.read.arrivals, disks.share.read.ios) == (103, 97)
    assert not disks.share.estimated


def test_a_device_without_counters_passes_on_what_arrived():
    """A text without the crypt mapping: the 17 requests of the volume reach the disk all the same."""
    parts = (
        [passing("lv"), passing("luks", Kind.CRYPT, "crypt")],
        [Edge("lv", "luks", Role.DATA), Edge("luks", "sda", Role.DATA)],
    )
    loads = {"lv": moved(did(17, 512)), "sda": moved(did(17, 512))}
    _, crypt, disks = stack_figures(topology(parts), loads, "lv").layers

    assert (crypt.share.read.arrivals, crypt.share.read.ios) == (17, None)
    assert (disks.share.read.arrivals, disks.iops_amplification["read"]) == (17, 1.0)


def test_idle_stacks_are_skipped_unless_all_are_idle():
    """Then the first is shown."""
    tree = topology(VM, OTHER)
    idle = dict.fromkeys(loads_of(), IDLE)
    busy = {**idle, "vm": moved(write=did(100, 512))}

    def shown(loads, *, skip_idle):
        report = LayerReport(
            tree, Interval(loads, seconds=1.0), ("vm", "other"), skip_idle=skip_idle
        )
        return [stack.top.name for stack in report.stacks]

    assert shown(busy, skip_idle=True) == ["vm"]
    assert shown(busy, skip_idle=False) == ["vm", "other"]
    assert shown(idle, skip_idle=True) == ["vm"]


def test_only_reads_are_taken_for_scans_of_labels():
    """1 MiB/s of 128 KiB beyond what was sent: as reads they are LVM's, as writes another program's."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    sent, more = did(8, 4096), did(8, 4096) + did(8, 131072)
    reads = stack_figures(topology(parts), {"lv": moved(sent), "sda": moved(more)}, "lv", 1.0)
    writes = stack_figures(
        topology(parts), {"lv": moved(write=sent), "sda": moved(write=more)}, "lv", 1.0
    )

    assert reads.layers[1].diagnoses["read"] == SCANS.format(requests="reads")
    assert writes.layers[1].diagnoses["write"] == OTHERS.format(requests="writes")


def test_very_many_stacks_have_no_table_each_unless_they_are_named(monkeypatch):
    monkeypatch.setattr(amplification, "MAX_STACKS", 1)
    both = topology(VM, OTHER)
    interval = Interval(loads_of(), time=None, seconds=1.0)

    with pytest.raises(InputError, match="2 stacks have I/O: name those that you want"):
        LayerReport(both, interval, [], skip_idle=False)
    named = LayerReport(both, interval, ["vm", "other"], skip_idle=False)
    assert {"vm", "other"} <= {stack.top.name for stack in named.stacks}
