"""Everything the disks did, by cause and per byte at the top, calculated by hand from primes."""

import pytest

from stackmap.discover.find import find
from stackmap.document.sentences import sentences
from stackmap.ledger.causes import Cause
from stackmap.ledger.corrections import corrected
from stackmap.ledger.disk_cost import disk_cost
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Machine, Topology
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, stack_figures, topology
from tests.ledger.test_ledger import raid5_of_three

PAGE = 4096
CHUNK = 16 * PAGE


def test_a_bitmap_counts_in_bytes_and_requests():
    """vm reads 5 pages and writes 31; its disks move 98 pages and 21 bitmap writes of 512 bytes."""
    cost = disk_cost(raid5_of_three(), "vm")

    bitmap = 21 * 512
    assert cost.bytes_per_byte == pytest.approx((98 * PAGE + bitmap) / (36 * PAGE))
    assert cost.causes == pytest.approx(
        {
            Cause.DATA: 1,
            Cause.PARITY: 31 / 36,
            Cause.PARITY_READ: 31 / 36,
            Cause.BITMAP: bitmap / (36 * PAGE),
        }
    )
    assert cost.bytes_per_byte_written == pytest.approx((93 * PAGE + bitmap) / (31 * PAGE))
    assert cost.all_requests_per_write == pytest.approx((62 + 31 + 21) / 31)
    assert cost.requests_per_write[Cause.BITMAP] == pytest.approx(21 / 31)
    assert not cost.estimated


def raid5_over_integrity() -> Ledger:
    """vm writes 31 pages, one per row, reading as many; each member adds 43 KiB written of checksums and 7 read."""
    devices, edges = raid_volume("vm", "raid5", 8, members=3)
    loads = {"vm": moved(write=did(31, PAGE)), "sdd": IDLE}
    for place, written in enumerate((19, 20, 23)):
        member = f"vm_rimage_{place}"
        (index,) = [n for n, device in enumerate(devices) if device.name == member]
        devices[index] = Device(member, Kind.MEMBER, "", target="integrity")
        devices += [passing(f"{member}_{part}", Kind.MEMBER) for part in ("iorig", "imeta")]
        edges = [edge for edge in edges if edge.above != member]
        edges += [
            Edge(member, f"{member}_iorig", Role.DATA),
            Edge(member, f"{member}_imeta", Role.METADATA),
            Edge(f"{member}_iorig", DISKS[place], Role.DATA),
            Edge(f"{member}_imeta", DISKS[place], Role.DATA),
        ]
        read = (10, 10, 11)[place]
        own, added = moved(did(read, PAGE), did(written, PAGE)), moved(did(7, 1024), did(43, 1024))
        loads |= {member: own, f"{member}_iorig": own, f"{member}_imeta": added}
        loads[f"vm_rmeta_{place}"] = IDLE
        loads[DISKS[place]] = moved(
            did(read + 7, (read * PAGE + 7 * 1024) / (read + 7)),
            did(written + 43, (written * PAGE + 43 * 1024) / (written + 43)),
        )
    return Ledger(topology((devices, edges)), loads, 1.0)


def test_parity_keeps_its_cause_below_integrity():
    """31 pages of data, parity and parity reads each; 3 × 50 KiB of checksums."""
    cost = disk_cost(raid5_over_integrity(), "vm")

    assert cost.causes == pytest.approx(
        {
            Cause.DATA: 1,
            Cause.PARITY: 1,
            Cause.PARITY_READ: 1,
            Cause.INTEGRITY: 3 * 50 * 1024 / (31 * PAGE),
        }
    )
    assert cost.bytes_per_byte == pytest.approx(3 + 150 / (31 * 4))


def test_the_sentence_counts_everything_and_names_data_and_parity():
    """4.21 disk bytes per byte written; 3.00 of data and parity alone."""
    ledger = raid5_over_integrity()
    told = sentences(stack_figures(ledger.topology, ledger.loads, "vm", 1.0))

    assert (
        "disk bytes per byte written: 4.21 (data 1.00, parity 1.00, parity reads 1.00, "
        "checksums and their journal 1.21)"
    ) in told
    assert any(
        each.startswith("data and parity of vm cost 3.00 disk bytes per byte written (")
        for each in told
    )


