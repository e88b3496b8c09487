"""
Disks over several paths, of dm-multipath and of NVMe over TCP, and control groups that are held back: beside the kernel's own counts.

NVMe's paths are hidden devices: /proc/diskstats has them, and sysfs the same counts. Before Linux 6.2 the disk above
them counts nothing.
"""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

pytestmark = pytest.mark.lab("all")

SECTOR = 512
HEAD, FIRST, SECOND = "nvme0n1", "nvme0c0n1", "nvme0c1n1"
NVME = ("nvme-numa", "nvme-round-robin", "nvme-queue-depth", "nvme-switched", "nvme-cut")
FEW = 4  # requests of udev, which reads a disk whose paths change, around the load


@pytest.fixture
def out(lab, kernel):
    return lab("paths", kernel=kernel, disks=4, size="400M", slow="2:60", timeout=1800)


def asked(out, name, *words):
    """What a command prints of a recording."""
    found = CliRunner().invoke(stackmap, ["--from", str(out / f"{name}.tar"), *words])
    assert found.exit_code == 0, found.output
    return found.stdout


def recorded(out, name):
    if not (out / f"{name}.tar").exists():
        pytest.skip(f"this kernel has no {name.removeprefix('nvme-')}: Linux 6.11")
    return name


def counted(out, name):
    """Requests and bytes of each device, read and written, between the two samples around the load."""
    samples = []
    for when in ("before", "after"):
        lines = map(str.split, (out / f"{name}.{when}").read_text().splitlines())
        samples.append(
            {
                words[2]: [*map(int, words[3:])]
                for words in lines
                if len(words) > 16 and words[0].isdecimal()
            }
        )
    before, after = samples
    return {
        device: tuple(
            (now[place] - before[device][place]) * unit
            for place, unit in ((0, 1), (2, SECTOR), (4, 1), (6, SECTOR))
        )
        for device, now in after.items()
        if device in before
    }


def said(out, name):
    """The same by stackmap, over all intervals."""
    totals = {}
    for line in asked(out, name, "iostat", "-J", "--report", "all").splitlines():
        report = json.loads(line)
        for device in report["devices"]:
            rates = (device[key] for key in ("reads", "read_bytes", "writes", "write_bytes"))
            totals.setdefault(device["name"], []).append(
                [rate * report["seconds"] for rate in rates if rate is not None]
            )
    return {device: tuple(map(sum, zip(*rows, strict=True))) for device, rows in totals.items()}


def waited(out, name):
    """Milliseconds that requests of each device waited, by stackmap's await and by the kernel."""
    ours, samples = {}, []
    for line in asked(out, name, "iostat", "-J", "--report", "all").splitlines():
        report = json.loads(line)
        for device in report["devices"]:
            for way in ("read", "write"):
                requests = (device[f"{way}s"] or 0.0) * report["seconds"]
                wait = requests * (device[f"{way}_await"] or 0.0)
                ours[device["name"]] = ours.get(device["name"], 0.0) + wait
    for when in ("before", "after"):
        lines = map(str.split, (out / f"{name}.{when}").read_text().splitlines())
        counts = (words for words in lines if len(words) > 16 and words[0].isdecimal())
        samples.append({words[2]: int(words[6]) + int(words[10]) for words in counts})
    before, after = samples
    return ours, {device: after[device] - before[device] for device in after if device in before}


def explained(out, name):
    return {
        finding["id"]: finding
        for finding in json.loads(asked(out, name, "explain", "-J"))["findings"]
    }


def evidence(finding):
    return {each["name"]: each["value"] for each in finding["evidence"]}


def states(out, name):
    devices = json.loads((out / f"{name}.tree.json").read_text())["devices"]
    return {device["name"]: device["state"] for device in devices}


@pytest.mark.parametrize("name", NVME)
def test_each_path_has_what_the_kernel_counted(out, name):
    """The head has the sum of its paths, also where it counts nothing itself."""
    kernel, found = counted(out, recorded(out, name)), said(out, name)
    for device in (FIRST, SECOND, "dm-0"):
        for ours, theirs, unit in zip(found[device], kernel[device], (1, 1 << 17) * 2, strict=True):
            assert ours == pytest.approx(theirs, rel=0.001, abs=FEW * unit), device
    total = [a + b for a, b in zip(kernel[FIRST], kernel[SECOND], strict=True)]
    assert found[HEAD] == pytest.approx(total, rel=0.001, abs=FEW << 17)


@pytest.mark.parametrize("name", NVME[:3])
def test_the_await_of_each_path_is_the_kernels(out, name):
    ours, kernel = waited(out, recorded(out, name))
    for path in (FIRST, SECOND):
        assert ours[path] == pytest.approx(kernel[path], rel=0.01, abs=50), path


def test_a_path_and_its_hidden_device_in_sysfs_count_the_same(out):
    lines = (out / "nvme-round-robin.after").read_text().splitlines()
    counts = {
        words[2]: words[3:]
        for words in map(str.split, lines)
        if len(words) > 16 and words[0].isdecimal()
    }
    stats = {
        line.split()[0].split("/")[3]: line.split()[1:]
        for line in lines
        if line.startswith("/sys/block/nvme")
    }
    assert {FIRST, SECOND} <= stats.keys()
    assert all(counts[path] == stats[path] for path in (FIRST, SECOND))


