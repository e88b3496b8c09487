"""Tickets: texts with the output of several commands become one machine, however they were pasted."""

from __future__ import annotations

import html
import random
import re
from pathlib import Path

import pytest

from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.sources.printed import Reader

TICKETS = Path(__file__).parent / "tickets"
MD_LVM = (TICKETS / "md-lvm.txt").read_text()
LVM_RAID = (TICKETS / "lvm-raid.txt").read_text()
MD_EDGES = {
    ("dm-0", "md0"), ("dm-1", "md0"), ("md0", "sda1"), ("md0", "sdb1"), ("md0", "sdc1"), ("md0", "sdd1"),
    ("md1", "sda2"), ("md1", "sdd2"), ("sda1", "sda"), ("sda2", "sda"), ("sdb1", "sdb"), ("sdc1", "sdc"),
    ("sdd1", "sdd"), ("sdd2", "sdd"),
}  # fmt: skip


def read(text):
    """Return the topology of *text*, and the notes."""
    reader = Reader()
    for line in text.splitlines():
        reader.take(line)
    told = reader.merged()
    assert told.files, "no device"
    return discover(CapturedHost("ticket", files=told.files)), told.notes


def files_of(text):
    """Return the files of a capture that *text* becomes."""
    reader = Reader()
    for line in text.splitlines():
        reader.take(line)
    return reader.merged().files


def edges(topology):
    return {(edge.above, edge.below) for edge in topology.edges}


def parts(text):
    """Return the commands of a ticket with their output, each by its prompt."""
    found = re.split(r"(?m)^(?=\[root@)", text)
    return [part for part in found if part]


def colour(line, _):
    return re.sub(r"\b(sd[a-d]\d?)\b", "\x1b[1;34m\\1\x1b[0m", line)


DAMAGES = {
    "mail": lambda line, _: f"> {line}",
    "mail twice": lambda line, _: f"> > {line}",
    "html": lambda line, _: f"{html.escape(line)}<br>",
    "spaces of html": lambda line, _: line.replace("  ", "&nbsp; "),
    "code block": lambda line, _: f"    {line}",
    "crlf": lambda line, _: f"{line}\r",
    "colour": colour,
    "trailing": lambda line, chance: line + " " * chance.randrange(4),
    "ascii": lambda line, _: line.replace("├─", "|-").replace("└─", "`-").replace("│", "|"),
}


@pytest.mark.parametrize("seed", range(60))
def test_a_ticket_is_the_same_however_it_was_pasted(seed):
    """The order of its parts, quoting, colours and line ends do not matter."""
    chance = random.Random(seed)
    given = parts(MD_LVM)
    chance.shuffle(given)
    lines = "".join(given).splitlines()
    for name in chance.sample(sorted(DAMAGES), 3):
        lines = [DAMAGES[name](line, chance) for line in lines]
    topology, notes = read("```\n" + "\n".join(lines) + "\n```\n")
    assert edges(topology) == MD_EDGES
    assert not notes
    assert (topology["md0"].layout.level, topology["md0"].layout.chunk) == ("raid5", 65536)
    assert topology["md0"].size == 3997696 * 1024
    assert topology["dm-1"].label == "vg-md/home-dirs"
    assert set(topology["dm-0"].mounts) == {"/srv/data", "/export"}
    assert [str(e.role) for e in topology.below("md0") if e.below == "sdd1"] == ["spare"]


def test_each_edge_tells_where_it_is_known_from():
    topology, _ = read(MD_LVM)
    known = {(edge.above, edge.below): edge.source for edge in topology.edges}
    assert known["md0", "sda1"] == "/proc/mdstat, lsblk"
    assert known["dm-0", "md0"] == "lsblk, lvs"
    assert known["sda1", "sda"] == "its name"


def test_a_report_of_lvm_alone_shows_the_volume():
    """Inactive LVs are no devices; kernel names come from dmsetup where it has them."""
    topology, notes = read(LVM_RAID)
    assert not notes
    assert topology["dm-8"].label == "hdd/db"
    layout = topology["dm-8"].layout
    assert (layout.level, layout.members, layout.data) == ("raid5", 4, 3)
    assert ("dm-8", "dm-1") in edges(topology)
    assert ("dm-1", "sda") in edges(topology)
    assert ("hdd-db_rmeta_3", "sdd") in edges(topology)
    assert not any("old" in device.title for device in topology)


