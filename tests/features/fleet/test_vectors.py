"""The values of a vector by its labels: however a server writes it, and whatever is in a label."""

from __future__ import annotations

import json

import pytest

from stackmap.errors import CaptureError, ParseError, SourceError
from stackmap.features.fleet.http import Prometheus
from stackmap.features.fleet.http_config import HttpConfig
from tests.features.fleet.stub import serving

# Each is in a label and is what servers write around labels and values; and figures that are none.
NAMES = (
    "vg/lv0", 'vg/"q"', "vg/back\\", '{"metric":{"name":"x"},"value":[1,"7"]}', '"]},{"metric":', '"result":[',
    "vg/{a},[b]", "vg/ü€", "vg/\ud83d\ude00", "",
)  # fmt: skip
SERIES = [({"name": name, "n": str(n)}, str(n / 4)) for n, name in enumerate(NAMES)]
NONE = [({"name": "none", "n": text}, text) for text in ("NaN", "+Inf", "-Inf", "1e30")]
EXPECTED = [(str(n), n / 4) for n in range(len(NAMES))]


def written(series, **how):
    found = [{"metric": labels, "value": [1795889805.5, value]} for labels, value in series]
    whole = {"status": "success", "data": {"resultType": "vector", "result": found}, "stats": {"seriesFetched": "3"}}  # fmt: skip
    return json.dumps(whole, **how)


def compact(series, **how):
    return written(series, separators=(",", ":"), **how)


def values(answers, budget=None):
    """Return what is made of each answer in turn, and how often labels were made something of."""
    made, known = [], {}

    def owner(labels):
        made.append(labels)
        return labels["n"]

    with serving(lambda query: (200, answers[int(query)])) as (url, _):
        server = Prometheus(url, HttpConfig(), 30)
        server.budget = budget or server.budget
        found = [server.values(str(n), 1.0, known, owner) for n in range(len(answers))]
    return found, len(made)


@pytest.mark.parametrize("write", [compact, written])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_all_ways_of_writing_are_read(write, ascii_only):
    series = [*SERIES[:3], *NONE, *SERIES[3:]]
    if not ascii_only:  # what is no character can be written as an escape only
        series = [({**labels, "name": labels["name"].replace("\ud83d\ude00", "😀")}, value) for labels, value in series]  # fmt: skip
    assert values([write(series, ensure_ascii=ascii_only)])[0] == [EXPECTED]


def test_equal_labels_are_read_once():
    other = [(labels, str(2 * float(value))) for labels, value in reversed(SERIES)]
    found, made = values([compact(SERIES), compact(other), compact(SERIES[:1]), compact([])])

    assert found == [EXPECTED, [(n, 2 * value) for n, value in EXPECTED[::-1]], EXPECTED[:1], []]
    assert made == len(SERIES)


@pytest.mark.parametrize("place", [0, 4, len(SERIES) - 1])
@pytest.mark.parametrize("keys", [("metric", "value"), ("value", "metric")])
def test_a_series_that_is_written_in_another_way_is_not_lost(place, keys):
    """With blanks, with the value first, and at another instant."""
    whole = json.loads(compact(SERIES))
    texts = [json.dumps(each, separators=(",", ":")) for each in whole["data"]["result"]]
    odd = {"metric": SERIES[place][0], "value": [7, SERIES[place][1]]}
    texts[place] = json.dumps({key: odd[key] for key in keys})
    head = '{"status":"success","data":{"resultType":"vector","result":['

    assert values([f"{head}{','.join(texts)}]}}}}"])[0] == [EXPECTED]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (compact(SERIES)[:-9], ParseError),
        (compact(SERIES).replace('"success"', '"error"'), SourceError),
        (compact(SERIES).replace("vector", "matrix"), ParseError),
        (compact(SERIES).replace('"n":"3"', '"n":3'), ParseError),
        (compact(SERIES).replace('"0.75"', '"three"'), ParseError),
        (compact(SERIES).replace('"0.75"', "0.75,1"), ParseError),
        (compact(SERIES).replace(',"value":[1795889805.5,"0.75"]', ""), ParseError),
    ],
)
def test_what_is_no_vector_is_refused(text, error):
    with pytest.raises(error):
        values([text])


def test_labels_that_are_kept_are_charged():
    """A series has another label each time, so that all of them must be kept."""
    several = [compact([({"n": "0", "odd": f"{n} {i}"}, "1") for i in range(12_000)]) for n in range(40)]  # fmt: skip
    with pytest.raises(CaptureError, match="more than 116 MiB"):
        values(several)
