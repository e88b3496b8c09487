"""The tables of a recording have what iostat, tree and explain say of it, in little space."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from stackmap.cli import stackmap
from stackmap.errors import InputError
from stackmap.features.export.parquet import TABLES
from stackmap.features.export.recording import write_recording
from stackmap.host.capture import CapturedHost
from stackmap.model.exported import RECORDINGS
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from tests.paths import ROOT
from tests.test_man import plain

duckdb = pytest.importorskip("duckdb")
SAMPLES = ROOT / "sample_topologies"
SAMPLE = SAMPLES / "vghdd"
STACKMAP = Path(sys.executable).with_name("stackmap")
MOST_BYTES = 60  # per device and interval


def run(*words, sample=SAMPLE):
    result = CliRunner().invoke(stackmap, ["--from", str(sample), *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The tables of all recorded samples in one directory."""
    place = tmp_path_factory.mktemp("fleet")
    for name in ("vghdd", "cold-cache"):
        run("export", "--parquet", "-o", f"{place}/", sample=SAMPLES / name)
    return place


@pytest.fixture
def sql(written, monkeypatch):
    """A function that answers a query as a user's does, after views.sql."""
    monkeypatch.chdir(written)
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute(Path("views.sql").read_text())
        yield lambda query: [
            tuple(row.values()) for row in connection.sql(query).to_arrow_table().to_pylist()
        ]


def test_intervals_have_what_iostat_counts(sql):
    """Rates of iostat times its seconds, for each device and interval."""
    columns = ("reads", "writes", "read_bytes", "write_bytes", "read_merges", "discards", "flushes")
    rows = sql(
        f"SELECT round(epoch_us(time) / 1e6, 4), device, seconds, {', '.join(columns)} FROM intervals WHERE day = '2026-11-21'"
    )
    found = {(time, device): (seconds, figures) for time, device, seconds, *figures in rows}
    count = 0
    for report in map(json.loads, run("iostat", "-J", "--report", "all").splitlines()):
        time = round(datetime.fromisoformat(report["time"]).timestamp(), 4)
        for each in report["devices"]:
            seconds, figures = found[time, each["name"]]
            assert seconds == pytest.approx(report["seconds"], abs=1e-6)
            for column, figure in zip(columns, figures, strict=True):
                rate = each[column]
                assert figure == (
                    None if rate is None else pytest.approx(rate * seconds, rel=1e-4, abs=0.01)
                )
                count += 1
    assert count == len(found) * len(columns) > 500


def test_layers_have_what_iostat_per_layer_has(sql):
    """Bytes of each layer of each stack, over all intervals."""
    report = json.loads(run("iostat", "--per-layer", "-J"))
    rows = sql(
        "SELECT top, layer, sum(read_bytes), sum(write_bytes) FROM layers WHERE day = '2026-11-21' GROUP BY ALL"
    )
    found = {(top, layer): figures for top, layer, *figures in rows}
    for stack in report["stacks"]:
        for number, layer in enumerate(stack["layers"]):
            moved = [layer[d]["bytes"] * report["seconds"] for d in ("read", "write")]
            assert found[stack["device"], number] == pytest.approx(moved, rel=1e-6)
    assert len(report["stacks"]) == 2


def test_findings_are_those_of_explain(sql):
    found = sql("SELECT id, device FROM findings WHERE day = '2026-11-21' AND NOT setup")
    explained = json.loads(run("explain", "-J"))["findings"]

    assert sorted(found) == sorted((e["id"], e["device"]) for e in explained if e["load"])
    assert ("SM202", "sda") in found


def test_identities_are_kept(sql):
    """LVM's UUID of a volume, and model and serial of each disk."""
    tree = json.loads(run("tree", "-J"))["devices"]
    uuids = dict(sql("SELECT DISTINCT name, uuid FROM stacks WHERE day = '2026-11-21'"))
    disks = sql("SELECT model, serial FROM devices WHERE day = '2026-11-21' AND device LIKE 'sd%'")

    assert all(uuid.startswith("LVM-") for uuid in uuids.values())
    assert set(uuids) <= {each["label"] for each in tree}
    assert len(disks) == sum(each["name"].startswith("sd") for each in tree) == 4
    assert all(model for model, _ in disks)


def test_the_schema_says_its_version_and_all_columns(written):
    told = json.loads((written / "schema.json").read_text())

    assert told["schema"] == RECORDINGS
    for table in TABLES:
        (first, *_) = written.glob(f"{table.name}/*/*/*.parquet")
        names = parquet.ParquetFile(first).schema_arrow.names
        assert names == [column["name"] for column in told["tables"][table.name]]


def test_the_same_recording_is_not_replaced_silently(written):
    words = [STACKMAP, "--from", SAMPLE, "export", "--parquet", "-o", f"{written}/"]
    before = sorted(written.rglob("*"))
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    replaced = subprocess.run([*words, "--force"], check=False)

    assert refused.returncode == 3
    assert "--force" in refused.stderr
    assert replaced.returncode == 0
    assert sorted(written.rglob("*")) == before