def test_texts_that_contradict_each_other_are_named():
    other = MD_LVM.replace("md0 : active raid5 sdd1[4](S)", "md0 : active raid5 sde1[4](S)")
    topology, notes = read(other)
    assert notes == ["md0: on sdd1 in lsblk, not in /proc/mdstat"]
    assert ("md0", "sde1") in edges(topology)


def test_of_two_copies_the_later_one_counts():
    later = parts(MD_LVM)[0].replace("sdd1[4](S) ", "")
    topology, notes = read(parts(MD_LVM)[0] + later)
    assert notes == ["md0: two copies of /proc/mdstat differ; the later one is used"]
    assert ("md0", "sdd1") not in edges(topology)


def test_of_two_hosts_one_is_used():
    topology, notes = read(MD_LVM + parts(MD_LVM)[1].replace("nas1", "web7").replace("sdb", "sdx"))
    assert notes == ["the text is from nas1 and web7: only nas1 is used; give one text per host"]
    assert edges(topology) == MD_EDGES


def test_below_a_row_that_cannot_be_read_nothing_is_known():
    """The devices drawn below it are not put on the row before it."""
    text = parts(MD_LVM)[1].replace(
        "sdb                         8:16   0    3G  0 disk", "#!sdb  8:16 ?"
    )
    topology, _ = read(text)
    assert ("sdb1", "sda") not in edges(topology)
    assert edges(topology) <= MD_EDGES


def test_a_number_and_a_name_are_one_device():
    """dmsetup prints 8:0 and 254:1 where others print sda and dm-1."""
    text = "$ dmsetup deps\nvg-a: 1 dependencies\t: (8, 0)\n$ dmsetup ls\nvg-a\t(254:1)\n$ pvs\n"
    text += "  PV         VG Fmt  Attr PSize PFree\n  /dev/sda   vg lvm2 a--  1.00g 0\n"
    topology, notes = read(text)
    assert edges(topology) == {("dm-1", "sda")}
    assert not notes


def test_a_file_of_nmon_has_the_output_of_commands_in_its_lines():
    """Each line is quoted, behind its number and the command."""
    text = MD_LVM.replace("\r", "").splitlines()
    quoted = (f'BBBP,{n:03},lsblk,"{line}"' for n, line in enumerate(text))
    topology, notes = read("\n".join(quoted))
    assert edges(topology) == MD_EDGES
    assert not notes


def test_labels_of_node_exporter():
    topology, notes = read(
        'node_disk_info{device="sda",major="8",minor="0",model="M",path="",revision="",serial="S",wwn=""} 1\n'
        'node_disk_info{device="dm-3",major="253",minor="3",model="",path="",serial="",wwn=""} 1\n'
        'node_disk_device_mapper_info{device="dm-3",lv_layer="",lv_name="my-root",name="vg-my--root",uuid="LVM-1",vg_name="vg"} 1\n'
        'node_filesystem_size_bytes{device="/dev/mapper/vg-my--root",fstype="xfs",mountpoint="/srv"} 2.7e+11\n'
    )
    assert not notes
    assert {(d.name, d.number, d.label, *d.mounts) for d in topology} == {
        ("sda", "8:0", ""),
        ("dm-3", "253:3", "vg/my-root", "/srv"),
    }


def test_prose_is_no_device():
    reader = Reader()
    for line in (
        "Hi, my disk sda is slow.",
        "NAME and SIZE do not help",
        "- sda: 10G",
        "md0 is full",
    ):
        reader.take(line)
    assert reader.merged().files == {}


