"""``export --textfile --wear``: what disks say of their life, in a file of its own, asked for once per hour."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
USED = {"sda": 13, "sdb": 104}  # percent; sdc does not say, and sdd has no answer
GIGABYTES = 6659


@pytest.fixture
def capture(tmp_path):
    folder = tmp_path / "capture"
    shutil.copytree(SAMPLE, folder, symlinks=True)
    for disk in ("sda", "sdb", "sdc"):
        said = {"scsi_error_counter_log": {"write": {"gigabytes_processed": str(GIGABYTES)}}}
        if disk in USED:
            said["scsi_percentage_used_endurance_indicator"] = USED[disk]
        (folder / "cmd" / f"smartctl--dev-{disk}.txt").write_text(json.dumps(said))
    return str(folder)


def export(capture, *words):
    done = CliRunner().invoke(stackmap, ["--from", capture, "export", "--textfile", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def samples(text):
    """Return the metrics of wear: by name, its values by device."""
    return {
        family.name: {sample.labels.get("device"): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
        if "_life_" in family.name or "wear" in family.name
    }


def test_disks_say_how_much_of_their_life_is_used(capture):
    found = samples(export(capture, "-", "--wear"))

    assert found["stackmap_device_life_used_ratio"] == {"sda": 0.13, "sdb": 1.04}
    written = dict.fromkeys(("sda", "sdb", "sdc"), GIGABYTES * 1e9)
    assert found["stackmap_device_life_written_bytes"] == written
    assert samples(export(capture, "-")) == {}


def test_a_recording_in_parquet_has_what_its_disks_said(capture, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    done = CliRunner().invoke(
        stackmap, ["--from", capture, "export", "--parquet", "-o", f"{tmp_path}/t/"]
    )
    assert done.exit_code == 0, done.output
    (path,) = (tmp_path / "t/devices").glob("*/*/*.parquet")
    table = parquet.ParquetFile(path).read(["device", "life_used", "life_written"])
    found = {device: told for device, *told in zip(*table.to_pydict().values(), strict=True)}
    assert found["sda"] == [0.13, GIGABYTES * 1e9]
    assert found["sdc"] == [None, GIGABYTES * 1e9]
    assert found["sdd"] == found["dm-0"] == [None, None]


def test_the_disks_are_asked_once_per_hour(capture, tmp_path):
    """The other file is written each time; without the option this one stays as it is."""
    place = tmp_path / "textfile"
    place.mkdir()
    export(capture, str(place), "--wear")
    wear, whole = place / "stackmap-wear.prom", place / "stackmap.prom"
    (asked,) = samples(wear.read_text())["stackmap_wear_timestamp_seconds"].values()
    assert "_life_" not in whole.read_text()
    assert wear.stat().st_mode & 0o777 == 0o644

    first = wear.read_text().splitlines(keepends=True)[0]
    for age, is_asked in ((3590, False), (3610, True), (-10, True)):
        wear.write_text(first)
        whole.unlink()
        os.utime(wear, (asked - age, asked - age))
        export(capture, str(place))
        assert wear.read_text() == first
        export(capture, str(place), "--wear")
        assert (wear.read_text() != first, whole.exists()) == (is_asked, True), age


def test_a_file_of_others_is_not_replaced(capture, tmp_path):
    (tmp_path / "stackmap-wear.prom").write_text("node_x 1\n")
    done = CliRunner().invoke(
        stackmap, ["--from", capture, "export", "--textfile", str(tmp_path), "--wear"]
    )

    assert "was not written by stackmap" in str(done.exception)
    assert (tmp_path / "stackmap-wear.prom").read_text() == "node_x 1\n"


def test_it_needs_a_textfile(capture):
    done = CliRunner().invoke(stackmap, ["--from", capture, "export", "--openmetrics", "--wear"])

    assert done.exit_code == 2
    assert "--wear needs --textfile" in done.output
