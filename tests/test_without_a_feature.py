"""A feature is deleted with its folder and its line in ``GROUPS``: all the rest works without it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import stackmap
from stackmap.commands import COMMANDS
from tests.paths import ROOT
from tests.test_layering import FEATURES, PACKAGE

# Each with those that import it. The last one leaves of the features only trace and top.
DELETED = (
    {"trace"},
    {"top"},
    {"fleet"},
    {"fiojob"},
    {"whatif", "plan", "report", "compare", "export"},
)
# The options that a feature gives to commands of the core.
ADDED = {
    "trace": {"record --trace", "blame --trace", "blame --max-overhead", "iostat --prove"},
    "whatif": {"iostat --headroom"},
}

# Imports each module, asks each command for its help, and compares what is printed on each sample.
CHECK = """
import importlib, json, pkgutil
from click.testing import CliRunner
import stackmap
from stackmap.cli import COMMANDS, load, stackmap as program
from tests.test_expected import CASES, EXPECTED, readable

def output(*words):
    done = CliRunner().invoke(program, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output

for module in pkgutil.walk_packages(stackmap.__path__, "stackmap."):
    if module.name != "stackmap.__main__":
        importlib.import_module(module.name)
for command in COMMANDS:
    output(command, "--help")
for sample, name, arguments in CASES:
    if arguments[0] in COMMANDS:
        printed = output("--from", f"sample_topologies/{sample.name}", *arguments)
        agreed = (EXPECTED / sample.name / name).read_text()
        assert agreed == (readable(printed) if name.endswith(".json") else printed), (sample.name, name)
output("--from", "tests/traces/lvm-raid5-6.1.tar.gz", "tree")  # a capture with a trace
print(json.dumps({
    "package": stackmap.__path__,
    "commands": [*COMMANDS],
    "options": [f"{name} {word}" for name in COMMANDS for p in load(name).params for word in p.opts],
    "api": [name for name in stackmap.__all__ if getattr(stackmap, name)],
}))
"""


def with_users(features: set[str]) -> set[str]:
    """Return *features* and those that import them."""
    users = {name for name, others in FEATURES.items() if others & features}
    return features if users <= features else with_users(features | users)


def copy_without(features: set[str], copy: Path) -> None:
    """Make *copy* of the package, by links, without the folders of *features* and their lines in the table."""
    (copy / "features").mkdir(parents=True)
    entries = [*PACKAGE.iterdir(), *(PACKAGE / "features").iterdir()]
    for entry in entries:
        if entry.name not in {"features", "commands.py", "__pycache__", *features}:
            (copy / entry.relative_to(PACKAGE)).symlink_to(entry)
    lines = (PACKAGE / "commands.py").read_text().splitlines(keepends=True)
    (table,) = (
        node.value
        for node in ast.parse("".join(lines)).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GROUPS"
    )
    entries = [
        entry for group in table.values for entry in zip(group.keys, group.values, strict=True)
    ]
    for key, value in reversed(entries):
        if key.value in features:
            del lines[key.lineno - 1 : value.end_lineno]
    (copy / "commands.py").write_text("".join(lines))


@pytest.mark.parametrize("deleted", DELETED, ids=lambda names: "-".join(sorted(names)))
def test_the_rest_works_without(deleted, tmp_path):
    """All other modules, commands and outputs are as before; only the feature's own options are absent."""
    gone = with_users(deleted)
    copy_without(gone, tmp_path / "stackmap")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "COLUMNS": "80"}

    done = subprocess.run(
        [sys.executable, "-P", "-c", CHECK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    left = json.loads(done.stdout)
    assert [str(tmp_path / "stackmap")] == left["package"]
    assert [name for name in COMMANDS if name not in gone] == left["commands"]
    for feature, options in ADDED.items():
        assert (set() if feature in gone else options) == options & set(left["options"])
    functions = set(stackmap.__all__) - ({"whatif"} & gone)
    assert functions == set(left["api"])
