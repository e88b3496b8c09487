"""What CI installs, and the bill of materials that is made from it."""

from __future__ import annotations

import configparser
import hashlib
import runpy

from packaging.requirements import Requirement

from tests.paths import ROOT

SBOM = runpy.run_path(str(ROOT / "packaging/sbom.py"))
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
REQUIRED = CONFIG["options"]["install_requires"]
EXTRAS = CONFIG["options.extras_require"]


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
