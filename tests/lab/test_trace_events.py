"""``trace --events --follow`` and ``blame --trace``, judged by what was written and by the disks' counters."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from stackmap.sources import diskstats

pytestmark = pytest.mark.lab("all")

PAGE, MIB = 4096, 1024**2
WRITES = {"r5": 1000, "lin": 100, "r10": 100, "thin": 100, "crypt": 100, "m5": 100}
LOADS = pytest.mark.parametrize("load", [*WRITES, "buffered"])


@pytest.fixture(scope="module")
def out(lab, kernel):
    # One thread of QEMU: with several the kernel ran code while it patched it (6.12, twice of two).
    return lab("trace-events", kernel=kernel, disks=8, timeout=5400, thread="single")


def traced(out, load):
    """Return the requests of a load, and the totals after them."""
    *requests, totals = map(json.loads, (out / f"{load}.events").read_text().splitlines())
    return requests, totals


def counters(out, load):
    """The counters before and after a load."""
    text = (out / f"{load}.diskstats").read_text()
    return [diskstats.parse(half.splitlines()[1:]) for half in text.split("TS ")[1:]]


def at_disks(requests):
    """What the disks were sent, after merging."""
    return [each for each in requests if each["dispatched"]]


@LOADS
def test_nothing_is_lost_and_every_disk_request_has_a_cause(out, load):
    requests, totals = traced(out, load)
    assert totals["lost"] == {"events": 0}
    assert totals["unknown"] == 0
    assert totals["disk_requests"] == len(at_disks(requests))
    known = {each["id"] for each in requests}
    assert all(set(each["caused_by"]) <= known for each in requests)


@LOADS
def test_sums_equal_the_counters_of_the_disks(out, load):
    """Bytes, and requests with merges, of each disk; an empty flush is a write to the counters."""
    requests, _ = traced(out, load)
    sums = defaultdict(Counter)
    for each in at_disks(requests):
        sums[each["device"]][each["operation"], "bytes"] += each["size"]
        sums[each["device"]][each["operation"], "arrivals"] += 1 + each["merged"]
    before, after = counters(out, load)
    for name, sum_ in sums.items():
        first, last = before[name], after[name]
        assert sum_["read", "bytes"] == last.read_bytes - first.read_bytes
        assert sum_["write", "bytes"] == last.write_bytes - first.write_bytes
        reads = last.reads + last.read_merges - first.reads - first.read_merges
        assert sum_["read", "arrivals"] == reads
    busy = {n for n in after if n in before and after[n].write_bytes != before[n].write_bytes}
    assert {name for name in busy if name.startswith("sd")} == set(sums)


@pytest.mark.parametrize("load", WRITES)
def test_each_write_is_there_with_what_it_caused(out, load):
    """All pages written below belong to writes of fio; a write of RAID has two below at least."""
    requests, _ = traced(out, load)
    # RAID10 writes its bitmap in the thread of the writer.
    loads = [each for each in requests if each["command"] == "fio" and not each["role"]]
    top = [each for each in loads if not each["caused_by"]]
    assert len(top) == WRITES[load]
    assert {each["size"] for each in top} == {PAGE}
    below = Counter(
        id_ for each in requests if each["operation"] == "write" for id_ in each["caused_by"]
    )
    least = 2 if load in ("r5", "r10", "m5") else 1
    assert all(below[each["id"]] >= least for each in top)
    assert all(each["latency_us"] > 0 for each in top)


@pytest.mark.parametrize("load", ["r5", "m5"])
def test_parity_is_written_once_per_row_update(out, load):
    """A write of one page updates its data page and one parity page."""
    requests, _ = traced(out, load)
    roles = Counter(
        each["role"]
        for each in at_disks(requests)
        if each["operation"] == "write" and each["size"] == PAGE
    )
    assert roles["parity"] == pytest.approx(roles["data"], rel=0.02)


def test_lost_events_are_counted_and_said(out):
    """Each of 6,000 reads is queued and complete: what was read and what was lost are 12,000 events."""
    _, totals = traced(out, "lost")
    lost = totals["lost"]["events"]
    first, last = counters(out, "lost")
    label = next(name for name in last if last[name].reads - first[name].reads == 6000)
    assert label.startswith("dm-")
    assert lost > 0
    assert lost + totals["events"] == 12_000


def test_each_layer_of_luks_on_a_volume_is_traced(out):
    """100 writes of 4 KiB and 100 reads of 8 KiB at all three layers; the disk's time is divided at the dispatch."""
    (stack,) = json.loads((out / "crypt.json").read_text())["stacks"]
    crypt, volume, disk = stack["layers"]
    assert [each["role"] for each in stack["layers"]] == ["crypt", "volume", "disks"]
    for layer in (crypt, volume, disk):
        for direction, size in (("write", PAGE), ("read", 2 * PAGE)):
            found = layer[direction]
            assert found["size_bytes"]["histogram"] == [[size, size, 100]]
            assert sum(n for _, _, n in found["latency_us"]["histogram"]) == 100
    for direction in ("write", "read"):
        found = disk[direction]
        parts = (found["queue_to_dispatch_us"], found["dispatch_to_complete_us"])
        assert [sum(n for _, _, n in part["histogram"]) for part in parts] == [100, 100]
        whole = found["latency_us"]["p50"]
        assert parts[0]["p50"] < whole
        assert parts[0]["p50"] + parts[1]["p50"] == pytest.approx(whole, rel=0.3)
        assert crypt[direction]["latency_us"]["p50"] > whole


def owned(out, device):
    found = json.loads((out / "blame.json").read_text())
    assert found["lost"] == {"hits": 0}
    return {each["owner"]: each for each in found["cgroups"] if each["device"] == device}


def test_services_wrote_what_they_wrote_at_the_volume_and_the_disk(out):
    """Buffered writes too, which a kernel thread submits; file system metadata is the kernel's."""
    found = json.loads((out / "blame.json").read_text())
    devices = {each["device"] for each in found["cgroups"]}
    assert "sda" in devices
    assert len(devices) == 2
    for device in devices:
        services = owned(out, device)
        assert services["service alpha"]["write"]["bytes"] == 8 * MIB
        assert services["service beta"]["write"]["bytes"] == 5 * MIB
        assert services["service beta"]["read"]["bytes"] >= 3 * MIB
        assert services["service alpha"]["write"]["latency_us"] > 0


def test_processes_are_named(out):
    found = json.loads((out / "blame.json").read_text())
    direct = [each for each in found["processes"] if each["command"] == "dd"]
    assert sum(each["write"]["bytes"] for each in direct if each["device"] == "sda") >= 3 * MIB


def test_nothing_is_left(out):
    assert (out / "left.txt").read_text() == ""
