"""The figures of a fleet are those of iostat on each host: through real exporters, scrapes and rules."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import product

import pytest
import requests
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.fleet import command as cli_fleet
from stackmap.features.fleet import host_source as reading
from stackmap.features.fleet import reader as fleet_reader
from tests.features.fleet.hosts import CLOCK, INTERVAL, SLOWER

NEAR = 0.02
WINDOW = "12s"
SERVERS = ("url", "victoria")


def run(*words: str, status: int = 0):
    result = CliRunner().invoke(stackmap, words)
    assert result.exit_code == status, result.output
    return result


def asked(fleet, server, expression):
    answer = requests.get(
        f"{getattr(fleet, server)}/api/v1/query",
        {"query": expression, "time": fleet.end},
        timeout=9,
    )
    return answer.json()["data"]["result"]


def scraped(fleet, server, name):
    """Return the first and the last scrape: its instant, and the host's own clock, in seconds."""
    found = asked(
        fleet,
        server,
        f'node_disk_reads_completed_total{{device="{CLOCK}",instance="{name}"}}[{WINDOW}]',
    )
    values = [(instant, float(value) / 1000) for instant, value in found[0]["values"]]
    return values[0], values[-1]


def scraped_at(fleet, server, name, instants):
    """Return the scrapes at *instants*."""
    found = asked(
        fleet,
        server,
        f'node_disk_reads_completed_total{{device="{CLOCK}",instance="{name}"}}[120s]',
    )
    values = {round(instant, 3): float(value) / 1000 for instant, value in found[0]["values"]}
    return [(instant, values[round(instant, 3)]) for instant in instants]


def iostat(fleet, name, first, last, tmp_path):
    """Return the stacks of iostat over the same instants, by kernel name."""
    host = fleet.hosts[name]
    (tmp_path / "diskstats").write_text(host.report(first, last))
    words = ["--from", str(host.path), "iostat", "-l", "-J", "--input", str(tmp_path / "diskstats")]
    stacks = json.loads(run(*words).stdout)["stacks"]
    return {stack["device"]: stack for stack in stacks}


@pytest.fixture(autouse=True)
def short_steps(monkeypatch):
    """A second is a minute here."""
    monkeypatch.setattr(cli_fleet, "SHORTEST", 1)
    monkeypatch.setattr(reading, "SHORTEST", float(INTERVAL))
    monkeypatch.setattr(reading, "INTERVALS", 150)


@pytest.fixture(params=SERVERS)
def server(request):
    return request.param


def fleet_says(fleet, server, *names, status=0):
    """Return what ``fleet`` answers over the whole time."""
    part = ("--at", f"@{fleet.end}", "--window", WINDOW)
    words = ["fleet", *names, "--url", getattr(fleet, server), *part, "-J"]
    return json.loads(run(*words, status=status).stdout)


def in_table(fleet, server):
    return fleet_says(fleet, server, status=64)


