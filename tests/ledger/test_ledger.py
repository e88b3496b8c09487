"""The rows of the ledger, calculated by hand from primes: whose traffic, why, and how exactly it is known."""

from itertools import pairwise

import pytest

from stackmap.ledger.amplification import figures_of
from stackmap.ledger.causes import Cause
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import IDLE, Flow, Load, plus
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from tests.drawn import DISKS, did, moved, passing, raid_volume, stack_figures, topology
from tests.ledger.test_amplification import ARRAY, array_loads

PAGE = 4096


def by_edge(ledger: Ledger, top: str, direction: str = "write"):
    """The rows in one direction by device above, device below and cause."""
    rows = [row for row in ledger.rows(top) if row.direction == direction]
    return {(row.edge.above, row.edge.below, row.cause): row for row in rows}


def disk_bytes(ledger: Ledger, top: str):
    """The bytes read and written by the disks, by cause."""
    found: dict[Cause, float | None] = {}
    for (cause, direction), traffic in ledger.disk_traffic_by_cause(top).items():
        if direction != "discard":
            found[cause] = plus(found.get(cause, 0.0), traffic.bytes)
    return found


def raid5_of_three() -> Ledger:
    """
    vm reads 5 pages and writes 31 pages per second, one page per row.

    Each write reads the other data page and writes data and parity: members
    write 62 pages and read 5 + 31. Each rmeta gets 7 writes of 512 bytes.
    """
    loads: dict[str, Load] = {"vm": moved(did(5, PAGE), did(31, PAGE)), "sdd": IDLE}
    members = ((11, 19), (12, 20), (13, 23))
    for place, (read, written) in enumerate(members):
        loads[f"vm_rimage_{place}"] = moved(did(read, PAGE), did(written, PAGE))
        loads[f"vm_rmeta_{place}"] = moved(write=did(7, 512))
        bytes_written = written * PAGE + 7 * 512
        loads[DISKS[place]] = moved(
            did(read, PAGE), did(written + 7, bytes_written / (written + 7))
        )
    return Ledger(topology(raid_volume("vm", "raid5", 8, members=3)), loads, 1.0)


def test_a_raid5_of_three_has_data_parity_and_bitmap():
    """31 pages of data, 31 of parity, 31 of the 36 reads for parity; 21 bitmap writes."""
    found = raid5_of_three().disk_traffic_by_cause("vm")

    assert found[Cause.DATA, "write"].bytes == pytest.approx(31 * PAGE)
    assert found[Cause.PARITY, "write"].bytes == pytest.approx(31 * PAGE)
    assert found[Cause.PARITY, "write"].arrivals == pytest.approx(31)
    assert found[Cause.DATA, "read"].arrivals == pytest.approx(5)
    assert found[Cause.PARITY_READ, "read"].arrivals == pytest.approx(31)
    assert found[Cause.BITMAP, "write"].arrivals == 21
    assert found[Cause.BITMAP, "write"].bytes == 21 * 512


def test_causes_sum_to_what_the_disks_did():
    """All they read and wrote, requests and bytes, belongs to vm."""
    ledger = raid5_of_three()
    causes, disks = ledger.disk_traffic_by_cause("vm"), ledger.flows(DISKS)

    for direction in ("read", "write"):
        parts = [traffic for (_, d), traffic in causes.items() if d == direction]
        assert sum(part.bytes for part in parts) == pytest.approx(disks[direction].bytes)
        assert sum(part.arrivals for part in parts) == pytest.approx(disks[direction].arrivals)
    assert sum(disk_bytes(ledger, "vm").values()) == pytest.approx(disks["total"].bytes)


