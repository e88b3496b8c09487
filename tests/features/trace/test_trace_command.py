"""``stackmap trace`` on a capture with a trace: from the kernel's texts to the printed figures."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import CaptureError, InputError, ParseError, UsageError
from stackmap.features.trace import probes
from stackmap.features.trace.measure import interval_of
from stackmap.features.trace.record import TraceRecord, parse
from stackmap.features.trace.traced_topology import with_traced_rows
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import TRACE
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import Parity, _with_traced_share, parity_of
from stackmap.sources.trace_text import without_addresses, without_lines
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
TRACES = sorted((ROOT / "tests" / "traces").glob("*.tar.gz"))
MAJOR = 254 << 20
LV, IMAGES, DISKS = (
    MAJOR | 8,
    [MAJOR | n for n in (1, 3, 5, 7)],
    [8 << 20 | n for n in (0, 16, 32, 48)],
)
PAGE = 4096


def histogram(trigger, entries, dropped=0):
    """The kernel's text of one trigger; *entries*: keys, hits and sums as they are printed."""
    lines = [f"{{ {keys} }} hitcount: {hits:10}{sums}" for keys, hits, sums in entries]
    total = sum(hits for _, hits, _ in entries)
    head = f"# event histogram\n#\n# trigger info: {trigger} [active]\n#\n\n"
    return (
        head
        + "\n".join(lines)
        + f"\n\nTotals:\n    Hits: {total}\n    Entries: {len(lines)}\n    Dropped: {dropped}\n"
    )


def latency(device, op, low, count, width=204800):
    return f"dev: {device:10}, op: {op:10}, lat: ~ {low}-{low + width - 1}", count, ""


def arrived(device, rwbs, sectors, count):
    return f"dev: {device}, rwbs: {rwbs}, nr_sector: {sectors:10}", count, ""


# 100 writes of a page, each a row that is reconstructed, and 10 stripes of 16 full rows; sdd is slow.
LATENCIES = [
    latency(LV, 1, 20_000_000, 110),
    latency(LV, 0, 5_000_000, 50),
    *(latency(device, 1, 5_000_000, 210) for device in (*IMAGES[:3], *DISKS[:3])),
    *(latency(device, 1, 40_960_000, 210, 1638400) for device in (IMAGES[3], DISKS[3])),
]
ARRIVED = [
    arrived(LV, "WS", 8, 100),
    arrived(LV, "W", 384, 10),
    arrived(LV, "R", 32, 50),
    arrived(LV, "FF", 0, 7),
    arrived(LV, "D", 8, 9),
    *(arrived(device, "W", 8, 210) for device in (*IMAGES, *DISKS)),
]
ROWS = [("dm: 8, rcw: 1, pages: 1", 100, ""), ("dm: 8, rcw: 1, pages: 3", 10, "")]
WRITTEN = [(f"dev: {device}", 210, f"  size: {210 * PAGE}") for device in IMAGES]


def record(**changes):
    lines = (SAMPLE / "proc" / "diskstats").read_text().splitlines()
    words = [line.split() for line in lines]
    counters = "\n".join(
        " ".join([*line[:11], "0", *line[12:]]) for line in words
    )  # none in flight
    texts = {
        probes.LATENCY_EVENT: histogram("hist:keys=dev,op,lat.buckets=204800", LATENCIES),
        probes.QUEUE_EVENT: histogram("hist:keys=dev,rwbs,nr_sector", ARRIVED),
        probes.ROW_EVENT: histogram("hist:keys=dm,rcw,pages", ROWS),
        probes.SUBMIT_EVENT: histogram("hist:keys=dev:vals=size", WRITTEN),
        probes.GAP_EVENT: histogram("hist:keys=dev,op", [(f"dev: {LV}, op: 1", 55, "")]),
    }
    found = TraceRecord(
        times=(1000.0, 1010.0), cpus=2, cost=1e-6, hits=20_000, dm_major=254, texts=texts,
        counters=(counters, counters), sources=("tracepoints", "kprobes"),
    )  # fmt: skip
    for name, value in changes.items():
        setattr(found, name, value)
    return found


@pytest.fixture
def capture(tmp_path):
    def of(text):
        path = tmp_path / "capture"
        shutil.copytree(SAMPLE, path)
        (path / TRACE.lstrip("/")).write_text(text)
        return str(path)

    return of


