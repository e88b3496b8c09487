"""``stackmap compare``: two recordings given in every way, and every way to give them wrongly."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.compare.command import _matches, _split
from stackmap.model.device import Device, Kind, Use
from stackmap.model.topology import Topology
from tests.paths import ROOT

SAMPLE = str(ROOT / "sample_topologies" / "vghdd")
MYSQL = ROOT / "sample_topologies" / "mysql-raid"
MEDUSA = ROOT / "sample_topologies" / "raid5-raid10-medusa"


def run(*words):
    return CliRunner().invoke(stackmap, list(words))


def told(*words):
    result = run(*words, "-J")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def value(stack, side, figure, layer, direction):
    (found,) = (
        each
        for each in (*stack["ratios"], *stack["waits"])
        if (each["figure"], each["layer"], each["direction"]) == (figure, layer, direction)
    )
    return found[side]["value"]


def test_a_capture_with_itself():
    """Every figure is what it was, and of five intervals none has a range."""
    found = told("compare", SAMPLE, SAMPLE)

    assert {stack["before"]["top"] for stack in found["stacks"]} == {
        "vghdd/vm-disk1", "vghdd/vm-disk1-r10",
    }  # fmt: skip
    for stack in found["stacks"]:
        for each in (*stack["load"], *stack["ratios"]):
            assert each["change"]["ratio"] == 1
            assert each["change"]["p"] is None


def test_figures_are_those_of_iostat():
    """The same ratio of the same recording, by the other command."""
    said = json.loads(
        run("--from", SAMPLE, "iostat", "--per-layer", "-J", "vm-disk1").stdout.splitlines()[0]
    )
    disks = said["stacks"][0]["layers"][-1]["amplification"]
    (stack,) = told("compare", SAMPLE, SAMPLE, "vm-disk1")["stacks"]

    for key, figure in (("iops", "requests"), ("bytes", "bytes"), ("shrink", "shrink")):
        for direction in ("read", "write", "total"):
            assert value(stack, "before", figure, "disks", direction) == pytest.approx(
                disks[key][direction]
            )


MOUNTED = (Use("mount", "/srv", "/proc/self/mountinfo"),)


@pytest.mark.parametrize(
    ("before", "after", "name", "again"),
    [
        (("dm-3", "vg/a"), ("dm-7", "vg/a"), "vg/a", "dm-7"),
        (("dm-3", "vg/a"), ("dm-7", "vg/a"), "dm-3", "dm-7"),
        (("md127", ""), ("md126", ""), "/srv", "md126"),
        (("dm-3", "vg/a"), ("dm-3", "vg/b"), "dm-3", None),
    ],
)
def test_a_volume_is_found_again(before, after, name, again):
    """By its title; else by where it is mounted; never by a kernel name that is another's now."""
    old, new = (
        Topology([Device(kernel, Kind.VOLUME, "254:3", label=label, uses=MOUNTED)], [])
        for kernel, label in (before, after)
    )

    assert {before[0]: again} == _matches(old, new, name)


def test_another_name_is_mapped():
    """The RAID5 LV beside the RAID10 LV of the same capture."""
    (stack,) = told("compare", SAMPLE, SAMPLE, "-m", "vm-disk1=vghdd/vm-disk1-r10", "vm-disk1")[
        "stacks"
    ][:1]

    assert (stack["before"]["device"], stack["after"]["device"]) == ("dm-8", "dm-17")
    assert stack["after"]["layout"]["level"] == "raid10"


def test_a_part_of_a_capture():
    """The first two of five intervals."""
    found = told("compare", SAMPLE, f"{SAMPLE}@..+5s")

    assert (found["before"]["intervals"], found["after"]["intervals"]) == (5, 2)


def test_texts_with_the_machine_they_are_of():
    """The article's own: sar before, iostat after the move."""
    texts = [str(MEDUSA / "input" / name) for name in ("sar-0710.txt", "iostat-3.txt")]
    result = run(
        "--from", str(MEDUSA), "compare", *texts, "-m", "vm-disk1=vm-disk1-r10"
    )  # fmt: skip

    assert result.exit_code == 0
    assert "raid5 3+1 → raid10 2×2" in result.output


def test_what_changed_most_comes_first():
    """The article's move to RAID10: await at another load, with what that does not prove, then the cost."""
    texts = [str(MEDUSA / "input" / name) for name in ("sar-0710.txt", "iostat-3.txt")]
    said = run("--from", str(MEDUSA), "compare", *texts, "--map", "vm-disk1=vm-disk1-r10").stdout

    _, await_, requests, cost, proof, *rest = said.splitlines()
    assert await_ == "Await: 1107.8 → 281.9 ms (-74.6 %)."
    assert rest[0].startswith("The change of await says nothing about the volume: the mean size")
    assert cost == "Disk bytes per byte written: 3.12 → 1.93 (-38.1 %)."
    assert requests == "Disk requests per request, before merging: 3.84 → 1.93 (-49.6 %)."
    assert proof == "Too few intervals to prove these changes."


