"""What is exported is what iostat says, and other programs read it."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyarrow import parquet

from stackmap.cli import stackmap
from stackmap.features.export import time_series as rendering
from stackmap.features.export.parquet import NEEDED
from stackmap.features.export.time_series import UNITS, named, openmetrics, time_series
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS, Flow, Load
from stackmap.model.topology import Topology
from tests.drawn import passing
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
STACKMAP = Path(sys.executable).with_name("stackmap")
COMMAND = ["--from", str(SAMPLE)]


def run(*words):
    result = CliRunner().invoke(stackmap, [*COMMAND, *words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def reports():
    """What iostat says of each interval."""
    lines = run("iostat", "-J", "--report", "all").splitlines()
    return [json.loads(line) for line in lines]


def test_openmetrics_has_every_figure(reports):
    """As another's parser reads it: each metric of each device at each instant, in base units."""
    families = {f.name: f for f in text_string_to_metric_families(run("export", "--openmetrics"))}
    expected = {
        (name, each["name"], round(report["time_s"], 4)): each[metric.key] * factor
        for report in map(with_time, reports)
        for each in report["devices"]
        for metric in METRICS
        for name, _, factor in [named(metric)]
        if each[metric.key] is not None
    }
    found = {
        (name, s.labels["device"], round(float(s.timestamp), 4)): s.value
        for name, family in families.items()
        for s in family.samples
    }

    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(value, rel=1e-9) for key, value in expected.items())
    assert len(expected) > 1000


def with_time(report):
    from datetime import datetime

    return {**report, "time_s": datetime.fromisoformat(report["time"]).timestamp()}


def test_each_family_says_what_it_is():
    """Type, unit as the end of the name, and help, from the one table."""
    families = list(text_string_to_metric_families(run("export", "--openmetrics", "vm-disk1")))

    assert [(f.name, f.type, f.unit, f.documentation) for f in families] == [
        (named(m)[0], "gauge", named(m)[1], m.help) for m in METRICS
    ]
    assert all(f.name.endswith(f.unit) for f in families)
    assert len({f.name for f in families}) == len(METRICS)


def test_every_unit_has_a_name():
    assert {metric.unit for metric in METRICS} <= UNITS.keys()


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\\", "a\nb", "{}", 'x"} 1\n# EOF', "größe"])
def test_names_from_the_system_are_read_back(name):
    """No name ends its label, a line or the text."""
    load = Load(Flow(2.0, 0.0, 3.0, 5.0), Flow(7.0, 0.0, 11.0, 13.0), aqu=17.0, busy=0.19)
    topology = Topology([passing("dm-0", label=name)])
    with BytesIO() as store:
        found = time_series([(topology, Interval({"dm-0": load}, time=23.5))], store)
        text = "".join(openmetrics(found, store))
    families = list(text_string_to_metric_families(text))

    labels = {sample.labels["name"] for family in families for sample in family.samples}
    assert labels == {name.replace("\n", "\\n")}
    assert families[0].samples[0].value == 2.0


def test_what_is_not_held_is_the_same(monkeypatch, tmp_path):
    """Put away after every interval, and read back device by device: the same text, to the letter."""
    held = run("export", "--openmetrics")
    monkeypatch.setattr(rendering, "HELD", 1)
    out = tmp_path / "x.txt"
    run("export", "--openmetrics", "-o", str(out))

    assert out.read_text() == held
    assert list(tmp_path.iterdir()) == [out]


def test_memory_does_not_grow_with_the_recording(monkeypatch):
    """A store is given every figure but the last ones."""

    class Counting(BytesIO):
        size = 0

        def write(self, content):
            self.size += len(content)
            return super().write(content)

    monkeypatch.setattr(rendering, "HELD", 10 * len(METRICS))
    topology = Topology([passing("dm-0", label="vg/lv")])
    load = Load(Flow(2.0, 0.0, 3.0, 5.0), Flow(7.0, 0.0, 11.0, 13.0), aqu=17.0, busy=0.19)
    reports = ((topology, Interval({"dm-0": load}, time=float(n))) for n in range(1000))
    with Counting() as store:
        (course,) = time_series(reports, store).values()
        times = [time for part, _ in course.of(0, store) for time in part]

    assert len(course.times) <= 10
    assert store.size == (1000 - len(course.times)) * (1 + len(METRICS)) * 8
    assert times == [float(number) for number in range(1000)]


def test_parquet_has_every_figure(reports, tmp_path):
    """Read back: a row a device an interval, unknown as null, and each column says its unit."""
    out = tmp_path / "figures.parquet"
    run("export", "--parquet", "-o", str(out))
    table = parquet.read_table(out)
    rows = {(round(row["time"].timestamp(), 4), row["device"]): row for row in table.to_pylist()}

    expected = {
        (round(report["time_s"], 4), each["name"]): [each[metric.key] for metric in METRICS]
        for report in map(with_time, reports)
        for each in report["devices"]
    }
    assert {key: [row[metric.key] for metric in METRICS] for key, row in rows.items()} == expected
    assert table.schema.field("read_await").metadata[b"unit"] == b"ms"
    assert {row["name"] for row in rows.values()} > {"vghdd/vm-disk1"}


def test_without_pyarrow_it_is_said(tmp_path):
    """One line, status 1, and no file."""
    out = tmp_path / "x.parquet"
    program = "import sys; sys.modules['pyarrow'] = None; from stackmap.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *COMMAND, "export", "--parquet", "-o", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"stackmap: {NEEDED}\n"
    assert not out.exists()


@pytest.mark.parametrize("words", [[], ["--parquet"]])
def test_what_is_missing_is_said(words):
    result = CliRunner().invoke(stackmap, [*COMMAND, "export", *words])
    assert result.exit_code == 2
    assert "--parquet" in result.output


@pytest.mark.parametrize("forms", [("--openmetrics", "--parquet"), ("--parquet", "--openmetrics")])
def test_one_file_is_of_one_form(forms, tmp_path):
    """Whichever stands last, none is taken silently; and nothing is written."""
    out = tmp_path / "e.pq"
    result = CliRunner().invoke(stackmap, [*COMMAND, "export", *forms, "-o", str(out)])

    assert result.exit_code == 2
    assert "choose one format" in result.output
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_said(tmp_path):
    """One line that names it, for both forms."""
    for form in ("--openmetrics", "--parquet"):
        done = subprocess.run(
            [STACKMAP, *COMMAND, "export", form, "-o", tmp_path / "no" / "x"],
            capture_output=True,
            text=True,
            check=False,
        )
        (line,) = done.stderr.splitlines()
        assert done.returncode == 1
        assert str(tmp_path / "no" / "x") in line


@pytest.mark.parametrize("more", [["-o", "x"], ["--force"]])
def test_a_textfile_has_its_own_place(more, tmp_path):
    """-o and --force are for a file of another format."""
    result = CliRunner().invoke(stackmap, [*COMMAND, "export", "--textfile", str(tmp_path), *more])

    assert result.exit_code == 2
    assert not list(tmp_path.iterdir())
