"""The table from recordings has the figures that iostat and explain have of them; bad files are named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import InputError
from stackmap.features.fleet import recordings
from stackmap.features.fleet.recording_files import NEEDED
from stackmap.model.device import Kind
from stackmap.model.raid import RAID_LEVELS
from tests.paths import ROOT

pytest.importorskip("duckdb")
STACKMAP = Path(sys.executable).with_name("stackmap")
SAMPLE = ROOT / "sample_topologies" / "vghdd"
DAY = "host=lab/day=2026-11-21"


def told(*words):
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLE), *words, "-J"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def fleet(place, *words):
    return CliRunner().invoke(stackmap, ["fleet", "--recordings", str(place), *words])


def by_hand(place):
    words = [STACKMAP, "fleet", "--recordings", place]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("recorded")
    for sample in ("vghdd", "cold-cache"):
        words = ["--from", str(SAMPLE.with_name(sample)), "export", "--parquet", "-o", f"{place}/"]
        result = CliRunner().invoke(stackmap, words)
        assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def place(recorded, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(recorded, tmp_path / "d")


def test_its_figures_are_those_of_iostat_and_explain(recorded):
    """Not derived again from the tables: iostat reads the recording itself."""
    answer = json.loads(fleet(recorded, "-J").stdout)
    volumes = {each["name"]: each for each in answer["volumes"]}
    report = told("iostat", "--per-layer")
    slow = next(each for each in told("explain")["findings"] if each["id"] == "SM202")
    ratio = next(each["value"] for each in slow["evidence"] if each["name"] == "ratio")
    for stack in report["stacks"]:
        volume, (top, *_, disks) = volumes[stack["top"]], stack["layers"]
        iops = top["read"]["iops"] + top["write"]["iops"]
        moved = sum(top[d]["bytes"] for d in ("read", "write"))
        waited = sum((top[d]["await"] or 0) * top[d]["iops"] for d in ("read", "write"))
        beside = sum(disks["metadata_io"][d]["bytes"] for d in ("read", "write"))
        at_disks = sum(disks[d]["bytes"] for d in ("read", "write")) + beside
        assert volume["iops"] == pytest.approx(iops, rel=1e-4)
        assert volume["await"] == pytest.approx(waited / iops, rel=1e-3)
        assert volume["read_bytes"] == pytest.approx(top["read"]["bytes"], rel=1e-4)
        assert volume["disk_bytes_per_byte"] == pytest.approx(
            stack["disk_bytes_per_byte"], rel=2e-3
        )
        ideal = volume["ideal_bytes_per_byte"] * top["write"]["bytes"]
        wasted = max(0.0, stack["disk_bytes_per_byte"] * moved - top["read"]["bytes"] - ideal)
        assert volume["wasted_bytes"] == pytest.approx(wasted, rel=1e-3, abs=1)
        assert at_disks > 0
        if stack["parity"]:
            assert volume["cost_bytes_per_byte"] == pytest.approx(
                stack["parity"]["cost_bytes_per_byte"], rel=1e-6
            )
        assert volume["slowest_member"] == {"device": slow["device"], "ratio": pytest.approx(ratio)}
    assert len(report["stacks"]) == 2
    assert answer["hosts"] == 1


def test_a_window_has_its_intervals_only(recorded):
    """Both bounds: the other day's recording is not among them."""
    words = "--window", "1h", "--at", "2026-11-21T10:40:00Z"
    names = {each["name"] for each in json.loads(fleet(recorded, "-J", *words).stdout)["volumes"]}

    assert names == {each["top"] for each in told("iostat", "--per-layer")["stacks"]}


def test_a_recording_that_lies_under_two_hosts_is_one(recorded, place):
    """As after a directory was copied to the new name of a host; its figures are not doubled."""
    for table in place.iterdir():
        if (table / "host=lab").is_dir():
            shutil.copytree(table / "host=lab", table / "host=new")
    answer = json.loads(fleet(place, "-J").stdout)

    assert answer["volumes"] == json.loads(fleet(recorded, "-J").stdout)["volumes"]
    assert answer["hosts"] == 1
    assert "a copy of a recording of lab" in answer["partial"][1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "2020-01-01"), "no volumes with"),
        (("--at", "2027-01-01T00:00:00Z", "--window", "1h"), "no volumes with"),
        (("--level", "raid6"), "no volumes of level raid6 with"),
    ],
)
def test_a_window_without_recordings_says_where_they_end(words, said, recorded):
    result = fleet(recorded, *words)

    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"{recorded}: {said} figures in the window; the newest recording ends at 2026-11-22 07:02:22 UTC: "
        "choose --at or --window"
    )


