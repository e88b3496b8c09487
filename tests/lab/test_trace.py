"""
``trace`` in the lab: rows that a load must give, latencies that a target adds, and every kind of trouble.

Each load runs while a trace runs, so the trace has all of it and nothing else.
"""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.lab("all")

DISKS = {"raid": 6, "stacked": 6, "latency": 8, "trouble": 4}
PAGE = 4096
NEAR = 0.051  # the width of a bucket

# Of each load: data pages written, rows of one page, and the share of its bytes in full stripes; None: see the test.
ROWS = {
    ("raid", "one-page"): (256, 256, 0),
    ("raid", "one-page-32"): (1024, 1024, 0),
    ("raid", "aligned"): (40 * 48, None, 1),
    ("raid", "off-by-half"): (20 * 48, None, 0),
    ("raid", "sequential-1m"): (24 * 256, None, 0.875),
    ("raid", "mixed"): (None, None, None),
    ("raid", "buffered"): (4096, None, None),
    ("raid", "tiny"): (64, 64, 0),
    ("raid", "wide-one-page"): (256, 256, 0),
    ("stacked", "thin"): (20 * 48, None, 1),
    ("stacked", "md-one-page"): (256, 256, 0),
    ("stacked", "md-aligned"): (20 * 80, None, 1),
    ("stacked", "md-below-lvm"): (20 * 80, None, 1),
    ("stacked", "raid6-aligned"): (20 * 64, None, 1),
    ("stacked", "raid6-one-page"): (64, 64, 0),
}
EARLY = 0.1  # the share of a load whose rows md may handle before all their pages arrived


@pytest.fixture
def outputs(lab, kernel):
    """``outputs("raid")`` → what the scenario left of that case."""

    def of(case):
        # Latencies are compared with a target's own: the guest's time must not depend on this machine's load.
        clock = {"icount": 0} if case == "latency" else {}
        return lab("trace", case, kernel=kernel, disks=DISKS[case], timeout=5400, **clock)

    return of


def said(out, name):
    return json.loads((out / f"{name}.json").read_text())


def only_stack(out, name):
    (stack,) = said(out, name)["stacks"]
    return stack


def layer(stack, role):
    return next(each for each in stack["layers"] if each["role"] == role)


@pytest.mark.parametrize("load", ROWS, ids="-".join)
def test_rows_are_those_that_the_load_must_give(outputs, load):
    """
    Every page in a row, a self-check of 1, and the range of the counters around the share.

    On a slow machine md handles some rows before all their pages have arrived, 6.12 more
    often than 6.1. They are partial rows then, to the counters too; no page is lost. Where the
    kernel skipped hits of a probe, trace says how many, and up to 0.5 % may be off.
    """
    case, name = load
    parity = only_stack(outputs(case), name)["parity"]
    missing = 5e-3 if said(outputs(case), name)["lost"]["hits"] else 0.0
    pages, single, share = ROWS[load]
    by_pages = {int(k): n for k, n in parity["by_pages"].items()}
    if pages is not None:
        assert sum(k * n for k, n in by_pages.items()) == pytest.approx(
            pages, rel=missing, abs=0.01
        )
    assert sum(parity["rows"].values()) == pytest.approx(sum(by_pages.values()))
    if single is not None:
        assert by_pages[1] == single
    if share is not None:
        assert share * (1 - EARLY) <= parity["full_stripe_share"] <= share + missing
    if name == "tiny":  # less than a page each
        assert parity["self_check"] is None
        return
    assert parity["self_check"] == pytest.approx(1.0, abs=max(missing, 1e-4))
    counters, near = parity["counters"], max(missing, 1e-3)
    if counters["low"] is not None:
        assert counters["low"] - near <= parity["full_stripe_share"] <= counters["high"] + near


def test_two_volumes_at_once_are_told_apart(outputs):
    found = {stack["top"]: stack["parity"] for stack in said(outputs("raid"), "two")["stacks"]}
    assert found["t/r5"]["full_stripe_share"] >= 1 - EARLY
    assert sum(int(k) * n for k, n in found["t/r5"]["by_pages"].items()) == pytest.approx(20 * 48)
    assert found["t/wide"]["rows"] == {"full": 0, "reconstruct": 0, "read_modify": 128}
    assert found["t/r5"]["self_check"] == found["t/wide"]["self_check"] == pytest.approx(1.0)


