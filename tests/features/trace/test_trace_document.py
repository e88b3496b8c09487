"""What ``trace`` prints of a recorded trace: every layer, and each device of a layer of several."""

from __future__ import annotations

import csv
from itertools import groupby

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.trace.arrivals import ArrivalStream, requests_of
from tests.paths import ROOT

CAPTURE = ROOT / "tests" / "traces" / "lvm-raid5-6.1.tar.gz"


def printed(*words):
    done = CliRunner().invoke(stackmap, ["--from", str(CAPTURE), "trace", *words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def rows():
    """The rows of CSV by stack, direction and layer: first the layer's, then those of its devices."""
    found = list(csv.DictReader(printed("--csv").splitlines()))
    by_layer = groupby(found, key=lambda row: (row["stack"], row["direction"], row["layer"]))
    return {place: [row for row in group if not row["part"]] for place, group in by_layer}


def test_the_devices_of_a_layer_sum_to_it(rows):
    """A layer of one device has no row but its own."""
    for whole, *parts in rows.values():
        assert not whole["member"]
        assert len(parts) != 1
        if parts:
            assert sum(int(each["requests"]) for each in parts) == int(whole["requests"])
    assert {len(group) for group in rows.values()} == {1, 5}


def test_the_largest_and_the_slowest_of_a_layer_are_those_of_a_device(rows):
    for whole, *parts in rows.values():
        for figure in ("size_max_bytes", "max_ms") if parts else ():
            known = [float(each[figure]) for each in parts if each[figure]]
            assert not known or float(whole[figure]) == max(known)


def test_percentiles_do_not_fall(rows):
    for row in (each for group in rows.values() for each in group):
        shares = [
            float(row[f"{name}_ms"])
            for name in ("p50", "p90", "p99", "p999", "max")
            if row[f"{name}_ms"]
        ]
        assert shares == sorted(shares)
        assert float(row["size_p50_bytes"]) <= float(row["size_max_bytes"])
        assert 0 <= float(row["sequential_share"]) <= 1


def test_each_stack_has_a_title_with_the_length_of_the_trace(rows):
    heads = [line.split()[0] for line in printed().splitlines() if line.endswith("  30 s")]
    assert sorted(heads) == sorted({stack for stack, *_ in rows})


class Pipe:
    """A kernel whose events of two CPUs come one CPU after the other."""

    TEXT = (
        "fio-7 [000] ..... 3.000011: block_bio_queue: 254,8 W 8 + 16 [fio]\n"
        "fio-7 [000] ..... 3.000047: block_bio_complete: 254,8 W 8 + 16 [0]\n"
        "fio-9 [001] ..... 3.000007: block_bio_queue: 254,3 R 64 + 8 [fio]\n"
        "fio-9 [001] ..... 3.000029: block_bio_complete: 254,3 R 64 + 8 [0]\n"
    )

    def __init__(self):
        self.written = {}
        self.unread = self.TEXT

    def write(self, path, text):
        self.written[path.rpartition("/stackmap/")[2]] = text

    def drain(self, *_):
        text, self.unread = self.unread, ""
        return text


def test_arrivals_are_in_the_order_of_their_times():
    """The first request is the one at 7 µs; it took 22 µs, the other 36."""
    host = Pipe()
    stream = ArrivalStream(host, ["254:8", "254:3"])
    stream.start()
    assert set(host.written.values()) >= {"1"}
    found = requests_of(stream.text())
    assert "1" not in host.written.values()

    ((read,), (write,)) = found["254:3"], found["254:8"]
    assert (read.time, read.operation, read.offset, read.size) == (0.0, "read", 64 * 512, 4096)
    assert read.done == pytest.approx(22e-6)
    assert (write.time, write.size) == (pytest.approx(4e-6), 8192)
    assert write.done - write.time == pytest.approx(36e-6)
