"""A ticket with states and no figures: what lvs and mdstat say is wrong is the first line of ``explain`` and in ``check``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

FULL_POOL = """\
Customer says his VM is frozen.

# lvs -a
  LV              VG    Attr       LSize   Pool   Origin Data%  Meta%  Move Log Cpy%Sync Convert
  pool0           vgvm  twi-aotzD- 100.00g               100.00 44.12
  [pool0_tdata]   vgvm  Twi-ao---- 100.00g
  vm1             vgvm  Vwi-aotz--  80.00g pool0         99.80
"""
SNAPSHOT = """\
  LV       VG   Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert
  data     vg0  owi-aos--- 200.00g
  backup   vg0  swi-aos---  10.00g      data   97,31
"""
NEARLY_FULL = """\
{"report": [{"lv": [
 {"lv_name": "pool", "vg_name": "vg0", "lv_attr": "twi-aotz--", "lv_size": "500.00g", "data_percent": "83.20"},
 {"lv_name": "root", "vg_name": "vg0", "lv_attr": "-wi-ao----", "lv_size": "50.00g", "data_percent": ""}
]}]}
"""
MISSING_PV = """\
  LV               VG   Attr       LSize   Cpy%Sync Devices
  media            vg1  rwi-aor-p- 2.00t   100.00   media_rimage_0(0),media_rimage_1(0),media_rimage_2(0)
  [media_rimage_0] vg1  iwi-aor--- 1.00t            /dev/sda1(1)
  [media_rimage_1] vg1  iwi-aor-p- 1.00t            [unknown](1)
  [media_rimage_2] vg1  iwi-aor--- 1.00t            /dev/sdc1(1)
"""
FAILED_MEMBER = """\
md0 : active raid5 sdd1[3] sdb1[1](F) sda1[0]
      1953258496 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/2] [U_U]

unused devices: <none>
"""


def run(directory, command, text):
    path = directory / "ticket.txt"
    path.write_text(text)
    result = CliRunner().invoke(stackmap, [*command, "--input", str(path)])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize(
    ("text", "first", "rule", "device"),
    [
        (FULL_POOL, "vgvm/pool0-tpool is out of data space", "SM301", "vgvm-pool0-tpool"),
        (SNAPSHOT, "Snapshot vg0/backup is 97.3 % full", "SM313", "vg0-backup"),
        (NEARLY_FULL, "Thin pool vg0/pool-tpool is 83.2 % full", "SM311", "vg0-pool-tpool"),
        (MISSING_PV, "LVM says that vg1/media is unhealthy", "SM345", "vg1-media"),
        (FAILED_MEMBER, "md0 is degraded", "SM301", "md0"),
    ],
    ids=["full pool", "snapshot", "nearly full", "missing PV", "failed member"],
)
def test_a_state_is_told_without_figures(tmp_path, text, first, rule, device):
    """The text has no iostat: its states are judged all the same, and the load is not."""
    told = " ".join(run(tmp_path, ["explain"], text).stdout.split())
    found = json.loads(run(tmp_path, ["explain", "-J"], text).stdout)
    checked = run(tmp_path, ["check"], text).stdout

    assert told.startswith(f"Do first: {first}")
    assert (found["findings"][0]["id"], found["findings"][0]["device"]) == (rule, device)
    assert "the load" in {each["question"] for each in found["not_judged"]}
    assert rule in checked


def test_a_pool_is_as_full_as_lvs_says(tmp_path):
    """The share of its own size."""
    text = FULL_POOL.replace(
        "twi-aotzD- 100.00g               100.00", "twi-aotz-- 100.00g                96.50"
    )
    (finding,) = json.loads(run(tmp_path, ["explain", "-J"], text).stdout)["findings"]
    evidence = {each["name"]: each["value"] for each in finding["evidence"]}

    assert (finding["id"], finding["severity"]) == ("SM311", "critical")
    assert evidence["share"] == pytest.approx(0.965)
    assert (evidence["used"], evidence["total"]) == (pytest.approx(96.5 * 2**30), 100 * 2**30)


def test_a_missing_pv_is_no_device(tmp_path):
    """lvs prints [unknown] for it."""
    tree = json.loads(run(tmp_path, ["tree", "-J"], MISSING_PV).stdout)

    assert not [each["name"] for each in tree["devices"] if "unknown" in each["name"]]


TABLE = """\
Device            r/s     w/s     rkB/s     wkB/s  r_await  w_await  aqu-sz  %util
rbd0             0.00  100.00      0.00   1600.00     0.00   152.00   15.20  98.00
vda              7.00   11.00     28.00     44.00     0.50     0.90    0.01   1.00
dm-3             5.00    3.00     20.00     12.00     0.50     0.90    0.01   1.00
"""
MOUNT = "/dev/rbd0 on /srv/data type ext4 (rw,relatime)\n"


def test_a_device_that_only_the_figures_name_is_shown(tmp_path):
    """mount names one device, iostat three: all have rows, and a note says that the disks below the mapped one are unknown."""
    result = run(tmp_path, ["iostat", "-J"], MOUNT + TABLE)
    rows = {each["name"]: each for each in json.loads(result.stdout)["devices"]}

    assert {name: row["reads"] for name, row in rows.items()} == {"rbd0": 0, "vda": 7, "dm-3": 5}
    assert "devices below dm-3: not in the input" in result.stderr
    assert "skipped" not in result.stderr


def test_volumes_without_their_disks_are_no_disks(tmp_path):
    """iostat -N: of three devices one is a disk."""
    names = TABLE.replace("rbd0", "sda ").replace("vda ", "vg-a").replace("dm-3 ", "vg-b ")
    told = run(tmp_path, ["explain", "-J"], names).stdout
    shown = run(tmp_path, ["explain"], names).stdout

    assert {each["device"] for each in json.loads(told)["findings"]} == {"sda"}
    assert "disks)" not in shown
