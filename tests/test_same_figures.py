"""
No two commands disagree: what iostat, iostat -l, blame, top and export show of one interval.

Every sample topology with counters, its texts, and the recorded kernels beside this checkout. The figures of a
device are those of ``iostat -x -J``; each other command has to show the same ones, or none.
"""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import StackmapError
from stackmap.features.top.moment import Moment, RecentLoad, Scope
from stackmap.host.capture import CapturedHost
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.source import IntervalSelection
from stackmap.measurement.text import TextSource
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
CAPTURES = ROOT.parent / "shared" / "captures"
DIRECTIONS = ("read", "write", "discard")
NOTHING = {"arrivals": 0.0, "bytes": 0.0}
NEAR = 1e-6  # export prints twelve digits

EXPORTED = re.compile(
    "(.*?)_((?:bytes_)?per_second|seconds|bytes|ratio|requests)"
)  # a key of iostat, and its unit

RECORDINGS = [
    p for p in sorted(SAMPLES.iterdir()) if (p / "frames").exists() or (p / "log").exists()
]
TEXTS = [(path.parent.parent, path) for path in sorted(SAMPLES.glob("*/input/*.txt"))]
KERNELS = [
    (path.parent.parent / "capture.tar.gz", path)
    for path in sorted(CAPTURES.glob("vghdd*/load/*.diskstats"))
]
WITHOUT_LOAD = sorted(CAPTURES.glob("zoo/*.tar.gz"))


def cases():
    """Yield (machine, statistics text or None); a machine that cannot be compared is skipped, with the reason."""
    for machine in RECORDINGS:
        yield pytest.param((machine, None), id=machine.name)
    for machine, text in TEXTS:
        yield pytest.param((machine, text), id=f"{machine.name}/{text.stem}")
    for machine, text in KERNELS:
        yield pytest.param((machine, text), id=f"{text.parts[-3]}/{text.stem}")
    skip = pytest.mark.skip
    if not KERNELS:
        missing = skip(reason="the recorded kernels are not beside this checkout")
        yield pytest.param((None, None), id="kernels", marks=missing)
    for machine in WITHOUT_LOAD:
        once = skip(reason="it was recorded once: it has no interval")
        yield pytest.param((machine, None), id=f"zoo/{machine.name}", marks=once)


@pytest.fixture(scope="module", params=cases())
def said(request):
    """What the commands say of one machine: an object with an attribute per command."""
    machine, text = request.param
    return Said(machine, text)


class Said:
    """The figures of one interval, the average, by each command."""

    def __init__(self, machine, text):
        self._machine, self._text = machine, text
        self.devices = {each["name"]: each for each in self._json("iostat", "-x")["devices"]}
        self.stacks = self._json("iostat", "-l")["stacks"]
        self.blamed = {
            each["device"]: each for each in self._json("blame", *self.devices)["devices"]
        }

    def printed(self, command, *options):
        """Return what *command* prints, or None where it refuses the input, and its complaint."""
        given = ["--from", str(self._machine), command, "--report", "average", *options]
        if self._text is not None:
            given += ["--input", str(self._text)]
        result = CliRunner().invoke(stackmap, given)
        if result.exit_code:
            assert isinstance(result.exception, StackmapError), result.output
            return None, str(result.exception)
        return result.stdout, ""

    def _json(self, command, *options):
        text, complaint = self.printed(command, *options, "-J")
        assert text is not None, complaint
        return json.loads(text)

    def moment(self):
        """Return the frame that top would draw of the interval."""
        machine = CaptureSource(CapturedHost(str(self._machine)))
        source = machine
        if self._text is not None:
            source = TextSource(self._text.open("rb"), machine, lambda _: None)
        with source:
            topology, interval = next(source.select(IntervalSelection(which="average")))
        scope = Scope(topology, interval.loads, ())
        return Moment(scope, scope.corrected(interval), recent=RecentLoad())


def near(value, wanted):
    """Whether both are the same figure, or both unknown."""
    if value is None or wanted is None:
        return value is wanted
    return value == pytest.approx(wanted, rel=NEAR, abs=NEAR)


def added(values):
    """Return the sum; None if one is unknown."""
    values = list(values)
    return None if None in values else sum(values)


def arrivals(device, direction):
    """Return the requests that arrived at *device*, of iostat: completed and merged."""
    if direction == "discard":
        return device["discards"]
    return added((device[f"{direction}s"], device[f"{direction}_merges"]))


def test_tables_are_the_json(said):
    """The table of iostat has the values of its JSON; no row where nothing is known of a device."""
    text, complaint = said.printed("iostat", "--csv")
    assert text is not None, complaint
    rows = list(csv.DictReader(io.StringIO(text)))
    identity = ("name", "label", "kind")
    known = [name for name, each in said.devices.items()
             if any(value is not None for key, value in each.items() if key not in identity)]  # fmt: skip
    assert [row["name"] for row in rows] == known
    for row in rows:
        for column, cell in row.items():
            key = re.sub("_(per_s|bytes|ms|share)$", "", column)
            key = key if key in said.devices[row["name"]] else column
            if key not in (*identity, "time"):
                wanted = said.devices[row["name"]][key]
                assert near(float(cell) if cell else None, wanted), (row["name"], column)


