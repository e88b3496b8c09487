"""A text with the outputs of two hosts: their devices may have the same names, so nothing of one is joined with the other."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from stackmap.sources.printed.hosts import HostNames
from tests.test_ticket_commands import run

ARRAY = """\
NAME    MAJ:MIN RM SIZE RO TYPE  MOUNTPOINTS
sda       8:0    0  11G  0 disk
└─md0     9:0    0  11G  0 raid1 /srv/web
sdb       8:16   0  11G  0 disk
└─md0     9:0    0  11G  0 raid1 /srv/web
"""
VOLUME = """\
NAME        MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS
sda           8:0    0  13G  0 disk
└─vg-data   253:0    0  13G  0 lvm  /srv/db
sdb           8:16   0  13G  0 disk
"""
ONLY_WEB = "the text is from web1 and db2: only web1 is used; give one text per host"
ONLY_DB = "the text is from db2 and web1: only db2 is used; give one text per host"


def prompt(host, command):
    return f"root@{host}:~# {command}\n"


def table(*rows, banner=""):
    first = f"Linux 6.1.0-9-amd64 ({banner}) \t11/28/26 \t_x86_64_\t(8 CPU)\n\n" if banner else ""
    heading = "Device r/s w/s rkB/s wkB/s await aqu-sz %util\n"
    return first + heading + "".join(f"{n} {r} {w} 70.00 110.00 1.30 0.17 19.00\n" for n, r, w in rows) + "\n"  # fmt: skip


WEB = (("sda", 2, 3), ("sdb", 5, 7), ("md0", 11, 13))
DB = (("sda", 101, 103), ("sdb", 107, 109), ("dm-0", 113, 127))


def reads(done):
    return {each["name"]: each["reads"] for each in json.loads(done.stdout)["devices"]}


@pytest.mark.parametrize("banners", [("web1", "db2"), ("web1.example.com", "db2"), ("", "")])
def test_figures_below_the_prompts_of_two_hosts_are_no_reports_of_one(tmp_path, banners):
    text = (
        prompt("web1", "lsblk") + ARRAY
        + prompt("web1", "iostat -dxy 5 1") + table(*WEB, banner=banners[0])
        + prompt("db2", "lsblk") + VOLUME
        + prompt("db2", "iostat -dxy 5 1") + table(*DB, banner=banners[1])
    )  # fmt: skip
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 2, "sdb": 5, "md0": 11}
    assert done.stderr.count(ONLY_WEB) == 1
    assert "below dm-0" not in done.stderr


@pytest.mark.parametrize("banner", ["db2", ""])
@pytest.mark.parametrize("quote", ["", "> "])
def test_the_topology_of_one_host_and_the_figures_of_another_are_not_joined(tmp_path, banner, quote):  # fmt: skip
    plain = prompt("web1", "lsblk") + ARRAY + prompt("db2", "iostat -dxy 5 1") + table(*WEB, banner=banner)  # fmt: skip
    text = "".join(f"{quote}{line}\n" for line in plain.splitlines())
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 2, "sdb": 5, "md0": 11}
    assert "the figures are from db2, lsblk and the like from web1: they are not joined" in done.stderr  # fmt: skip
    layers = run(tmp_path, text, "iostat", "-l", "--input").stdout
    assert "disks" not in layers  # md0 is on no disk
    tree = run(tmp_path, text, "tree", "--input")
    assert "/srv/web" in tree.stdout


@pytest.mark.parametrize("banners", [("web1", "db2"), ("", "")])
def test_the_host_with_both_is_used(tmp_path, banners):
    """The first host has figures only."""
    text = (
        prompt("web1", "iostat -dxy 5 1") + table(*WEB, banner=banners[0])
        + prompt("db2", "lsblk") + VOLUME
        + prompt("db2", "iostat -dxy 5 1") + table(*DB, banner=banners[1])
    )  # fmt: skip
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 101, "sdb": 107, "dm-0": 113}
    assert done.stderr.count(ONLY_DB) == 1
    layers = run(tmp_path, text, "iostat", "-l", "--input").stdout
    assert "vg/data" in layers
    assert "md0" not in layers


def test_figures_of_two_hosts_without_a_topology(tmp_path):
    text = prompt("web1", "iostat -dxy 5 1") + table(*WEB) + prompt("db2", "iostat -dxy 5 1") + table(*DB)  # fmt: skip
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 2, "sdb": 5, "md0": 11}
    assert done.stderr.count(ONLY_WEB) == 1
    tree = run(tmp_path, text, "tree", "--input")
    assert "dm-0" not in tree.stdout
    assert ONLY_WEB in tree.stderr


COUNTERS = """\
   8       0 sda {} 0 {} 5 7 0 11 13 0 17 19 0 0 0 0
   8      16 sdb {} 0 {} 5 7 0 11 13 0 17 19 0 0 0 0