def run(path, *words):
    done = CliRunner().invoke(stackmap, ["--from", path, *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_a_stack_as_json(capture):
    found = json.loads(run(capture(record().to_json()), "trace", "-J", "vm-disk1"))
    assert (found["schema"], found["seconds"], found["lost"]) == (
        "stackmap.trace/1", 10.0, {"hits": 0, "events": 0},
    )  # fmt: skip
    assert found["overhead"] == pytest.approx(20_000 * 1e-6 / 10 / 2)
    (stack,) = found["stacks"]
    top, *_, disks = stack["layers"]
    assert top["write"]["count"] == 110  # flushes and discards are no writes
    assert top["write"]["latency_us"]["p50"] == pytest.approx(20_102.4)
    assert top["write"]["size_bytes"]["histogram"] == [[PAGE, PAGE, 100], [196608, 196608, 10]]
    assert top["write"]["sequential"] == 0.5
    assert top["read"]["size_bytes"]["p50"] == 16384
    assert disks["read"] is None
    assert disks["by_device"]["sdd"]["write"]["latency_us"]["p50"] == pytest.approx(41_779.2)
    assert stack["parity"] == {
        "device": "dm-8",
        "rows": {"full": 160.0, "reconstruct": 100, "read_modify": 0},
        "by_pages": {"1": 100, "3": 160.0},
        "full_stripe_share": pytest.approx(480 / 580),
        "self_check": pytest.approx(1.0),
        "counters": {"low": None, "high": None},
        "reason": None,
        "reason_code": None,
    }


def test_a_stack_as_text(capture):
    text = run(capture(record().to_json()), "trace", "vm-disk1")
    assert "row updates: 160 full stripe, 100 reconstruct-write, 0 read-modify-write" in text
    assert "full-stripe writes: 82.8 % of bytes written" in text
    assert "self-check: the rows hold 1.0000 of the bytes written" in " ".join(text.split())
    assert "sdd is slow: its median write latency is 8.2× that of the next slowest" in " ".join(
        text.split()
    )
    words = " ".join(text.split())
    assert (
        "overhead about 0.10 % of all CPU time, from an assumed cost per request; no hit was lost"
        in words
    )
    (row,) = (line for line in text.splitlines() if line.startswith("1 volume") and " 110 " in line)
    assert row.split()[2:] == ["110", "20.1", "20.1", "20.1", "20.1", "20.1", "4.0", "192.0", "50"]


def test_what_a_trace_costs_is_said(capture):
    costs = record(peak=0.06, added=(4.2e-6, 1.1e-6))
    path = capture(costs.to_json())
    words = " ".join(run(path, "trace", "vm-disk1").split())
    assert (
        "overhead about 0.10 % of all CPU time (6.00 % in the busiest second), "
        "4.2 µs per request at each layer, 1.1 µs more at a disk" in words
    )
    found = json.loads(run(path, "trace", "-J"))
    assert found["overhead_peak"] == 0.06
    assert found["overhead_us"] == pytest.approx({"layer": 4.2, "disk": 1.1})


def test_all_busy_stacks_without_a_name(capture):
    found = json.loads(run(capture(record().to_json()), "trace", "-J"))
    assert [stack["device"] for stack in found["stacks"]] == ["dm-8"]


def test_rows_that_do_not_add_up_are_withheld(capture):
    texts = {**record().texts, probes.ROW_EVENT: histogram("hist:keys=dm,rcw,pages", ROWS[1:])}
    path = capture(record(texts=texts).to_json())
    text = " ".join(run(path, "trace", "vm-disk1").split())
    assert "row updates are unknown: they hold 1.0862 of the bytes written" in text
    (stack,) = json.loads(run(path, "trace", "-J", "vm-disk1"))["stacks"]
    assert set(stack["parity"]["rows"].values()) == {None}
    assert stack["parity"]["reason_code"] == "self-check"


@pytest.mark.parametrize(("latencies", "withheld"), [(110, None), (109, "count"), (111, "count")])
def test_latencies_of_more_or_fewer_requests_are_withheld(capture, latencies, withheld):
    """The exact number of requests stands by itself; other directions and layers are not touched."""
    found = [latency(LV, 1, 20_000_000, latencies), *LATENCIES[1:]]
    texts = record().texts | {probes.LATENCY_EVENT: histogram("hist:keys=dev,op,lat", found)}
    path = capture(record(texts=texts).to_json())

    (stack,) = json.loads(run(path, "trace", "-J", "vm-disk1"))["stacks"]
    top, *_, disks = stack["layers"]

    assert (top["write"]["count"], top["write"]["withheld_code"]) == (110, withheld)
    assert (top["write"]["latency_us"] is None) == (withheld is not None)
    assert top["read"]["latency_us"]["p50"] == disks["write"]["latency_us"]["p50"]
    text = " ".join(run(path, "trace", "vm-disk1").split())
    said = f"no latencies of the writes of vghdd/vm-disk1: {latencies} latencies were counted of 110 requests"
    assert (said in text) == (withheld is not None)


def test_latencies_of_requests_in_flight_are_not_withheld(capture):
    """Nor of those that came while some histograms counted and others did not yet."""
    few = [latency(LV, 1, 20_000_000, 108), *LATENCIES[1:]]
    texts = record().texts | {probes.LATENCY_EVENT: histogram("hist:keys=dev,op,lat", few)}

    def top(**changes):
        found = run(capture(record(texts=texts, **changes).to_json()), "trace", "-J", "vm-disk1")
        return json.loads(found)["stacks"][0]["layers"][0]["write"]["latency_us"]

    before = record().counters[0]
    (line,) = [each for each in before.splitlines() if " dm-8 " in each]
    words = line.split()
    words[11] = "2"
    assert top(counters=(before, before.replace(line, " ".join(words)))) is not None


def test_latencies_of_requests_during_the_switch_are_not_withheld(capture):
    few = [latency(LV, 1, 20_000_000, 108), *LATENCIES[1:]]
    texts = record().texts | {probes.LATENCY_EVENT: histogram("hist:keys=dev,op,lat", few)}
    text = record(texts=texts, switching=0.2).to_json()  # 10 s of 110 requests
    found = json.loads(run(capture(text), "trace", "-J", "vm-disk1"))
    assert found["stacks"][0]["layers"][0]["write"]["latency_us"] is not None


def test_the_latency_of_disks_is_divided_at_the_dispatch(capture):
    texts = {**record().texts}
    for event, low in ((probes.QUEUED_EVENT, 20_480_000), (probes.SERVED_EVENT, 4_096_000)):
        parts = [latency(DISKS[0], 1, low, 90)]
        texts[event] = histogram("hist:keys=dev,op,lat.buckets=204800", parts)
    path = capture(record(texts=texts).to_json())
    (stack,) = json.loads(run(path, "trace", "-J", "vm-disk1"))["stacks"]
    *above, disks = stack["layers"]
    assert all(layer["write"]["queue_to_dispatch_us"] is None for layer in above)
    assert disks["write"]["queue_to_dispatch_us"]["p50"] == pytest.approx(20_582.4)
    assert disks["write"]["dispatch_to_complete_us"]["p50"] == pytest.approx(4_198.4)
    lines = run(path, "trace", "vm-disk1").splitlines()
    words = [line.split() for line in lines if " dispatch" in line]
    assert ["queue", "to", "dispatch", "90", *["20.6"] * 5] in words
    assert ["dispatch", "to", "end", "90", *["4.20"] * 5] in words


def test_lost_hits_are_said(capture):
    texts = {**record().texts}
    texts[probes.QUEUE_EVENT] = histogram("hist:keys=dev,rwbs,nr_sector", ARRIVED, dropped=3)
    text = run(capture(record(texts=texts, missed=2).to_json()), "trace", "vm-disk1")
    assert "5 hits lost (2 not run by the kernel, 3 without room in a map)" in " ".join(
        text.split()
    )


def test_dm_statistics_alone_do_not_tell_reads_from_writes(capture):
    counts = ":".join(["0"] * 204 + ["30"] + ["0"] * 180)
    stats = {"254:8": f"0+1228800 20 0 160 9 10 0 80 9 0 0 0 0 0 {counts}"}
    alone = record(texts={}, dm_stats=stats, cost=None, sources=("dm-stats",))
    alone.notes = ("no kprobes: BTF is not there",)
    found = json.loads(run(capture(alone.to_json()), "trace", "-J", "vm-disk1"))
    top = found["stacks"][0]["layers"][0]
    assert top["read"] is top["write"] is None
    assert top["both"]["count"] == 30
    assert top["both"]["latency_us"]["p50"] == pytest.approx(1000 * 1.05**204 / 1000, rel=0.05)
    assert found["overhead"] is None
    assert "no kprobes: BTF is not there" in found["notes"]


def test_a_heat_map(capture):
    slices = [
        histogram("hist:keys=dev,op,lat.buckets=204800", [latency(LV, 1, 20_000_000, count)])
        for count in (10, 10, 110)
    ]
    path = capture(record(slices=slices).to_json())
    text = run(path, "trace", "vm-disk1")
    assert "Writes of vghdd/vm-disk1 by latency over time" in text
    assert any(line.endswith("ms       . @") for line in text.splitlines())
    found = json.loads(run(path, "trace", "-J", "vm-disk1"))
    parts = found["stacks"][0]["over_time"]["write"]
    assert [part and sum(n for _, _, n in part["histogram"]) for part in parts] == [10, None, 100]


def test_a_slice_needs_only_what_changed(capture):
    """The same heat map; a device that is idle takes no memory."""
    whole = [
        histogram("hist:keys=dev,op,lat.buckets=204800", [
            latency(LV, 1, 20_000_000, first), latency(LV, 1, 5_000_000, second),
        ])
        for first, second in ((10, 3), (10, 8), (110, 8))
    ]  # fmt: skip
    known, slices = frozenset(), []
    for text in whole:
        slices.append(without_lines(text, known))
        known = frozenset(text.splitlines())
    assert [text.count("{") for text in slices] == [2, 1, 1]
    path = capture(record(slices=slices).to_json())
    (stack,) = json.loads(run(path, "trace", "-J", "vm-disk1"))["stacks"]
    parts = [sorted(n for _, _, n in part["histogram"]) for part in stack["over_time"]["write"]]
    assert parts == [[3, 10], [5], [100]]


@pytest.mark.parametrize("words", [["vm-disk1", "5"], ["--max-overhead", "1"], ["--heatmap"]])
def test_options_of_a_new_trace_are_refused_for_a_capture(capture, words):
    path = capture(record().to_json())
    done = CliRunner().invoke(stackmap, ["--from", path, "trace", *words])
    assert done.exit_code == 2
    assert "leave" in done.output


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_a_recorded_trace_has_the_load_that_ran(path):
    """20 writes of a full stripe, 120 of a page, 80 reads of 16 KiB: every one of them, at the volume."""
    (stack,) = json.loads(run(str(path), "trace", "-J", "t/r5"))["stacks"]
    top, members, _ = stack["layers"]
    assert top["write"]["size_bytes"]["histogram"] == [[PAGE, PAGE, 120], [196608, 196608, 20]]
    assert top["read"]["size_bytes"]["histogram"] == [[16384, 16384, 80]]
    for direction in ("read", "write"):
        assert (
            sum(n for _, _, n in top[direction]["latency_us"]["histogram"])
            == top[direction]["count"]
        )
    assert members["write"]["count"] == 320 * 4 + 120 * 2
    parity = stack["parity"]
    assert parity["rows"] == {"full": 320, "reconstruct": 120, "read_modify": 0}
    assert parity["self_check"] == 1.0
    assert parity["full_stripe_share"] == pytest.approx(960 / 1080)
    assert (
        parity["counters"]["low"]
        <= parity["full_stripe_share"]
        <= parity["counters"]["high"] + 1e-9
    )


@pytest.mark.parametrize(
    ("name", "withheld", "count", "rows"),
    [("random", "count", 1135, "self-check"), ("sequential", "full-map", None, "full-map")],
)
def test_what_string_keys_made_false_is_withheld(name, withheld, count, rows):
    """
    Recorded on Linux 7.3.4 before strings were taken out of the keys.

    Random writes: sizes and latencies stopped counting seconds apart, and the self-check was 2.19. 24 writes of 1 MiB
    filled the maps of sizes, and the self-check was many times 1.
    """
    path = str(ROOT / "tests" / "traces" / "string-keys" / f"{name}-7.3.tar.gz")

    (stack,) = json.loads(run(path, "trace", "-J", "t/r5"))["stacks"]

    for found in (layer["write"] for layer in stack["layers"][:2]):
        assert found["latency_us"] is None
        assert found["withheld_code"] == withheld
    assert stack["layers"][0]["write"]["count"] == count
    assert stack["parity"]["reason_code"] == rows
    assert (stack["parity"]["rows"]["full"] is None) == (rows == "self-check")
    if (
        name == "sequential"
    ):  # rows need no sizes: of 24 MiB, each write begins and ends within a stripe
        pages = {int(k): count for k, count in stack["parity"]["by_pages"].items()}
        assert sum(k * count for k, count in pages.items()) == 24 * 256
        assert stack["parity"]["full_stripe_share"] == 0.875
    assert "None" not in run(path, "trace", "t/r5")


def test_explain_takes_the_traced_share_if_the_counters_allow_it():
    counted = Parity(full_stripe_low=0.2, full_stripe_high=0.5)
    assert _with_traced_share(counted, 0.3).full_stripe_low == 0.3
    assert _with_traced_share(counted, 0.3).full_stripe_high == 0.3
    assert _with_traced_share(counted, 0.9) is counted
    assert _with_traced_share(Parity(reason="resync"), 0.3).full_stripe_low is None


def test_a_capture_without_a_trace_says_how_to_record_one():
    with pytest.raises(InputError, match="record --trace"):
        run(str(SAMPLE), "trace")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99}', '{"format": 1, "colour": 1}',
                                  '{"format": 1, "times": "x"}', '{"format": 1, "counters": [1]}',
                                  '{"format": 1, "texts": ' + "[" * 100_000], ids=range(8))  # fmt: skip
