"""What precedes each line of a paste: comment marks, logs, files, hosts; lists of lines in JSON and YAML."""

from __future__ import annotations

import json

import pytest

from stackmap.text import intervals
from stackmap.text.text_lines import Lines
from tests.test_ticket_commands import run
from tests.test_tickets import MD_EDGES, MD_LVM
from tests.text.test_logged import TABLE, read

SAR = """\
Linux 6.1.0-26-amd64 (kvm7)         11/14/24        _x86_64_        (64 CPU)

03:00:01          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
03:10:01       md127     23.00    230.00    460.00      0.00     30.00      0.29      1.30     31.00
03:10:01     nvme0n1     29.00    290.00    580.00      0.00     30.00      0.31      1.70     37.00
03:20:01       md127     41.00    410.00    820.00      0.00     30.00      0.43      1.90     47.00
03:20:01     nvme0n1     43.00    430.00    860.00      0.00     30.00      0.47      2.30     53.00
Average:       md127     32.00    320.00    640.00      0.00     30.00      0.36      1.60     39.00
Average:     nvme0n1     36.00    360.00    720.00      0.00     30.00      0.39      2.00     45.00
"""
PREFIXES = {
    "a comment": "# ",
    "a pipe": "| ",
    "a pipe without a space": "|",
    "SQL": "-- ",
    "a list": "* ",
    "a patch": "+",
    "Jira": "bq. ",
    "a no-width space": "\u200b",
    "grep": "iostat.txt:",
    "grep -r": "./kvm7/2024-11-14/iostat.out:",
    "logger": "Nov 14 03:00:11 kvm7 collect: ",
    "short-precise": "Nov 14 03:00:11.123456 kvm7 iostat[2211]: ",
    "short-full": "Thu 2024-11-14 03:00:11 UTC kvm7 iostat[2211]: ",
    "raw syslog": "<13>Nov 14 03:00:11 kvm7 root: ",
    "kubectl --timestamps": "2024-11-14T03:00:11.123456789Z ",
    "kubectl --prefix": "[pod/debug-x7k2p/debugger] ",
    "docker compose": "debugger-1  | ",
    "Jenkins": "[2024-11-14T03:00:11.123Z] ",
    "ts": "Nov 14 03:00:11 ",
    "ts with ISO": "2024-11-14 03:00:11 ",
    "dmesg": "[ 1123.456789] ",
    "epoch": "1731553211 ",
    "Terraform": "aws_instance.db (remote-exec): ",
    "pdsh with another name": "10-0-0-7: ",
    "Chat": "03:11 ",
}


def preceded(text, prefix):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def numbered(text):
    """As ``nl -ba`` and a log's counter: each line has another number."""
    return "".join(f"{n:6d}  {line}\n" for n, line in enumerate(text.splitlines(), start=1))


def figures(text):
    return [({**each.loads}, each.summary) for each in read(text)]


FORMS = {name: lambda text, prefix=prefix: preceded(text, prefix) for name, prefix in PREFIXES.items()}  # fmt: skip


def listed(text, item, first, last):
    return first + "".join(f"{item(line)}\n" for line in text.splitlines()) + last


def ansible(text):
    """The result of a command has the text twice."""
    lines = text.splitlines()
    told = {"changed": True, "stderr_lines": [], "stdout": text.rstrip("\n"), "stdout_lines": lines}
    return f"ok: [kvm7] => {json.dumps(told, indent=4, ensure_ascii=False)}\n"


LISTS = {
    "Ansible": ansible,
    "Ansible, one line": lambda text: "kvm7 | CHANGED => " + json.dumps({"rc": 0, "stdout": text}) + "\n",
    "Ansible's debug": lambda text: f"ok: [kvm7] => {json.dumps({'out.stdout_lines': text.splitlines()}, indent=4)}\n",
    "Ansible in YAML": lambda text: listed(text, lambda s: "  - '" + s.replace("'", "''") + "'", "ok: [kvm7] =>\n  out.stdout_lines:\n", ""),
    "plain YAML": lambda text: listed(text, lambda s: f"  - {json.dumps(s) if s != s.strip() or not s else s}", "  stdout_lines:\n", ""),
    "a YAML block": lambda text: listed(text, lambda s: f"    {s}", "ok: [kvm7] =>\n  stdout: |-\n", ""),
    "AWS SSM": lambda text: json.dumps({"Status": "Success", "StandardOutputContent": text}, indent=4) + "\n",
    "nl": numbered,
}  # fmt: skip
ALL = {**FORMS, **LISTS}


@pytest.mark.parametrize("form", ALL.values(), ids=ALL)
@pytest.mark.parametrize("text", [TABLE, SAR], ids=["iostat", "sar"])
def test_figures_are_those_of_the_plain_text(text, form):
    assert figures(form(text)) == figures(text)


@pytest.mark.parametrize("form", ALL.values(), ids=ALL)
def test_edges_are_those_of_the_plain_text(form, tmp_path):
    told = json.loads(run(tmp_path, form(MD_LVM), "tree", "-J", "--input").stdout)
    found = {(each["name"], below["name"]) for each in told["devices"] for below in each["below"]}
    assert found == MD_EDGES


def test_only_the_lines_around_a_heading_lose_what_precedes_it():
    """The branches of a tree in ASCII are no quote marks."""
    tree = "NAME   MAJ:MIN RM SIZE RO TYPE\nsda      8:0    0  11G  0 disk\n|-sda1   8:1    0   5G  0 part\n"
    text = preceded(TABLE, "|") + "and\n" + tree
    assert "|-sda1   8:1    0   5G  0 part" in [*Lines([text.encode()])]


def test_of_the_lists_of_several_hosts_one_is_used(tmp_path):
    """Each host's lines follow each other, or not."""
    ours = ["NAME MAJ:MIN RM SIZE RO TYPE", "sda 8:0 0 11G 0 disk", "sdb 8:16 0 7G 0 disk"]
    theirs = [ours[0], "sda 8:0 0 13G 0 disk", "sdc 8:32 0 7G 0 disk"]
    mixed = [f"{host}: {line}" for pair in zip(ours, theirs, strict=True) for host, line in zip(("node1", "node2"), pair, strict=True)]  # fmt: skip
    done = run(tmp_path, "\n".join(mixed) + "\n", "tree", "-J", "--input")
    devices = json.loads(done.stdout)["devices"]
    assert {(each["name"], each["size"] >> 30) for each in devices} == {("sda", 11), ("sdb", 7)}
    assert done.stderr.count("the text is from node1 and node2: only node1 is used") == 1


def test_sentences_before_two_tables_are_no_hosts():
    text = "Before: " + TABLE + "After: " + TABLE.replace("812.20", "953.20")
    tps = [each.loads["nvme0n1"].whole.ios for each in intervals([text.encode()], "text") if each.loads]  # fmt: skip
    assert tps == [812.2, 852.2, 953.2, 852.2]


def test_annotate_finds_the_names_behind_a_prefix(tmp_path):
    plain = [
        line for line in run(tmp_path, MD_LVM, "annotate").stdout.splitlines() if "(dm-" in line
    ]
    assert plain
    for prefix in ("Nov 14 03:00:11 kvm7 iostat[2211]: ", "iostat.txt:", "|"):
        found = run(tmp_path, preceded(MD_LVM, prefix), "annotate").stdout.splitlines()
        assert [line for line in found if "(dm-" in line] == [prefix + line for line in plain]