@pytest.mark.parametrize("table", recordings.STAGES)
def test_a_recording_without_the_file_of_a_table_is_named(table, place):
    """As after a copy that was cut short: the others are shown, and the result is partial."""
    (missing,) = (place / table / DAY).iterdir()
    missing.unlink()
    result = fleet(place, "-J")
    one, *_, named = json.loads(result.stdout)["partial"]

    assert result.exit_code == 64
    assert one == "1 recording without all files, of which figures are missing"
    assert named == f"{DAY}/{missing.name}: no file in {table}"


def test_what_is_sick_at_the_end_is_told(recorded):
    """The window ends with the recording of that day."""
    answer = json.loads(fleet(recorded, "-J", "--at", "2026-11-21T10:40:00Z").stdout)

    (sick,) = (each for each in answer["health"] if each["what"] == "sick")
    assert (sick["device"], sick["model"]) == ("sda", "QEMU HARDDISK")


def test_models_have_the_requests_of_their_disks(recorded):
    answer = json.loads(
        fleet(
            recorded, "-J", "--by", "model", "--window", "1h", "--at", "2026-11-21T10:40:00Z"
        ).stdout
    )
    report = told("iostat")
    models = {each["name"]: each["model"] for each in told("tree")["devices"]}
    disks = [
        each
        for each in report["devices"]
        if models[each["name"]] == "QEMU HARDDISK" and each["kind"] == "disk"
    ]

    (group,) = answer["groups"]
    assert group["troubles"] == [each["model"] for each in answer["health"]].count("QEMU HARDDISK")
    assert group["troubles"] > 0
    assert group["disks"] == len(disks)
    assert group["iops"] == pytest.approx(sum(e["reads"] + e["writes"] for e in disks), rel=1e-3)


@pytest.mark.parametrize("table", ["intervals", "weights", "stacks", "devices", "findings"])
@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"no Parquet at all", None])
def test_a_damaged_file_is_left_out_and_named(place, table, content):
    """Cut, empty or foreign: the others are used, and the exit status says so."""
    (path,) = (place / table / DAY).iterdir()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if content is None else content)
    result = fleet(place, "-J")

    answer = json.loads(result.stdout)
    assert result.exit_code == 64
    assert path.name in "".join(answer["partial"])
    assert "lab/slow" in {each["name"] for each in answer["volumes"]}


def test_a_file_with_other_columns_is_left_out(place):
    import pyarrow as pa
    from pyarrow import parquet

    (path,) = (place / "intervals" / DAY).iterdir()
    table = parquet.read_table(path, partitioning=None)
    strings = pa.array(["no number"] * len(table))
    parquet.write_table(table.set_column(table.column_names.index("reads"), "reads", strings), path)
    result = fleet(place, "-J")

    assert result.exit_code == 64
    assert path.name in "".join(json.loads(result.stdout)["partial"])


@pytest.mark.parametrize("table", ["devices", "intervals"])
def test_more_rows_than_its_bytes_can_hold_are_refused(recorded, table, monkeypatch):
    """Equal rows take no room in a file, and all of it in memory: 10 million took 1.1 GB."""
    monkeypatch.setattr(recordings, "FREE_ROWS", 0)
    monkeypatch.setattr(recordings, "ROWS_PER_BYTE", {"intervals": 5.0} | {table: 0.0001})
    result = fleet(recorded)

    assert isinstance(result.exception, InputError)
    assert f"{table} cannot be read" in str(result.exception)
    assert "are too many" in str(result.exception)


def test_endless_work_is_interrupted(recorded, monkeypatch):
    """Rows that all join with each other: in one line, after some CPU."""
    many = "range(1_000_000_000)"
    endless = f"SELECT count(*) FROM {many} a, {many} b WHERE a.range <> b.range + $begin - $end"
    monkeypatch.setattr(recordings, "LEAST_CPU", 0.1)
    monkeypatch.setattr(recordings, "SLOWEST", endless)
    result = fleet(recorded)

    assert isinstance(result.exception, InputError)
    assert str(result.exception) == f"{recorded}: {recordings.TOO_MUCH}"


