"""Every panel of the dashboard shows data of a real fleet."""

from __future__ import annotations

import copy
import json
import operator
import typing
from enum import Enum, EnumType
from functools import reduce

import pytest
import requests

from tests.paths import ROOT

DASHBOARD = ROOT / "packaging" / "grafana" / "stackmap.json"
SDK = "grafana_foundation_sdk"  # Grafana generates it from the schemas of its kinds
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


def test_ids_and_references_are_unique_and_places_lie_in_the_grid():
    assert len({panel["id"] for panel in ALL}) == len(ALL)
    for panel in ALL:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for panel in PANELS:
        assert [target["refId"] for target in panel["targets"]] == ["A", "B"][
            : len(panel["targets"])
        ]
        assert all(target["datasource"] == panel["datasource"] for target in panel["targets"])


def test_grafana_knows_every_key(typed):
    """What Grafana's published schema does not know is lost when its classes read the dashboard and write it."""
    written = json.loads(
        json.dumps(typed, cls=pytest.importorskip(f"{SDK}.cog.encoder").JSONEncoder)
    )

    # Grafana itself writes "definition" beside the query of a variable; the schema lacks it.
    assert {path.rpartition(".")[2] for path in _lost(BOARD, written)} <= {"definition"}


def test_every_value_has_the_type_that_grafana_expects(typed):
    assert _check_all(typed) > 1000


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("panels", 1, "gridPos", "h"), "4"),
        (("panels", 1, "targets", 0, "format"), "tables"),
        (("templating", "list", 1, "refresh"), 7),
        (("refresh",), 60),
    ],
)
def test_a_wrong_value_is_seen(path, wrong):
    board = copy.deepcopy(BOARD)
    *parents, key = path
    reduce(operator.getitem, parents, board)[key] = wrong

    with pytest.raises((pytest.importorskip("typeguard").TypeCheckError, ValueError)):
        _check_all(_typed(board))


@pytest.fixture(scope="module")
def typed():
    """The dashboard as an object of the classes that Grafana generates from its schema."""
    return _typed(BOARD)


def _typed(board):
    pytest.importorskip(f"{SDK}.cog.plugins").register_default_plugins()
    return pytest.importorskip(f"{SDK}.models.dashboard").Dashboard.from_json(board)


def _lost(given, written, path=""):
    """Yield the path of each key or value of *given* that is not in *written*."""
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            if key in written:
                yield from _lost(value, written[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for number, pair in enumerate(zip(given, written, strict=True)):
            yield from _lost(*pair, f"{path}[{number}]")
    elif given != written:
        yield path


def _attributes(thing):
    """Yield each attribute of the schema's objects in *thing*, with the type that the schema gives it."""
    if isinstance(thing, dict | list):
        for each in thing.values() if isinstance(thing, dict) else thing:
            yield from _attributes(each)
    elif type(thing).__module__.startswith(SDK) and not isinstance(thing, Enum):
        hints = typing.get_type_hints(type(thing))
        for name, value in vars(thing).items():
            read = _transformations(value) if name == "transformations" else value
            if name in hints:
                yield read, hints[name]
            yield from _attributes(read)


def _transformations(values):
    """Read what the reader of a panel leaves as it is."""
    reader = pytest.importorskip(f"{SDK}.models.dashboard").DataTransformerConfig
    return [reader.from_json(each) for each in values or ()]


def _check_all(thing):
    """Return how many attributes have the right type; raise for one that has not."""
    attributes = list(_attributes(thing))
    for value, hint in attributes:
        _check(value, hint)
    return len(attributes)


def _check(value, hint):
    """Raise unless *value* is of the type *hint*; the readers leave the values of enumerations as they are."""
    enums = [each for each in typing.get_args(hint) or (hint,) if isinstance(each, EnumType)]
    if enums and value is not None:
        enums[0](value)
    else:
        pytest.importorskip("typeguard").check_type(value, hint)


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