def test_lvm_reports_with_name_prefixes():
    topology, _ = read(
        "  WARNING: Locking disabled. Be careful!\n"
        "  LVM2_LV_NAME='a-b'|LVM2_VG_NAME='vg'|LVM2_LV_SIZE='<6.59g'|LVM2_LV_ATTR='Vwi-aotz--'|LVM2_POOL_LV='pool'|LVM2_DEVICES=''\n"
        "  LVM2_LV_NAME='pool'|LVM2_VG_NAME='vg'|LVM2_LV_SIZE='8.00g'|LVM2_LV_ATTR='twi-aotz--'|LVM2_DEVICES='pool_tdata(0)'\n"
        "  LVM2_LV_NAME='[pool_tdata]'|LVM2_VG_NAME='vg'|LVM2_LV_SIZE='8.00g'|LVM2_LV_ATTR='Twi-ao----'|LVM2_DEVICES='/dev/sdb1(5)'\n"
    )
    assert edges(topology) == {
        ("vg-a--b", "vg-pool-tpool"),
        ("vg-pool-tpool", "vg-pool_tdata"),
        ("vg-pool_tdata", "sdb1"),
        ("sdb1", "sdb"),
    }


def test_pvs_of_all_devices_has_some_that_are_no_pvs():
    files = files_of(
        "  PV         VG   Fmt  Attr PSize   PFree DevSize PV UUID                                PMdaFree #PMdaUse\n"
        "  /dev/sda1            ---       0     0    1.00g                                               0        0\n"
        "  /dev/sda2  data lvm2 a--  476.45g 4.00m 476.45g JvSULk-ileq-JbuS-GGgg-jkif-thuW-zvFBEl        0        1\n"
    )
    assert "E:ID_FS_TYPE=LVM2_member" in files["/run/udev/data/b8:2"]
    assert "/run/udev/data/b8:1" not in files


@pytest.mark.parametrize(
    ("said", "states", "slot"),
    [
        ("active sync", "in_sync", "1"),
        ("active sync set-A failfast", "in_sync", "1"),
        ("active sync writemostly", "in_sync,write_mostly", "1"),
        ("failfast spare rebuilding", "spare", "1"),
        ("spare", "spare", "none"),
        ("faulty failfast", "faulty", "none"),
    ],
)
def test_states_of_members_stand_beside_flags(said, states, slot):
    lines = f"/dev/md0:\n        Raid Level : raid1\n   Number   Major   Minor   RaidDevice State\n       1     8       17        1      {said}   /dev/sdb1"
    files = files_of(lines)
    assert files["/sys/block/md0/md/dev-sdb1/state"] == states
    assert files["/sys/block/md0/md/dev-sdb1/slot"] == slot


def test_mountinfo_gives_numbers_to_mapped_devices():
    topology, _ = read(
        "21 1 253:1 / / rw,relatime - ext4 /dev/mapper/vg-root rw,stripe=64\n"
        "23 21 8:1 / /my\\040disk rw - xfs /dev/sda1 rw\n"
        "24 21 0:40 / /pool rw - btrfs /dev/sdb rw\n"
    )
    mounts = {name: [use.name for use in d.uses] for name, d in topology.devices.items() if d.uses}
    assert mounts == {"dm-1": ["/"], "sda1": ["/my disk"], "sdb": ["/pool"]}


def test_a_cell_of_several_words_does_not_move_the_columns():
    rows = [
        ("NAME", "MAJ:MIN", "LABEL", "UUID", "MODEL", "SERIAL", "TYPE"),
        ("sda", "8:0", "Ubuntu Server 18.04 LTS amd64", "", "VMware Virtual S", "S 0001", "disk"),
        ("sdb", "8:16", "", "2019-08-05-20-00-00-00", "VMware IDE CDR10", "10000001", "disk"),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(7)]
    files = files_of("\n".join(" ".join(map(str.ljust, row, widths)) for row in rows))
    assert files["/sys/block/sda/device/model"] == "VMware Virtual S"
    assert files["/sys/block/sda/device/serial"] == "S 0001"
    assert files["/sys/block/sdb/device/model"] == "VMware IDE CDR10"
    assert "E:ID_FS_LABEL=Ubuntu Server 18.04 LTS amd64" in files["/run/udev/data/b8:0"]


