"""Tickets: texts with the output of several commands become one machine, however they were pasted."""

from __future__ import annotations

import html
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import PlanRefused
from stackmap.host.capture import CapturedHost
from stackmap.measurement.stream import StreamTopology
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


@pytest.fixture
def ticket(tmp_path):
    path = tmp_path / "ticket.txt"
    path.write_text(MD_LVM)
    return str(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tree"], "raid5 2+1, 64 KiB"),
        (["iostat", "-l"], "vg-md/data"),
        (["explain"], "Overload and slow disks: no warning"),
        (["blame", "sda"], "vg-md/data"),
        (["whatif", "md0", "--to", "raid10"], "raid10"),
    ],
)
def test_commands_read_a_ticket(ticket, words, said):
    done = CliRunner().invoke(stackmap, [words[0], "--input", ticket, *words[1:]])
    assert done.exit_code == 0, done.output
    assert said in done.stdout


def test_a_pipe_is_read_too():
    words = [sys.executable, "-m", "stackmap", "explain", "--input", "-"]
    done = subprocess.run(words, input=MD_LVM, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Overload and slow disks: no warning (3 disks)" in done.stdout


def test_json_tells_the_sources(ticket):
    done = CliRunner().invoke(stackmap, ["tree", "--input", ticket, "-J"])
    devices = {each["name"]: each for each in json.loads(done.stdout)["devices"]}
    assert devices["dm-0"]["below"] == [{"name": "md0", "role": "data", "source": "lsblk, lvs"}]


def test_a_plan_refuses_a_text(ticket):
    done = CliRunner().invoke(stackmap, ["plan", "md0", "--to", "raid10", "--input", ticket])
    assert isinstance(done.exception, PlanRefused)
    assert done.exception.exit_code == 3


def test_the_only_partition_of_a_disk_has_the_figures_of_the_disk(ticket):
    """iostat -x prints no partitions: sdb has one, sda two, whose parts of its load are unknown."""
    done = CliRunner().invoke(stackmap, ["iostat", "--input", ticket, "-J"])
    told = json.loads(done.stdout.splitlines()[-1])
    devices = {each["name"]: each for each in told["devices"]}
    figures = {name: (device["reads"], device["writes"]) for name, device in devices.items()}

    assert None not in figures["sdb"]
    assert figures["sdb1"] == figures["sdb"]
    assert figures["sda1"] == (None, None)
    assert "partition-not-printed: sdb1" in told["corrections"]


def test_the_figures_of_a_disk_do_not_confirm_themselves(ticket):
    """Accounted needs two counters."""
    done = CliRunner().invoke(stackmap, ["iostat", "-l", "md0", "--input", ticket, "-J"])
    (stack,) = json.loads(done.stdout.splitlines()[-1])["stacks"]

    assert {layer["role"]: layer["closure"]["write"] for layer in stack["layers"]}["disks"] is None


def test_of_an_endless_text_the_first_part_is_used():
    """10 MB of rows took 840 MB and 40 s; what was left out is said, and memory and time are bounded."""
    rows = "".join(f"sd{n} 8:{n} 0 1G 0 disk /mnt/{n}\n" for n in range(40_000))
    reader = Reader()
    for line in f"NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n{rows}".splitlines():
        reader.take(line)
    told = reader.merged()

    assert any("only the first 1 MiB" in note for note in told.notes)
    assert 20_000 < sum(path.endswith("/dev") for path in told.files) < 40_000


def test_the_topology_of_the_text_comes_before_that_of_the_capture(ticket):
    """--from names another machine; what the text tells of its own is nearer."""
    capture = str(Path(__file__).parents[1] / "sample_topologies" / "vghdd")
    done = CliRunner().invoke(stackmap, ["--from", capture, "tree", "--input", ticket])
    assert "vg-md/data" in done.stdout
    assert "vghdd" not in done.stdout


SLOW = "".join(
    f"sd{letter} 0.00 0.00 0.00 0.00 0.00 0.00 100.00 400.00 0.00 0.00 {await_ms}.00 4.00 {queue}.00 99.00\n"
    for letter, await_ms, queue in zip(
        "abcdef", (900, 300, 40, 41, 42, 43), (90, 30, 4, 4, 4, 4), strict=True
    )
)


def test_an_answer_in_markdown_is_a_comment(tmp_path):
    """It has the first step, a verdict, three findings without evidence, and at most 25 lines."""
    done = run(tmp_path, IOSTAT.splitlines()[0] + "\n" + SLOW, "explain", "-m", "--input")
    assert 1 <= sum(" (SM" in line for line in done.stdout.splitlines()) <= 3
    lines = done.stdout.splitlines()
    assert lines[0].startswith("**Do first:**"), done.output
    assert any(line.startswith("## ") for line in lines)
    assert len(lines) <= 25
    assert not any(line.startswith(("| evidence", "**Evidence", "### ")) for line in lines)


SAR = """\
Linux 5.14.0 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)

10:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
10:10:01 AM    dev8-0     10.00    100.00    100.00      0.00     20.00      0.10      5.00      4.00
10:20:01 AM    dev8-0     30.00    300.00    300.00      0.00     20.00      0.10      5.00      4.00

"""
IOSTAT = """\
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
cas1-1          10.00    100.00     0.00   0.00    1.00    10.00    5.00     50.00     0.00   0.00    1.00    10.00    0.10   1.00
"""


def run(tmp_path, text, *words):
    path = tmp_path / "pasted.txt"
    path.write_text(text)
    return CliRunner().invoke(stackmap, [*words, str(path)])


def test_two_pastes_of_one_instant_are_not_averaged(tmp_path):
    done = run(tmp_path, SAR + SAR.replace("dev8-0", "   sda"), "iostat", "-J", "--input")
    (device,) = json.loads(done.stdout)["devices"]
    assert device["tps"] == 20
    assert "has the report of 10:10:01 AM twice" in done.stderr


def test_an_hour_that_the_clock_repeats_is_no_copy(tmp_path):
    """At the end of summer time the times come again, with other figures."""
    later = SAR.partition("\n\n")[2].replace(" 10.00 ", " 50.00 ").replace(" 30.00 ", " 70.00 ")
    done = run(tmp_path, SAR + later, "iostat", "-J", "--input")
    (device,) = json.loads(done.stdout)["devices"]
    assert device["tps"] == 40
    assert "twice" not in done.stderr


def test_totals_since_boot_are_not_headed_as_rates(tmp_path):
    text = " 8 0 sda 72 26 1296 196 43 859 1174 518 0 202 750\n"
    heading = run(tmp_path, text, "iostat", "--input").stdout.splitlines()[1]
    assert "r-total" in heading
    assert "/s" not in heading


def test_a_cache_of_open_cas_is_no_volume(tmp_path):
    assert "cas1/1" not in run(tmp_path, IOSTAT, "iostat", "--input").stdout


def test_a_full_width_colon_is_a_colon(tmp_path):
    done = run(tmp_path, IOSTAT.replace("Device  ", "Device：", 1), "iostat", "--input")
    assert "cas1-1" in done.stdout


@pytest.mark.parametrize(
    ("first", "system"),
    [
        ("AIX aix1 2 7 00F6F5E14C00    11/20/26", "AIX"),
        ("SunOS host1 5.10 Generic_147147-26 sun4v    11/20/2026", "Solaris"),
        ("HP-UX hpux1 B.11.31 U ia64    11/20/26", "HP-UX"),
    ],
)
def test_sar_of_other_systems_is_named(tmp_path, first, system):
    done = run(
        tmp_path,
        f"{first}\n\n00:00:00  device  %busy avque r+w/s Kbs/s avwait avserv\n",
        "iostat",
        "--input",
    )
    assert done.exit_code == 1
    assert f"line 1: sar of {system}" in str(done.exception)


def test_annotate_uses_the_names_of_a_ticket(tmp_path):
    """A file is read twice: lsblk may stand below the figures. This machine's names do not matter."""
    figures = "Device            r/s     w/s  %util\ndm-1             1.00    2.00   3.00\n"
    given = [figures, *parts(MD_LVM)]
    for text in ("".join(given), "".join(reversed(given))):
        done = run(tmp_path, text, "annotate")
        assert done.exit_code == 0
        assert re.search(
            r"^vg-md/home-dirs \(dm-1\) +1\.00 +2\.00 +3\.00$", done.stdout, re.MULTILINE
        )
        assert len(done.stdout.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_a_pipe_uses_the_topology_that_came_before_a_report(size):
    """Whatever a read of the pipe returns. What comes later is used from there on."""
    figures = "Device            r/s     w/s  %util\ndm-1             1.00    2.00   3.00\n\n"
    text = (figures + "".join(parts(MD_LVM)) + figures * 2 + "$ dmsetup ls\nvg-new\t(254:9)\n" + figures).encode()  # fmt: skip
    stream, machines, out = StreamTopology("pipe", pytest.fail), [], b""
    for at in range(0, len(text), size):
        for host, part in stream.divide(text[at : at + size]):
            if host:
                rest = text[len(out) :].decode()
                assert rest.startswith("Device")
                machines.append(
                    (rest.count("Device "), {d.label or d.dm_name for d in discover(host)})
                )
            out += part
    assert out + stream.rest == text
    assert [before for before, _ in machines] == [3 + MD_LVM.count("Device "), 1]
    assert [("vg-md/home-dirs" in labels, "vg-new" in labels) for _, labels in machines] == [(True, False), (True, True)]  # fmt: skip


def test_a_pipe_into_annotate_stays_a_stream(tmp_path):
    """Each report is printed before the next one comes, with the names that the stream has told."""
    figures = "Device            r/s     w/s  %util\ndm-1             1.00    2.00   3.00\n\n"
    capture = tmp_path / "empty"
    capture.mkdir()
    (capture / "capture.json").write_text('{"format": 1}')
    with subprocess.Popen(
        [sys.executable, "-m", "stackmap", "--from", str(capture), "annotate"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as done:  # fmt: skip
        for text in (MD_LVM, figures, figures):
            done.stdin.write(text.encode())
            done.stdin.flush()
            if text == figures:
                while not (line := done.stdout.readline()).startswith(b"vg-md/home-dirs (dm-1)"):
                    assert line
        done.stdin.close()


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


def test_annotate_says_that_a_text_is_of_two_hosts(tmp_path):
    done = run(tmp_path, SAR + SAR.replace("db1", "web7"), "annotate")
    assert done.stderr.count("the text is from db1 and web7") == 1


def test_figures_in_a_table_of_markdown(tmp_path):
    text = (
        "| Device  |   r/s  | rMB/s | w/s  | wMB/s |\n"
        "|---------|:------:|:-----:|:----:|:-----:|\n"
        "| md127   | 550.93 |  2.25 | 10.0 |  1.00 |\n"
    )
    (device,) = json.loads(run(tmp_path, text, "iostat", "-J", "--input").stdout)["devices"]
    assert (device["name"], device["reads"], device["writes"]) == ("md127", 550.93, 10)


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


def test_of_hosts_the_first_with_a_device_is_used():
    empty = "[root@a ~]# cat /proc/mdstat\nPersonalities : [raid1]\nunused devices: <none>\n"
    other = "[root@b ~]# cat /proc/mdstat\nmd0 : active raid1 sdb1[1] sda1[0]\n      1024 blocks [2/2] [UU]\n"
    topology, notes = read(empty + other)
    assert ("md0", "sda1") in edges(topology)
    assert not notes