def test_a_row_stands_for_one_edge_and_cause():
    """The bitmap's 7 writes pass rmeta to the disk and stay the bitmap's; parity is divided among members."""
    rows = by_edge(raid5_of_three(), "vm")

    for edge in (("vm", "vm_rmeta_1"), ("vm_rmeta_1", "sdb")):
        assert rows[*edge, Cause.BITMAP].traffic.arrivals == 7
        assert rows[*edge, Cause.BITMAP].traffic.bytes == 7 * 512
        assert not rows[*edge, Cause.BITMAP].traffic.is_range
    parity, data = (rows["vm", "vm_rimage_1", c] for c in (Cause.PARITY, Cause.DATA))
    assert parity.traffic.bytes + data.traffic.bytes == 20 * PAGE
    assert rows["", "vm", Cause.DATA].traffic.arrivals == 31


def test_bytes_amplify_by_direction():
    """62 pages written per 31; 36 read per 5; 98 moved per 36."""
    _, members, disks = figures_of(raid5_of_three(), ["vm"])[0].layers

    for figures in (members, disks):
        assert figures.byte_amplification["write"] == pytest.approx(2)
        assert figures.byte_amplification["read"] == pytest.approx(36 / 5)
        assert figures.byte_amplification["total"] == pytest.approx(98 / 36)


def test_two_volumes_on_one_array_have_unknown_rows_with_the_reason():
    """home's 13 writes reach md0 exactly; below it nothing tells them from data's."""
    rows = by_edge(Ledger(topology(ARRAY), array_loads(29)), "home")

    assert rows["home", "md0", Cause.DATA].traffic.arrivals == 13
    unknown = rows["md0", "sda", Cause.DATA]
    assert (unknown.traffic.arrivals, unknown.traffic.bytes) == (None, None)
    assert "serves several volumes" in unknown.reason
    assert disk_bytes(Ledger(topology(ARRAY), array_loads(29)), "home") == {Cause.DATA: None}


def test_a_device_without_a_load_has_no_figures_and_the_reason():
    """It may be among the counters: a device that was replaced has no load until it is known which it is."""
    whole = raid5_of_three()
    loads = {name: load for name, load in whole.loads.items() if name != "vm"}
    share = Ledger(whole.topology, loads).share("vm", ["vm"])

    assert share.write.bytes is None
    assert share.reason == "vm: no counters in this interval"


def test_a_linear_volume_over_two_disks_has_ranges():
    """Of 41 requests 17 to 23 went to the first disk: 24 arrived at the second, 23 at the first."""
    parts = (
        [passing("lv")],
        [Edge("lv", name, Role.DATA, length=1 << 20) for name in ("sda", "sdb")],
    )
    loads = {"lv": moved(did(41, 512)), "sda": moved(did(23, 512)), "sdb": moved(did(24, 512))}
    row = by_edge(Ledger(topology(parts), loads), "lv", "read")["lv", "sda", Cause.DATA]

    assert row.traffic.is_range
    assert [bound.arrivals for bound in row.traffic.bounds] == [17, 23]


INTEGRITY = (
    [
        Device("mirror", Kind.VOLUME, "", target="raid", layout=layout("raid1", 2), state="active"),
        *(Device(f"leg{n}", Kind.MEMBER, "", target="integrity") for n in (0, 1)),
        *(passing(f"leg{n}_{part}", Kind.MEMBER) for n in (0, 1) for part in ("orig", "meta")),
    ],
    [
        edge
        for n, disk in enumerate(DISKS[:2])
        for edge in (
            Edge("mirror", f"leg{n}", Role.DATA),
            Edge(f"leg{n}", f"leg{n}_orig", Role.DATA),
            Edge(f"leg{n}", f"leg{n}_meta", Role.METADATA),
            Edge(f"leg{n}_orig", disk, Role.DATA),
            Edge(f"leg{n}_meta", disk, Role.DATA),
        )
    ],
)


