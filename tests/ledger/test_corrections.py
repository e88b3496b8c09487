"""Counters that a kernel gets wrong are corrected or made unknown, with a note."""

import pytest

from stackmap.ledger.corrections import RULES, corrected
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow, Load
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from tests.drawn import did, disk, moved, passing, raid_volume, topology


def mended(tree, loads):
    interval = corrected(tree, Interval(loads))
    return interval.loads, interval.corrections


@pytest.mark.parametrize(
    ("kernel", "iostats", "halved"),
    [
        ("6.12.1", True, True),
        ("5.14.0-503.el9", True, True),
        ("6.1.0", False, False),
        ("5.10.1", True, False),
    ],
)
def test_raid_volumes_counted_twice_are_halved(kernel, iostats, halved):
    """Requests, bytes and time, where queue/iostats is 1 and md counts bios (5.14 and later)."""
    tree = topology(raid_volume("vm", "raid5", 8, queue=Queue(iostats=iostats)), kernel=kernel)
    loads, done = mended(tree, {"vm": moved(write=did(26, 4096, wait=34), aqu=38.0)})

    assert loads["vm"].write.ios == (13 if halved else 26)
    assert loads["vm"].write.wait == (17 if halved else 34)
    assert loads["vm"].aqu == (19 if halved else 38)
    assert done == (("dm-raid-doubled: vm",) if halved else ())


@pytest.mark.parametrize(
    ("level", "members"),
    [
        # Pages written, and 7 flushes each.
        ("raid5", [did(13 + 7, 13 * 4096 / 20), did(5 + 7, 5 * 4096 / 12)] * 2),
        # Two copies of 11 writes, and 7 flushes each.
        ("raid10", [did(5 + 7, 8192), did(6 + 7, 8192)] * 2),
    ],
)
def test_empty_flushes_were_not_counted_twice(level, members):
    """11 writes and 7 flushes: the volume counts 29, its members tell the 7."""
    tree = topology(raid_volume("vm", level, 8, queue=Queue(iostats=True)), kernel="6.12.1")
    loads = {f"vm_rimage_{i}": moved(write=flow) for i, flow in enumerate(members)}
    loads, _ = mended(tree, loads | {"vm": moved(write=did(2 * 11 + 7, 4096))})

    assert loads["vm"].write.ios == pytest.approx(11 + 7)
    assert loads["vm"].write.bytes == 29 * 4096 / 2


@pytest.mark.parametrize(
    ("kernel", "flush", "busy", "late"),
    [
        ("6.12.1", None, None, 0),  # a text without either: the least that it can be
        ("6.12.1", Flow(ios=14, wait=14 * 6), None, 7 * 6 / 2),
        ("6.12.1", Flow(ios=14, wait=14 * 6), 0.3, 300 - 30 - 200),  # at least as long as it was busy
        ("6.12.1", Flow(ios=14, wait=14 * 30), 0.3, 7 * 30 / 2),  # several waited at once
        ("6.12.1", Flow(ios=14, wait=14 * 600), 0.3, 200),  # all that was counted was of flushes
        ("6.8.0", Flow(ios=14, wait=14 * 6), 0.3, 7 * 6 / 2),  # busy counts whole ticks there
    ],
)  # fmt: skip
def test_the_time_of_empty_flushes_was_not_counted_twice(kernel, flush, busy, late):
    """11 writes and 7 flushes with 400 ms, 60 ms of reads, and what the disks and the busy time say of the flushes."""
    tree = topology(raid_volume("vm", "raid5", 8, queue=Queue(iostats=True)), kernel=kernel)
    members = [did(13 + 7, 13 * 4096 / 20), did(5 + 7, 5 * 4096 / 12)] * 2
    loads = {f"vm_rimage_{i}": moved(write=flow) for i, flow in enumerate(members)}
    loads |= {name: Load(flush=flush or Flow()) for name in tree.disks_of("vm")}
    volume = moved(did(4, 4096, wait=60), did(2 * 11 + 7, 4096, wait=400), aqu=0.46, busy=busy)
    loads, _ = mended(tree, loads | {"vm": volume})

    assert loads["vm"].read.wait == 30
    assert loads["vm"].write.wait == pytest.approx(200 + late)
    assert loads["vm"].aqu == pytest.approx(0.23 + late / 1000)