def test_a_damaged_trace_is_an_error(capture, text):
    with pytest.raises(CaptureError):
        run(capture(text), "trace")


@pytest.mark.parametrize("change", [
    {"cpus": 0}, {"cpus": -1}, {"hits": None}, {"hits": "x"}, {"missed": []}, {"cost": {}}, {"cost": "1"}, {"added": 1}, {"added": [1]},
    {"added": ["x", 1]}, {"peak": "x"},
    {"times": [0, 1e400]}, {"texts": []}, {"texts": {"a": 1}}, {"slices": 1}, {"slices": [["a"]]},
    {"sources": [1]}, {"notes": "abc"}, {"dm_stats": {"254:8": None}},
])  # fmt: skip
def test_a_trace_with_values_of_another_kind_is_an_error(capture, change):
    with pytest.raises(CaptureError, match="damaged"):
        run(capture(json.dumps(json.loads(record().to_json()) | change)), "trace")


@pytest.mark.parametrize(("event", "keys"), [
    (probes.LATENCY_EVENT, "dev: 1"), (probes.LATENCY_EVENT, "dev: x, op: 1, lat: 1"), (probes.LATENCY_EVENT, "a, b"),
    (probes.LATENCY_EVENT, "dev: 1, op: 9, lat: 1"), (probes.LATENCY_EVENT, "dev: 1, op: 1, lat: ~ -9--2"),
    (probes.LATENCY_EVENT, f"dev: 1, op: 1, lat: {'9' * 500}"), (probes.QUEUE_EVENT, "dev: 1, nr_sector: 8"),
    (probes.QUEUE_EVENT, f"dev: 1, rwbs: W, nr_sector: {'9' * 5000}"), (probes.ROW_EVENT, "dev: 1"),
])  # fmt: skip
def test_histograms_that_no_kernel_printed_are_an_error(capture, event, keys):
    texts = {**record().texts, event: histogram("hist:keys=dev", [(keys, 1, "")])}
    with pytest.raises(ParseError):
        run(capture(record(texts=texts).to_json()), "trace")