def ticket(waits, rates):
    """Return lsblk and 12 reports of a disk with two volumes: the await and the reads of each."""
    lines = ["NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS", "sda 8:0 0 9T 0 disk"]
    lines += [f"├─vg-{lv} 253:{n} 0 1T 0 lvm /{lv}" for n, lv in enumerate(("log", "web"))]
    for minute in range(12):
        lines += [
            "",
            f"11/28/2026 21:{minute + 10}:00",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
        ]
        lines += [
            f"dm-{n} {rate + minute % 3} 0 {8 * (rate + minute % 3)} 0 {wait} 0 {rate * wait / 1000:.2f} 9"
            for n, (wait, rate) in enumerate(zip(waits, rates, strict=True))
        ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("waits", "rates", "order"),
    [
        ((7, 41), (31, 31), ["vg/web", "vg/log"]),
        ((41, 7), (31, 31), ["vg/log", "vg/web"]),
        ((43, 41), (31, 97), ["vg/web", "vg/log"]),  # both wait for the load of one
    ],
)
def test_the_volume_that_changed_most_comes_first(tmp_path, waits, rates, order):
    """Texts have their own topology, and volumes were in its order."""
    for name, text in (("a", ticket((7, 7), (31, 31))), ("b", ticket(waits, rates))):
        (tmp_path / name).write_text(text)
    said = run("compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert "no topology" not in said.stderr
    assert re.findall(r"^(vg/\w+) \(dm-.\)", said.stdout, re.MULTILINE) == order


def test_the_one_await_of_an_old_iostat_is_compared():
    """The article has no await of reads and of writes; 7.83 ms with one thread, 108.7 ms with 64."""
    texts = [str(MYSQL / "input" / f"iostat-{name}.txt") for name in ("1-thread", "64-threads")]
    (stack,) = told("--from", str(MYSQL), "compare", *texts)["stacks"]

    assert stack["sentences"][0] == "Await: 7.83 → 108.7 ms (×13.89)."
    waits = {(each["layer"], each["direction"]) for each in stack["waits"]}
    assert waits == {("top", "total")}
    assert value(stack, "before", "await", "top", "total") == pytest.approx(7.83)
    assert value(stack, "after", "await", "top", "total") == pytest.approx(108.7, abs=0.1)


def test_an_at_sign_in_a_path(tmp_path, monkeypatch):
    """A path that is there is that path."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLE, "monday@1..2")

    assert _split("monday@1..2") == ("monday@1..2", {})
    assert _split("monday@1..") == ("monday", {"since": "1"})
    assert _split("a@b") == ("a@b", {})


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["compare", SAMPLE, "nowhere.txt"], 1, "nowhere.txt"),
        (["compare", SAMPLE, f"{SAMPLE}@soon.."], 2, "'soon' is not a time"),
        (["compare", SAMPLE, SAMPLE, "nothing"], 32, "no volume is in both"),
        (["compare", SAMPLE, SAMPLE, "-m", "vm-disk1"], 2, "BEFORE_NAME=AFTER_NAME"),
        (["compare", SAMPLE, SAMPLE, "-m", "vghdd=vm-disk1"], 2, "matches 2 devices"),
        (["compare", SAMPLE, SAMPLE, "-m", "x=vm-disk1"], 32, "before: no device named 'x'"),
        (["compare", SAMPLE, str(MEDUSA)], 1, "no interval"),
        (["compare", SAMPLE, SAMPLE, "vm-disk1", "nothing"], 64, "not in both: nothing"),
        (["compare", SAMPLE, f"{MEDUSA / 'input' / 'iostat-3.txt'}@1..2"], 2, "not a text"),
    ],
)
def test_wrong_words_are_told(words, status, said, monkeypatch):
    """One line, and the status that the manual has."""
    from stackmap.cli import main

    monkeypatch.setattr("sys.argv", ["stackmap", *words])
    result = CliRunner().invoke(_Main(main), words)

    assert said in result.output
    assert result.exit_code == status


class _Main:
    """``main`` as CliRunner can call it: with the one place that explains errors."""

    name = "stackmap"

    def __init__(self, main):
        self._main = main

    def main(self, **_):
        return self._main()