@pytest.mark.parametrize(
    ("level", "above", "below", "said"),
    [
        # Of four members: 4/3 for full stripes, 2 for pages; counted twice, 2/3 and 1.
        ("raid5", moved(write=did(26, 4096)), moved(write=did(13, 4096)), ()),
        ("raid5", moved(write=did(26, 4096)), moved(write=did(6.5, 4096)), ("dm-raid-doubled: vm",)),
        ("raid10", moved(write=did(26, 4096)), moved(write=did(13, 4096)), ()),
        ("raid10", moved(write=did(26, 4096)), moved(write=did(6.5, 4096)), ("dm-raid-doubled: vm",)),
        # 2 to 3, or 1 to 1.5.
        ("raid6", moved(write=did(26, 4096)), moved(write=did(9, 4096)), ("dm-raid-doubled: vm",)),
        ("raid5", moved(read=did(28, 4096)), moved(read=did(7, 4096)), ()),
        ("raid5", moved(read=did(28, 4096)), moved(read=did(3.5, 4096)), ("dm-raid-doubled: vm",)),
        # A tenth may have been in flight: 5 % less than one volume's is no doubling.
        ("raid5", moved(write=did(300, 4096)), moved(write=did(95, 4096)), ()),
        ("raid5", moved(read=did(400, 4096)), moved(read=did(95, 4096)), ()),
        ("raid10", moved(write=did(200, 4096)), moved(write=did(52.5, 4096)), ("dm-raid-doubled: vm",)),
        ("raid5", IDLE, moved(read=did(3, 4096)), ()),
        ("raid5", moved(write=did(26, 4096)), None, ("perhaps-doubled: vm",)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kernel", ["6.12.1", ""])
def test_where_the_attribute_is_not_known_the_members_tell(level, above, below, said, kernel):
    """No RAID sends less to its members than its level asks for; without members there is doubt."""
    tree = topology(raid_volume("vm", level, 8), kernel=kernel)
    members = {f"vm_rimage_{n}": below for n in range(4) if below}
    loads, done = mended(tree, {"vm": above, **members})

    assert done == said
    halved = said == ("dm-raid-doubled: vm",)
    assert loads["vm"].total.bytes == above.total.bytes / (2 if halved else 1)


def test_between_two_answers_members_do_not_tell():
    """RAID5 of 8: 1.05 bytes per byte is near full stripes counted once (1.14) and pages counted twice (1)."""
    tree = topology(raid_volume("vm", "raid5", 8, members=8), kernel="6.12.1")
    members = {f"vm_rimage_{n}": moved(write=did(1050 / 8, 4096)) for n in range(8)}

    assert mended(tree, {"vm": moved(write=did(1000, 4096)), **members})[1] == (
        "perhaps-doubled: vm",
    )


def test_a_kernel_that_counts_once_leaves_no_doubt():
    """Before Linux 5.14 no volume was counted twice, whatever its members say."""
    tree = topology(raid_volume("vm", "raid5", 8), kernel="4.18.0-553.el8")

    assert mended(tree, {"vm": moved(write=did(26, 4096))})[1] == ()


@pytest.mark.parametrize("state", ["degraded", "resync"])
def test_members_that_do_other_work_do_not_tell(state):
    """Half of a mirror writes half."""
    devices, edges = raid_volume("vm", "raid10", 8)
    tree = topology(([devices[0]._replace(state=state), *devices[1:]], edges), kernel="6.12.1")
    members = {f"vm_rimage_{n}": moved(write=did(6.5, 4096)) for n in range(4)}

    assert mended(tree, {"vm": moved(write=did(26, 4096)), **members})[1] == (
        "perhaps-doubled: vm",
    )


def test_a_disk_that_does_not_count_is_unknown():
    """queue/iostats 0 freezes a disk's counters: what it did is not 0."""
    tree = topology()
    quiet = disk("sde")._replace(queue=Queue(iostats=False))
    tree = type(tree)([*tree.devices.values(), quiet])
    loads, done = mended(tree, {"sde": IDLE, "sda": IDLE})

    assert loads["sde"] == Load()
    assert loads["sda"] == IDLE
    assert done == ("not-counted: sde",)


@pytest.mark.parametrize(
    ("target", "role"),
    [("snapshot", Role.COW), ("cache", Role.ORIGIN), ("raid", Role.DATA), ("thin-pool", Role.DATA)],
)
def test_work_below_an_idle_target_is_not_its_load(target, role):
    """Copies for an origin, write-back, a resync and thin volumes: the idle device above counts well."""
    devices = [passing("lv", target=target, queue=Queue(iostats=False)), passing("store")]
    edges = [Edge("lv", "store", role), Edge("store", "sda", Role.DATA)]
    busy = {"lv": IDLE, "store": moved(write=did(30, 65536)), "sda": moved(write=did(30, 65536))}

    loads, done = mended(topology((devices, edges), kernel="6.1"), busy)
    assert (loads["lv"], done) == (IDLE, ())
    assert mended(topology((devices, edges), kernel="6.12"), busy)[1] == ("not-counted: lv",)


@pytest.mark.parametrize("kernel", ["5.10.0", "6.1.0", "6.12.1"])
@pytest.mark.parametrize("level", ["raid1", "raid5", "raid10"])
def test_an_idle_stack_that_counts_is_not_corrected(level, kernel):
    """Half of nothing is nothing: no device of it is named among the corrections."""
    tree = topology(raid_volume("vm", level, 8, queue=Queue(iostats=True)), kernel=kernel)
    idle = dict.fromkeys(tree.devices, IDLE)
    assert mended(tree, idle) == (idle, ())


def test_md_honours_the_attribute_since_5_14():
    """An array with queue/iostats 0 has no counters, whatever its disks do."""
    array = Device("md0", Kind.ARRAY, "9:0", queue=Queue(iostats=False))
    edges = [Edge("md0", "sda", Role.DATA)]
    for kernel, done in (
        ("6.1", ("not-counted: md0",)),
        ("5.14.0", ("not-counted: md0",)),
        ("5.13", ()),
    ):
        assert mended(topology(([array], edges), kernel=kernel), {"md0": IDLE})[1] == done


def test_an_idle_volume_on_an_old_kernel_is_idle():
    """Before 6.5 the attribute reads 0 on bio-based dm and means nothing."""
    devices = [passing("lv", queue=Queue(iostats=False)), passing("other")]
    edges = [Edge("lv", "sda", Role.DATA), Edge("other", "sda", Role.DATA)]
    busy = {"lv": IDLE, "other": moved(did(3, 512)), "sda": moved(did(3, 512))}

    assert mended(topology((devices, edges), kernel="6.1"), busy)[0]["lv"] == IDLE
    assert mended(topology((devices, edges), kernel="6.12"), busy)[0]["lv"] == Load()


def test_a_volume_whose_own_disk_moved_was_not_counted():
    """Nobody else stands on it, so it was this volume's I/O."""
    parts = ([passing("lv", queue=Queue(iostats=False))], [Edge("lv", "sda", Role.DATA)])
    loads, _ = mended(topology(parts), {"lv": IDLE, "sda": moved(did(3, 512))})

    assert loads["lv"] == Load()


@pytest.mark.parametrize(
    ("above", "expected"), [(moved(write=did(3, 4096)), Load()), (moved(did(3, 4096)), IDLE)]
)
def test_a_disk_in_memory_below_an_array_that_writes_was_not_counted(above, expected):
    """brd counts nothing before 6.5: an array writes to all members, but may read only the other one."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2))
    ram = disk("ram0")._replace(merges=False, queue=Queue(iostats=False))
    parts = ([array, ram], [Edge("md0", "ram0", Role.DATA)])
    loads, _ = mended(topology(parts, kernel="6.1.0"), {"md0": above, "ram0": IDLE})

    assert loads["ram0"] == expected


def test_texts_that_do_not_tell_merges_have_none_where_none_can_be():
    """sar has no merges: bio-based devices never merge, a disk's merges are unknown; no correction is reported."""
    said = Load(whole=Flow(ios=37.0, bytes=1.0))
    loads, done = mended(topology(([passing("lv")], [])), {"lv": said, "sda": said})

    assert (37.0, None) == (loads["lv"].total.arrivals, loads["sda"].total.arrivals)
    assert done == ()


def test_md_without_times_has_no_await():
    """Requests are counted, their time is not: unknown, not 0."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2))
    loads, done = mended(
        topology(([array], [])), {"md0": moved(write=did(13, 512), aqu=0.0, busy=0.0)}
    )

    assert (13, None, None) == (
        loads["md0"].write.ios,
        loads["md0"].write.await_ms,
        loads["md0"].aqu,
    )
    assert done == ("md-untimed: md0",)


PATHS = (
    [Device("mpatha", Kind.MULTIPATH, "", target="multipath", merges=True)],
    [Edge("mpatha", "sda", Role.PATH), Edge("mpatha", "sdb", Role.PATH)],
)


def test_flushes_that_paths_count_as_reads_are_taken_out():
    """13 reads and 7 flushes through the active path are 20 reads there: 13 remain."""
    head = moved(did(13, 4096))._replace(flush=Flow(ios=7.0))
    path = moved(Flow(20.0, 0.0, 13 * 4096.0, 0.0))
    loads, done = mended(topology(PATHS), {"mpatha": head, "sda": path, "sdb": IDLE})

    assert loads["sda"].read.ios == pytest.approx(13)
    assert loads["sda"].read.size == pytest.approx(4096)
    assert done == ("flush-as-read: sda",)


HEAD = (
    [Device("nvme0n1", Kind.DISK, "", queue=Queue(iostats=True))],
    [Edge("nvme0n1", name, Role.PATH) for name in ("sda", "sdb")],
)


def test_a_head_that_counts_nothing_has_what_its_paths_count():
    """All I/O is on the hidden paths."""
    paths = {"sda": moved(did(13, 512)), "sdb": moved(did(7, 1024))}
    loads, done = mended(topology(HEAD), {"nvme0n1": IDLE, **paths})

    assert (loads["nvme0n1"].read.ios, loads["nvme0n1"].read.bytes) == (20, 13 * 512 + 7 * 1024)
    assert done == ("head-not-counted: nvme0n1",)


def test_a_head_is_unknown_if_a_path_is():
    loads, _ = mended(topology(HEAD), {"nvme0n1": IDLE, "sda": moved(did(13, 512))})
    assert loads["nvme0n1"] == Load()


@pytest.mark.parametrize(("parts", "kernel"), [(PATHS, "6.1.0"), (HEAD, "6.2.0")])
def test_a_head_that_counts_did_nothing_though_its_paths_were_checked(parts, kernel):
    """dm-multipath counts on every kernel, and the head of an NVMe disk since Linux 6.2."""
    tree = topology(parts, kernel=kernel)
    head = next(edge.above for edge in tree.edges if edge.role is Role.PATH)
    loads, done = mended(tree, {head: IDLE, "sda": moved(did(13, 512)), "sdb": IDLE})

    assert (loads[head], done) == (IDLE, ())


def test_a_stuck_count_in_flight_is_no_queue():
    """100 % busy and a queue of 345, and nothing completed."""
    loads, done = mended(topology(), {"sda": IDLE._replace(aqu=345.0, busy=1.0)})

    assert (None, None) == (loads["sda"].aqu, loads["sda"].busy)
    assert done == ("stuck-in-flight: sda",)


def test_every_rule_says_why():
    """--why and the man page print it."""
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(len(rule.why) > 20 for rule in RULES)


@pytest.mark.parametrize(
    ("reads", "writes", "queue", "applies"),
    [
        (158.0, 2.0, 2.94, True),  # 158/s × 18.4 ms are 2.91 of the 2.94 in flight
        (158.0, None, 2.94, True),
        (158.0, 2.0, 4.0, False),  # a quarter of the queue is something else
        (158.0, 40.0, 2.94, False),  # a cache may answer them at once
        (2.7, None, 0.05, False),  # too coarse as evidence
        (158.0, None, None, False),
    ],
)
def test_the_await_of_reads_stands_for_all_where_they_fill_the_queue(reads, writes, queue, applies):
    """Columns were cut: the text has no await of writes."""
    read = did(reads, 4096, wait=18.4 * reads)
    loads, done = mended(
        Topology([disk("sda")]),
        {"sda": Load(read=read, write=Flow(ios=writes), aqu=queue)},
    )

    total = loads["sda"].total
    assert total.await_ms == (pytest.approx(18.4) if applies else None)
    assert total.ios == (reads + (writes or 0) if applies or writes else None)
    assert loads["sda"].read == read
    assert done == (("mostly-reads: sda",) if applies else ())


@pytest.mark.parametrize(("counted", "in_flight"), [(32, 16), (31, 16), (0, 0), (None, None)])
@pytest.mark.parametrize("busy", [True, False])
def test_what_is_in_flight_is_counted_twice_too(counted, in_flight, busy):
    """A loop of eight on LVM's RAID5 of Linux 6.12 had 16 in flight at each end; what hangs completes nothing."""
    tree = topology(raid_volume("vm", "raid5", 8, queue=Queue(iostats=True)), kernel="6.12.1")
    load = moved(write=did(300, 4096, wait=16000)) if busy else moved()
    loads, done = mended(tree, {"vm": load._replace(in_flight_at_ends=counted)})

    assert loads["vm"].in_flight_at_ends == in_flight
    assert done == (("dm-raid-doubled: vm",) if busy or counted else ())


@pytest.mark.parametrize("state", ["degraded", "resync 12.5 %"])
def test_a_volume_that_works_in_the_background_is_halved(state):
    """Its members write for the resync, too: no write of theirs tells a flush of the volume."""
    tree = topology(raid_volume("vm", "raid5", 8, queue=Queue(iostats=True)), kernel="6.12.1")
    top = tree["vm"]._replace(state=state)
    devices = [top if each.name == "vm" else each for each in tree]
    tree = Topology(devices, tree.edges, machine=tree.machine)
    members = {f"vm_rimage_{n}": moved(write=did(20, 4096)) for n in range(4)}
    loads, done = mended(tree, members | {"vm": moved(write=did(26, 4096))})

    assert loads["vm"].write.ios == 13
    assert done == ("dm-raid-doubled: vm",)


def test_a_device_that_is_idle_is_not_corrected():
    """Twice nothing is nothing."""
    tree = topology(raid_volume("vm", "raid5", 8, queue=Queue(iostats=True)), kernel="6.12.1")
    loads, done = mended(tree, {"vm": IDLE})

    assert loads["vm"] is IDLE
    assert done == ()
