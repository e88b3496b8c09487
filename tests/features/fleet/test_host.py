"""One host from the counters that a server stored, with breaks in its history."""

from __future__ import annotations

import json

import pytest

from stackmap.model import exported
from tests.features.fleet.stub import ask, serving

LABELS = {"job": "n", "instance": "h1"}
DEVICE = {**LABELS, "__name__": exported.INFO, "device": "sda", "name": "sda", "kind": "disk"}
STEP = 60


def vector(*labels):
    result = [{"metric": each, "value": [1, "1"]} for each in labels]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def matrix(*series):
    """Return series: labels, and their values from the start of the window."""
    result = [
        {"metric": labels, "values": [[STEP * (n + 1), str(v)] for n, v in enumerate(values)]}
        for labels, values in series
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def history(writes, boots):
    """Answer as a server that has the writes completed by sda, and the time of boot, at each scrape."""

    def answer(query):
        if query.startswith("group"):
            return 200, vector(LABELS)
        if exported.INFO in query:
            return 200, vector(DEVICE)
        if query.startswith("node_boot_time"):
            return 200, matrix((LABELS, boots))
        if "timestamp(" in query:
            return 200, matrix((LABELS, [STEP * (n + 1) for n in range(len(writes))]))
        if exported.NODE in query:
            done = exported.NODE + "writes_completed_total"
            zeros = [
                exported.NODE + each.name
                for each in exported.COUNTERS[:11]
                if each.field != "writes"
            ]
            zeros.append(exported.NODE + exported.IN_FLIGHT)
            return 200, matrix(
                ({**LABELS, "__name__": done, "device": "sda"}, writes),
                *(({**LABELS, "__name__": n, "device": "sda"}, [0] * len(writes)) for n in zeros),
            )
        return 200, matrix()

    return answer


def opened(writes, boots):
    return opened_from(history(writes, boots), len(writes))


def opened_from(answer, scrapes):
    """Return what ``fleet`` says of the host and its layers after so many scrapes."""
    with serving(answer) as (url, _):
        result = ask(url, "h1", "--at", f"@{STEP * scrapes}", "--window", "10min", "-J")
    assert result.exit_code == 0, result.output
    return result, json.loads(result.stdout)["layers"]


def test_the_headroom_of_a_host_is_that_of_its_disks():
    """The disk was never at its limit, and a sentence says so."""
    writes = [600 * n for n in range(1, 9)]
    with serving(history(writes, [1000] * 8)) as (url, _):
        result = ask(url, "h1", "--at", f"@{STEP * 8}", "--window", "10min")

    assert "STACK  headroom" in result.stdout
    assert "Headroom is - where no disk was seen" in result.stdout


def test_the_time_and_the_wear_of_a_host():
    """
    Its disk is half used after 100 TB, so 96 to 104 TB are left, to which 10 writes of 1 MB per second go.

    The end of the window has a fraction, of which no reader wants the microseconds.
    """
    writes = [600 * n for n in range(1, 9)]
    whole = history(writes, [1000] * 8)
    life = [
        ({**LABELS, "__name__": name, "device": "sda", "name": "sda"}, value)
        for name, value in ((exported.LIFE_USED, "0.5"), (exported.LIFE_WRITTEN, "1e14"))
    ]

    def answer(query):
        status, body = whole(query)
        result = body["data"]["result"]
        if exported.INFO in query:
            result += [{"metric": labels, "value": [1, value]} for labels, value in life]
        if "timestamp(" in query:
            for each in result:
                each["values"] = [
                    [at, f"{float(value) + 0.123456}"] for at, value in each["values"]
                ]
        elif exported.NODE in query:
            for each in result:
                if each["metric"]["__name__"] == exported.NODE + "written_bytes_total":
                    each["values"] = [[at, str(1e6 * 10 * at)] for at, _ in each["values"]]
        return status, body

    with serving(answer) as (url, _):
        text = ask(url, "h1", "--at", f"@{STEP * 8}.5", "--window", "10min").stdout
        (stack,) = json.loads(ask(url, "h1", "--at", f"@{STEP * 8}", "--window", "10min", "-J").stdout)["layers"]["stacks"]  # fmt: skip

    assert text.splitlines()[0] == "h1  1970-01-01 00:08:00 UTC"
    assert "00:08:00." not in text
    assert "disk life: sda lasts 0.3 to 0.4 years at this rate" in text
    assert [each["device"] for each in stack["wear"]] == ["sda"]


REBOOT = [600, 1200, 1800, 60, 120, 180]  # writes: 10/s, then 1/s


def test_after_a_reboot_the_figures_begin_anew():
    """Device names may have changed, so the load before the reboot is not used."""
    result, layers = opened(REBOOT, [1000] * 3 + [9000] * 3)
    (stack,) = layers["stacks"]

    assert stack["layers"][0]["write"]["iops"] == pytest.approx(1.0)
    assert layers["seconds"] == 2 * STEP
    assert "h1 was rebooted in the window; its figures begin after that" in result.stderr


@pytest.mark.parametrize("what", ["node_disk_", "timestamp("])
@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e308"])
def test_a_scrape_without_a_figure_is_left_out(what, value):
    """No figure of the others changes, whether a counter or its instant is none."""
    writes = [600 * n for n in range(1, 7)]
    whole = history(writes, [1000] * 6)

    def answer(query):
        status, body = whole(query)
        for series in body["data"]["result"] if what in query else ():
            series["values"][2][1] = value
        return status, body

    _, layers = opened_from(answer, len(writes))
    (stack,) = layers["stacks"]

    assert stack["layers"][0]["write"]["iops"] == pytest.approx(10.0)


def test_series_that_were_not_asked_for_are_left_out():
    whole = history(REBOOT[:3], [1000] * 3)

    def answer(query):
        status, body = whole(query)
        if exported.NODE in query and "timestamp(" not in query:
            other = body["data"]["result"][0]
            body["data"]["result"] += [
                {**other, "metric": {**other["metric"], "__name__": "other"}},
                {**other, "metric": {}},
            ]
        return status, body

    _, layers = opened_from(answer, 3)
    (stack,) = layers["stacks"]

    assert stack["layers"][0]["write"]["iops"] == pytest.approx(10.0)


def test_several_series_of_a_host_are_said():
    """Two clusters may have hosts with the same job and instance."""
    whole = history(REBOOT[:3], [1000] * 3)
    builds = [
        {**LABELS, "__name__": exported.BUILD, "kernel": "6.1", "cluster": name} for name in "ab"
    ]
    with serving(lambda q: (200, vector(DEVICE, *builds)) if exported.INFO in q else whole(q)) as (
        url,
        _,
    ):
        result = ask(url, "h1", "--at", f"@{STEP * 3}", "--window", "10min", "-J")

    assert "h1: several series have its job and instance" in result.stderr
    assert result.exit_code == 64


@pytest.mark.parametrize(
    ("clock", "read", "said"),
    [
        (None, 180 - 600, ""),
        (None, 180 - 3600, "h1: its topology is 60 min old"),
        (4000 + 180, 4000 + 180 - 600, ""),
        (4000 + 180, 180, "h1: its topology is 67 min old"),
    ],
)
def test_an_old_topology_is_said(clock, read, said):
    """By the host's own clock if its exporter tells the time, so that a wrong clock does not count."""
    whole = history(REBOOT[:3], [1000] * 3)
    times = [
        {"metric": {**LABELS, "__name__": name}, "value": [1, str(value)]}
        for name, value in ((exported.TIMESTAMP, read), ("node_time_seconds", clock))
        if value is not None
    ]

    def answer(query):
        status, body = whole(query)
        if exported.INFO in query:
            body["data"]["result"] += times
        return status, body

    with serving(answer) as (url, _):
        result = ask(url, "h1", "--at", f"@{STEP * 3}", "--window", "10min", "-J")

    assert result.exit_code == (64 if said else 0)
    assert said in result.stderr
    assert bool(said) is ("its topology" in result.stderr)


def test_labels_of_the_target_that_replace_names_are_said():
    """Prometheus then names every device as the target: no device is called web."""
    device = {**DEVICE, "name": "web", "exported_name": "vg/lv", "exported_job": "federated"}
    whole = history(REBOOT[:3], [1000] * 3)
    result, _ = opened_from(lambda q: (200, vector(device)) if exported.INFO in q else whole(q), 3)

    assert (
        "labels of the target of h1 replace those of stackmap (exported_name), so" in result.stderr
    )


def test_a_match_selects_the_series_of_the_host_too():
    """One of two replicas: the figures of the other are not mixed in, nor is that said."""
    whole = history(REBOOT[:3], [1000] * 3)
    with serving(whole) as (url, asked):
        words = "--at", f"@{STEP * 3}", "--window", "10min", "--match", "replica=a"
        assert ask(url, "h1", *words).exit_code == 0

    assert all('replica=~"a"' in query for query, _ in asked)
    assert len(asked) > 4


def test_a_device_below_itself_is_named():
    """A walk down such a stack has no end, and no stack of it is shown."""
    whole = history(REBOOT[:3], [1000] * 3)
    edge = {**LABELS, "__name__": exported.EDGE, "above": "sda", "below": "sda", "role": "data"}
    result, layers = opened_from(
        lambda q: (200, vector(DEVICE, edge)) if exported.INFO in q else whole(q), 3
    )

    assert "the input lists a device below itself" in result.stderr
    assert [each["top"] for each in layers["stacks"]] == ["sda"]


def test_a_corrected_clock_is_no_reboot():
    """The kernel's time of boot moves when the clock is corrected."""
    writes = [600 * n for n in range(1, 7)]
    result, layers = opened(writes, [1000, 1000, 1001, 1002, 1002, 1002])
    (stack,) = layers["stacks"]

    assert stack["layers"][0]["write"]["iops"] == pytest.approx(10.0)
    assert layers["seconds"] == 5 * STEP
    assert "rebooted" not in result.stderr