def test_sizes_are_those_that_were_requested(outputs):
    stack = only_stack(outputs("raid"), "reads")
    top = layer(stack, "volume")
    assert top["write"] is None
    assert top["read"]["count"] == 128
    assert top["read"]["size_bytes"]["histogram"] == [[16384, 16384, 128]]
    assert top["read"]["latency_us"]["p50"] >= layer(stack, "disks")["read"]["latency_us"]["p50"]
    aligned = layer(only_stack(outputs("raid"), "aligned"), "volume")["write"]
    assert aligned["sequential"] >= 39 / 40
    assert layer(only_stack(outputs("raid"), "one-page"), "volume")["write"]["sequential"] < 0.1


def fio_percentiles(out, name):
    """What fio saw, in microseconds."""
    job = json.loads((out / f"{name}-says.json").read_text())["jobs"][0]
    return {key: ns / 1000 for key, ns in job["read"]["clat_ns"]["percentile"].items()}


def test_the_layer_that_is_late_is_found(outputs):
    """A delay target of 20 ms: at it p50 is what fio saw, which is late itself here; below it, it is not late."""
    out = outputs("latency")
    top, below, *_ = only_stack(out, "delay")["layers"]
    median = top["read"]["latency_us"]["p50"]
    assert median >= 20_000 * (1 - NEAR)
    assert median == pytest.approx(fio_percentiles(out, "delay")["50.000000"], rel=NEAR)
    assert below["read"]["latency_us"]["p50"] < median / 4


def test_percentiles_of_a_disk_are_fios(outputs):
    """Within a bucket, and what a system call takes here above the kernel's own time."""
    out = outputs("latency")
    disk = only_stack(out, "fio")["layers"][0]["read"]
    assert disk["count"] == 1024
    for key, of_fio in (("p50", "50.000000"), ("p90", "90.000000")):
        seen = fio_percentiles(out, "fio")[of_fio]
        assert seen * 0.5 <= disk["latency_us"][key] <= seen * (1 + NEAR)


@pytest.mark.parametrize(
    ("name", "words"), [("no-btf", "/sys/kernel/btf"), ("disarmed", "does not run them")]
)
def test_without_probes_there_are_sizes_and_dm_statistics(outputs, name, words):
    out = outputs("trouble")
    found = said(out, name)
    assert (out / f"{name}.status").read_text() == "0\n"
    assert words in found["notes"][0]
    assert found["sources"] == ["tracepoints", "dm-stats"]
    top = found["stacks"][0]["layers"][0]["write"]
    assert top["count"] > 0
    assert top["latency_us"]["p50"] > 0
    assert top["size_bytes"]["p50"] == PAGE


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("second", "another trace is running"),
        ("clean-while-running", "another trace is running"),
        ("others", "that stackmap did not make: p:stackmap/mine"),
    ],
)
def test_what_is_not_its_own_is_refused(outputs, name, words):
    out = outputs("trouble")
    assert (out / f"{name}.status").read_text() == "3\n"
    assert words in (out / f"{name}.err").read_text()


def test_a_trace_that_costs_too_much_ends_early(outputs):
    found = said(outputs("trouble"), "overhead")
    assert found["seconds"] < 30
    assert any("stopped after" in note for note in found["notes"])


def test_nothing_is_left_of_a_killed_trace_after_clean(outputs):
    out = outputs("trouble")
    assert (out / "left-after").read_text() == (out / "left-before").read_text() == ""
    assert any(int(line) for line in (out / "left-by-kills").read_text().split())


def test_lockdown_leaves_dm_statistics(outputs):
    out = outputs("trouble")
    if "[confidentiality]" not in (out / "lockdown.txt").read_text():
        pytest.skip("this kernel has no lockdown")
    found = said(out, "lockdown")
    assert found["sources"] == ["dm-stats"]
    assert "lockdown" in found["notes"][0]
