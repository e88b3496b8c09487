"""Each dependency: its versions, what is left without it; what CI installs, and the bill of materials."""

from __future__ import annotations

import configparser
import hashlib
import re
import runpy
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from tests.paths import ROOT

SBOM = runpy.run_path(str(ROOT / "packaging/sbom.py"))
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
REQUIRED = CONFIG["options"]["install_requires"]
EXTRAS = CONFIG["options.extras_require"]
FOUND = ["--from", str(ROOT / "sample_topologies/vghdd")]
URL = ["fleet", "--url", "http://127.0.0.1:9"]
WITHOUT = {
    "click": [(["tree"], "No module named 'click'")],
    "tabulate": [
        ([*FOUND, "tree", "vghdd"], None), ([*FOUND, "explain", "vm-disk1"], None),
        ([*FOUND, "iostat", "-l"], None),
        ([*FOUND, "iostat", "--input", str(ROOT / "tests/packaging/wide.txt")], "No module named 'tabulate'"),
    ],
    "networkx": [
        ([*FOUND, "iostat", "-l"], None), ([*FOUND, "tree", "--graphml"], "GraphML needs networkx"),
    ],
    "pyudev": [(["tree"], None), (["iostat", "0.1", "2"], None)],
    "gi": [(["tree"], None), (["iostat", "0.1", "2"], None)],
    "pyarrow": [([*FOUND, "export", "--parquet", "-o", "x/"], "Parquet needs pyarrow")],
    "duckdb": [(["fleet", "--recordings", "."], "--recordings needs DuckDB")],
    "requests": [(URL, "fleet needs requests and PyYAML")],
    "yaml": [([*URL, "--http-config", "/dev/null"], "fleet needs requests and PyYAML")],
}  # fmt: skip
PACKAGES = {"gi": "libblockdev", "yaml": "PyYAML"}  # those that are not named as their module
REMOVED = """
import sys
_, removed, *sys.argv[1:] = sys.argv
class Removed:
    def find_spec(name, path=None, target=None):
        if name == removed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Removed)
from stackmap.__main__ import main
main()
"""


def requirements(lines):
    return [Requirement(line) for line in lines.splitlines() if line and not line.startswith("#")]


def test_ci_installs_every_package_in_a_version_that_setup_cfg_allows():
    """After a change of setup.cfg: ./run lock."""
    locked = {}
    for name, version, _ in SBOM["pinned"]():
        locked.setdefault(name, []).append(version)

    for each in requirements(REQUIRED) + requirements(EXTRAS["dev"]):
        assert all(
            each.specifier.contains(found) for found in locked[each.name.lower().replace("_", "-")]
        )


def test_the_bill_of_materials_has_what_stackmap_needs_and_contains():
    """Required and optional packages, those that they need, and uPlot as it is shipped."""
    bill = SBOM["bill"]("1.2.3", 1790000000)
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    required = {each.name for each in requirements(REQUIRED)}
    optional = {each.name.lower() for each in requirements(EXTRAS["fleet"] + EXTRAS["recordings"])}

    assert {name for name, scope in scopes.items() if scope == "required"} == {*required, "uplot"}
    assert optional | {"urllib3"} <= {*scopes} - required
    assert "pytest" not in scopes
    (uplot,) = [each for each in bill["components"] if each["name"] == "uplot"]
    shipped = ROOT / "stackmap/render/html/vendor/uPlot.iife.min.js"
    assert uplot["hashes"][0]["content"] == hashlib.sha256(shipped.read_bytes()).hexdigest()
    assert (
        f"bundled(js-uplot) = {uplot['version']}\n"
        in (ROOT / "packaging/rpm/stackmap.spec").read_text()
    )
    assert {each["bom-ref"] for each in bill["components"]} == {
        *bill["dependencies"][0]["dependsOn"]
    }
    assert bill["metadata"]["timestamp"] == "2026-09-21T14:13:20+00:00"


def table():
    """Return the least and the newest version of ARCHITECTURE.md, by package."""
    text = (ROOT / "stackmap/ARCHITECTURE.md").read_text()
    return {
        name: (least, newest)
        for name, least, newest in re.findall(
            r"^\| (\w+) \| ([\d.]+) to ([\d.]+) \|", text, re.MULTILINE
        )
    }


def test_the_table_of_packages_has_the_bounds_and_what_ci_installs():
    """Each package of users, libblockdev too, which is not on PyPI."""
    found = table()
    assert {*found} == {PACKAGES.get(name, name) for name in WITHOUT}
    locked = {name: version for name, version, _ in SBOM["pinned"]()}
    extras = EXTRAS["recordings"] + EXTRAS["parquet"] + EXTRAS["fleet"]
    for each in requirements(REQUIRED) + requirements(extras):
        (least,) = [one.version for one in each.specifier if one.operator == ">="]
        assert found[each.name] == (least, locked[each.name.lower()])


@pytest.mark.parametrize(
    ("module", "command", "reason"),
    [(module, *case) for module, cases in WITHOUT.items() for case in cases],
)
def test_without_a_package_what_the_table_says_is_left(module, command, reason, tmp_path):
    """The command works without it, or fails and names it; nothing is written."""
    program = [sys.executable, "-c", REMOVED, module, *command]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == (reason is not None), done.stderr
    assert (reason or "") in done.stderr
    assert bool(done.stdout) == (reason is None)
    assert not list(tmp_path.iterdir())
