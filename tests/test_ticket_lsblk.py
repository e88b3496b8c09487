"""lsblk in a ticket: drawn with -M, wrapped by a mail, marked by its author, with bcache."""

from __future__ import annotations

import shutil
import subprocess
from time import monotonic

import pytest

from stackmap.model.device import Kind, Role
from stackmap.sources.printed import Reader
from tests.paths import ROOT
from tests.test_tickets import edges, read

MERGED = """\
    NAME        MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINTS
┌┈▶ sda           8:0    0    2T  0 disk
├┈▶ sdb           8:16   0    2T  0 disk
└┬▶ sdc           8:32   0    2T  0 disk
 └┈┈md5           9:5    0    4T  0 raid5 /srv/pool
    sdd           8:48   0  500G  0 disk
    ├─sdd1        8:49   0    1G  0 part  /boot
┌┈▶ └─sdd2        8:50   0  499G  0 part
┆   sde           8:64   0  500G  0 disk
└┬▶ └─sde1        8:65   0  499G  0 part
 └┈┈md6           9:6    0  499G  0 raid1
    └─md6-home  253:0    0  100G  0 crypt /home
"""
# In ASCII, libsmartcols draws the same with other characters.
IN_ASCII = str.maketrans({"┌": ",", "┈": "-", "▶": ">", "├": "|", "┬": "-", "┆": "|", "─": "-"})
MERGED_EDGES = {
    *(("md5", disk) for disk in ("sda", "sdb", "sdc")),
    *(("md6", member) for member in ("sdd2", "sde1")),
    ("sdd1", "sdd"), ("sdd2", "sdd"), ("sde1", "sde"), ("dm-0", "md6"),
}  # fmt: skip


def in_ascii(text: str) -> str:
    """Return *text* as ``lsblk -i`` draws it: "'->" at the last member, "`-" at what is on a group or in a tree."""
    return text.replace("└┬▶", "'->").replace("└", "`").translate(IN_ASCII)


@pytest.mark.parametrize("draw", [str, in_ascii])
@pytest.mark.parametrize("quote", ["", "> ", "> > "])
def test_a_device_on_several_others_is_drawn_once(draw, quote):
    text = "".join(f"{quote}{line}\n" for line in draw(MERGED).splitlines())
    topology, notes = read(text)
    assert edges(topology) == MERGED_EDGES
    assert topology["md5"].mounts == ("/srv/pool",)
    assert not notes


def test_a_group_whose_beginning_is_cut_gives_no_device_of_another():
    lines = MERGED.splitlines(keepends=True)
    topology, _ = read("".join([lines[0], *lines[3:]]))
    assert edges(topology) == {edge for edge in MERGED_EDGES if edge[0] != "md5"}


@pytest.mark.skipif(not shutil.which("lsblk"), reason="lsblk is not installed")
@pytest.mark.parametrize("options", [(), ("-i",)])
@pytest.mark.parametrize("sample", ["ec2-nvme-raid0", "raid5-raid10-medusa"])
def test_lsblk_itself_draws_the_same_stack_either_way(sample, options):
    def printed(*more):
        root = ROOT / "sample_topologies" / sample
        command = ["lsblk", "--sysroot", str(root), *options, *more]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return run.stdout

    tree, merged = printed(), printed("-M")
    if not tree:
        pytest.skip("this lsblk prints nothing of a recorded /sys")
    assert "->" in merged or "▶" in merged
    assert edges(read(merged)[0]) == edges(read(tree)[0])


def test_a_mail_wraps_the_heading_and_some_rows():
    text = """\
NAME                                          MAJ:MIN RM   SIZE RO
TYPE  MOUNTPOINT
sda                                             8:0    0 119.2G  0 disk
├─sda1                                          8:1    0   512M  0
part  /boot/efi
└─sda2                                          8:2    0 118.7G  0 part
  └─luks-0b0f3f3e-1111-4222-8333-944455566677 253:0    0 118.7G  0 crypt /
"""
    topology, _ = read(text)
    assert edges(topology) == {("sda1", "sda"), ("sda2", "sda"), ("dm-0", "sda2")}
    assert topology["sda1"].mounts == ("/boot/efi",)