def test_the_policy_is_seen_in_the_shares(out):
    """numa: one path; round-robin: both alike. No finding contradicts that."""
    reads = {device: figures[0] for device, figures in said(out, "nvme-numa").items()}
    assert min(reads[FIRST], reads[SECOND]) <= FEW < max(reads[FIRST], reads[SECOND])
    writes = {device: figures[2] for device, figures in said(out, "nvme-round-robin").items()}
    assert writes[FIRST] == pytest.approx(writes[SECOND], rel=0.02)
    assert "SM209" not in explained(out, "nvme-round-robin")
    policies = {
        name: re.search(r"2 of 2 paths, (\S+)", (out / f"{name}.tree").read_text())[1]
        for name in NVME[:2]
    }
    assert policies == {"nvme-numa": "numa", "nvme-round-robin": "round-robin"}


def test_the_layers_of_a_volume_over_paths(out):
    """Volume, multipath and disks: each read is one request at each of them."""
    (stack,) = json.loads(asked(out, "nvme-numa", "iostat", "-l", "-J", "data"))["stacks"]
    assert [layer["role"] for layer in stack["layers"]] == ["linear", "multipath", "disks"]
    ratios = [layer["amplification"]["iops"]["read"] for layer in stack["layers"]]
    assert ratios == pytest.approx([1, 1, 1], abs=0.001)


def test_the_address_of_each_path_is_in_the_tree(out):
    tree = (out / "nvme-numa.tree").read_text()
    assert [line.split()[1] for line in tree.splitlines() if "path: tcp 127.0.0.1:442" in line] == [
        FIRST,
        SECOND,
    ]


def test_states_of_paths_that_are_switched(out):
    """The first becomes inaccessible and the second non-optimized: both by the storage's own wish."""
    found = states(out, "nvme-switched")
    assert (found[HEAD], found[FIRST], found[SECOND]) == ("active", "inaccessible", "non-optimized")
    events = asked(out, "nvme-switched", "iostat")
    assert f"{SECOND}: was active, now non-optimized" in events
    assert f"{FIRST}: was active, now inaccessible" in events


def test_a_path_that_is_cut_is_a_finding(out):
    """While the kernel tries to connect again, by the live machine and by the recording."""
    found = states(out, "nvme-cut")
    assert (found[HEAD], found[FIRST], found[SECOND]) == ("degraded", "active", "connecting")
    checks = json.loads((out / "cut.json").read_text())["checks"]
    assert ("SM301", HEAD) in {(each["id"], each["device"]) for each in checks}
    live = json.loads((out / "cut.explain.json").read_text())["findings"]
    assert [each["id"] for each in live][:1] == ["SM301"]
    assert SECOND in explained(out, "nvme-cut")["SM301"]["sentence"]


def test_a_path_that_is_removed_is_a_finding(out):
    """Afterwards the disk looks as if it had only one: then check remarks that."""
    found = states(out, "nvme-gone")
    assert (found[HEAD], SECOND in found) == ("active", False)
    finding = explained(out, "nvme-gone")["SM301"]
    assert finding["device"] == HEAD
    assert "1 of 2 paths" in finding["sentence"]
    checks = json.loads((out / "gone.json").read_text())["checks"]
    severities = {each["id"]: each["severity"] for each in checks if each["device"] == HEAD}
    assert severities["SM213"] == "info"


def test_a_slow_path_of_dm_multipath(out):
    slow, quick, *_ = (out / "names").read_text().split()
    found = explained(out, "slow-path")
    assert found["SM207"]["device"] == slow
    figures, kernel = said(out, "slow-path"), counted(out, "slow-path")
    for path in (slow, quick):
        assert figures[path] == pytest.approx(kernel[path], rel=0.01, abs=FEW << 17)


def test_failures_of_a_path_are_counted(out):
    slow, *_ = (out / "names").read_text().split()
    finding = explained(out, "flapping")["SM328"]
    assert (finding["device"], evidence(finding)["grown"]) == (slow, 3)
    checks = json.loads((out / "failed.json").read_text())["checks"]
    assert "SM301" in {each["id"] for each in checks if each["severity"] == "critical"}


def test_a_cap_of_a_control_group(out):
    _, quick, *_ = (out / "names").read_text().split()
    finding = explained(out, "waits")["SM701"]
    assert finding["device"] == quick
    assert evidence(finding)["cap"] == 20


def test_a_budget_of_the_kernel_that_is_used_up(out):
    """io.cost at half of its speed: the disk has no queue, and what programs wait for is the budget."""
    *_, cold = (out / "names").read_text().split()
    finding = explained(out, "cost")["SM705"]
    assert (finding["device"], finding["outcome"]) == (cold, "throttled")
    assert 0.5 <= evidence(finding)["speed"] < 1  # the kernel approaches it in steps
    (began, first), (ended, last) = (
        (out / f"budget.{when}").read_text().split() for when in ("before", "after")
    )
    used = (float(last) - float(first)) / 1e6 / (float(ended) - float(began))
    assert evidence(finding)["used"] == pytest.approx(min(1.0, used), abs=0.15)
    quiet = json.loads((out / "quiet.explain.json").read_text())["findings"]
    assert "SM705" not in {each["id"] for each in quiet}
