"""A machine that several targets show: its volumes are counted once, and other machines stay apart."""

from __future__ import annotations

import json

import pytest

from stackmap.features.fleet.http import Sample, Series
from stackmap.features.fleet.promql import KIND_LEVEL, Expressions
from stackmap.features.fleet.twice import Target, again, leaving_out
from tests.features.fleet.promql import printed
from tests.features.fleet.stub import HOST, ask, serving, small_fleet, vector
from tests.features.fleet.test_expressions import NOW, host, volume

ALL = Expressions(seconds=3600)
LEVEL = 'kind="volume",level="raid5"'
DB = Target("", "node", "db1:9100")


def labels(target):
    return {"cluster": target.cluster, "job": target.job, "instance": target.instance}


class Server:
    """Targets with the name of their machine, the times in their textfile, and their time of boot."""

    def __init__(self, *targets, name="db1", volumes=None):
        self.targets, self.name = targets, name
        self.volumes = volumes or {}  # by target; md0 of others

    def ask(self, query):
        if query.startswith("count by"):
            return [Sample({"nodename": self.name}, float(len(self.targets)))]
        if "node_boot_time" in query:
            return [Sample(labels(t), boot) for t, _, boot in self.targets if boot]
        if "stackmap_stack_info" in query:
            return [
                Sample({**labels(t), "top": top, "name": top}, 1.0)
                for t, _, _ in self.targets
                for top in self.volumes.get(t, ["md0"])
            ]
        assert f'nodename=~"{self.name}"' in query
        return [Sample({**labels(t), "nodename": self.name}, 1.0) for t, _, _ in self.targets]

    def ask_range(self, _, start, end, __):
        assert (start, end) == (700.0, 1000.0)
        return [
            Series(labels(t), [(990.0, time) for time in times]) for t, times, _ in self.targets
        ]

    def again(self):
        return again(ALL, self.ask, self.ask_range, 1000.0)


def test_two_jobs_that_scrape_one_textfile():
    """At one instant each may have another version of it; some version both have."""
    other = DB._replace(job="infra")
    server = Server((DB, (930.25, 990.25), 5.0), (other, (870.25, 930.25), 5.0))
    assert server.again() == [DB]  # "infra" is the first


def test_two_exporters_with_textfiles_of_their_own():
    """Their address, the boot and the volumes are the same; a textfile of other volumes counts, too."""
    second = DB._replace(instance="db1:9200")
    both = (DB, (930.25,), 5.0), (second, (931.5,), 6.0)
    assert Server(*both).again() == [second]
    assert Server(*both, volumes={second: ["md1"]}).again() == []


@pytest.mark.parametrize(
    ("other", "boot"),
    [
        (DB._replace(instance="db2:9100"), 5.0),  # clones that booted together
        (DB._replace(job="infra"), 9.0),  # an address of another site
        (DB._replace(job="infra"), None),
        (DB._replace(cluster="eu"), 5.0),
    ],
)
def test_machines_with_one_name(other, boot):
    assert Server((DB, (930.25,), 5.0), (other, (931.5,), boot)).again() == []


def test_a_fleet_whose_names_differ_is_asked_once():
    asked = []
    assert again(ALL, lambda query: asked.append(query) or [], None, 1000.0) == []
    assert len(asked) == 1


def uname(name, job="n", machine="m1"):
    return {f'node_uname_info{{job="{job}",instance="{name}",nodename="{machine}"}}': "1x80"}


def twice():
    """Host b is scraped by the jobs n and m; host c is another machine."""
    of_n = {**host("b"), **volume("b", "md0", 1), **host("c"), **volume("c", "md0", 1)}
    of_m = {
        key.replace('job="n"', 'job="m"'): text
        for key, text in {**host("b"), **volume("b", "md0", 1)}.items()
    }
    names = {**uname("b"), **uname("b", "m"), **uname("c", machine="m2")}
    return {**of_n, **of_m, **names}


def test_the_sums_leave_out_the_second_target(tmp_path):
    """What promtool makes of the queries: 2 volumes of 3 are left, and one host of each level."""
    once = ALL._replace(once=leaving_out([Target("", "n", "b")], "cluster"))
    asked = [each.by(KIND_LEVEL, field) for each in (ALL, once) for field in ("volumes", "hosts")]
    found = printed(tmp_path, twice(), *asked, once.part("level"), once.worst("written", 5), at=NOW)
    values = [each.rpartition(" ")[2] for each in found[:4]]
    assert values == ["6E+00", "3E+00", "4E+00", "2E+00"]
    for volumes in found[4:]:
        labels_of = volumes.replace(" ", "")
        assert 'instance="b",job="m"' in labels_of
        assert 'instance="c",job="n"' in labels_of
        assert 'instance="b",job="n"' not in labels_of


def test_the_name_that_two_targets_have(tmp_path):
    asked = []
    again(ALL, lambda query: asked.append(query) or [], None, 1000.0)
    (found,) = printed(tmp_path, twice(), *asked, at=NOW)
    assert 'nodename="m1"' in found
    assert "m2" not in found


def test_fleet_says_which_host_it_counts_once():
    """The troubles of the second target are those of the first."""
    jobs = ("n", "o")
    without = leaving_out([Target("", "o", "h1")], "cluster")

    def answer(query):
        if query.startswith("count by (cluster, nodename)"):
            return 200, vector(({"nodename": "db1"}, 2))
        if "node_uname_info" in query:
            return 200, vector(
                *[({"job": j, "instance": "h1", "nodename": "db1"}, 1) for j in jobs]
            )
        if query.startswith("max by (cluster, job, instance) (node_boot_time"):
            return 200, vector(*[({"job": j, "instance": "h1"}, 5) for j in jobs])
        if query.startswith("max by (cluster, job, instance) (stackmap_topology"):
            return 200, {"status": "success", "data": {"resultType": "matrix", "result": []}}
        if query.startswith(HOST):
            return 200, vector(*[({"job": j, "instance": "h1"}, 1) for j in jobs])
        if query.startswith("instance_device:stackmap_trouble:now"):
            broken = {"instance": "h1", "what": "degraded", "device": "dm-8"}
            return 200, vector(*[({**broken, "job": j}, 1) for j in jobs])
        return small_fleet(query.replace(without, ""))

    with serving(answer) as (url, asked):
        result = ask(url, "-J")
    assert result.stdout, result.exception
    report = json.loads(result.stdout)
    assert report["hosts"] == 1
    assert [each["job"] for each in report["health"]] == ["n"]
    (said,) = [each for each in report["notes"] if "another target" in each]
    assert said.startswith("1 host that another target shows, too")
    assert said.endswith("(h1)")
    sums = [query for query, _ in asked if query.startswith("sum by (kind, level)")]
    assert sums
    assert [query for query in sums if 'job="o",instance=~"h1"' not in query] == []
