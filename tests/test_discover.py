"""What is joined of what the sources say, on machines as small as the law they serve."""

import pytest

from stackmap.discover import discover
from stackmap.document.describe import what
from stackmap.model.device import Kind, Role
from tests.machine import DrawnHost, block, lvm_uuid, mapped

SDA = block("sda", "8:0", 65536, device__state="running", queue__rotational="1")
SDB = block("sdb", "8:16", 65536, device__state="running", queue__rotational="0")


def edges(topology):
    return {(edge.above, edge.below, edge.role) for edge in topology.edges}


def test_drbd_with_metadata_on_another_disk():
    """Its metadata is on a disk that is too small for the data."""
    files = block("sda", "8:0", 4096) | block("sdb", "8:16", 64) | block("drbd0", "147:0", 4000)
    files |= {"/sys/block/drbd0/slaves/sda": "", "/sys/block/drbd0/slaves/sdb": ""}
    edges = discover(DrawnHost(files)).below("drbd0")

    assert {edge.below: edge.role for edge in edges} == {"sda": Role.DATA, "sdb": Role.METADATA}


@pytest.mark.parametrize(
    ("name", "words"),
    [("nbd0", "nbd"), ("rbd3", "rbd"), ("drbd0", "drbd"), ("ublkb1", "ublk"), ("zd16", "zvol"), ("sdz", "hdd")],
)  # fmt: skip
def test_a_device_that_is_no_disk_here_is_named_by_its_driver(name, words):
    """DRBD's queue is "rotational", whatever is below."""
    topology = discover(DrawnHost(block(name, "147:0", 4000, queue__rotational="1")))

    assert what(topology[name]) == words


def test_a_disk_and_its_partition():
    """A partition is above its disk, at its start."""
    part = {
        "/sys/block/sda/sda1/uevent": "MAJOR=8\nMINOR=1\nDEVTYPE=partition\n",
        "/sys/block/sda/sda1/partition": "1\n",
        "/sys/block/sda/sda1/size": "2048\n",
        "/sys/block/sda/sda1/start": "63\n",
    }
    topology = discover(DrawnHost(SDA | part))

    (edge,) = topology.edges
    assert ("sda1", "sda", Role.DATA, 63 * 512, 2048 * 512) == (
        edge.above,
        edge.below,
        edge.role,
        edge.start,
        edge.length,
    )
    assert (True, True) == (topology["sda"].merges, topology["sda1"].merges)


def test_a_loop_device_that_nothing_is_tied_to_is_left_out():
    topology = discover(DrawnHost(SDA | block("loop0", "7:0", 0)))
    assert ["sda"] == list(topology.devices)


def test_slashes_in_kernel_names():
    """cciss/c0d0 is cciss!c0d0 in sysfs, partitions and slaves too."""
    files = block("cciss!c0d0", "104:0") | mapped(0, "x", below=("cciss!c0d0",))
    assert {("dm-0", "cciss/c0d0", Role.DATA)} == edges(discover(DrawnHost(files)))


TWO_SEGMENTS = SDA | SDB | mapped(0, "vg-lv", lvm_uuid(7), 6144, below=("sda", "sdb"))


def test_an_lv_of_several_segments():
    """One edge per segment, so that the placement is known."""
    commands = {
        "dmsetup table": "vg-lv: 0 2048 linear 8:0 11\nvg-lv: 2048 4096 linear 8:16 13\n",
        "dmsetup status": "vg-lv: 0 2048 linear \nvg-lv: 2048 4096 linear \n",
    }
    topology = discover(DrawnHost(TWO_SEGMENTS, commands))

    expected = [("sda", 11 * 512, 2048 * 512), ("sdb", 13 * 512, 4096 * 512)]
    assert expected == [(e.below, e.start, e.length) for e in topology.below("dm-0")]
    assert ("vg/lv", Kind.VOLUME, "linear", "active") == (
        topology["dm-0"].label,
        topology["dm-0"].kind,
        topology["dm-0"].target,
        topology["dm-0"].state,
    )