def pool(*volumes: str) -> Topology:
    """Thin volumes on a pool whose data is on sda and whose metadata is on sdb; an alias has its name."""
    devices = [
        *(Device(name, Kind.THIN, "", target="thin", label=f"vg/{name}") for name in volumes),
        Device("alias", Kind.THIN_POOL, "", target="linear", label="vg/pool"),
        Device(
            "tpool",
            Kind.THIN_POOL,
            "",
            target="thin-pool",
            label="vg/pool-tpool",
            facts={"block": str(CHUNK)},
        ),
        passing("tdata", Kind.MEMBER),
        passing("tmeta", Kind.MEMBER),
        *map(disk, DISKS),
    ]
    edges = [
        *(Edge(name, "tpool", Role.DATA) for name in (*volumes, "alias")),
        Edge("tpool", "tdata", Role.DATA),
        Edge("tpool", "tmeta", Role.METADATA),
        Edge("tdata", "sda", Role.DATA),
        Edge("tmeta", "sdb", Role.DATA),
    ]
    return Topology(devices, edges, machine=Machine(kernel="6.1.0"))


def pool_loads(data, metadata, **volumes):
    """The loads of a pool, which counts its own zeroing and copying too."""
    idle = dict.fromkeys(("alias", "sdc", "sdd"), IDLE)
    own = dict.fromkeys(("tpool", "tdata", "sda"), data)
    return {**idle, **volumes, **own, "tmeta": metadata, "sdb": metadata}


def test_a_first_write_zeroes_its_chunk():
    """19 writes of a page zero 13 chunks of 16 pages; 7 writes of 2 pages are metadata."""
    data = moved(write=did(32, (19 * PAGE + 13 * CHUNK) / 32))
    loads = pool_loads(data, moved(write=did(7, 2 * PAGE)), one=moved(write=did(19, PAGE)))
    cost = disk_cost(Ledger(pool("one"), loads), "one")

    assert cost.causes == pytest.approx(
        {Cause.DATA: 1, Cause.ZEROING: 13 * 16 / 19, Cause.METADATA: 14 / 19}
    )
    assert cost.requests_per_write == pytest.approx(
        {Cause.DATA: 1, Cause.ZEROING: 13 / 19, Cause.METADATA: 7 / 19}
    )
    assert not cost.estimated


def test_an_external_origin_is_read_for_data():
    """23 pages are read from sdc, where the thin volume has no chunk yet; 13 chunks are zeroed in the pool."""
    whole = pool("one")
    tree = Topology(
        whole.devices.values(),
        [*whole.edges, Edge("one", "sdc", Role.ORIGIN)],
        machine=whole.machine,
    )
    data = moved(write=did(32, (19 * PAGE + 13 * CHUNK) / 32))
    loads = pool_loads(data, IDLE, one=moved(did(23, PAGE), did(19, PAGE)))
    cost = disk_cost(Ledger(tree, loads | {"sdc": moved(did(23, PAGE))}), "one")

    assert cost.causes == pytest.approx(
        {Cause.DATA: 1, Cause.ZEROING: 13 * 16 / (19 + 23)}, abs=1e-9
    )


def test_a_shared_chunk_is_copied():
    """5 of 13 chunks written were read first: copied, the others zeroed."""
    data = moved(did(5, CHUNK), did(32, (19 * PAGE + 13 * CHUNK) / 32))
    loads = pool_loads(data, IDLE, one=moved(write=did(19, PAGE)))
    causes = disk_cost(Ledger(pool("one"), loads), "one").causes

    assert causes[Cause.ZEROING] == pytest.approx(8 * 16 / 19)
    assert causes[Cause.COPY_ON_WRITE] == pytest.approx((5 + 5) * 16 / 19)


def test_reads_of_unwritten_blocks_end_in_the_volume():
    """Of 40 pages that are read 11 come to the pool, which reads 5 chunks to copy them, and zeroes 8."""
    data = moved(did(16, (11 * PAGE + 5 * CHUNK) / 16), did(32, (19 * PAGE + 13 * CHUNK) / 32))
    loads = pool_loads(data, IDLE, one=moved(did(40, PAGE), did(19, PAGE)))
    cost = disk_cost(Ledger(pool("one"), loads), "one")

    assert cost.bytes == pytest.approx((11 + 19) * PAGE + 18 * CHUNK)
    assert cost.causes[Cause.DATA] == pytest.approx((11 + 19) / 59)
    assert cost.causes[Cause.COPY_ON_WRITE] == pytest.approx((5 + 5) * 16 / 59)
    assert cost.causes[Cause.ZEROING] == pytest.approx(8 * 16 / 59)
    assert cost.estimated


