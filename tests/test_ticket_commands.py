"""What the commands answer to a ticket, a text with the output of several commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import PlanRefused
from stackmap.measurement.stream import StreamTopology
from tests.paths import ROOT
from tests.test_tickets import MD_LVM, parts


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


def test_the_topology_of_the_text_comes_before_that_of_the_capture(ticket):
    """--from names another machine; what the text tells of its own is nearer."""
    capture = str(ROOT / "sample_topologies" / "vghdd")
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


SHORT = """\
Linux 6.4.0 (store3) 12/11/24 _x86_64_ (4 CPU)

Device             tps      kB/s    rqm/s   await {heading}  %util
sdf            1354.00  10832.00     7.00    0.71 {figures}  97.00
sdg               0.00      0.00     0.00    0.00 {idle}   0.00
"""


@pytest.mark.parametrize(
    ("heading", "figures", "idle"),
    [("areq-sz aqu-sz", "8.00 0.96", "0.00 0.00"), ("aqu-sz", "0.96", "0.00")],
    ids=["sysstat 12", "without sizes"],
)
def test_iostat_short(tmp_path, heading, figures, idle):
    """``iostat -xs`` has the sum of reads and writes only: it is shown as such."""
    text = SHORT.format(heading=heading, figures=figures, idle=idle)
    lines = run(tmp_path, text, "iostat", "--input").stdout.splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["DEVICE", "aqu", "KiB/s", "KiB", "tps", "await"],
        ["sdf", "0.96", "10832.00", "8.00", "1354.00", "0.71"],
        ["sdg", "0.00", "0.00", "-", "0.00", "-"],
    ]
    device = json.loads(run(tmp_path, text, "iostat", "-J", "--input").stdout)["devices"][0]
    assert (device["bytes"], device["size"]) == (10832 * 1024, 8192)
    assert {device[key] for key in ("reads", "writes", "read_bytes", "write_size")} == {None}


@pytest.mark.parametrize(
    ("mounted", "severities"),
    [
        ("Filesystem Type  Size Used Avail Use% Mounted on\n/dev/md4   xfs   1.8T 0.9T  0.9T  50% /srv\n", []),
        ("/dev/md4 on /srv type xfs (rw,relatime,attr2,inode64,noquota)\n", ["info"]),
        ("/dev/md4 on /srv type xfs (rw,relatime,sunit=512,swidth=1024,noquota)\n", ["ok"]),
        ("36 1 9:4 / /srv rw,relatime shared:1 - xfs /dev/md4 rw,attr2,sunit=512,swidth=1024\n", ["ok"]),
    ],
)  # fmt: skip
def test_the_stripes_of_a_file_system_are_judged_by_its_options(tmp_path, mounted, severities):
    """df and lsblk print none: what the file system assumes is then unknown."""
    path = tmp_path / "ticket.txt"
    path.write_text(
        "Personalities : [raid0]\nmd4 : active raid0 sdc[1] sdb[0]\n"
        f"      1953260544 blocks super 1.2 256k chunks\n\n{mounted}"
    )
    done = CliRunner().invoke(stackmap, ["check", "--input", str(path), "-J"])
    checks = json.loads(done.stdout)["checks"]
    assert [each["severity"] for each in checks if each["id"] == "SM923"] == severities
