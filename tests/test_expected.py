"""
Every command on every sample topology: what is printed is what a person agreed to.

``pytest tests/test_expected.py --update-expected`` writes what is printed now;
a person reviews the diff. A new machine in ``sample_topologies/`` is a new
test, and no code.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
EXPECTED = ROOT / "tests" / "expected"

COMMANDS = {
    "tree": ["tree"],
    "tree-inverse-ascii": ["tree", "-s", "-i"],
    "tree-expand": ["tree", "--expand"],
    "tree.json": ["tree", "-J"],
    "check": ["check", "--all"],
    "check-markdown": ["check", "--all", "--markdown"],
}
WITH_COUNTERS = {
    "iostat": ["iostat", "-z"],
    "iostat-per-layer": ["iostat", "--per-layer"],
    "iostat-per-layer.json": ["iostat", "--per-layer", "-J"],
    "explain": ["explain"],
    "explain-markdown": ["explain", "--markdown"],
}
# Of a machine whose LVM told what is free: a plan for one of its volumes.
PLANS = {"vghdd": {name: ["plan", "vm-disk1", "--to", "raid10", *more]
                   for name, more in (("plan", []), ("plan.json", ["-J"]))}}  # fmt: skip

# Two recordings of a volume: here what one capture and one article's texts have of both layouts.
VGHDD, MEDUSA = "sample_topologies/vghdd", "sample_topologies/raid5-raid10-medusa"
MOVED = ["-m", "vm-disk1=vm-disk1-r10"]
COMPARED = {
    "vghdd": {
        "compare": ["compare", VGHDD, VGHDD, *MOVED],
        "compare.json": ["compare", VGHDD, VGHDD, *MOVED, "-J"],
        "fiojob": ["fiojob", "vm-disk1"],
        "fiojob.json": ["fiojob", "vm-disk1", "-J"],
    },
    "raid5-raid10-medusa": {
        "compare": ["compare", f"{MEDUSA}/input/sar-0710.txt", f"{MEDUSA}/input/iostat-3.txt", *MOVED],
        "iostat-3.fiojob": ["fiojob", "vm-disk1-r10", "--input", f"{MEDUSA}/input/iostat-3.txt"],
    },
}  # fmt: skip


def cases():
    """Yield (sample, name of the expected file, arguments)."""
    for sample in sorted(p for p in SAMPLES.iterdir() if p.is_dir()):
        for name, arguments in COMMANDS.items():
            yield sample, name, arguments
        if (sample / "frames").exists() or (sample / "log").exists():
            for name, arguments in WITH_COUNTERS.items():
                yield sample, name, arguments
        for some in (PLANS, COMPARED):
            for name, arguments in some.get(sample.name, {}).items():
                yield sample, name, arguments
        for text in sorted(sample.glob("input/*")):
            for name, arguments in WITH_COUNTERS.items():
                given = [*arguments, "--input", str(text.relative_to(ROOT)), "--report", "all"]
                yield sample, f"{text.stem}.{name}", given


CASES = list(cases())


@pytest.mark.parametrize(
    ("sample", "name", "arguments"), CASES, ids=[f"{s.name}/{n}" for s, n, _ in CASES]
)
def test_output_is_as_agreed(sample, name, arguments, request, monkeypatch):
    """To the letter, with a terminal of 80 columns and no colour."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(
        stackmap, ["--from", str(sample.relative_to(ROOT)), *arguments], catch_exceptions=False
    )
    printed = readable(result.output) if name.endswith(".json") else result.output
    path = EXPECTED / sample.name / name
    if request.config.getoption("--update-expected"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed)

    assert result.exit_code == 0
    assert path.read_text() == printed


def readable(lines):
    """
    Return JSON lines so that a person can review them, and git show what changed.

    To nine digits: the last ones depend on the order of sums, and Python's sum() changed in 3.12.
    """
    objects = (json.loads(line, parse_float=nine_digits) for line in lines.splitlines())
    return "".join(json.dumps(each, indent=1) + "\n" for each in objects)


def nine_digits(number):
    return float(f"{float(number):.9g}")


def test_every_expected_output_is_somebodys():
    """No file is left over from a command or a machine that went."""
    known = {EXPECTED / sample.name / name for sample, name, _ in CASES}

    assert {p for p in EXPECTED.rglob("*") if p.is_file()} == known