def test_empty_flushes_are_a_cause_without_bytes():
    """The pool flushes its data 3 times beyond its volumes, and its metadata 5 times; 7 blocks are written there."""
    own = moved(write=did(19, PAGE))
    loads = pool_loads(own, moved(write=did(12, 7 * PAGE / 12)), one=own)
    loads |= dict.fromkeys(("tdata", "sda"), moved(write=did(22, 19 * PAGE / 22)))
    cost = disk_cost(Ledger(pool("one"), loads), "one")

    assert cost.causes == pytest.approx({Cause.DATA: 1, Cause.METADATA: 7 / 19, Cause.FLUSH: 0})
    assert cost.requests_per_write == pytest.approx(
        {Cause.DATA: 1, Cause.METADATA: 7 / 19, Cause.FLUSH: 8 / 19}
    )


def mirrored_pool():
    """A pool whose data and metadata are on one md RAID1 of two disks, which keeps its bitmap on them."""
    below = Device(
        "md0", Kind.ARRAY, "9:0", size=1 << 30, state="active", layout=layout("raid1", 2),
        facts={"consistency": "bitmap", "region": str(64 << 20)},
    )  # fmt: skip
    drawn = pool("one")
    edges = [Edge(name, "md0", Role.DATA) for name in ("tdata", "tmeta")]
    edges += [Edge("md0", name, Role.DATA) for name in ("sda", "sdb")]
    kept = [edge for edge in drawn.edges if edge.below not in DISKS]
    disks = [drawn[name]._replace(queue=Queue(logical_block_size=512)) for name in DISKS]
    devices = [device for device in drawn.devices.values() if device.name not in DISKS]
    return Topology([*devices, *disks, below], kept + edges, machine=drawn.machine)


def test_metadata_on_the_array_of_the_data_is_not_the_bitmap():
    """19 pages of data, 7 of metadata, 2 bitmap writes and 5 flushes that md does not count."""
    own, metadata = moved(write=did(19, PAGE)), moved(write=did(12, 7 * PAGE / 12))
    member = moved(write=did(26 + 2 + 5, (26 * PAGE + 2 * 512) / 33))
    loads = {"one": own, "tpool": own, "tdata": own, "tmeta": metadata, "alias": IDLE}
    loads |= {
        "md0": moved(write=did(26, PAGE)),
        "sda": member,
        "sdb": member,
        "sdc": IDLE,
        "sdd": IDLE,
    }
    figures = stack_figures(mirrored_pool(), loads, "one")
    cost = figures.cost

    assert cost.causes == pytest.approx(
        {
            Cause.DATA: 2,
            Cause.METADATA: 14 / 19,
            Cause.BITMAP: 2 * 2 * 512 / (19 * PAGE),
            Cause.FLUSH: 0,
        }
    )
    assert cost.requests_per_write == pytest.approx(
        {Cause.DATA: 2, Cause.METADATA: 14 / 19, Cause.BITMAP: 4 / 19, Cause.FLUSH: 10 / 19}
    )
    array = next(each for each in figures.layers if each.layer.role == "array")
    assert array.share.write.bytes == 26 * PAGE
    assert array.accounted["write"] == pytest.approx(26 / (19 + 12))


def test_two_volumes_of_a_pool_have_parts_with_bounds():
    """one writes 29 pages, two 11; the pool writes 67. At least its own, at most all but the other's."""
    tree = pool("one", "two")
    loads = pool_loads(
        moved(write=did(67, PAGE)),
        moved(write=did(3, PAGE)),
        one=moved(write=did(29, PAGE)),
        two=moved(write=did(11, PAGE)),
    )
    ledger = Ledger(tree, loads)
    one, two = (disk_cost(ledger, name) for name in ("one", "two"))

    assert one.bytes_per_byte == pytest.approx(70 / 40)
    assert (one.low, one.high) == pytest.approx((29 / 29, (67 - 11 + 3) / 29))
    assert (two.low, two.high) == pytest.approx((1, (67 - 29 + 3) / 11))
    assert one.estimated
    assert one.bytes + two.bytes == pytest.approx(70 * PAGE)
    assert disk_cost(ledger, "tpool").causes == pytest.approx(
        {Cause.DATA: 40 / 67, Cause.ZEROING: 27 / 67, Cause.METADATA: 3 / 67}
    )
    assert [each.name for each in stack_figures(tree, loads, "one").shared] == ["tpool"]


def test_reads_of_two_mapped_volumes_are_exact():
    """Where all that was asked arrives, each volume's reads are its own."""
    loads = pool_loads(
        moved(did(40, PAGE)), IDLE, one=moved(did(29, PAGE)), two=moved(did(11, PAGE))
    )
    cost = disk_cost(Ledger(pool("one", "two"), loads), "one")

    assert (cost.bytes_per_byte, cost.low, cost.high) == pytest.approx((1, 1, 1))


