"""``export --textfile`` writes a file for node_exporter that promtool accepts without a remark."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import InputError, OutputRefused
from stackmap.features.fleet import exported_topology
from stackmap.host.capture import CapturedHost
from stackmap.model import exported as exported_metrics
from tests.features.fleet.servers import HERE, RULES, node_exporter, program

SAMPLES = HERE / "sample_topologies"
CAPTURES = HERE.parent / "shared" / "captures"
MACHINES = [
    *(path for path in sorted(SAMPLES.iterdir()) if path.is_dir()),
    *(
        CAPTURES / name
        for name in ("zoo/healthy.tar.gz", "zoo/degraded.tar.gz", "vghdd-6.12/capture.tar.gz")
    ),
]
SERIALS = ("serial", "wwn", "DRAWN0", "LABSCSI")


def export(path, *words):
    if not Path(path).exists():
        pytest.skip("the captures of ../shared are missing")
    return CliRunner().invoke(stackmap, ["--from", str(path), "export", "--textfile", *words])


def samples(text):
    """Return each metric's samples: labels and value."""
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_promtool_is_silent(path):
    """Names, types and help texts are as Prometheus wants them."""
    text = export(path, "-").stdout
    done = subprocess.run(
        [program("promtool"), "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_no_timestamps_no_serial_numbers_no_duplicates(path):
    text = export(path, "-").stdout
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    assert all(line.rsplit("} ", 1)[-1].split(" ")[-1:] for line in lines)
    assert all(" " not in line.rsplit("}", 1)[-1].strip() for line in lines if "}" in line)
    assert not [word for word in SERIALS if word in text]
    for device in discover(CapturedHost(str(path), print), geometry=True):
        own = (device.serial, device.wwn, "" if device.layout or device.dm_name else device.uuid)
        assert not [word for word in own if len(word) > 7 and word in text]
    assert len({line.rsplit(" ", 1)[0] for line in lines}) == len(lines)


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_the_topology_comes_back(path):
    """Devices, edges, layouts and what decides corrections."""
    found = samples(export(path, "-").stdout)
    here = discover(CapturedHost(str(path), print), geometry=True)
    lengths = {
        (each["above"], each["below"], each["role"]): value
        for each, value in found.get("stackmap_edge_bytes", ())
    }
    kernel = found["stackmap_build_info"][0][0]["kernel"]
    devices, edges = (
        [{k: v for k, v in labels.items() if v} for labels, _ in found.get(name, ())]
        for name in ("stackmap_device_info", "stackmap_edge_info")
    )
    there = exported_topology.topology("h", kernel, devices, edges, lengths)

    assert [device.name for device in there] == [device.name for device in here]
    for device in here:
        again = there[device.name]
        assert again.title == device.title
        assert (again.kind, again.target, again.layout) == (
            device.kind,
            device.target,
            device.layout,
        )
        assert (again.merges, again.size) == (device.merges, device.size)
        assert {(e.below, e.role) for e in there.below(device.name)} == {
            (e.below, e.role) for e in here.below(device.name)
        }
    assert there.machine.kernel == here.machine.kernel


def test_the_order_of_series_is_always_the_same():
    """Another order each minute would make a diff of two files useless."""
    words = [sys.executable, "-m", "stackmap", "--from", str(SAMPLES / "vghdd")]
    texts = {
        subprocess.run(
            [*words, "export", "--textfile", "-"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(texts) == 1


def test_it_is_readable_and_replaces_only_its_own_file(tmp_path):
    """Mode 0644 whatever the umask, nothing left beside it, and no file of another program is lost."""
    os.umask(0o077)
    assert export(SAMPLES / "vghdd", str(tmp_path)).exit_code == 0
    file = tmp_path / "stackmap.prom"

    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert sorted(os.listdir(tmp_path)) == ["stackmap.prom", "stackmap.samples"]
    inode = file.stat().st_ino
    assert export(SAMPLES / "vghdd", str(tmp_path)).exit_code == 0
    assert file.stat().st_ino != inode  # by rename

    file.write_text("other_metric 1\n")
    assert isinstance(export(SAMPLES / "vghdd", str(tmp_path)).exception, OutputRefused)
    assert file.read_text() == "other_metric 1\n"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("precious")
    (tmp_path / "stackmap.prom").symlink_to(tmp_path / "target")

    assert export(SAMPLES / "vghdd", str(tmp_path)).exit_code != 0
    assert (tmp_path / "target").read_text() == "precious"


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "stackmap.prom")
    words = ["--from", SAMPLES / "vghdd", "export", "--textfile", tmp_path]

    done = subprocess.run([sys.executable, "-m", "stackmap", *words], timeout=60, check=False)

    assert done.returncode == 3


def test_too_many_series_are_refused():
    result = export(SAMPLES / "vghdd", "-", "--max-series", "10")

    assert isinstance(result.exception, InputError)
    assert "series, more than --max-series 10" in str(result.exception)


def test_the_number_of_series_is_as_documented():
    """stackmap-fleet(7): V (1 + 3M) weights for LVM RAID."""
    found = samples(export(SAMPLES / "vghdd", "-").stdout)

    assert len(found["stackmap_layer_weight"]) == 2 * (1 + 3 * 4)
    assert len(found["stackmap_device_info"]) == len(
        discover(CapturedHost(str(SAMPLES / "vghdd"), print))
    )


def test_only_the_named_volumes():
    found = samples(export(SAMPLES / "vghdd", "-", "vm-disk1").stdout)

    assert {labels["name"] for labels, _ in found["stackmap_stack_info"]} == {"vghdd/vm-disk1"}


def test_every_rule_and_alert_is_tested():
    """promtool runs the tests, which name each rule and each alert."""
    import yaml

    tests = RULES.with_name("stackmap.rules.test.yml")
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(tests)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rules = [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]
    (case,) = yaml.safe_load(tests.read_text())["tests"]
    queried = " ".join(each["expr"] for each in case["promql_expr_test"])

    assert [
        rule["record"] for rule in rules if "record" in rule and rule["record"] not in queried
    ] == []
    assert {rule["alert"] for rule in rules if "alert" in rule} == {
        each["alertname"] for each in case["alert_rule_test"]
    }


DEVICES = (
    "sda", "sda1", "vda3", "xvdb2", "hda1", "nvme0n1", "nvme0n1p2", "loop0", "ram0", "fd0", "zram0",
    "dm-0", "md0", "md0p1", "mmcblk0p1", "nbd0p1", "dasda1", "sr0",
)  # fmt: skip


def test_what_node_exporter_leaves_out_is_known(tmp_path):
    """The textfile has the counters of exactly the devices that a real node_exporter leaves out by default."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "textfile").mkdir()
    (tmp_path / "proc" / "stat").write_text("cpu  1 1 1 1 1 1 1 0 0 0\nbtime 1700000000\n")
    lines = (f"   8   {n} {name}{' 7' * 17}\n" for n, name in enumerate(DEVICES))
    (tmp_path / "proc" / "diskstats").write_text("".join(lines))
    with (
        node_exporter(tmp_path) as address,
        urllib.request.urlopen(f"http://{address}/metrics") as answer,
    ):
        found = samples(answer.read().decode())["node_disk_written_bytes"]
    seen = {labels["device"] for labels, _ in found}

    # zram since 1.6; where both have it, the rules take node_exporter's
    assert {name for name in DEVICES if exported_metrics.is_exported(name)} == seen - {"zram0"}


def test_every_device_that_the_rules_need_has_counters():
    """An array on partitions: node_exporter leaves its members out."""
    found = samples(export(CAPTURES / "zoo" / "healthy.tar.gz", "-").stdout)
    needed = {labels["device"] for labels, _ in found["stackmap_layer_weight"]}
    own = {labels["device"] for labels, _ in found["stackmap_device_written_bytes"]}

    left_out = {name for name in needed if not exported_metrics.is_exported(name)}
    assert left_out
    assert left_out <= own