def test_what_cannot_be_told_without_root_is_said():
    """Whether an LV on two disks is striped or joined end to end, only its table says."""
    topology = discover(DrawnHost(TWO_SEGMENTS))

    assert {("dm-0", "sda", Role.DATA), ("dm-0", "sdb", Role.DATA)} == edges(topology)
    assert topology["dm-0"].layout is None
    assert topology["dm-0"].state is None
    assert topology.unknown == (
        "tables of mapped devices: dmsetup table: needs root",
        "data layout of vg/lv: only `dmsetup table` has it, as root",
    )


def test_dmsetup_is_not_run_where_nothing_is_mapped():
    host = DrawnHost(SDA)
    topology = discover(host)
    assert "dmsetup table" not in host.asked
    assert () == topology.unknown


def test_a_table_in_a_form_not_known():
    """The edges then come from sysfs, and the topology says so."""
    commands = {"dmsetup table": "vg-lv: 0 6144 linear 8:0\n", "dmsetup status": ""}
    commands["dmsetup table"] = "vg-lv: 0 6144 striped many 128 8:0 0 8:16 0\n"
    topology = discover(DrawnHost(TWO_SEGMENTS, commands))

    assert {("dm-0", "sda", Role.DATA), ("dm-0", "sdb", Role.DATA)} == edges(topology)
    assert any(s.startswith("table of vg/lv: unknown form") for s in topology.unknown)


def test_a_target_of_tomorrow():
    """Its devices are those sysfs shows."""
    commands = {"dmsetup table": "vg-lv: 0 6144 made-in-2031 8:0\n", "dmsetup status": ""}
    topology = discover(DrawnHost(TWO_SEGMENTS, commands))
    assert {("dm-0", "sda", Role.DATA), ("dm-0", "sdb", Role.DATA)} == edges(topology)
    assert "made-in-2031" == topology["dm-0"].target


def test_a_suspended_device_is_marked():
    """With any status, and without root."""
    files = SDA | mapped(0, "slow", below=("sda",)) | {"/sys/block/dm-0/dm/suspended": "1\n"}
    assert "suspended" == discover(DrawnHost(files))["dm-0"].state


def test_a_multipath_device_merges_if_it_queues_requests():
    """Request-based, the default, it has an I/O scheduler; with queue_mode bio it has none."""
    paths = SDA | SDB
    table = "mpatha: 0 65536 multipath 0 0 1 1 round-robin 0 2 1 8:0 1 8:16 1\n"
    status = "mpatha: 0 65536 multipath 2 0 0 0 1 1 A 0 2 0 8:0 A 0 8:16 F 3\n"
    commands = {"dmsetup table": table, "dmsetup status": status}
    both = {
        scheduler: discover(
            DrawnHost(
                paths | mapped(0, "mpatha", "mpath-3600", queue__scheduler=scheduler), commands
            )
        )
        for scheduler in ("[mq-deadline] none", "none")
    }
    assert [True, False] == [topology["dm-0"].merges for topology in both.values()]
    topology = both["none"]
    assert ("degraded", "active", "failed") == tuple(
        topology[name].state for name in ("dm-0", "sda", "sdb")
    )


def test_a_thin_pool_has_its_metadata_beside_its_data():
    """As LVM names them, without what dmsetup says."""
    files = (
        SDA
        | mapped(0, "vg-p_tmeta", lvm_uuid(1, "tmeta"), below=("sda",))
        | mapped(1, "vg-p_tdata", lvm_uuid(2, "tdata"), below=("sda",))
        | mapped(2, "vg-p-tpool", lvm_uuid(3, "tpool"), below=("dm-0", "dm-1"))
        | mapped(3, "vg-thin", lvm_uuid(4), below=("dm-2",))
    )
    topology = discover(DrawnHost(files))

    assert {("dm-2", "dm-0", Role.METADATA), ("dm-2", "dm-1", Role.DATA)} <= edges(topology)
    assert Kind.THIN == topology["dm-3"].kind