def test_a_time_that_no_calendar_has_is_refused(tmp_path):
    counters = (SAMPLE / "proc" / "diskstats").read_text()
    text = tmp_path / "counters.txt"
    text.write_text("".join(f"TS 26000000000{n}\n{counters}" for n in range(3)))
    result = CliRunner().invoke(
        stackmap, ["export", "--parquet", "-o", f"{tmp_path}/out/", "--input", str(text)]
    )

    assert isinstance(result.exception, InputError), result.output
    assert str(result.exception) == "the input has times beyond the year 9999"


def test_a_varied_load_needs_little_space(tmp_path):
    """A day of intervals of five minutes on the sample's devices, whose counts differ every time."""
    topology = CapturedHost(str(SAMPLE), print)
    from stackmap.discover import discover

    topology = discover(topology, geometry=True)
    chance = random.Random(11)

    def flow(base):
        requests = round(base * chance.lognormvariate(0, 0.7))
        size = round(chance.lognormvariate(2, 0.4)) * 4096
        wait = round(requests * chance.lognormvariate(1, 0.5))
        return Flow(requests / 300, 0.0, requests * size / 300, wait / 300)

    def load(base):
        return Load(flow(base), flow(base), Flow(0.0, 0.0, 0.0, 0.0), flow(base / 9), aqu=round(chance.lognormvariate(1, 1), 3), busy=round(chance.random(), 4))  # fmt: skip

    bases = {device.name: chance.lognormvariate(8, 1) for device in topology}
    reports = [
        (topology, topology, Interval({name: load(base) for name, base in bases.items()}, time=1.79e9 + 300 * n, seconds=300.0))
        for n in range(288)
    ]  # fmt: skip
    assert write_recording(str(tmp_path), reports, "", force=False) == 288
    size = sum(each.stat().st_size for each in tmp_path.rglob("*.parquet"))

    assert size / (288 * len(topology)) <= MOST_BYTES


def test_a_short_recording_needs_little_space(written):
    """Five intervals of 23 devices: each of ten files is little more than its rows."""
    files = [*written.glob("*/*/day=2026-11-21/*.parquet")]

    assert sum(each.stat().st_size for each in files) < 200 * 5 * 23
    assert len(files) == len(TABLES)


def test_a_strange_name_of_a_host_is_one_directory(tmp_path):
    """It cannot leave its place, and DuckDB gives it back."""
    host = "../a b/%41='x'"
    topology = CapturedHost(str(SAMPLE), print)
    from stackmap.discover import discover
    from stackmap.model.topology import Topology

    known = discover(topology, geometry=True)
    named = Topology(known, known.edges, machine=known.machine._replace(host=host))
    load = Load(Flow(1.0, 0.0, 4096.0, 1.0), Flow(1.0, 0.0, 4096.0, 1.0), aqu=0.1, busy=0.1)
    interval = Interval({"sda": load}, time=1.79e9, seconds=1.0)
    place = tmp_path / "d"
    write_recording(str(place), [(named, named, interval)], "", force=False)

    assert list(tmp_path.iterdir()) == [place]
    with duckdb.connect() as connection:
        files = f"read_parquet('{place}/intervals/*/*/*.parquet', hive_partitioning = true)"
        assert connection.execute(f"SELECT DISTINCT host FROM {files}").fetchall() == [(host,)]


def queries():
    """The queries of the manual with the question before each."""
    text = plain((ROOT / "man" / "stackmap-recordings.7").read_text()).partition(".SH SQL")[2]
    return re.findall(r"^-- (.*)\n((?:.+\n)*?.*;)$", text, re.MULTILINE)


def test_the_manual_has_ten_queries():
    assert len(queries()) == 10


@pytest.mark.parametrize(("question", "query"), queries())
def test_each_query_of_the_manual_is_answered(question, query, sql):
    rows = sql(query)

    empty = ("What was broken", "Which episodes")  # the samples have neither
    assert bool(rows) != question.startswith(empty)


def test_the_queries_say_what_iostat_says(sql):
    """RAID10 for the volume whose parity costs most, and what RAID5 cost in bytes."""
    by_question = dict(queries())
    ((host, name, saved),) = sql(next(q for k, q in by_question.items() if "RAID10" in k))
    cost = dict(sql(next(q for k, q in by_question.items() if "RAID5" in k)))
    report = json.loads(run("iostat", "--per-layer", "-J"))
    (stack,) = (each for each in report["stacks"] if each["parity"])
    top, members = stack["layers"][:2]
    moved = members["read"]["bytes"] + members["write"]["bytes"] - top["read"]["bytes"]

    assert (host, name) == ("lab", "vghdd/vm-disk1")
    assert saved == pytest.approx(moved - 2 * top["write"]["bytes"], rel=1e-4)
    written = top["write"]["bytes"] * report["seconds"] / 2**30
    assert cost["parity_read"] == pytest.approx(
        stack["causes"]["parity_read"]
        * (top["read"]["bytes"] + top["write"]["bytes"])
        * report["seconds"]
        / 2**30,
        rel=1e-3,
    )
    assert cost["parity_read"] > written