@pytest.mark.parametrize("table", ["intervals", "devices"])
def test_what_is_no_regular_file_is_left_out(place, table):
    """A named pipe would never end; a link leads nowhere."""
    os.mkfifo(place / table / DAY / "pipe.parquet")
    (place / table / DAY / "link.parquet").symlink_to("nowhere")
    result = fleet(place, "-J")

    left_out = "".join(json.loads(result.stdout)["partial"])
    assert result.exit_code == 64
    assert "pipe.parquet: no regular file" in left_out
    assert "link.parquet: no regular file" in left_out


def test_a_file_without_host_and_day_is_no_recording(place):
    before = fleet(place, "-J").stdout
    (path,) = (place / "stacks" / DAY).iterdir()
    (place / "stacks" / "x" / "y").mkdir(parents=True)
    shutil.copy(path, place / "stacks" / "x" / "y" / path.name)

    assert fleet(place, "-J").stdout == before


def test_without_any_good_file_it_fails_in_one_line(place):
    for path in place.glob("stacks/*/*/*.parquet"):
        path.write_bytes(b"x")
    done = by_hand(place)

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "stacks" in done.stderr


def test_a_place_without_recordings_is_said(tmp_path):
    for place in (tmp_path, tmp_path / "none"):
        done = by_hand(place)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["db1"], ["--url", "http://x"], ["--job", "x"], ["--by", "rack"]]
)
def test_what_only_prometheus_has_is_refused(recorded, words):
    assert fleet(recorded, *words).exit_code == 2


def test_without_duckdb_its_package_is_named(recorded):
    program = "import sys; sys.modules['duckdb'] = None; from stackmap.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "fleet", "--recordings", recorded],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"stackmap: {NEEDED}\n"


def test_s3_has_the_same_answer(recorded, monkeypatch):
    """From a server of S3 in this process."""
    moto = pytest.importorskip(
        "moto.server", reason="moto is not installed: pip install 'moto[server]'"
    )
    boto3 = pytest.importorskip("boto3")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "y"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        address = f"127.0.0.1:{server.get_host_and_port()[1]}"
        client = boto3.client("s3", endpoint_url=f"http://{address}")
        client.create_bucket(Bucket="bucket")
        for path in recorded.rglob("*.parquet"):
            client.upload_file(str(path), "bucket", f"fleet/{path.relative_to(recorded)}")
        result = fleet(f"s3://bucket/fleet?scheme=http&endpoint_override={address}", "-J")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout) == json.loads(fleet(os.fspath(recorded), "-J").stdout)
    finally:
        server.stop()


def test_a_table_with_too_many_rows_stays_as_it_was():
    """Of a file that claims few bytes: its rows are taken back, or the table is not made."""
    duckdb = pytest.importorskip("duckdb")
    reader = recordings._Reader.__new__(recordings._Reader)
    reader._connection = duckdb.connect()

    def put(into, count, most):
        reader._put(into, "t", f"SELECT range AS a FROM range({count})", {}, most)

    with pytest.raises(ValueError, match="more than 4 rows"):
        put("CREATE TEMP TABLE t AS", 5, 4)
    put("CREATE TEMP TABLE t AS", 5, 5)
    with pytest.raises(ValueError, match="more than 2 rows"):
        put("INSERT INTO t", 3, 2)
    assert reader._rows("SELECT count(*) FROM t") == [(5,)]
    put("INSERT INTO t", 3, 3)
    assert reader._rows("SELECT count(*), max(a) FROM t WHERE a < $most", {"most": 4}) == [(7, 3)]


def test_a_volume_without_a_level_has_its_kind(recorded):
    """A linear LV is a volume; a RAID5 is a raid5, and both are chosen by that."""
    volumes = json.loads(fleet(recorded, "-J").stdout)["volumes"]
    levels = {each["level"] for each in volumes}
    assert "" not in levels
    assert None not in levels
    assert "raid5" in levels
    assert levels - set(RAID_LEVELS) <= {str(kind) for kind in Kind}
    for level in levels:
        chosen = json.loads(fleet(recorded, "-J", "--level", level).stdout)["volumes"]
        assert {each["name"] for each in chosen} == {
            each["name"] for each in volumes if each["level"] == level
        }