@pytest.mark.parametrize(
    ("cow", "target", "kind"),
    [("vg-lv-cow", "snapshot", Kind.SNAPSHOT), ("vg-s-cow", "snapshot-merge", Kind.VOLUME)],
)
def test_a_snapshot_and_a_merge(cow, target, kind):
    """On its own cow a device is a snapshot; on another's, that one is merged into it."""
    files = (
        SDA
        | mapped(0, "vg-lv-real", lvm_uuid(1, "real"), below=("sda",))
        | mapped(1, cow, lvm_uuid(2, "cow"), below=("sda",))
        | mapped(2, "vg-lv", lvm_uuid(1), below=("dm-0", "dm-1"))
    )
    topology = discover(DrawnHost(files))
    assert (target, kind) == (topology["dm-2"].target, topology["dm-2"].kind)
    assert {Role.ORIGIN, Role.COW} == {edge.role for edge in topology.below("dm-2")}


def test_nvme_paths_stand_below_their_head():
    """nvme0c1n1 is a path of nvme0n1; the head takes bios as they come."""
    files = {}
    for number, name in enumerate(("nvme0n1", "nvme0c0n1", "nvme0c1n1")):
        files |= block(name, f"259:{number}", device__state="live")
    topology = discover(DrawnHost(files))

    assert {("nvme0n1", "nvme0c0n1", Role.PATH), ("nvme0n1", "nvme0c1n1", Role.PATH)} == edges(
        topology
    )
    assert [False, True] == [topology["nvme0n1"].merges, topology["nvme0c0n1"].merges]


def test_a_btrfs_uses_all_its_devices():
    """Its mount names one of them, by path; /sys/fs/btrfs knows the others."""
    files = SDA | SDB | {
        "/proc/self/mountinfo": "43 35 0:44 / /home rw - btrfs /dev/sda rw\n",
        "/sys/fs/btrfs/abcd/devices/sda": "",
        "/sys/fs/btrfs/abcd/devices/sdb": "",
    }  # fmt: skip
    topology = discover(DrawnHost(files))
    assert [("/home",), ("/home",)] == [topology[name].mounts for name in ("sda", "sdb")]


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ((1, [1, 1, 1]), "raid1 ×3"),
        ((3, [1, 1, 1]), "raid0 ×3"),
        ((3, [1, 1, 1, 1]), "raid5 3+1"),
        ((3, [1, 1, 1, 1, 1]), "raid6 3+2"),
        ((2, [1, 1, 1, 1]), "raid10 2×2"),
        ((4, [1, 1, 1, 1, 1, 1, 1, 1]), "raid10 4×2"),
        ((6, [1, 1, 1, 1, 1, 1, 1, 1]), "raid6 6+2"),
    ],
)
def test_a_level_follows_from_sizes(extents, expected):
    """The level follows from the volume's size in members; LVM's RAID6 has 5 or more."""
    size, members = extents
    files = dict(SDA)
    for place, length in enumerate(members):
        files |= mapped(2 * place, f"vg-lv_rmeta_{place}", lvm_uuid(2 * place), 8, ("sda",))
        files |= mapped(
            2 * place + 1, f"vg-lv_rimage_{place}", lvm_uuid(2 * place + 1), length * 8192, ("sda",)
        )
    below = tuple(f"dm-{number}" for number in range(2 * len(members)))
    files |= mapped(99, "vg-lv", lvm_uuid(99), size * 8192, below, queue__minimum_io_size="65536")

    assert expected == str(discover(DrawnHost(files))["dm-99"].layout)


def test_a_machine_without_sysfs_is_an_empty_one():
    assert 0 == len(discover(DrawnHost({})))


def test_a_disk_by_what_is_printed_on_it():
    """SCSI's serial is behind four bytes of page 0x80; ATA's full model is udev's."""
    scsi = block("sda", "8:0", device__model="ST4000NM0035    ", device__vendor="SEAGATE ",
                 device__vpd_pg80="\x00\\x80\x00\x08ZC1A2B3C", device__wwid="naa.5000c500a1b2c3d4")  # fmt: skip
    ata = block("sdb", "8:16", device__model="Samsung SSD 870 ", device__vendor="ATA     ")
    udev = {
        "8:16": {"ID_MODEL_ENC": r"Samsung\x20SSD\x20870\x20EVO\x201TB", "ID_SERIAL_SHORT": "S5"}
    }
    topology = discover(DrawnHost(scsi | ata, udev=udev))

    assert ("SEAGATE ST4000NM0035", "ZC1A2B3C", "0x5000c500a1b2c3d4") == (
        topology["sda"].model,
        topology["sda"].serial,
        topology["sda"].wwn,
    )
    assert ("Samsung SSD 870 EVO 1TB", "S5") == (topology["sdb"].model, topology["sdb"].serial)


