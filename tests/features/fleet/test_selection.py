"""Which volumes ``fleet`` shows, and as what: sums by a label, matches, clusters, and UUIDs over a rename."""

from __future__ import annotations

import json

import pytest

from tests.features.fleet.stub import INFO, INFOS, LEVEL, ask, serving, small_fleet, vector

EARLIER = {**INFO, "top": "dm-3"}
UUID = {"uuid": "LVM-1"}


def test_a_volume_that_was_renamed_has_the_figures_of_both_names():
    """Weighed by samples: 10 of 1 MB/s as dm-3, then 30 of 5 MB/s as dm-8; only the present name is shown."""

    def answer(query):
        if "last_over_time" in query:
            return 200, vector(({**INFO, **UUID}, 1), ({**EARLIER, **UUID}, 1))
        if "count_over_time" in query:
            return 200, vector((INFO, 30), (EARLIER, 10))
        if query.startswith(INFOS):
            return 200, vector(({**INFO, **LEVEL, **UUID}, 1))
        if query.startswith("max by") and "written_bytes:rate5m" in query:
            return 200, vector((INFO, 5e6), (EARLIER, 1e6))
        return small_fleet(query)

    with serving(answer) as (url, _):
        report = json.loads(ask(url, "-J").stdout)
    (volume,) = report["volumes"]

    assert (volume["top"], volume["uuid"], volume["write_bytes"]) == ("dm-8", "LVM-1", 4e6)
    assert [each.startswith("1 volume had another name") for each in report["notes"]] == [True]


def test_volumes_of_equal_names_in_two_clusters_are_two(tmp_path):
    """The page has a column for the cluster, too."""

    def answer(query):
        status, body = small_fleet(query, volumes=2)
        found = body["data"]["result"]
        if found and "instance" in found[0]["metric"]:
            both = [
                {**each, "metric": {**each["metric"], "cluster": cluster}}
                for each in found
                for cluster in ("east", "west")
            ]
            body["data"]["result"] = both
        return status, body

    with serving(answer) as (url, _):
        report, table = json.loads(ask(url, "-J").stdout), ask(url).stdout
        ask(url, "--report", str(tmp_path / "page.md"))

    assert "| cluster | host |" in (tmp_path / "page.md").read_text()
    assert [each["cluster"] for each in report["volumes"]] == ["east", "west"]
    assert {(each["what"], each["cluster"]) for each in report["health"]} == {
        ("degraded", "east"),
        ("degraded", "west"),
    }
    assert "degraded: vg/lv on h1 of east" in table


def test_sums_by_a_label_and_hosts_that_match_it():
    """The await is of all requests of the group; an impossible label is refused."""

    def answer(query):
        if "by (rack)" in query:
            values = {"count": 1, "volumes:count": 2, "requests:rate5m": 100, "io_seconds": 0.5}
            value = next((value for part, value in values.items() if part in query), 7)
            return 200, vector(({"rack": "r1"}, value))
        return small_fleet(query)

    with serving(answer) as (url, asked):
        result = ask(url, "--by", "rack", "--match", "rack=r*", "-J")
        wrong = ask(url, "--by", "a b")
    (group,) = json.loads(result.stdout)["groups"]

    assert (group["rack"], group["await"]) == ("r1", 0.5 / group["iops"] * 1000)
    assert all('rack=~"r.*"' in query for query, _ in asked)
    assert wrong.exit_code == 2


@pytest.mark.parametrize(
    ("label", "troubles"), [("rack", "1"), ("level", None), ("kind", None), ("model", "0")]
)
def test_troubles_are_of_hosts_and_disks_and_not_of_levels(label, troubles):
    """A host with two replicas has its troubles once."""

    def answer(query):
        if "troubles:count" in query:
            of = {"job": "n", "instance": "h1", "rack": "r1"}
            return 200, vector(({**of, "replica": "a"}, 1), ({**of, "replica": "b"}, 1))
        if f"by ({label})" in query:
            return 200, vector(({label: "r1"}, 1))
        return small_fleet(query)

    with serving(answer) as (url, _):
        _, headings, row, *_ = ask(url, "--by", label).stdout.partition("\n\n")[2].splitlines()

    assert "await" in headings or "ms" in headings
    assert ("troubles" in headings) is (troubles is not None)
    if troubles:
        assert row.split()[-1] == troubles


def test_sums_go_on_where_health_is_not_known():
    def answer(query):
        if "stackmap_trouble" in query:
            return 422, {"status": "error", "errorType": "execution", "error": "out of memory"}
        if "by (rack)" in query:
            return 200, vector(({"rack": "r1"}, 1))
        return small_fleet(query)

    with serving(answer) as (url, _):
        result = ask(url, "--by", "rack", "-J")
    report = json.loads(result.stdout)

    assert result.exit_code == 64
    assert [each["troubles"] for each in report["groups"]] == [None]
    assert report["partial"][0].startswith("health is not known")


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("--by", "rack"), "no host has the label rack"),
        (("--by", "model"), "no disk has a model: does node_exporter export node_disk_info?"),
        (("--sort", "slowest", "--limit", "1"), "no volume has a figure for --sort slowest"),
    ],
)
def test_an_empty_answer_says_why(words, note):
    """A label that no series has, and volumes of which none has the figure to sort by."""

    def answer(query):
        if query.startswith("topk(1, max by") or "by (model)" in query:
            return 200, vector()
        if "by (rack)" in query:
            return 200, vector(({}, 2))
        return small_fleet(query, volumes=2)

    with serving(answer) as (url, _):
        result = ask(url, *words)
        assert json.loads(ask(url, *words, "-J").stdout)["notes"] == [note]

    assert result.exit_code == 0, result.output
    assert f"note: {note}" in result.stdout
    assert "The worst" not in result.stdout