@pytest.mark.parametrize("remark", ["  <---- this one", " <=====", " <<< failing?"])
def test_a_remark_of_the_author_behind_a_row_does_not_hide_it(remark):
    text = f"""\
NAME   MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT
sda      8:0    0   1.8T  0 disk
|-sda1   8:1    0   400G  0 part{remark}
`-sda2   8:2    0   300G  0 part /data
"""
    topology, _ = read(text)
    assert edges(topology) == {("sda1", "sda"), ("sda2", "sda")}


def test_a_blank_too_many_in_a_tree_keeps_the_level():
    text = """\
NAME          MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT
sda             8:0    0   3,7T  0 disk
├─sda1          8:1    0   260M  0 part  /boot
└─sda2          8:2    0   3,5T  0 part
 └─sda2_crypt 254:0    0   3,5T  0 crypt
   ├─vg0-root 254:1    0    28G  0 lvm   /
   └─vg0-home 254:2    0   2,7T  0 lvm   /home
"""
    topology, _ = read(text)
    assert edges(topology) == {
        ("sda1", "sda"), ("sda2", "sda"), ("dm-0", "sda2"), ("dm-1", "dm-0"), ("dm-2", "dm-0"),
    }  # fmt: skip


def test_bcache_has_its_disk_and_its_cache():
    text = """\
NAME          MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT
sdd             8:48   0   9.1T  0 disk
└─bcache0     252:0    0   9.1T  0 disk
sde             8:64   0   9.1T  0 disk
└─bcache1     252:128  0   9.1T  0 disk
sdh             8:112  0 447.1G  0 disk
├─sdh1          8:113  0   200G  0 part
│ ├─bcache0   252:0    0   9.1T  0 disk
│ └─bcache1   252:128  0   9.1T  0 disk
└─sdh2          8:114  0 247.1G  0 part
"""
    topology, _ = read(text)
    roles = {(edge.above, edge.below): edge.role for edge in topology.edges}
    assert roles["bcache0", "sdd"] is Role.ORIGIN
    assert roles["bcache0", "sdh1"] is Role.CACHE
    assert roles["bcache1", "sde"] is Role.ORIGIN
    assert roles["bcache1", "sdh1"] is Role.CACHE


POOL = """\
NAME        MAJ:MIN   SIZE TYPE SERIAL          WWN
sda           8:0     3.6T disk WD-WCC7K0ABCDEF 0x50014ee2b1234567
├─sda1        8:1     3.6T part                 0x50014ee2b1234567
└─sda9        8:9       8M part                 0x50014ee2b1234567
sdb           8:16    3.6T disk WD-WCC7K0ABCDEG 0x50014ee2b1234568
├─sdb1        8:17    3.6T part                 0x50014ee2b1234568
└─sdb9        8:25      8M part                 0x50014ee2b1234568
sdc           8:32    3.6T disk WD-WCC7K0ABCDEH 0x50014ee2b1234569
nvme0n1     259:0   931.5G disk S4EVNX0M123456  eui.0025385b01234567
└─nvme0n1p4 259:4     100G part                 eui.0025385b01234567

  pool: tank
 state: ONLINE
config:

        NAME                                          STATE     READ WRITE CKSUM
        tank                                          ONLINE       0     0     0
          mirror-0                                    ONLINE       0     0     0
            ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0ABCDEF  ONLINE       0     0     0
            wwn-0x50014ee2b1234568-part1              ONLINE       0     0     0
          ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0ABCDEX    UNAVAIL      0     0     0
        logs
          nvme-Samsung_SSD_970_S4EVNX0M123456-part4   ONLINE       0     0     0
"""


def test_a_pool_names_disks_by_id():
    """By serial number or WWN. A whole disk is used by its first partition. A disk that is gone has its name in the pool."""
    topology, notes = read(POOL)
    assert not notes
    gone = "disk/by-id/ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0ABCDEX"
    pool = {device.name for device in topology if device.uses}
    assert pool == {"sda1", "sdb1", "nvme0n1p4", gone}
    assert {name: topology[name].state for name in pool} == dict.fromkeys(pool) | {gone: "unavail"}