def test_a_network_block_device():
    """Its driver reports all as non-rotational, so the medium is unknown. An unconnected one is left out."""
    files = block("nbd0", "43:0", pid="4711", queue__rotational="0") | block("nbd1", "43:32", 0)
    files |= {"/proc/4711/comm": "qemu-nbd\n"}

    topology = discover(DrawnHost(files))

    assert ["nbd0"] == [device.name for device in topology]
    device = topology["nbd0"]
    assert (Kind.DISK, None, "NBD by qemu-nbd") == (device.kind, device.rotational, device.model)


@pytest.mark.parametrize(
    ("name", "merges"), [("ublkb0", True), ("zloop0", True), ("pmem0", False), ("pmem0s", False)]
)
def test_disks_that_are_programs_files_or_memory(name, merges):
    """ublk and zloop queue requests, so neighbours merge; drivers of memory take each as it comes."""
    device = discover(DrawnHost(block(name, "259:7")))[name]

    assert (device.kind, device.merges) == (Kind.DISK, merges)


@pytest.mark.parametrize(
    ("table", "below", "is_understood"),
    [
        ("vdo V4 /dev/dm-1 262144 4096 32768 16380", ("dm-1",), True),
        ("vdo V4 /dev/mapper/vg-pool_vdata 262144 4096 32768 16380", ("dm-1",), True),
        ("vdo V5 on /dev/dm-1 262144", ("dm-1",), False),
        ("made-in-2031 0:raw backing=/dev/dm-1", ("dm-1", "sda"), False),
        ("linear 8:0 11 1 log_device:254:1", ("sda", "dm-1"), False),
        ("pcache 8:0 254:1 4 cache_mode writeback data_crc true", ("sda", "dm-1"), True),
        ("inlinecrypt aes-xts-plain64 - 0 /dev/sda 2048", ("sda",), True),
        ("zero", ("sda",), False),
    ],
)
def test_no_edge_of_sysfs_is_lost(table, below, is_understood):
    """A device in slaves/ that the table does not name is still an edge, and is reported as unknown."""
    files = block("sda", "8:0") | mapped(1, "vg-pool_vdata", "LVM-x-vdata", below=("sda",))
    files |= mapped(0, "top", "", below=below)
    commands = {
        "dmsetup table": f"top: 0 6144 {table}\nvg-pool_vdata: 0 6144 linear 8:0 2048\n",
        "dmsetup status": "",
    }

    topology = discover(DrawnHost(files, commands))

    assert set(below) == {edge.below for edge in topology.below("dm-0")}
    assert is_understood == (not any("not understood" in each for each in topology.unknown))


def test_thousands_of_devices_are_not_asked_one_by_one():
    """dmsetup and sysfs give the same names, uuids, suspension and read-only state."""
    files = block("sda", "8:0") | mapped(0, "vg-lv", lvm_uuid(7), below=("sda",), ro="1")
    files["/sys/block/dm-0/dm/suspended"] = "1\n"
    files["/proc/partitions"] = "8 0 1024 sda\n254 0 1024 dm-0\n"
    commands = {
        "dmsetup table": "vg-lv: 0 2048 linear 8:0 11\n",
        "dmsetup info": f"vg-lv|254|0|L-sr|{lvm_uuid(7)}\n",
    }
    host = DrawnHost(files, commands)

    at_once = discover(host, counters=False)["dm-0"]

    assert not [path for path in host.asked if path.startswith("/sys/block/dm-0")]
    assert ("vg/lv", "suspended", True) == (at_once.label, at_once.state, at_once.read_only)
    del commands["dmsetup info"]
    assert at_once == discover(DrawnHost(files, commands), counters=False)["dm-0"]