def copied_for_one():
    """one writes 13 pages, for which 5 chunks are copied, while 17 pages of two are read."""
    data = moved(did(17 + 5, (17 * PAGE + 5 * CHUNK) / 22), did(18, (13 * PAGE + 5 * CHUNK) / 18))
    return pool_loads(
        data, IDLE, one=moved(write=did(13, PAGE)), two=moved(did(17, PAGE), IDLE.write)
    )


def test_copies_belong_to_the_volume_that_writes_not_to_the_one_that_reads():
    """As while a snapshot is read for a backup, and its origin is written."""
    ledger = Ledger(pool("one", "two"), copied_for_one())
    one, two = (disk_cost(ledger, name) for name in ("one", "two"))

    assert one.bytes_per_byte == pytest.approx((13 + 2 * 5 * 16) / 13)
    assert one.low <= one.bytes_per_byte <= one.high
    assert two.bytes_per_byte == pytest.approx(1)
    assert two.high == pytest.approx(97 / 17)
    assert one.causes[Cause.COPY_ON_WRITE] == pytest.approx(2 * 5 * 16 / 13)


def test_the_sentence_of_a_volume_that_reads_too_has_its_range():
    """
    two reads 7 pages and writes 11 of the 40 that are written to the pool, which writes 67.

    At most, all that is not one's is two's, and so are 7 pages that were read to be copied.
    """
    loads = pool_loads(
        moved(did(7, PAGE), did(67, PAGE)),
        moved(write=did(3, PAGE)),
        one=moved(write=did(29, PAGE)),
        two=moved(did(7, PAGE), did(11, PAGE)),
    )
    (told,) = (
        each
        for each in sentences(stack_figures(pool("one", "two"), loads, "two"))
        if "disk bytes per byte written" in each
    )

    low, high = 1, (67 - 29 + 3 + 7) / 11
    assert told.startswith(
        f"disk bytes per byte written: {70 / 40:.2f}, an estimate between {low:.2f} and {high:.2f} ("
    )


def test_the_name_of_a_pool_means_the_device_with_its_io():
    """Its alias is idle."""
    assert find(pool("one"), "vg/pool") == ["tpool"]
    assert find(pool("one"), "vg/one") == ["one"]


def degraded(read: int, written: int, below: tuple[int, int]):
    """A RAID5 of three that lacks one: pages read and written at md0, and at its two members together."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", target="", state="degraded", layout=layout("raid5", 3, 65536)
    )
    parts = ([array], [Edge("md0", name, Role.DATA) for name in DISKS[:2]])
    each = moved(did(below[0] / 2, PAGE), did(below[1] / 2, PAGE))
    loads = {"md0": moved(did(read, PAGE), did(written, PAGE)), "sda": each, "sdb": each}
    return stack_figures(topology(parts), {**loads, "sdc": IDLE, "sdd": IDLE}, "md0", 1.0)


def test_writes_of_a_degraded_array_cost_what_its_members_did():
    """31 pages written: 42 written and 22 read below, two thirds of the data among them."""
    stack = degraded(0, 31, (22, 42))

    assert stack.parity.cost_bytes_per_byte == pytest.approx(64 / 31)
    assert stack.cost.causes[Cause.DATA] == pytest.approx(2 / 3, rel=0.03)
    assert stack.cost.causes[Cause.PARITY_READ] == pytest.approx(22 / 31)
    assert stack.cost.estimated
    assert not [each for each in sentences(stack) if "did not come from" in each]


def test_reads_of_a_degraded_array_are_what_raid_arithmetic_says():
    """A third of 30 pages is on the missing member: 10 × 2 and 20 reads."""
    stack = degraded(30, 0, (40, 0))

    assert stack.cost.causes == pytest.approx({Cause.DATA: 1, Cause.DEGRADED: 1 / 3})
    assert any("random reads 1.33" in each for each in sentences(stack))


def test_reads_and_writes_of_a_degraded_array_are_not_told_from_each_other():
    assert "missing member" in degraded(7, 31, (41, 42)).parity.reason


def linear_on(below: Device):
    return ([passing("lv"), below], [Edge("lv", below.name, Role.DATA)])


def test_fewer_writes_at_md_with_equal_bytes_are_empty_flushes():
    """37 of 337 writes at the volume carry nothing; md does not count them."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2))
    loads = {"lv": moved(write=did(337, 300)), "md0": moved(write=did(300, 337))}
    why = stack_figures(topology(linear_on(array)), loads, "lv", 1.0).layers[1].diagnoses

    assert why.keys() == {"write"}
    assert "empty flushes" in why["write"]