def test_links_tell_names():
    """ls -l of by-id, of /dev/mapper as a folder, and of paths."""
    links = (
        "lrwxrwxrwx 1 root root  9 Nov 27 16:23 ata-WDC_WD40EFRX-68N32N0_WD-X -> ../../sdc\n"
        "lrwxrwxrwx 1 root root 10 Nov 27 16:23 dm-name-vg-swap -> ../../dm-1\n\n"
        "total 0\ncrw------- 1 root root 10, 236 Nov 27 16:23 control\n"
        "lrwxrwxrwx 1 root root  7 Nov 27 16:23 vg-my--lv -> ../dm-0\n\n"
        "$ ls -l /dev/vg/other\nlrwxrwxrwx 1 root root 7 Nov 27 16:23 /dev/vg/other -> ../dm-2\n"
    )
    pool = "  pool: tank\n  ata-WDC_WD40EFRX-68N32N0_WD-X  ONLINE  0  0  0\n"
    topology, notes = read(links + pool)
    assert not notes
    assert [device.name for device in topology if device.uses] == ["sdc"]
    assert {device.name: device.dm_name for device in topology if device.dm_name} == {
        "dm-0": "vg-my--lv", "dm-1": "vg-swap", "dm-2": "vg-other",
    }  # fmt: skip


def test_a_link_in_a_folder_of_a_group_is_not_named_after_it():
    """The link my-lv to dm-3 may stand in /dev/vg."""
    reader = Reader()
    reader.take("lrwxrwxrwx 1 root root 7 Nov 27 16:23 my-lv -> ../dm-3")
    assert not reader.merged().files


def test_what_lsblk_draws_below_an_array_are_no_spares():
    """It does not tell the slots of members, nor how many the array has."""
    topology, _ = read(
        "NAME    MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINT\n"
        "sda       8:0    0    1G  0 disk\n└─md0     9:0    0    1G  0 raid1 /a\n"
        "sdb       8:16   0    1G  0 disk\n└─md0     9:0    0    1G  0 raid1 /a\n"
    )
    assert [(edge.below, edge.role) for edge in topology.below("md0")] == [
        ("sda", Role.DATA),
        ("sdb", Role.DATA),
    ]
    assert topology["md0"].layout is None


def test_volumes_without_the_column_type():
    """`lsblk -f` tells what lies on the device below: LVM's name is a volume, LUKS's a crypt device."""
    topology, _ = read("""\
NAME            FSTYPE      FSVER    LABEL UUID                                   FSAVAIL FSUSE% MOUNTPOINTS
sda
└─sda2          LVM2_member LVM2 001       eKq1dP-hd2u-xxxx-yyyy-zzzz-1111-222222
  ├─sys-root    xfs                        4bf4ddcb-1a3b-4f1c-8d58-8f7ed0f2e9bb     31,2G    37% /
  └─sys-safe    crypto_LUKS 2              0a3b66f8-9c9f-4f3d-98a9-5f8e9a7f0c11
    └─open      ext4        1.0            9c1b7d6a-8f8b-4b35-9c7c-2a1fd7b2a3c4      1,2T    83% /safe
""")
    kinds = {device.title: device.kind for device in topology}
    assert kinds["sys/root"] is Kind.VOLUME
    assert kinds["sys/safe"] is Kind.VOLUME
    assert kinds["open"] is Kind.CRYPT


BEFORE = """\
NAME        MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
sda           8:0    0   40G  0 disk
`-sda2        8:2    0   39G  0 part
  |-vg0-root 253:0   0   37G  0 lvm  /
  `-vg0-swap 253:1   0    1G  0 lvm  [SWAP]
sdb           8:16   0   10G  0 disk
`-tmp-root  253:2    0   10G  0 lvm  /mnt
"""
AFTER = """\
NAME        MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
sda           8:0    0   40G  0 disk
`-sda2        8:2    0   39G  0 part
  |-vg0-swap 253:1   0    1G  0 lvm  [SWAP]
  `-vg0-root 253:2   0    8G  0 lvm  /
sdb           8:16   0   10G  0 disk
`-tmp-home  253:0    0   10G  0 lvm  /home
"""


def test_a_listing_after_a_restart_replaces_the_one_before():
    topology, notes = read(BEFORE + "\n$ reboot\n" + AFTER)
    assert {(each.label, each.name, each.size >> 30) for each in topology if each.dm_name} == {
        ("vg0/swap", "dm-1", 1), ("vg0/root", "dm-2", 8), ("tmp/home", "dm-0", 10),
    }  # fmt: skip
    assert {("dm-2", "sda2"), ("dm-0", "sdb")} <= edges(topology)
    assert notes == ["lsblk: mapper/vg0-root is 253:0, and 253:2 in a later text, which is used"]