def test_json_between_warnings():
    topology, _ = read(
        '  WARNING: locking_type(0) is deprecated.\n  {\n    "report": [\n  WARNING: PV /dev/sdd is old\n {"lv": [\n'
        '{"lv_name":"a", "vg_name":"vg", "lv_attr":"-wi-a-----", "devices":"/dev/sdd(0)"}\n]}]}\n'
    )
    assert edges(topology) == {("vg-a", "sdd")}


def test_of_an_endless_text_the_first_part_is_used():
    """10 MB of rows took 840 MB and 40 s; what was left out is said, and memory and time are bounded."""
    rows = "".join(f"sd{n} 8:{n} 0 1G 0 disk /mnt/{n}\n" for n in range(40_000))
    reader = Reader()
    for line in f"NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n{rows}".splitlines():
        reader.take(line)
    told = reader.merged()

    assert any("only the first 1 MiB" in note for note in told.notes)
    assert 20_000 < sum(path.endswith("/dev") for path in told.files) < 40_000


def test_a_list_of_devices_that_gives_none_is_said():
    """Its heading stands, and no row fits: it is not passed over without a word."""
    text = "$ lsblk\nNAME MAJ:MIN RM SIZE RO TYPE\n(cut, it is long)\n\n$ cat /proc/mdstat\nPersonalities :\n"
    reader = Reader()
    for line in (text + MD_LVM).splitlines():
        reader.take(line)
    assert reader.merged().notes == ["no device could be read from lsblk at line 2"]


def test_paths_of_nvme_have_three_numbers():
    text = """\
uuid.0f0e0d0c-1111-4222-8333-944455566677 dm-9 NVME,SPDK bdev,23.09
size=40G features='0' hwhandler='0' wp=rw
`-+- policy='service-time 0' prio=1 status=active
  |- 0:4097:1 nvme0n1 259:0 active ready running
  `- 1:4098:1 nvme1n1 259:1 active ready running
"""
    assert edges(read(text)[0]) == {("dm-9", "nvme0n1"), ("dm-9", "nvme1n1")}


CODE = """\
static int f(void)
{
	return 1;
"""


def test_braces_of_code_do_not_hide_what_follows():
    topology, _ = read(f"{CODE}\n{MD_LVM}")
    assert edges(topology) == MD_EDGES


def test_lines_of_a_tree_in_a_wrong_encoding():
    """As Windows-1252, and where each byte was lost."""
    tree = "NAME   MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT\nsda      8:0    0   1G  0 disk\n├─sda1   8:1    0   1G  0 part /a\n└─sda2   8:2    0   1G  0 part /b\n"
    for wrong in (
        tree.encode().decode("cp1252", errors="ignore"),
        "".join(c if ord(c) < 128 else "\ufffd" * 3 for c in tree),
    ):
        assert edges(read(wrong)[0]) == {("sda1", "sda"), ("sda2", "sda")}


@pytest.mark.parametrize("options", ["NAME   MAJ:MIN RM  SIZE RO TYPE", "NAME   SIZE TYPE"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda tree: tree.encode().decode("latin-1"),
        lambda tree: re.sub("[├└─│]", "?", tree),
        lambda tree: re.sub("[├└─│]", "???", tree),
    ],
    ids=["Latin-1", "? per character", "? per byte"],
)
def test_lines_of_a_deep_tree_in_a_wrong_encoding(wrong, options):
    """A device is on the one above it, and on no other."""
    names = ["sda", "├─sda1", "│ └─md7", "│   ├─vg-a", "│   └─vg-b", "└─sda2"]
    kinds = ["disk", "part", "raid1", "lvm", "lvm", "part"]
    numbers = ["8:0", "8:1", "9:7", "253:0", "253:1", "8:2"]
    row = "{} {} 0 1G 0 {}\n" if "MAJ" in options else "{0} 1G {2}\n"
    tree = f"{options}\n" + "".join(
        row.format(*each) for each in zip(names, numbers, kinds, strict=True)
    )
    below = {"sda1": "sda", "md7": "sda1", "vg-a": "md7", "vg-b": "md7", "sda2": "sda"}
    topology, _ = read(wrong(tree))
    title = {device.name: device.dm_name or device.name for device in topology}
    assert {(title[a], title[b]) for a, b in edges(topology)} == {*below.items()}


