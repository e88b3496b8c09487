"""Every panel of the dashboard shows data of a real fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import requests

DASHBOARD = Path(__file__).parents[2] / "packaging" / "grafana" / "stackmap.json"
BOARD = json.loads(DASHBOARD.read_text())
# A folded row holds its panels, and Grafana asks for none of them before it is opened.
ALL = [each for panel in BOARD["panels"] for each in (panel, *panel.get("panels", ()))]
PANELS = [panel for panel in ALL if panel["type"] != "row"]
VARIABLES = {each["name"] for each in BOARD["templating"]["list"]}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_has_data(fleet, panel):
    """With every variable at "All", as Grafana fills them in."""
    for target in panel["targets"]:
        expression = target["expr"]
        for name in VARIABLES:
            expression = expression.replace(f"${name}", ".*")
        assert "$" not in expression
        answer = requests.get(
            f"{fleet.url}/api/v1/query", {"query": expression, "time": fleet.end}, timeout=20
        ).json()
        assert answer["status"] == "success", answer
        assert answer["data"]["result"], expression


def test_the_dashboard_has_the_form_that_grafana_documents():
    """The required keys of the dashboard JSON model: unique ids, places in a grid of 24, known types."""
    assert BOARD.keys() >= {
        "title",
        "uid",
        "schemaVersion",
        "panels",
        "templating",
        "time",
        "annotations",
    }
    assert len({panel["id"] for panel in ALL}) == len(ALL)
    assert {panel["type"] for panel in PANELS} <= {"timeseries", "table", "stat"}
    for panel in ALL:
        place = panel["gridPos"]
        assert place.keys() == {"h", "w", "x", "y"}
        assert place["x"] + place["w"] <= 24
    for panel in PANELS:
        assert [target["refId"] for target in panel["targets"]] == ["A", "B"][
            : len(panel["targets"])
        ]
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_no_two_panels_overlap():
    taken = [
        (x, y)
        for panel in ALL
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(taken)) == len(taken)


def test_what_draws_a_line_per_volume_is_folded():
    """At first all hosts are chosen; open panels would then draw 40,000 lines."""
    open_at_first = [panel for panel in BOARD["panels"] if panel["type"] == "timeseries"]

    assert all("topk(" in panel["targets"][0]["expr"] for panel in open_at_first)
    assert {row["title"] for row in ALL if row.get("collapsed")} == {"Host", "Volume"}