"""


def test_copies_of_counters_of_two_hosts_have_no_difference(tmp_path):
    one, other = (COUNTERS.format(*(n * k for k in (1, 16, 2, 32))) for n in (1000, 90_000))
    text = prompt("web1", "cat /proc/diskstats") + one + prompt("{}", "cat /proc/diskstats") + other
    apart = run(tmp_path, text.format("db2"), "iostat", "-J", "--input")
    assert reads(apart) == {"sda": 1000, "sdb": 2000}  # totals since boot
    one_host = run(tmp_path, text.format("web1"), "iostat", "-J", "--input")
    assert reads(one_host) == {"sda": 89_000, "sdb": 178_000}


@pytest.mark.parametrize(
    ("lines", "host"),
    [
        (["[root@web1 ~]# lsblk"], "web1"),
        (["ops@web1.example.com:/srv$ lsblk"], "web1"),
        (["ops@192.0.2.7:~$ lsblk"], "192.0.2.7"),
        (["ops@jump:~$ ssh web1 lsblk"], "web1"),
        (["ops@jump:~$ ssh -o BatchMode=yes -p 2222 root@web1 'lsblk -J'"], "web1"),
        (["$ ssh web1 lsblk"], "web1"),
        (["web1:~ # lsblk"], "web1"),
        (["web1:/srv/www # LANG=C iostat -x"], "web1"),
        (["(venv) ops@web1:~$ lsblk"], "web1"),
        (["[10:01:02 root@web1 ~]# LC_ALL=C lsblk"], "web1"),
        (["ops@web1:~$ lsblk", "md0: /srv and more # text"], "web1"),
        (["ok: [web1] => {"], "web1"),
        (["web1 | CHANGED | rc=0 >>"], "web1"),
        (["Linux web1 6.1.0-9-amd64 #1 SMP Debian 6.1.27-1 x86_64 GNU/Linux"], "web1"),
        (["[1.000000] Linux version 6.1.0-9-amd64 (build@db2) #1 SMP"], ""),
        (["ops@prod:~$ uname -a", "Linux web1 6.1.0-9 #1 SMP", "ops@prod:~$ lsblk"], "web1"),
        (["ops@jump:~$ kubectl exec web1-0 -- lsblk"], ""),
        (["ops@jump:~$ cat lsblk.txt"], ""),
        (["ops@web1:~$ sudo cat /proc/mdstat"], "web1"),
        (["ops@web1:~$ lsblk", "$ ls"], "web1"),
        (["Linux 6.1.0 (web1) 11/28/26"], "web1"),
        (["ops@web1:~$ lsblk", "mdadm: sent to root@db2"], "web1"),
    ],
)
def test_whose_lines_these_are(lines, host):
    names = HostNames()
    for line in lines:
        names.take(line)
    assert names.own(names.name) == host


def test_a_prompt_may_have_a_name_of_its_own(tmp_path):
    """A banner below it tells the host's; the file of another host does not."""
    text = prompt("prod", "lsblk") + ARRAY + prompt("prod", "{}") + table(*WEB, banner="ip-10-0-0-7")  # fmt: skip
    joined = run(tmp_path, text.format("iostat -dxy 5 1"), "iostat", "-l", "--input")
    assert "2 disks" in joined.stdout
    assert "not joined" not in joined.stderr
    apart = run(tmp_path, text.format("sar -d -f sa28"), "iostat", "-l", "--input")
    assert "2 disks" not in apart.stdout
    assert "not joined" in apart.stderr