def test_integrity_below_a_mirror_is_a_cause():
    """29 pages to each of 2 legs; checksums and journal are 37 writes of 1024 bytes on each disk."""
    loads = {"mirror": moved(write=did(29, PAGE)), "sdc": IDLE, "sdd": IDLE}
    for n, disk in enumerate(DISKS[:2]):
        loads |= dict.fromkeys((f"leg{n}", f"leg{n}_orig"), moved(write=did(29, PAGE)))
        loads[f"leg{n}_meta"] = moved(write=did(37, 1024))
        loads[disk] = moved(write=did(66, (29 * PAGE + 37 * 1024) / 66))
    ledger = Ledger(topology(INTEGRITY), loads)

    assert disk_bytes(ledger, "mirror") == {
        Cause.DATA: 2 * 29 * PAGE,
        Cause.INTEGRITY: 2 * 37 * 1024,
    }
    assert stack_figures(topology(INTEGRITY), loads, "mirror").layers[-1].byte_amplification[
        "write"
    ] == pytest.approx(2)


SNAPSHOT = (
    [
        Device("origin", Kind.VOLUME, "", target="snapshot-origin"),
        Device("snap", Kind.SNAPSHOT, "", target="snapshot"),
        passing("real", Kind.MEMBER),
        passing("cow", Kind.MEMBER),
    ],
    [
        Edge("origin", "real", Role.DATA),
        Edge("snap", "real", Role.ORIGIN),
        Edge("snap", "cow", Role.COW),
        Edge("real", "sda", Role.DATA),
        Edge("cow", "sdb", Role.DATA),
    ],
)


def test_a_snapshot_has_copy_on_write():
    """origin writes 43 times; 47 chunks are read from its device to copy them, 53 writes store them."""
    loads = {"origin": moved(write=did(43, PAGE)), "snap": IDLE, "sdc": IDLE, "sdd": IDLE}
    loads |= dict.fromkeys(("real", "sda"), moved(did(47, 8192), did(43, PAGE)))
    loads |= dict.fromkeys(("cow", "sdb"), moved(write=did(53, 8192)))
    ledger = Ledger(topology(SNAPSHOT), loads)

    assert disk_bytes(ledger, "origin") == {
        Cause.DATA: 43 * PAGE,
        Cause.COPY_ON_WRITE: 47 * 8192,
    }
    stored = ledger.disk_traffic_by_cause("snap")[Cause.COPY_ON_WRITE, "write"]
    assert (stored.arrivals, stored.bytes) == (53, 53 * 8192)


def test_a_partition_passes_on_merged_requests_by_cause():
    """Below partitions, where 3 of 4 merge, causes keep their arrivals: 19 of data, 7 of the bitmap."""
    devices, edges = raid_volume("vm", "raid1", 8, members=2)
    parts = [Device(f"{disk}1", Kind.PARTITION, "", merges=True) for disk in DISKS[:2]]
    moved_edges = [e._replace(below=f"{e.below}1") if e.below in DISKS else e for e in edges]
    loads = {"vm": moved(write=did(19, PAGE)), "sdc": IDLE, "sdd": IDLE}
    for place, disk in enumerate(DISKS[:2]):
        loads[f"vm_rimage_{place}"] = moved(write=did(19, PAGE))
        loads[f"vm_rmeta_{place}"] = moved(write=did(7, 512))
        size = (19 * PAGE + 7 * 512) / 26
        loads |= dict.fromkeys((disk, f"{disk}1"), moved(write=did(6.5, size, 19.5)))
        moved_edges.append(Edge(f"{disk}1", disk, Role.DATA))
    found = Ledger(topology(([*devices, *parts], moved_edges)), loads).disk_traffic_by_cause("vm")

    assert found[Cause.DATA, "write"].arrivals == 38
    assert found[Cause.BITMAP, "write"].arrivals == 14
    assert found[Cause.DATA, "write"].bytes == 38 * PAGE


