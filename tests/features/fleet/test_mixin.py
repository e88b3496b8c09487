"""The shipped rules are built from the mixin, and a site may set its ``_config``."""

from __future__ import annotations

import importlib.util
import json
import re

import pytest

from stackmap.features.fleet.recordings import AHEAD, FULL
from stackmap.rules.errors import worn_out
from tests.features.fleet.servers import HERE, RULES

MIXIN = HERE / "packaging" / "mixin"
RAW = re.compile(r"\b(node_\w+|stackmap_\w+|up)\b(?![:(])(\{[^}]*\})?")
RUNBOOKS = HERE / "packaging" / "prometheus" / "runbooks.md"


@pytest.fixture(scope="module")
def build():
    pytest.importorskip("_jsonnet")
    spec = importlib.util.spec_from_file_location("build", MIXIN / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rules_with(build, config):
    """Return the rules and alerts of a site."""
    site = f"((import 'mixin.libsonnet') + {{_config+:: {config}}})"
    return [
        rule
        for kind in ("prometheusRules", "prometheusAlerts")
        for group in build.evaluated(f"{site}.{kind}")["groups"]
        for rule in group["rules"]
    ]


def test_the_shipped_rules_are_those_of_the_mixin(build):
    assert build.rules() == RULES.read_text(), "run: ./run mixin"


def test_the_shipped_dashboard_is_that_of_the_mixin(build):
    """Its tags and the label of its clusters are the site's."""
    site = "(import 'mixin.libsonnet') + {_config+:: {dashboardTags: ['db'], clusterLabel: 'site'}}"
    shipped = json.loads((HERE / "packaging" / "grafana" / "stackmap.json").read_text())
    boards = build.evaluated("(import 'mixin.libsonnet').grafanaDashboards")
    (of_site,) = build.evaluated(f"({site}).grafanaDashboards").values()
    text = json.dumps(of_site)

    assert boards == {"stackmap.json": shipped}
    assert of_site["tags"] == ["db"]
    assert "cluster" not in text
    assert text.count("site=~") == json.dumps(shipped).count("cluster=~") > 20


def test_every_raw_series_has_the_selector_of_the_site(build):
    """Without it, the rules of two teams on one server would read each other's hosts."""
    selectors = {
        "nodeExporterSelector": 'job="N"',
        "upSelector": 'job="N"',
        "stackmapSelector": 'job="S"',
    }
    config = json.dumps(selectors)
    for rule in rules_with(build, config):
        text = re.sub(r'"([^"]*)"', lambda word: word[1] if len(word[1]) == 1 else "", rule["expr"])
        text = re.sub(r"(without|by|on|ignoring|group_left) \([^)]*\)", "", text)
        text = re.sub(r"\w+:stackmap_\w+:\w+", "", text)
        for found in RAW.finditer(text):
            job = "S" if found[1].startswith("stackmap_") else "N"
            assert f"job={job}" in (found[2] or ""), f"{rule} {found}"


def test_a_site_sets_cluster_and_severities(build):
    alerts = {
        rule["alert"]: rule
        for rule in rules_with(build, "{clusterLabel: 'region', severities+: {degraded: 'page'}}")
        if "alert" in rule
    }

    assert "(region, job, instance)" in alerts["StackmapTargetsCollide"]["expr"]
    assert alerts["StackmapDegraded"]["labels"] == {"severity": "page"}


def test_recordings_are_judged_by_the_limits_of_the_rules(build):
    config = build.evaluated("(import 'mixin.libsonnet')._config")

    assert config["poolFull"]["critical"] == FULL
    assert config["clockSkewSeconds"] == AHEAD


def test_a_disk_is_worn_from_the_share_on_that_check_warns_at(build):
    config = build.evaluated("(import 'mixin.libsonnet')._config")

    assert config["lifeUsed"] == worn_out.limits["warning"]


def test_every_alert_has_a_runbook(build):
    """Its address ends in a heading of the file."""
    headings = {
        line.removeprefix("## ").lower()
        for line in RUNBOOKS.read_text().splitlines()
        if line.startswith("## ")
    }
    alerts = [rule for rule in rules_with(build, "{}") if "alert" in rule]

    assert {each["annotations"]["runbook_url"].partition("#")[2] for each in alerts} == headings
    for each in alerts:
        assert set(each["annotations"]) == {"summary", "description", "runbook_url"}
