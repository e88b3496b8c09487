"""What is made of a server's answers, series by series."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stackmap.features.fleet import health
from stackmap.features.fleet.health import Trouble, troubles
from stackmap.features.fleet.http import Sample
from stackmap.features.fleet.promql import KIND_LEVEL, Expressions
from stackmap.features.fleet.reader import FleetReader, _weigh
from stackmap.features.fleet.volumes import Group, Key


def series(value, **labels):
    return Sample(labels, value)


def reader(answers, **more):
    """A reader whose queries have these answers; ``asked``: the queries."""
    made = FleetReader.__new__(FleetReader)
    made.asked = []

    def query(text):
        made.asked.append(text)
        return answers[text] if isinstance(answers, dict) else answers

    made._query = query
    made._together = lambda ask, several: [ask(each) for each in several]
    made._all = SimpleNamespace(by=lambda labels, field: (labels, field))
    made._notes, made._partial = [], []
    vars(made).update(more)
    return made


def test_volumes_without_a_level_are_summed_by_their_kind():
    """Two kinds of one level are one group; each figure is the sum of its series."""
    answers = {
        (KIND_LEVEL, "hosts"): [
            series(3.0, kind="volume", level="raid5"),
            series(2.0, kind="array", level="raid5"),
            series(1.0, kind="volume"),
        ],
        (KIND_LEVEL, "volumes"): [series(7.0, kind="volume")],
    }
    found = reader(answers)._sums(KIND_LEVEL, ["hosts", "volumes"])
    assert found == (Group("raid5", hosts=5.0), Group("volume", hosts=1.0, volumes=7.0))


def test_replicas_have_a_trouble_once_and_two_jobs_each_their_own():
    broken = {"what": "degraded", "instance": "h1", "device": "md0", "name": "md0"}
    targets = [("n", "a", 5.0), ("n", "b", 6.0), ("m", "a", 5.0)]
    now = [Sample({**broken, "job": job, "replica": each}, 1.0) for job, each, _ in targets]
    since = [Sample({**broken, "job": job, "replica": each}, at) for job, each, at in targets]

    found = troubles(now, since, "cluster")
    assert [each.host for each in found] == ["h1", "h1"]
    assert {each.json_fields()["job"] for each in found} == {"n", "m"}


def test_a_trouble_names_the_job_where_two_hosts_have_one_name():
    alike = [Trouble("degraded", "h1", device="md0", job=job) for job in ("n", "m")]
    other = Trouble("degraded", "h2", device="md0", job="n")
    assert health.lines([*alike, other]) == [
        "degraded: md0 on h1, job n",
        "degraded: md0 on h1, job m",
        "degraded: md0 on h2",
    ]


def test_other_sums_are_by_the_value_of_the_label():
    answers = {
        ("zone", "hosts"): [
            series(3.0, zone="b", level="raid5"),
            series(2.0, zone="a"),
            series(1.0),
        ]
    }
    assert reader(answers)._sums("zone", ["hosts"]) == (
        Group("", hosts=1.0),
        Group("a", hosts=2.0),
        Group("b", hosts=3.0),
    )


def test_names_of_one_uuid_are_one_volume():
    """The name that it has now, weighed by samples: 10 of 100 writes and 30 of 20 are 40 on average."""
    now, was = (Key("", "node", "h1", name, name) for name in ("dm-3", "dm-7"))
    figures = {now: {"level": "raid5", "writes": 100.0}, was: {"writes": 20.0}}
    answers = [
        series(10.0, job="node", instance="h1", top="dm-3", name="dm-3"),
        series(30.0, job="node", instance="h1", top="dm-7", name="dm-7"),
    ]
    made = reader(
        answers,
        _key=lambda labels: Key(
            "", labels["job"], labels["instance"], labels["top"], labels["name"]
        ),
    )
    page = Expressions(3600.0, host="h1|h2", top="dm-3")

    assert made._join([[now, was]], figures, [page]) == {was: now}
    assert figures[now]["writes"] == (10 * 100 + 30 * 20) / 40
    assert made.asked == [page._replace(host="h1", top="").samples]
    assert len(made._notes) == 1
    assert made._join([[was, now]], {}, [page]) == {}  # none of them is there now
    assert len(made._notes) == 1


@pytest.mark.parametrize(
    ("parts", "writes"),
    [
        ([({"writes": 100.0}, 10), ({"writes": 20.0}, 30)], 40.0),
        ([({"writes": 100.0}, 0), ({"writes": 20.0}, 30)], 20.0),
        ([({}, 10), ({"writes": 20.0}, 30)], 20.0),
        ([({"writes": 100.0}, 10), ({}, 30)], 100.0),
        ([({"writes": 100.0}, 0), ({"writes": 20.0}, 0)], 100.0),
    ],
)
def test_a_mean_is_of_the_samples_that_have_the_figure(parts, writes):
    _weigh(parts)
    assert parts[0][0]["writes"] == writes
