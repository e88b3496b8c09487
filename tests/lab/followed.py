"""
A plan that ``follow.py`` went, and what came of it: what holds of LVM's and md's plans alike.

What a failing law prints is the steps, the files or the disks themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.plan.lab_results import FOLLOWED, WARNINGS, announced


@dataclass(frozen=True)
class Followed:
    """A plan and what came of it; ``states`` are those before the first step and after each."""

    plan: dict
    done: dict

    @property
    def way(self):
        return self.plan["ways"][0]

    @property
    def states(self):
        return [self.done["before"], *(step["after"] for step in self.done["steps"])]


SHARING = 4  # cases in one boot
BOOT: dict[str, object] = {"disks": 8, "size": "256M", "timeout": 1200}


def shared(cases: Iterable[str], case: str, options: dict[str, object]) -> dict[str, object]:
    """Return the options of ``lab`` for a *case* of *cases*, some of which share a boot."""
    every = tuple(cases)
    first = every.index(case) // SHARING * SHARING
    among = every[first : first + SHARING]
    return {**options, "among": among, "timeout": int(str(options["timeout"])) * len(among)}


def followed_in(out: Path) -> Followed:
    """Return what was left in *out*; what the case said where that is nothing."""
    if not (out / "done.json").exists():
        said = (out / "script.log").read_text() if (out / "script.log").exists() else "not begun"
        pytest.fail(f"{out.name} left no done.json:\n{said}", pytrace=False)
    plan, done = (json.loads((out / name).read_text()) for name in ("plan.json", "done.json"))
    return Followed(plan, done)


def made_in(out: Path) -> list[dict]:
    """Return what came of each layout that ``make_all.py`` made in *out*; nothing failed."""
    told = [json.loads(line) for line in (out / "made.txt").read_text().splitlines()]
    assert {} == {each["layout"]: each["failed"] for each in told if each["failed"]}
    return told


def parametrized(cases):
    return pytest.mark.parametrize(("scenario", "case"), cases, ids=[case for _, case in cases])


def went_well(followed):
    """What is printed runs as it is printed, to its end."""
    failed = {s["line"]: s["said"] for s in followed.done["steps"] if s["status"]}

    assert {} == failed
    assert [] == unannounced(followed)
    assert len(followed.way["steps"]) == len(followed.done["steps"])


def unannounced(followed):
    """Return the warnings that were printed and that no step had announced."""
    return [
        line
        for step, told in zip(followed.way["steps"], followed.done["steps"], strict=False)
        for line in told["said"].splitlines()
        if "WARNING" in line and not any(each.begins in line for each in announced_of(step))
    ]


def announced_of(step):
    known = announced(tuple(step["command"]))
    return [each for each in WARNINGS if any(each.begins in said for said in known)]


def stands_in_the_table(followed, kernel):
    """What the plan says of the lab is true: today's table has this method, these levels and this kernel."""
    now, way = followed.plan["now"], followed.way["way"]
    pair = (now["level"] if now else "linear", followed.plan["wanted"]["level"])

    assert kernel in FOLLOWED[way].get(pair, ())


def lost_nothing(followed):
    """Every file is as it was last written, read past the cache, and the file system is sound."""
    assert [] == followed.done["damaged"]
    assert "" == followed.done["failure"]
    assert 0 == followed.done["fsck"]["status"], followed.done["fsck"]["said"]


def outlived_its_disks(followed):
    """
    Parity and copies are where they should be: with so many disks dead every byte is there.

    Those that held it before die first, so that what is read was made on the way.
    """
    promised = followed.way["result"]
    death = followed.done["death"]

    assert promised["parity"] + promised["copies"] - 1 == len(death["disks"])
    assert all(death["dead"])
    assert ([], "") == (death["damaged"], death["failure"])


def changed_the_cost_of_a_write(out: Path, way: str):
    """
    One load before and after: a request that is written costs the disks "more", "less" or "as much" now.

    By ``compare``: the interval of the change does not hold "the same", or
    lies within a tenth of it.
    """
    words = ["compare", str(out / "before"), str(out / "after"), "/mnt", "-J"]
    said = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    (stack,) = json.loads(said.stdout)["stacks"]
    (cost,) = (
        each["change"]
        for each in stack["ratios"]
        if (each["figure"], each["layer"], each["direction"]) == ("write_cost", "disks", "write")
    )
    low, high = {"more": (1, 100), "less": (0, 1), "as much": (0.9, 1.1)}[way]

    assert low < cost["low"] <= cost["high"] < high, cost
    assert cost["significant"] or way == "as much"