NAMES = ("once", "twice", "thin", "md", "zoo")


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_iostat_says(fleet, server, name, tmp_path):
    """Bytes, requests, cost, and what the disks did: within 2 % of the counters at the same instants."""
    if name not in fleet.hosts:
        pytest.skip("the captures of ../shared are missing")
    expected = iostat(fleet, name, *scraped(fleet, server, name), tmp_path)
    found = {v["top"]: v for v in in_table(fleet, server)["volumes"] if v["host"] == name}
    plain = {stack.top.name for stack in fleet.hosts[name].stacks if stack.plain}
    compared = 0

    assert not plain & found.keys()
    for top in expected.keys() - plain:
        stack = expected[top]
        head, volume = stack["layers"][0], found[top]
        # A volume whose layer is idle has no row in the fleet's rates only if it has no counters.
        for direction, key in (("read", "read_bytes"), ("write", "write_bytes")):
            assert volume[key] == pytest.approx(head[direction]["bytes"], rel=NEAR, abs=1)
        for direction, key in (("read", "reads"), ("write", "writes")):
            assert volume[key] == pytest.approx(head[direction]["iops"], rel=NEAR, abs=0.1)
        time = head["total"]["await"] if head["total"]["iops"] else None
        if volume["await"] is not None and time:
            assert volume["await"] == pytest.approx(time, rel=NEAR, abs=0.05)
        cost = (stack["parity"] or {}).get("cost_bytes_per_byte")
        if cost is not None:
            assert volume["cost_bytes_per_byte"] == pytest.approx(cost, rel=NEAR)
            compared += 1
        if (
            not stack["estimated"]
            and stack["disk_bytes_per_byte"] is not None
            and volume["disk_bytes_per_byte"] is not None
        ):
            assert volume["disk_bytes_per_byte"] == pytest.approx(
                stack["disk_bytes_per_byte"], rel=NEAR
            )
            compared += 1
    assert compared >= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_host_says_what_iostat_says(fleet, server, name, tmp_path):
    """Every figure of every layer, made by the same code from the stored counters."""
    if name not in fleet.hosts:
        pytest.skip("the captures of ../shared are missing")
    report = fleet_says(fleet, server, name)
    end = datetime.fromisoformat(report["layers"]["time"]).timestamp()
    instants = end - report["layers"]["seconds"], end
    expected = iostat(fleet, name, *scraped_at(fleet, server, name, instants), tmp_path)
    found = {stack["device"]: stack for stack in report["layers"]["stacks"]}
    busy = [
        top
        for top, stack in expected.items()
        if any(stack["layers"][0][d]["iops"] for d in ("read", "write"))
    ]
    assert set(busy) <= found.keys()
    compared = 0

    for top in busy:
        layers = zip(found[top]["layers"], expected[top]["layers"], strict=True)
        for mine, theirs in layers:
            assert mine["devices"] == theirs["devices"]
            for direction, key in product(("read", "write"), ("iops", "bytes", "size", "await")):
                value = theirs[direction][key]
                if value:
                    assert mine[direction][key] == pytest.approx(value, rel=NEAR, abs=0.5), (
                        top,
                        theirs["role"],
                        direction,
                        key,
                    )
                    compared += 1
            for direction in ("read", "write"):
                value = theirs["amplification"]["iops"][direction]
                if value:
                    assert mine["amplification"]["iops"][direction] == pytest.approx(
                        value, rel=NEAR
                    )
        if (expected[top]["parity"] or {}).get("cost_bytes_per_byte"):
            assert found[top]["parity"]["cost_bytes_per_byte"] == pytest.approx(
                expected[top]["parity"]["cost_bytes_per_byte"], rel=NEAR
            )
    assert compared >= 10


def test_counted_once_and_twice_are_the_same(fleet, server):
    """The weight corrects the kernel's double counting: both hosts have the same load."""
    found = {(v["host"], v["name"]): v for v in in_table(fleet, server)["volumes"]}
    once, twice = (found[host, "vghdd/vm-disk1"] for host in ("once", "twice"))

    assert once["write_bytes"] == pytest.approx(twice["write_bytes"], rel=NEAR)
    assert once["cost_bytes_per_byte"] == pytest.approx(twice["cost_bytes_per_byte"], rel=NEAR)
    assert once["level"] == "raid5"
    assert once["slowest_member"] == twice["slowest_member"]
    assert once["slowest_member"]["ratio"] == SLOWER


def test_a_host_without_topology_makes_the_result_partial(fleet, server):
    """It is named, and the exit status is 64."""
    report = in_table(fleet, server)

    assert report["schema"] == "stackmap.fleet/1"
    assert report["hosts"] == len(fleet.hosts)
    assert any("without topology" in line and "bare" in line for line in report["partial"])


def test_long_windows_use_the_hourly_means(fleet, server, monkeypatch):
    """The same figures, from the means of an hour."""
    short = {(v["host"], v["top"]): v for v in in_table(fleet, server)["volumes"]}
    monkeypatch.setattr(fleet_reader, "LONG", 1)
    long = {(v["host"], v["top"]): v for v in in_table(fleet, server)["volumes"]}

    assert long.keys() == short.keys()
    for key, volume in long.items():
        if volume["cost_bytes_per_byte"] is not None:
            assert volume["cost_bytes_per_byte"] == pytest.approx(
                short[key]["cost_bytes_per_byte"], rel=NEAR
            )