def test_an_arrays_own_bitmap_is_a_range():
    """Members wrote 62 pages for 31: up to 17 of them per member can be its bitmap's."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", state="active", layout=layout("raid5", 3, 65536),
        facts={"consistency": "bitmap"},
    )  # fmt: skip
    parts = ([array], [Edge("md0", name, Role.DATA) for name in DISKS[:3]])
    loads = {"md0": moved(write=did(31, PAGE)), "sdd": IDLE}
    loads |= {
        name: moved(write=did(ios, PAGE)) for name, ios in zip(DISKS, (17, 22, 23), strict=False)
    }
    found = Ledger(topology(parts), loads).disk_traffic_by_cause("md0")

    needed = 31 * 1.5
    most = (62 - needed) / 3
    bitmap, parity = (found[cause, "write"] for cause in (Cause.BITMAP, Cause.PARITY))
    assert [bound.arrivals for bound in bitmap.bounds] == pytest.approx([0, 3 * most])
    assert [bound.arrivals for bound in parity.bounds] == pytest.approx([31 - 3 * most, 31])
    assert found[Cause.DATA, "write"].bytes == pytest.approx(31 * PAGE)


def test_a_resync_is_a_cause():
    """A mirror of two that resyncs: 59 reads and 59 writes beyond the 23 reads and 2 × 13 writes."""
    devices, edges = raid_volume("vm", "raid1", 8, members=2)
    busy = Device(
        "vm", Kind.VOLUME, "", target="raid", layout=layout("raid1", 2), state="resync 12.5 %"
    )
    loads = dict.fromkeys(("sdb", "sdc", "sdd", "vm_rmeta_0", "vm_rmeta_1"), IDLE)
    loads |= {"vm": moved(did(23, PAGE), did(13, PAGE))}
    loads |= dict.fromkeys(("vm_rimage_0", "sda"), moved(did(82, PAGE), did(13, PAGE)))
    loads |= dict.fromkeys(("vm_rimage_1", "sdb"), moved(write=did(72, PAGE)))
    found = Ledger(topology(([busy, *devices[1:]], edges)), loads).disk_traffic_by_cause("vm")

    assert found[Cause.RESYNC, "read"].bytes == pytest.approx(59 * PAGE)
    assert found[Cause.RESYNC, "write"].bytes == pytest.approx(59 * PAGE)
    assert found[Cause.DATA, "write"].bytes == pytest.approx(26 * PAGE)


def test_copies_are_data_where_reads_and_writes_are_not_separate():
    """30 requests of 4 KiB at a RAID10, of which 20 are writes: 50 at its disks, and none of another cause."""
    tree = topology(raid_volume("r", "raid10", 1))
    members = [f"r_rimage_{place}" for place in range(4)]
    loads = {"r": Load(whole=did(30, 4096))}
    loads |= {name: Load(whole=did(50 / 4, 4096)) for name in (*members, *DISKS)}

    assert set(disk_bytes(Ledger(tree, loads), "r")) <= {Cause.DATA, Cause.BITMAP}


def test_a_deep_stack_keeps_few_divisions():
    """Levels of two devices, each on both of the level below: a level is exact, and few divisions are kept."""
    levels = [["top"], *([f"l{n}", f"r{n}"] for n in range(30))]
    edges = [
        Edge(above, below, Role.DATA, length=1 << 20)
        for upper, lower in pairwise(levels)
        for above in upper
        for below in lower
    ]
    names = [name for level in levels for name in level]
    loads = {name: moved(did(40 if name == "top" else 20, 512)) for name in names}
    ledger = Ledger(topology((list(map(passing, names)), edges)), loads)
    shares = ledger.shares("top")

    assert max(len(share.divisions) for share in shares.values()) <= 3
    assert shares["l29"].read.is_range
    assert not ledger.share("top", levels[-1]).read.is_range
    assert ledger.share("top", levels[-1]).read.arrivals == pytest.approx(40)


def test_a_device_without_counters_between_two_ways_to_one_disk():
    """
    home divides over mid and sda, and mid, all on sda, has no counters: nothing is known of mid's part alone.

    What mid sent depends on what may have arrived at sda, and that on what mid sent.
    """
    devices = [
        Device("home", Kind.VOLUME, "254:0", target="linear"),
        Device("mid", Kind.VOLUME, "254:1", target="linear"),
        Device("sda", Kind.DISK, "8:0"),
    ]
    edges = [
        Edge("home", "mid", Role.DATA, 0, 1 << 30), Edge("home", "sda", Role.DATA, 1 << 30, 1 << 30),
        Edge("mid", "sda", Role.DATA, 0, 1 << 30),
    ]  # fmt: skip
    load = moved(did(5, PAGE), did(31, PAGE))
    ledger = Ledger(topology((devices, edges)), {"home": load, "sda": load})
    found = {name: share.part("write") for name, share in ledger.shares("home").items()}

    assert found["sda"].bytes == 31 * PAGE
    assert found["mid"].low.bytes == 0
    assert found["mid"].high.bytes == 31 * PAGE


def test_a_parity_array_makes_pages_of_all_that_arrives():
    """A mirror with a bitmap on an array of RAID5: its writes of 512 bytes are pages at the disks, as its data are."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", target="md", layout=layout("raid5", 3, 65536), state="active"
    )
    legs = [passing(f"vm_{part}_0", Kind.MEMBER) for part in ("rimage", "rmeta")]
    top = Device(
        "vm", Kind.VOLUME, "254:8", target="raid", layout=layout("raid1", 1), state="active"
    )
    edges = [Edge("vm", "vm_rimage_0", Role.DATA), Edge("vm", "vm_rmeta_0", Role.METADATA)]
    edges += [Edge(leg.name, "md0", Role.DATA) for leg in legs]
    edges += [Edge("md0", name, Role.DATA) for name in DISKS[:3]]
    data, bitmap = did(29, 16 * PAGE), did(11, PAGE)
    both = Flow(40.0, 0.0, data.bytes + bitmap.bytes, 0.0)
    pages = (29 * 16 + 11) * 2 / 3  # data and parity, of three disks each its third
    loads = {
        "vm": moved(write=data),
        "vm_rimage_0": moved(write=data),
        "vm_rmeta_0": moved(write=bitmap),
    }
    loads |= {"md0": moved(write=both)} | {
        name: moved(write=did(pages, PAGE)) for name in DISKS[:3]
    }
    tree = Topology([top, *legs, array, *(Device(name, Kind.DISK, "") for name in DISKS)], edges)
    rows = [
        row
        for row in Ledger(tree, loads, 1.0).rows("vm")
        if row.edge.above == "md0" and row.traffic.bytes
    ]

    assert {row.cause for row in rows} >= {Cause.DATA, Cause.BITMAP, Cause.PARITY}
    for row in rows:
        assert row.traffic.bytes / row.traffic.arrivals == pytest.approx(PAGE)


@pytest.mark.parametrize("direction", ["read", "write"])
def test_what_a_program_does_to_an_array_itself_is_anothers(direction):
    """The volume above sends 29 requests to the mirror, which counts 40: 11 came from no device above."""
    shape = layout("raid1", 2)
    array = Device("md0", Kind.ARRAY, "9:0", target="md", layout=shape, state="active")
    tree = Topology(
        [passing("lv"), array, *(Device(name, Kind.DISK, "") for name in ("sda", "sdb"))],
        [Edge("lv", "md0", Role.DATA), *(Edge("md0", name, Role.DATA) for name in ("sda", "sdb"))],
    )

    def load(count):
        return moved(**{direction: did(count, PAGE)})

    each = 40 if direction == "write" else 20  # of the two copies both are written, and one is read
    loads = {"lv": load(29), "md0": load(40), "sda": load(each), "sdb": load(each)}
    causes = Ledger(tree, loads, 1.0).disk_traffic_by_cause("lv")

    found = {
        cause: traffic.bytes / PAGE
        for (cause, way), traffic in causes.items()
        if way == direction and traffic.bytes
    }
    assert found == pytest.approx({Cause.DATA: 29 * each / 20, Cause.OTHER: 11 * each / 20})