def test_more_reads_of_128_kib_are_label_scans():
    """11 of them arrive besides 53 reads; another size is another user."""
    for size, words in ((128 * 1024, "LVM scans"), (64 * 1024, "something else")):
        arrived = did(64, (53 * PAGE + 11 * size) / 64)
        loads = {"lv": moved(did(53, PAGE)), "sda": moved(arrived)}
        parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
        why = stack_figures(topology(parts), loads, "lv", 1.0).layers[1].diagnoses
        assert words in why["read"]
        assert "more reads arrived" in why["read"]


def test_a_label_scan_does_not_make_an_idle_volume_uncounted():
    """Reads of 128 KiB below say nothing about its counters; writes do."""
    lv = passing("lv", queue=Queue(iostats=False))
    tree = topology(([lv], [Edge("lv", "sda", Role.DATA)]))
    for below, done in (
        (moved(did(2, 128 * 1024)), ()),
        (moved(did(2, 128 * 1024), did(3, PAGE)), ("not-counted: lv",)),
    ):
        interval = Interval(time=0.0, seconds=1.0, loads={"lv": IDLE, "sda": below})
        assert corrected(tree, interval).corrections == done


def test_an_unknown_metadata_device_leaves_the_cost_unknown():
    """Without the counters of rmeta the sum is unknown, and data and parity are not."""
    ledger = raid5_of_three()
    loads = {name: load for name, load in ledger.loads.items() if "rmeta" not in name}
    cost = disk_cost(Ledger(ledger.topology, loads), "vm")

    assert cost.bytes_per_byte is None
    assert cost.causes[Cause.BITMAP] is None
    assert cost.causes[Cause.DATA] == pytest.approx(1)


def test_a_cache_hit_is_data_and_what_is_moved_is_the_caches():
    """17 pages written reach the fast device; 5 blocks of 4 pages are copied to the origin."""
    devices = [
        Device("vm", Kind.CACHE, "", target="cache"),
        *(passing(name, Kind.MEMBER) for name in ("slow", "fast")),
    ]
    edges = [
        Edge("vm", "slow", Role.ORIGIN),
        Edge("vm", "fast", Role.CACHE),
        Edge("slow", "sda", Role.DATA),
        Edge("fast", "sdb", Role.DATA),
    ]
    slow, fast = moved(write=did(5, 4 * PAGE)), moved(did(5, 4 * PAGE), did(17, PAGE))
    loads = {"vm": moved(write=did(17, PAGE)), "slow": slow, "sda": slow, "fast": fast, "sdb": fast}
    cost = disk_cost(Ledger(topology((devices, edges)), loads), "vm")

    assert cost.causes == pytest.approx({Cause.DATA: 1, Cause.CACHE: 40 / 17})


def test_the_activity_log_of_drbd_is_metadata():
    """As Linux 6.12 counted: 200 writes of 4 KiB to 50 extents, each with a write of 4 KiB and a flush before its first."""
    tree = topology(
        ([disk("sda"), Device("drbd0", Kind.DISK, "")], [Edge("drbd0", "sda", Role.DATA)])
    )
    loads = {"drbd0": moved(write=did(200, PAGE)), "sda": moved(write=did(300, 250 * PAGE / 300))}
    cost = disk_cost(Ledger(tree, loads, 1.0), "drbd0")

    assert cost.causes == pytest.approx({Cause.DATA: 1, Cause.METADATA: 0.25})
    assert cost.requests_per_write == pytest.approx({Cause.DATA: 1, Cause.METADATA: 0.5})


def test_what_the_peer_of_drbd_writes_is_not_its_log():
    """The log is at most a page for each of two extents of a write: half a write per second makes no 500."""
    tree = topology(
        ([disk("sda"), Device("drbd0", Kind.DISK, "")], [Edge("drbd0", "sda", Role.DATA)])
    )
    loads = {"drbd0": moved(write=did(1, PAGE)), "sda": moved(write=did(500, 4 * PAGE))}
    causes = disk_cost(Ledger(tree, loads, 1.0), "drbd0").causes

    assert set(causes) == {Cause.DATA, Cause.OTHER}


def test_nothing_is_known_of_an_idle_stack():
    ledger = raid5_of_three()
    loads = dict.fromkeys(ledger.loads, Load(*IDLE))
    cost = disk_cost(Ledger(ledger.topology, loads), "vm")

    assert (cost.bytes_per_byte, cost.causes, cost.all_requests_per_write) == (None, {}, None)