@pytest.mark.parametrize(
    "form", ["{}:~ # {}\n", "(venv) ops@{}:~$ LANG=C {}\n", "[10:01:02 root@{} ~]# {}\n"]
)
def test_prompts_of_other_shells(tmp_path, form):
    text = "".join(
        form.format(host, command) + output
        for host, command, output in (
            ("web1", "lsblk", ARRAY),
            ("web1", "iostat -dxy 5 1", table(*WEB)),
            ("db2", "iostat -dxy 5 1", table(*DB)),
        )
    )
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 2, "sdb": 5, "md0": 11}
    assert done.stderr.count(ONLY_WEB) == 1


@pytest.mark.parametrize(
    "form",
    [
        "ok: [{}] => {{\n",
        "{} | CHANGED | rc=0 >>\n",
        "----------------\n{}\n----------------\n",
        "Linux {} 6.1.0-9 #1 SMP x86_64\n",
    ],
    ids=["Ansible's task", "Ansible", "dshbak", "uname"],
)
def test_what_programs_print_before_the_output_of_a_host(tmp_path, form):
    text = form.format("web1") + ARRAY + table(*WEB) + form.format("db2") + VOLUME + table(*DB)
    done = run(tmp_path, text, "iostat", "-J", "--input")
    assert reads(done) == {"sda": 2, "sdb": 5, "md0": 11}
    assert done.stderr.count(ONLY_WEB) == 1


def test_a_disk_of_two_sizes_is_noted(tmp_path):
    """Nothing names the hosts. Sizes are rounded, in units of 1000 or of 1024."""
    for size, noted in (("11G", 0), ("12G", 0), ("17G", 1)):
        done = run(tmp_path, ARRAY + "and\n" + VOLUME.replace("13G", size), "tree", "--input")
        assert (
            done.stderr.count("sda has 11.0 GiB and 17.0 GiB: the outputs may be of two hosts")
            == noted
        )


def test_a_host_without_a_device_in_its_report_is_not_the_one(tmp_path):
    """As after ``iostat -c``."""
    cpu = "Linux 6.1.0-9-amd64 (web1) \t11/28/26 \t_x86_64_\t(8 CPU)\n\nDevice r/s w/s rkB/s wkB/s await aqu-sz %util\n\n"
    done = run(tmp_path, cpu + table(*DB, banner="db2"), "iostat", "-J", "--input")
    assert reads(done) == {"sda": 101, "sdb": 107, "dm-0": 113}
    assert "web1" not in done.stderr


def test_annotate_names_the_rows_of_the_host_whose_devices_are_known(tmp_path):
    text = (
        prompt("web1", "iostat -dxy 5 1") + table(("dm-0", 2, 3))
        + prompt("db2", "lsblk") + VOLUME
        + prompt("db2", "iostat -dxy 5 1") + table(*DB)
    )  # fmt: skip
    done = run(tmp_path, text, "annotate")
    assert [line.split()[0] for line in done.stdout.splitlines() if "dm-0" in line] == ["dm-0", "vg/data"]  # fmt: skip
    assert "lines of web1 are unchanged: the devices are known of db2 only" in done.stderr


def test_annotate_names_the_rows_of_each_host_in_a_pipe():
    text = "".join(
        prompt(host, "lsblk") + VOLUME.replace("data", host) + prompt(host, "iostat -dx 1") + table(*DB)
        for host in ("web1", "db2")
    )  # fmt: skip
    words = [sys.executable, "-m", "stackmap", "annotate"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines() if "dm-0" in line] == ["vg/web1", "vg/db2"]  # fmt: skip
    assert done.stderr == ""
