"""Stacks inferred from figures alone: right where one explanation fits, none where figures agree by chance."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import inferred as inference
from stackmap.discover.find import topology_from_names
from stackmap.discover.inferred import inferred
from stackmap.features.plan.plan import PlanRefused
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow, Load
from stackmap.model.topology import UNKNOWN_MACHINE
from stackmap.text import intervals

# Rows of iostat from recorded kernels (Linux 6.12 and 7.3, in virtual time), below the stacks that made them.
RECORDED = sorted(Path(__file__).with_name("figures_only").glob("*.txt"))
REFUSED = {"raid5-partly-merged"}  # another volume is on one of its disks
BELOW_A_LEVEL = {"lvm-raid5-reads", "thin", "raid5-partly-merged"}


def stacks(text: str) -> dict[str, tuple[str, list[str]]]:
    """The true stacks of a recorded text: the level and the devices below, by the device above."""
    told = text.partition("\n")[0].removeprefix("Stacks: ")
    return {above: (level, below) for above, level, *below in map(str.split, told.split("; "))}


def below(edges, name: str) -> set[str]:
    """All devices below *name*."""
    direct = {b for a, b in edges if a == name}
    return direct.union(*(below(edges, each) for each in direct)) if direct else set()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_stacks(path):
    """Each edge inferred is true, perhaps with a device between; of a volume that is explained, all disks are known."""
    text = path.read_text()
    truth = stacks(text)
    reports = [*intervals(iter([text.encode()]), path.name)]
    names = dict.fromkeys(name for report in reports for name in report.loads)
    topology = inferred(topology_from_names(names, UNKNOWN_MACHINE), reports)
    true = {(above, each) for above, (_, members) in truth.items() for each in members}
    found = {(edge.above, edge.below) for edge in topology.edges if edge.source == "figures"}

    assert found
    assert not [(a, b) for a, b in found if b not in below(true, a)]
    top = next(name for name in truth if not any(name in members for _, members in truth.values()))
    disks = {name for name in below(true, top) if name not in truth}
    if path.stem not in REFUSED:
        assert {name for name in below(found, top) if name not in truth} == disks
    if path.stem not in BELOW_A_LEVEL:
        assert topology[top].layout is not None
        assert topology[top].layout.level == truth[top][0]


def drawn(flows: dict[str, list[tuple[float, float]]], size: int = 4096) -> list[Interval]:
    """Intervals of a second in which each device reads and writes so many requests."""
    count = len(next(iter(flows.values())))
    return [
        Interval(
            {
                name: Load(
                    read=Flow(rates[n][0], 0.0, rates[n][0] * size, 0.0),
                    write=Flow(rates[n][1], 0.0, rates[n][1] * size, 0.0),
                    discard=IDLE.discard,
                    flush=IDLE.flush,
                    aqu=1.0,
                )
                for name, rates in flows.items()
            },
            seconds=1.0,
        )
        for n in range(count)
    ]


def judged(flows):
    """The edges inferred from *flows*, and the levels."""
    topology = inferred(topology_from_names(flows, UNKNOWN_MACHINE), drawn(flows))
    edges = {(edge.above, edge.below) for edge in topology.edges if edge.source}
    return edges, {d.name: d.layout.level for d in topology if d.layout is not None}


def split(rng: random.Random, number: float, parts: int) -> list[float]:
    """A number in random parts, as chunks fall to members."""
    found = [0.0] * parts
    for _ in range(int(number)):
        found[rng.randrange(parts)] += 1
    return found


def volume(rng: random.Random) -> list[tuple[float, float]]:
    """What a volume reads and writes in ten intervals."""
    return [(rng.randrange(200, 900), rng.randrange(200, 900)) for _ in range(10)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("level", "members", "copies", "pages"),
    [("raid0", 4, 1, 0), ("raid0", 6, 1, 0), ("raid10", 4, 2, 0), ("raid5", 5, 1, 2), ("raid6", 6, 1, 3)],
)  # fmt: skip
def test_arrays(level, members, copies, pages, seed):
    """
    An array of md among idle and other disks: what its members do by stackmap-kernel(7).

    RAID5 and RAID6 read *pages* for each page they write, and write parity as well.
    """
    rng = random.Random(f"{level}{members}{seed}")
    own = volume(rng)
    names = [f"sd{chr(97 + n)}" for n in range(members)]
    flows = {"md0": own} | {name: [] for name in names}
    for reads, writes in own:
        extra = {"raid5": 2, "raid6": 3}.get(level, copies)
        read = split(rng, reads + pages * writes, members)
        written = split(rng, extra * writes, members)
        for name, r, w in zip(names, read, written, strict=True):
            flows[name].append((r, w))
    flows["sdy"], flows["sdz"] = volume(rng), [(0.0, 0.0)] * 10
    edges, levels = judged(flows)

    assert edges == {("md0", name) for name in names}
    assert levels == {"md0": level}


@pytest.mark.parametrize("seed", range(6))
def test_volumes_on_one_disk(seed):
    """Three volumes whose sum is what a disk does lie on it; on the array with their sum if there is one."""
    rng = random.Random(seed)
    own = [volume(rng) for _ in range(3)]
    whole = [tuple(map(sum, zip(*parts, strict=True))) for parts in zip(*own, strict=True)]
    flows = {f"dm-{n}": each for n, each in enumerate(own)} | {"sdb": whole, "sda": volume(rng)}
    above = {(f"dm-{n}", "sdb") for n in range(3)}
    assert judged(flows)[0] == above

    halves = [(r // 2, w) for r, w in whole]
    others = [(r - r // 2, w) for r, w in whole]
    del flows["sdb"]
    edges, levels = judged(flows | {"md1": whole, "sdc": halves, "sdd": others})
    assert edges == {(f"dm-{n}", "md1") for n in range(3)} | {("md1", "sdc"), ("md1", "sdd")}
    assert levels == {"md1": "raid1"}


@pytest.mark.parametrize("seed", range(60))
def test_devices_that_have_nothing_to_do_with_each_other(seed):
    """Volumes and disks of independent rates, varying and nearly steady ones: nothing is claimed."""
    rng = random.Random(seed)
    flows = {}
    for name in (
        [f"dm-{n}" for n in range(4)] + ["md0", "md1"] + [f"sd{chr(97 + n)}" for n in range(14)]
    ):
        rate, noise = rng.choice([60, 100, 100, 250, 400]), rng.choice([0.0, 0.005, 0.05, 0.3])
        reads = rng.choice([0.0, 0.0, 0.7])
        flows[name] = [
            (round(rate * reads * rng.gauss(1, noise), 2), round(rate * (1 - reads) * rng.gauss(1, noise), 2))
            for _ in range(8)
        ]  # fmt: skip
    assert judged(flows)[0] == set()


def run(words: list[str]):
    return CliRunner().invoke(stackmap, words)


def test_commands_say_that_it_is_inferred():
    """The heading of the figures, the tree, its JSON and standard error say so; a plan is refused."""
    text = ["--input", str(Path(__file__).with_name("figures_only") / "raid10-slow-leg.txt")]
    shown = run(["iostat", "-l", *text, "md126"])
    assert shown.stdout.startswith("md126  raid10 2×2, inferred  ")
    assert "stackmap: inferred from the figures: " in shown.stderr
    assert "raid10 2×2, inferred" in run(["tree", *text]).stdout
    (device,) = [
        d for d in json.loads(run(["tree", "-J", *text]).stdout)["devices"] if d["name"] == "md126"
    ]
    assert {each["source"] for each in device["below"]} == {"figures"}
    refused = run(["plan", *text, "md126", "--to", "raid5"]).exception
    assert isinstance(refused, PlanRefused)


def _alike(count: int) -> str:
    """Reports of iostat in which each device has the figures of every other."""
    heading = "Device r/s w/s rkB/s wkB/s await aqu-sz"
    rows = ((name, 10 + n, 10 * n) for n in range(5) for name in ("", *_names(count)))
    return "\n".join(
        f"{name} {r} {w} {r * 4} {w * 4} 1.0 0.1" if name else f"\n{heading}" for name, r, w in rows
    )


def _names(count: int) -> list[str]:
    return [f"{kind}{n}" for n in range(count) for kind in ("dm-", "sda")]


def test_devices_that_all_look_alike_take_bounded_time(monkeypatch):
    """Each could lie on each other one: 175,000 rates would be compared, and still nothing inferred."""
    compared = []
    may_compare = inference.Search._may_compare

    def counted(self, own, names):
        may = may_compare(self, own, names)
        compared.append(may * len(names) * len(own.writes))
        return may

    monkeypatch.setattr(inference.Search, "_may_compare", counted)
    monkeypatch.setattr(inference, "MAX_COMPARED", 20_000)
    reports = [*intervals(iter([_alike(50).encode()]), "alike")]
    names = dict.fromkeys(name for report in reports for name in report.loads)
    topology = topology_from_names(names, UNKNOWN_MACHINE)

    assert inferred(topology, reports) is topology
    assert 10_000 < sum(compared) <= 20_000


@pytest.mark.parametrize(("most", "found"), [(10_000_000, True), (10, False)])
def test_nothing_is_said_of_what_was_not_compared(most, found, monkeypatch):
    """A recorded text whose stack is certain, with room for all comparisons, and for few."""
    monkeypatch.setattr(inference, "MAX_COMPARED", most)
    path = next(path for path in RECORDED if path.stem not in REFUSED | BELOW_A_LEVEL)
    reports = [*intervals(iter([path.read_bytes()]), path.name)]
    names = dict.fromkeys(name for report in reports for name in report.loads)
    topology = topology_from_names(names, UNKNOWN_MACHINE)

    assert found == (inferred(topology, reports) is not topology)
