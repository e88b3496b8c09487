"""
Every text in ../shared/samples: real ones of twenty years, and those of 17 releases of sysstat.

They are others' and are not in this repository; where they lie beside it, all
of them are read. How many rows each has is counted here in another, duller way.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from stackmap.errors import InputError
from stackmap.model.load import Flow, Load
from stackmap.text import intervals
from tests.paths import ROOT

SAMPLES = ROOT.parent / "shared" / "samples"
TEXTS = sorted(SAMPLES.glob("*.txt")) + sorted(SAMPLES.glob("generated/*.txt"))

pytestmark = pytest.mark.skipif(not TEXTS, reason=f"no samples in {SAMPLES}")

# Counted by eye: lines are wrapped, cut or run together, so that none is a row.
BY_EYE = {
    "bcc-1680-bcache-md1-partial.txt": 4,  # the last row is cut
    "gregg-netflix-md0-80col-wrapped.txt": 3,
    "linuxbtrfs-2020-01-wrapped-decimal-comma.txt": 6,
    "linuxraid-2007-md0-4-wrapped-rkB-7.0.x.txt": 9,
    "linuxraid-2020-07-raid6-quoted-wrapped.txt": 10,
    "lkml-4.0.6-name-on-own-line.txt": 1,
    "opencas-1397-xm-rows-without-header.txt": 4,
    "sar-bobbydurrett-el6-single-line-collapsed.txt": 1,
    "sysstat-issue264-json-vs-text-units.txt": 2,  # JSON, then a table
    "sysstat-issue374-iostat-xmt-raid6.txt": 2,  # the last row is cut
    "sysstat-issue386-sar-dp-rl.txt": 4,  # no heading
}
NUMBER = re.compile(r"-?\d+([.,]\d+)?[kMGT%]?$")
METRIC = re.compile(r"/s$|-sz$|await$|^%|^tps$|^svctm$|_(read|wrtn|dscd|w\+d)$")


def rows_of(path: Path) -> int:
    """Count the rows of devices that a text has, as a script of awk would."""
    text = path.read_text(errors="replace")
    if path.name in BY_EYE:
        return BY_EYE[path.name]
    if "disk_device" in text or "disk-device" in text:
        return len(re.findall(r'"disk.device":|<disk-device ', text))
    if "hostname;interval" in text:
        return len(re.findall(r";(?:dev|dm-|sd|md|nvme)[\w-]+(?=;)", text))
    if "\ttps\t" in text:
        return text.count("\ttps\t")
    if path.name.startswith(("diskstats", "jc-linux-proc")):
        return len(re.findall(r"^ *\d+ +\d+ \w", text, re.MULTILINE))
    return _table_rows(path, text)


def _table_rows(path: Path, text: str) -> int:
    columns, rows = -1, 0
    last = ""
    for line in re.sub("\x1b\\[[0-9;]*m|\0", "", text).splitlines():
        words = line.split()
        if {"Device", "Device:", "DEV"} & set(words):
            columns = sum(METRIC.search(word) is not None for word in words)
            first = next((word for word in words if METRIC.search(word)), "")
            later_part = words[-1] == "Device" and first in {"w/s", "d/s", "f/s", "aqu-sz"}
            columns = -1 if later_part else columns
        elif sum(METRIC.search(word) is not None for word in words) > 2:
            columns = -1  # another table: processors, networks
        else:
            numbers = sum(NUMBER.match(word) is not None for word in words)
            is_group = path.name.endswith("-g.txt") and line.startswith(" ")  # a sum of rows
            rows += numbers == columns and "avg-cpu" not in last and not is_group
        last = line
    return rows


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_row_is_read(path):
    """Every device's row becomes a load, of one report each; nothing else does."""
    found = list(intervals([path.read_bytes()], path.name))
    assert sum(len(interval.loads) for interval in found) == rows_of(path)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_damaged_anywhere(path):
    """A text that was cut off anywhere gives what it holds, or says that there is nothing."""
    text = path.read_bytes()
    for cut in range(0, len(text), max(1, len(text) // 7)):
        with suppress(InputError):
            list(intervals([text[:cut]], path.name))


# The articles this project grew from, and the rows of the tables in each.
ARTICLES = {"000": 2, "001": 6, "003": 28, "004": 37}
SEEDS = SAMPLES.parent / "seeds"


@pytest.mark.skipif(not SEEDS.exists(), reason=f"no articles in {SEEDS}")
@pytest.mark.parametrize("number", ARTICLES)
def test_articles(number):
    """An article is read as it is: its tables, events and histograms are found in the prose, its benchmarks are not."""
    (path,) = SEEDS.glob(f"{number}_*.txt")
    found = list(intervals([path.read_bytes()], path.name))
    assert sum(len(interval.loads) for interval in found) == ARTICLES[number]
    assert not any(interval.since_boot for interval in found)


@pytest.mark.skipif(not SEEDS.exists(), reason=f"no articles in {SEEDS}")
def test_article_as_printed():
    """sdd of the last article's first table, and its LV under both of its names."""
    (path,) = SEEDS.glob("004_*.txt")
    first, sar, _, reading, _ = intervals([path.read_bytes()], path.name)
    assert first.loads["sdd"] == Load(
        Flow(89.2, 1521.0, 7244.8 * 1024, 89.2 * 21.08),
        Flow(66.8, 2099.4, 9675.1 * 1024, 66.8 * 31.81),
        aqu=3.88,
        busy=81.68 / 100,
    )
    assert sar.loads["dev253-89"] == Load(
        Flow(bytes=3496.57 * 512),
        Flow(bytes=2559.05 * 512),
        whole=Flow(ios=375.29, wait=375.29 * 1107.75),
        aqu=423.86,
        busy=58.64 / 100,
    )
    assert reading.loads["dm-89"].read == Flow(363.2, 0.0, 23244.8 * 1024, 363.2 * 32.54)


MISLABELLED = {
    "sysstat-issue222-iostat-y-invalid.json.txt",
    "sysstat-issue264-json-vs-text-units.txt",
    "v12.1.2.iostat-oJSON-xt.txt",
    "v12.2.0.iostat-oJSON-xt.txt",
}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_wrong_units_are_found_where_they_are(path):
    """JSON of sysstat 12.1.2 to 12.2.0 has sectors under kB and MB; no other text is corrected."""
    found = list(intervals([path.read_bytes()], path.name))
    corrected = any(note.startswith("corrected") for i in found for note in i.notes)
    assert corrected == (path.name in MISLABELLED)


def test_units_corrected_are_right():
    """#264 has both: its JSON says 248 MB/s where its text says 0.12; 31 writes of 4 kB are 124 kB."""
    path = SAMPLES / "sysstat-issue264-json-vs-text-units.txt"
    from_json, from_text = intervals([path.read_bytes()], path.name)
    assert from_json.loads["nvme0n1"].write.bytes == 31 * 4096
    assert from_text.loads["nvme0n1"].write.bytes == pytest.approx(31 * 4096, rel=0.05)


@pytest.mark.parametrize("release", ["v11.5.7", "v11.6.5", "v11.7.3", "v12.4.5", "v12.7.9"])
def test_json_and_text_of_one_release_agree(release):
    """Text and JSON of one run have the same devices and, to the last decimal printed, figures."""
    text = SAMPLES / "generated" / f"{release}.iostat-dxN.txt"
    as_json = SAMPLES / "generated" / f"{release}.iostat-oJSON-xt.txt"
    for a, b in zip(
        intervals([text.read_bytes()], "text"),
        intervals([as_json.read_bytes()], "JSON"),
        strict=True,
    ):
        assert dict(a.loads) == dict(b.loads)


@pytest.mark.parametrize(
    "release", ["v9.1.5", "v10.1.5", "v11.7.3", "v12.0.6", "v12.4.5", "v12.7.9"]
)
def test_sadf_formats_of_one_release_agree(release):
    """CSV, tabs, JSON and XML are the same intervals, but for the precision of sizes."""
    found = {}
    for form in ("d", "dh", "p", "x", "j"):
        path = SAMPLES / "generated" / f"{release}.sadf-{form}.txt"
        if path.exists():
            found[form] = list(intervals([path.read_bytes()], path.name))
    one = found["d"]
    for form, other in found.items():
        if form in {"dh", "p"}:  # old -p has seconds since the epoch
            assert [replace(i, stamp="") for i in other] == [replace(i, stamp="") for i in one]
        if (release, form) != ("v9.1.5", "x"):  # does not say whether its time is UTC
            assert [i.time for i in other] == [i.time for i in one]
        assert [i.seconds for i in other] == [i.seconds for i in one]
        for a, b in zip(one, other, strict=True):
            assert {n: load.total.ios for n, load in a.loads.items()} == {
                n: load.total.ios for n, load in b.loads.items()
            }