def test_of_hosts_the_first_with_a_device_is_used():
    empty = "[root@a ~]# cat /proc/mdstat\nPersonalities : [raid1]\nunused devices: <none>\n"
    other = "[root@b ~]# cat /proc/mdstat\nmd0 : active raid1 sdb1[1] sda1[0]\n      1024 blocks [2/2] [UU]\n"
    topology, notes = read(empty + other)
    assert ("md0", "sda1") in edges(topology)
    assert not notes


LVDISPLAY = """\
# lvdisplay -m
  --- Logical volume ---
  LV Path                /dev/vgdata/lvpg
  LV Name                lvpg
  VG Name                vgdata
  LV Creation host, time pg1, 2023-05-16 09:14:41 +0200
  LV Status              available
  # open                 1
  LV Size                3.00 TiB
  Segments               {segments}
  Block device           253:4

  --- Segments ---
  Logical extents 0 to 524287:
    Type\t\tstriped
    Stripes\t\t2
    Stripe size\t\t64.00 KiB
    Stripe 0:
      Physical volume\t/dev/sdb
    Stripe 1:
      Physical volume\t/dev/sdc
"""
SECOND = """
  Logical extents 524288 to 786431:
    Type\t\tlinear
    Physical volume\t/dev/sdd
"""


def test_lvdisplay():
    """Its line "# open" is no prompt of root. Segments of two layouts have none together."""
    topology, _ = read(LVDISPLAY.format(segments=1))
    layout = topology["dm-4"].layout
    assert layout is not None
    assert (topology["dm-4"].label, layout.members, layout.chunk) == ("vgdata/lvpg", 2, 65536)
    extended, _ = read(LVDISPLAY.format(segments=2) + SECOND)
    assert extended["dm-4"].layout is None
    assert edges(extended) == {("dm-4", "sdb"), ("dm-4", "sdc"), ("dm-4", "sdd")}


@pytest.mark.parametrize("separator", ["|", ",", ";", ":"])
def test_separators_of_lvs(separator):
    """The devices of a striped LV have commas between them as well."""
    rows = ("LV,VG,LSize,Type,Devices", "data,vg,<4.00g,striped,/dev/sdb(0)+/dev/sdc(0)", "log,vg,1024.00m,linear,/dev/sdd(7)")  # fmt: skip
    text = "".join(f"  {row.replace(',', separator).replace('+', ',')}\n" for row in rows)
    topology, notes = read(text)
    assert not notes
    assert edges(topology) == {("vg-data", "sdb"), ("vg-data", "sdc"), ("vg-log", "sdd")}


JSON_STD = """\
{
    "report": [
        {
            "lv": [
                {"lv_name":"home", "vg_name":"vg0", "lv_attr":"rwi-aor---", "lv_size":"40.00g", "origin":null, "devices":["home_rimage_0(0)","home_rimage_1(0)"]},
                {"lv_name":"home_rimage_0", "vg_name":"vg0", "lv_attr":"iwi-aor---", "lv_size":"40.00g", "devices":["/dev/sdb1(1)"]},
                {"lv_name":"home_rimage_1", "vg_name":"vg0", "lv_attr":"iwi-aor---", "lv_size":"40.00g", "devices":["/dev/sdc1(1)"]},
                {"lv_name":"pool", "vg_name":"vg0", "lv_attr":"twi-aotz--", "lv_size":10737418240, "data_percent":97.31, "metadata_percent":0.00, "devices":["pool_tdata(0)"]}
            ]
        }
    ]
    ,
    "log": [
    ]
}
"""


def test_lvm_reports_in_standard_json():
    """json_std has lists and numbers in place of strings."""
    topology, notes = read(JSON_STD)
    assert notes == []
    assert {
        ("vg0-home", "vg0-home_rimage_0"), ("vg0-home", "vg0-home_rimage_1"), ("vg0-home_rimage_0", "sdb1"),
        ("vg0-home_rimage_1", "sdc1"), ("vg0-pool-tpool", "vg0-pool_tdata"),
    } <= edges(topology)  # fmt: skip
    assert topology["vg0-pool-tpool"].size == 10 << 30