@pytest.mark.parametrize("indent", [" ", "    "])
def test_an_indented_disk_does_not_turn_the_tree_round(indent):
    text = (
        "NAME    MAJ:MIN RM SIZE RO TYPE  MOUNTPOINT\n"
        "sda       8:0    0  40G  0 disk\n"
        "└─sda1    8:1    0  40G  0 part  /\n"
        f"{indent}sdb       8:16   0 250M  0 disk\n"
        f"{indent}└─md0     9:0    0 496M  0 raid0\n"
    )
    assert edges(read(text)[0]) == {("sda1", "sda"), ("md0", "sdb")}


def test_a_mapping_with_the_name_of_its_disk():
    text = (
        "NAME    MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT\n"
        "sda       8:0    0 931.5G  0 disk\n"
        "└─sda   253:1    0 931.5G  0 crypt /mnt\n"
    )
    assert edges(read(text)[0]) == {("dm-1", "sda")}


def test_a_paste_without_its_first_column():
    text = (
        "AME    MAJ:MIN RM SIZE RO TYPE  MOUNTPOINT\n"
        "da       8:0    0   5G  0 disk\n"
        "-sda1    8:1    0   5G  0 part\n"
        " `-md0   9:0    0   5G  0 raid1 /\n"
    )
    topology, _ = read(text)
    assert edges(topology) == {("sda1", "sda"), ("md0", "sda1")}
    assert topology["sda"].kind is Kind.DISK


HOUSE = "luks-7d0b3c1e-52aa-4f6e-9a13-3b1f5c7d9e11"
LONG = f"""\
NAME                                            MAJ:MIN RM  SIZE RO TYPE  MOUNTPOINTS
sda                                               8:0    0  3.1T  0 disk
├─sda1                                            8:1    0    1T  0 part  /boot
└─sda2                                            8:2    0    1T  0 part
  └─md7                                           9:7    0    1T  0 raid5
    └─{HOUSE}     253:0    0    1T  0 crypt
      ├─vg-root                                 253:1    0    2G  0 lvm   /
      └─vg-home                                 253:2    0   43G  0 lvm   /home
"""


@pytest.mark.parametrize("width", range(62, 79))
def test_a_narrow_terminal_wraps_rows_within_words(width):
    """Each device stays on the one below it, and its parts are no devices."""
    parts = (
        line.ljust(86)[begin : begin + width].rstrip()
        for line in LONG.splitlines()
        for begin in range(0, 86, width)
    )
    topology, notes = read("\n".join(parts) + "\n")
    title = {device.name: device.dm_name or device.name for device in topology}
    assert notes == []
    assert {(title[a], title[b]) for a, b in edges(topology)} == {
        ("sda1", "sda"), ("sda2", "sda"), ("md7", "sda2"), (HOUSE, "md7"), ("vg-root", HOUSE), ("vg-home", HOUSE)
    }  # fmt: skip


def test_a_long_line_of_dashes_takes_no_longer_than_its_bytes():
    """By the square of its length it would take more than a minute."""
    reader, begun = Reader(), monotonic()
    reader.take("-" * (1 << 17))
    assert monotonic() - begun < 5


def test_what_follows_a_row_that_cannot_be_read_is_on_no_known_device():
    """Also in a table that a mail wrapped, where the rest of a row is a line of its own."""
    topology, _ = read(
        "NAME   FSTYPE FSVER LABEL   UUID\nFSAVAIL FSUSE% MOUNTPOINT\n"
        "sdr\n└─sdr1 ext4   1.0           0badc0de-1111-4222-8333-444455556666\n36.5G    27% /home\n"
        "[sdt: a line that the mail gateway removed]\n"
        "└─md0  ext4   1.0           0badc0de-7777-4222-8333-444455556666\n1.2T    66% /srv/pool\n"
    )
    assert ("sdr1", "sdr") in edges(topology)
    assert not topology.below("md0")


@pytest.mark.parametrize(("size", "is_there"), [("40G", True), ("1T", False)])
def test_a_branch_without_its_blanks_is_on_a_device_that_has_room_for_it(size, is_there):
    """Rows of the disk between them may have been left out."""
    topology, _ = read(
        "NAME        MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINT\n"
        "sdr          65:16   0   100G  0 disk\n└─sdr1       65:17   0    99G  0 part\n"
        f"  └─vga-x   253:0    0    50G  0 lvm   /srv\n└─vgb-y     253:1    0 {size:>6}  0 lvm   /data\n"
    )
    assert [edge.below for edge in topology.below("dm-1")] == ["dm-0"] * is_there