@pytest.mark.parametrize("words", [["--clean"]])
def test_a_capture_cannot_be_changed(capture, words):
    with pytest.raises(UsageError, match="capture"):
        run(capture(record().to_json()), "trace", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["vm-disk1", "5", "2"], "no COUNT"),
        (["7200"], "at most 3600"),
        (["--follow", "--heatmap"], "--heatmap"),
    ],
)
def test_wrong_usage(words, said):
    done = CliRunner().invoke(stackmap, ["trace", *words])
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(("words", "said"), [
    (["record", "--trace", "out", "600"], "INTERVAL of at most 60 s"),
    (["iostat", "--why", "--prove", "--since-boot"], "--prove measures"),
    (["blame", "--max-overhead", "1"], "needs --trace"),
])  # fmt: skip
def test_what_cannot_be_watched_or_measured_is_refused(words, said):
    done = CliRunner().invoke(stackmap, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_addresses_are_not_kept():
    text = histogram(
        "hist:keys=bio:vals=hitcount:started=x", [("bio: 18401474104802982840", 1, "")]
    )
    kept = without_addresses(text + histogram("hist:keys=dev:vals=size", WRITTEN))
    assert "bio: 184" not in kept
    assert parse(record(texts={probes.SUBMIT_EVENT: kept})).member_bytes["254:1"] == 210 * PAGE


@pytest.mark.parametrize(("seconds", "taken"), [(30.0, True), (25.0, True), (10.0, False)])
def test_an_interval_of_another_length_keeps_the_range_of_its_counters(seconds, taken):
    """20 full stripes of 16 rows and 120 single pages: the counters alone leave a range."""
    host = CapturedHost(str(TRACES[0]))
    topology = with_traced_rows(host, discover(host))
    interval = interval_of(TraceRecord.from_json(host.read(TRACE)))
    raid = next(device for device in topology if device.title == "t/r5")
    assert raid.full_stripes == pytest.approx((960 / 1080, 30.0), rel=0.02)
    ledger = Ledger(topology, interval.loads, seconds)
    found = parity_of(ledger, raid)
    assert (found.full_stripe_low == found.full_stripe_high) == taken
    assert found.full_stripe_high == pytest.approx(960 / 1080)