def test_tops_are_their_devices(said):
    """The first row of a stack in iostat -l has the figures of the device in iostat."""
    assert said.stacks
    for stack in said.stacks:
        device, layer = said.devices[stack["device"]], stack["layers"][0]
        for direction in ("read", "write"):
            shown = {key: layer[direction][key] for key in ("iops", "bytes", "size", "await")}
            keys = (
                f"{direction}s",
                *(f"{direction}_{each}" for each in ("bytes", "size", "await")),
            )
            for (name, value), key in zip(shown.items(), keys, strict=True):
                assert near(value, device[key]), (stack["top"], direction, name)
        assert near(layer["aqu"], device["aqu"]), stack["top"]


def test_merges_of_layers_are_those_of_their_devices(said):
    """The merges of a layer are the sum over its devices in iostat."""
    for stack in said.stacks:
        for layer in stack["layers"]:
            for direction in ("read", "write"):
                wanted = added(said.devices[n][f"{direction}_merges"] for n in layer["devices"])
                assert near(layer[direction]["merged"], wanted), (stack["top"], layer["role"])


def test_blame_accounts_for_what_iostat_counts(said):
    """The rows of blame sum to the arrivals and the bytes of the device in iostat."""
    assert said.blamed
    for name, blamed in said.blamed.items():
        device = said.devices[name]
        for direction in DIRECTIONS:
            parts = [each[direction] for each in blamed["loaders"] if direction in each]
            if parts and arrivals(device, direction) is not None:
                rest = next((x[direction] for x in blamed["loaders"] if not x["tops"]), NOTHING)
                wanted = {
                    "arrivals": arrivals(device, direction),
                    "bytes": device[f"{direction}_bytes"],
                }
                for key, counted in wanted.items():
                    summed = added(part[key] for part in parts)
                    # What was sent and had not completed at the end is in the counters of the sender alone.
                    more = not rest[key] and summed is not None and summed > counted
                    assert more or near(summed, counted), (name, direction, key)


def test_layers_are_what_blame_says(said):
    """Where both are exact, the data of a stack in iostat -l is the sum of its rows in blame."""
    compared = 0
    for stack in said.stacks:
        for layer in stack["layers"][1:]:
            names = layer["devices"]
            if layer["reason"] or not said.blamed.keys() >= set(names):
                continue
            rows = [row for name in names for row in said.blamed[name]["loaders"]]
            own = [row for row in rows if row["tops"] == [stack["device"]] and not row["metadata"]]
            shared = any(stack["device"] in row["tops"][1:] or row["estimated"] for row in rows)
            if shared or any(said.blamed[name]["unseen"] for name in names):
                continue
            for direction in DIRECTIONS:
                if any(direction not in row for row in own) or layer[direction]["range"]:
                    continue
                for key in ("arrivals", "bytes"):
                    shown, wanted = layer[direction][key], added(row[direction][key] for row in own)
                    assert near(shown, wanted), (stack["top"], layer["role"], direction, key)
                    compared += 1
    if not compared:
        pytest.skip("no layer is exact in both")


def test_top_draws_what_iostat_and_blame_print(said):
    """The frame of top has the loads of iostat, the layers of iostat -l and the rows of blame."""
    moment = said.moment()
    for name, device in said.devices.items():
        load = moment.load(name)
        for direction in ("read", "write"):
            flow = load.flow(direction)
            assert near(flow.ios, device[f"{direction}s"]), name
            assert near(flow.bytes, device[f"{direction}_bytes"]), name
            assert near(flow.await_ms, device[f"{direction}_await"]), name
    for stack in said.stacks:
        drawn = moment.stack(stack["device"])
        assert near(drawn.cost.bytes_per_byte, stack["disk_bytes_per_byte"]), stack["top"]
        for figures, layer in zip(drawn.layers, stack["layers"], strict=True):
            for direction in ("read", "write"):
                flow = figures.share.part(direction)
                assert near(flow.arrivals, layer[direction]["arrivals"]), stack["top"]
                assert near(flow.bytes, layer[direction]["bytes"]), stack["top"]
    for name, blamed in said.blamed.items():
        drawn = {
            (each.tops, each.through, each.metadata): each for each in moment.blame(name).loaders
        }
        for row in blamed["loaders"]:
            loader = drawn.get((tuple(row["tops"]), row["through"] or "", row["metadata"]))
            moved = added(row[each]["bytes"] for each in DIRECTIONS if each in row)
            if "total" not in row and loader is not None:  # top leaves out idle senders
                assert near(loader.bytes, moved), (name, row["name"])
            elif "total" not in row:
                assert not moved, (name, row["name"])


def test_export_writes_what_iostat_prints(said):
    """Each sample that export writes is the figure of the device in iostat."""
    text, complaint = said.printed("export", "--openmetrics")
    if text is None:
        pytest.skip(f"export refuses it: {complaint.strip()}")
    found = re.findall(
        r'^stackmap_(\w+)\{host="[^"]*",device="([^"]*)".*\} (\S+) \S+$', text, re.MULTILINE
    )
    assert {name for _, name, _ in found} <= said.devices.keys()
    for metric, name, value in found:
        key, unit = EXPORTED.match(metric).groups()
        wanted = said.devices[name][key if key in said.devices[name] else f"{key}_bytes"]
        assert near(float(value) * (1000 if unit == "seconds" else 1), wanted), (name, metric)
