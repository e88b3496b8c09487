"""``report``: one page with what was measured, which every browser reads and which loads nothing."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.wording import kib, number, rate
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import command_file
from stackmap.ledger import time_series
from stackmap.sources import lvm_report
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
MEDUSA = SAMPLES / "raid5-raid10-medusa"
SAR = MEDUSA / "input" / "sar-0710.txt"
VGHDD = ["--from", str(SAMPLES / "vghdd")]
# A recording, a text that knows only sums, one with hours, a machine with many tops.
CASES = {
    "vghdd": (VGHDD, []),
    "vghdd-disk": (VGHDD, ["vm-disk1"]),
    "medusa": (["--from", str(MEDUSA)], ["--input", str(SAR), "vm-disk1"]),
    "medusa-iostat": (
        ["--from", str(MEDUSA)],
        ["--input", str(MEDUSA / "input" / "iostat-2.txt")],
    ),
    "laptop": (
        ["--from", str(SAMPLES / "laptop-luks-lvm")],
        ["--input", str(SAMPLES / "laptop-luks-lvm" / "input" / "iostat-worst.txt")],
    ),
}
ZOO = Path("/work/shared/captures/zoo/healthy.tar.gz")
if ZOO.exists():
    CASES["zoo"] = (["--from", str(ZOO)], ["--since-boot"])


def run(words, **how):
    return CliRunner().invoke(stackmap, words, catch_exceptions=False, **how)


@functools.cache
def page(name, kind="html"):
    """Return the page of one of ``CASES``."""
    host, words = CASES[name]
    result = run([*host, "report", *words, "-o", "-", *(["-m"] if kind == "md" else [])])
    assert result.exit_code == 0, result.stderr
    return result.stdout


class Read(HTMLParser):
    """A page as a parser sees it: whether its elements close, its tables, its addresses."""

    VOID = frozenset({"meta", "link", "br", "hr", "wbr"})

    def __init__(self, html):
        super().__init__()
        self.open, self.wrong, self.addresses, self.ids = [], [], [], []
        self.tables, self.scripts, self.code, self.said = {}, {}, {}, []
        self._table = self._cell = None
        self.feed(html)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, name, attributes):
        known = dict(attributes)
        self.addresses += [known[key] for key in ("src", "href", "action", "data") if key in known]
        if "id" in known:
            self.ids.append(known["id"])
        if name not in self.VOID:
            self.open.append(name)
        if name == "table":
            self._table = self.tables[known["id"]] = []
        elif name == "tr" and self._table is not None:
            self._table.append([])
        elif name in ("td", "th") and self._table is not None:
            self._table[-1].append("")
            self._cell = True
        self._script = known.get("id") if name == "script" else None
        if name == "pre":
            self._code = self.code[known.get("data-name", str(len(self.code)))] = []

    def handle_endtag(self, name):
        if not self.open or self.open.pop() != name:
            self.wrong.append(f"/{name}")
        if name == "table":
            self._table = None
        if name in ("td", "th"):
            self._cell = None

    def handle_data(self, words):
        inside = self.open[-1] if self.open else ""
        if self._table is not None and self._cell:
            self._table[-1][-1] += words
        if inside == "script" and self._script:
            self.scripts[self._script] = words
        if self.open[-2:] == ["pre", "code"]:
            self._code.append(words)
        if inside not in ("script", "style"):
            self.said.append(words)


@functools.cache
def read(name):
    return Read(page(name))


@pytest.mark.parametrize("name", CASES)
def test_every_element_is_closed(name):
    """And in its order; no id stands twice, so that every link leads somewhere."""
    found = read(name)

    assert found.wrong == []
    assert len(found.ids) == len(set(found.ids))
    assert {each[1:] for each in found.addresses if each.startswith("#")} <= set(found.ids)


@pytest.mark.parametrize("name", CASES)
def test_no_element_is_shown_as_text(name):
    """Nothing was escaped twice: no reader sees a tag, or an entity."""
    assert re.findall(r"</?[a-z]+|&[a-z]+;|&#", "".join(read(name).said)) == []


@pytest.mark.parametrize("name", CASES)
def test_the_page_is_alone(name):
    """It names nothing to load: every address is a place in it, or the empty icon."""
    text = page(name)

    assert [a for a in read(name).addresses if not a.startswith("#")] == ["data:,"]
    assert re.findall(r"url\((?!data:)|@import", text) == []
    assert "default-src &#x27;none&#x27;" in text


@pytest.mark.parametrize("name", CASES)
def test_every_chart_can_be_drawn(name):
    """A chart has JSON data, each line as long as its axis, and a drawing for readers without scripts."""
    found, text = read(name), page(name)
    charts = {key: json.loads(words) for key, words in found.scripts.items()}

    assert len(charts) == text.count('class="still"')
    for key, chart in charts.items():
        assert 1 <= len(chart["lines"]) <= (8 if key.startswith("data-await-disks-") else 2)
        for line in chart["lines"]:
            assert len(line["mean"]) == len(chart["x"])
            assert {len(line["low"]), len(line["high"])} <= {0, len(chart["x"])}


@pytest.mark.parametrize("name", CASES)
def test_every_course_of_requests_has_its_figures_in_words(name):
    """Markdown and print have the lowest and highest value of each line, at the top and at the disks."""
    for kind in ("html", "md"):
        text = page(name, kind).replace("\\", "").lower()
        for key, words in read(name).scripts.items():
            chart = json.loads(words)
            if key.startswith(("data-ios-", "data-disks-")):
                for line in chart["lines"]:
                    least = min(each for each in line["low"] or line["mean"] if each is not None)
                    most = max(each for each in line["high"] or line["mean"] if each is not None)
                    ends = f"{rate(least)}/s to {rate(most)}/s"
                    assert f"{line['label']} {ends}" in text, key


def test_the_first_screen_is_one_decision():
    """The page begins with the wait before and after, the first step and the cost; other sections are folded, without a script."""
    result = run([*VGHDD, "report", "vm-disk1", "--to", "raid10", "-o", "-"])
    decision, *others = re.findall(r"<section.*?</section>", result.stdout, re.DOTALL)
    first = decision.partition("<details>")[0]

    assert first.count('class="tile"') == 3
    time = json.loads(run([*VGHDD, "whatif", "vm-disk1", "--to", "raid10", "-J"]).stdout)["time"]
    then = time["projected"]["write"]["mean"]
    wait = f"{time['now']['write']['mean']:.1f} ms → {then['low']:.1f} to {then['high']:.1f} ms"
    unbroken = wait.replace(" ms", "\N{NO-BREAK SPACE}ms")
    assert f'<span class="figure">{unbroken}</span>' in first
    assert "774 → 334" in first
    assert "57 % fewer; range 305 to 375. Disk bytes per byte written: 4.00 → 2.00" in first
    assert "<strong>Do first:</strong> sda is 12.9× as slow as its peers." in first
    assert "Convert" not in first  # another layout does not mend a disk
    assert "1.2 GiB of disks instead of 800 MiB" in first
    assert "Downtime: steps 4 to 12, with the copy" in first
    assert "each byte is on 2 disks" in first
    assert re.findall(r"<li>(.*?)</li>", first) == [
        "The volume is OFFLINE in steps 4 to 12 and as redundant as before throughout.",
        "It does not fix &quot;sda is 12.9× as slow as its peers&quot;.",
        "The measurement covers only 10 s.",
    ]
    assert len(others) > 5
    assert all(re.match(r"<section [^>]*><details><summary><h2>", section) for section in others)


def test_without_a_proposal_the_decision_names_the_layouts_that_would_help():
    """What to do first, and which layouts help or not."""
    first = run([*VGHDD, "report", "vm-disk1", "-o", "-"]).stdout.partition("<details>")[0]

    assert "<strong>Do first:</strong> sda is 12.9× as slow as its peers." in first
    assert re.search("<strong>Would help:</strong> raid10 .each byte is on 2 disks.: ", first)
    assert re.search("<strong>Would not help:</strong> raid6 .*715 to 1468", first)


def test_await_of_each_disk_is_charted():
    """A line per disk in the order of the stack; sda waits longest, about 62 ms on average."""
    chart = json.loads(read("vghdd-disk").scripts["data-await-disks-dm-8"])
    means = {line["label"]: sum(line["mean"]) / len(line["mean"]) for line in chart["lines"]}

    assert list(means) == ["sda", "sdb", "sdc", "sdd"]
    assert means["sda"] == pytest.approx(62.3, abs=1)
    assert max(means.values()) == means["sda"]


def test_the_one_await_of_an_old_iostat_is_in_the_page():
    """7.83 ms of reads and writes together, in the words about the load and as a key figure."""
    sample = SAMPLES / "mysql-raid"
    words = ["--input", str(sample / "input" / "iostat-1-thread.txt"), "-o", "-"]
    said = run(["--from", str(sample), "report", *words]).stdout

    assert "(14 KiB/s); await of both 7.8 ms." in said
    assert '>wait of a request</span><span class="figure">7.8\N{NO-BREAK SPACE}ms</span>' in said


def test_a_phone_keeps_the_ratios():
    """Rates, sizes and await may be left out there; the five ratios never."""
    table = re.search(r'<table id="layers-dm-8">.*?</thead>', page("vghdd-disk"), re.DOTALL)[0]
    kept = re.findall(r'<th scope="col" class="n">(.*?)</th>', table)

    assert kept == ["IOPS × top", "bytes × top", "shrink", "coalescing", "accounted"]
    assert table.count('class="n minor"') == 4


def layers_of(name):
    """Return what ``iostat --per-layer -J`` prints of the same."""
    host, words = CASES[name]
    return json.loads(run([*host, "iostat", "-l", "-J", "-n", *words]).stdout)


@pytest.mark.parametrize("name", CASES)
def test_the_json_is_that_of_iostat(name):
    """Each stack that is shown in full, to the last digit; corrections too."""
    told = json.loads("".join(read(name).code["layers.json"]))
    measured = layers_of(name)
    by_device = {stack["device"]: stack for stack in measured.pop("stacks")}

    assert told.pop("stacks") == [by_device[device] for device in tops(name)]
    assert told == measured


def tops(name):
    """Return the devices that the page tells of in full, in its order."""
    return [
        stack["device"] for stack in json.loads("".join(read(name).code["layers.json"]))["stacks"]
    ]


@pytest.mark.parametrize("name", CASES)
def test_the_tables_are_those_of_iostat(name):
    """Each cell of each layer is the figure that ``iostat -l -J`` gives, in the table's unit."""
    found = read(name)
    for stack in layers_of(name)["stacks"]:
        rows = found.tables.get(f"layers-{stack['device']}")
        if stack["device"] in tops(name) and rows is not None:
            assert by_group(rows) == shown(stack)


def by_group(rows):
    """Return the rows of a table by their direction, those of metadata left out."""
    groups = {}
    for row in rows[1:]:
        if len(row) == 1:
            here = groups.setdefault(row[0].removesuffix(", parity reads included"), [])
        elif not row[0].endswith(" metadata"):
            here.append([cell.lstrip("~") for cell in row])
    return groups


def shown(stack):
    titles = {"read": "READS", "write": "WRITES", "total": "READS AND WRITES"}
    known = [d for d in ("read", "write") if stack["layers"][0][d]["iops"] is not None] or ["total"]
    return {
        titles[d]: [cells(layer, d) for layer in stack["layers"]]
        for d in known
        if any(layer[d]["arrivals"] or layer[d]["bytes"] for layer in stack["layers"])
    }


def cells(layer, d):
    flow, ratios = layer[d], layer["amplification"]
    count = len(layer["devices"])
    return [
        f"{count} {layer['role'].removesuffix('s') if count == 1 else layer['role']}",
        number(flow["iops"], 2),
        kib(flow["bytes"]),
        kib(flow["size"]),
        number(flow["await"], 2),
        number(ratios["iops"][d], 2),
        number(ratios["bytes"][d], 3),
        number(ratios["shrink"][d], 2),
        number(layer["coalescing"][d], 2),
        number(layer["closure"][d], 3),
    ]


def test_the_csv_is_that_of_iostat():
    """Every digit of the requests of each layer."""
    lines = "".join(read("vghdd-disk").code["layers.csv"]).splitlines()
    heading = lines[0].split(",")
    told = {
        (row["layer"], row["direction"]): float(row["requests_per_s"])
        for row in (dict(zip(heading, line.split(","), strict=True)) for line in lines[1:])
    }
    (stack,) = layers_of("vghdd-disk")["stacks"]

    assert told == {
        (layer["role"], d): layer[d]["iops"]
        for layer in stack["layers"]
        for d in ("read", "write", "total")
    }


@pytest.mark.parametrize("name", CASES)
def test_findings_are_those_of_explain(name):
    """Each of the load that explain has, in its order, word by word."""
    host, words = CASES[name]
    found = json.loads(run([*host, "explain", "-J", *words]).stdout)["findings"]
    text = " ".join("".join(read(name).said).split())

    loads = [each for each in found if each["load"]]
    places = [text.find(" ".join(each["sentence"].split())) for each in loads]
    assert -1 not in places


@pytest.mark.parametrize("name", CASES)
def test_markdown_says_the_same(name):
    """It has every section of the page, and every row of its tables."""
    text = page(name, "md")
    sections = re.findall(r"<h2>(.*?)</h2>", page(name))

    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == sections
    rows = {" ".join(row) for table in read(name).tables.values() for row in table[1:]}
    plain = text.replace("\\", "")
    told = {
        " ".join(cell.strip() for cell in line.strip("|").split("|")) for line in plain.splitlines()
    }
    lacking = {
        row
        for row in rows
        if " ".join(row.split()) not in {" ".join(t.replace("**", "").split()) for t in told}
    }
    assert lacking == set()


@functools.cache
def proposed(host, *wishes):
    """Return the page of a proposal."""
    words = [word for wish in wishes for word in ("--to", wish)]
    result = run([*host, "report", "vm-disk1", *words, "-o", "-"])
    assert result.exit_code == 0, result.stderr
    return Read(result.stdout)


def words_of(found):
    return " ".join("".join(found.said).split())


def test_the_projection_is_that_of_whatif():
    """Its table has the figures of ``whatif``, its JSON is that of ``whatif -J``; the decision has bands of requests and time."""
    found = proposed(tuple(VGHDD), "raid10")
    whatif = json.loads(run([*VGHDD, "whatif", "vm-disk1", "--to", "raid10", "-J"]).stdout)
    assert whatif.pop("decision")["why"]["device"] == "sda"
    table = run([*VGHDD, "whatif", "vm-disk1", "--to", "raid10"]).stdout
    band = whatif["projected"]["disks"]["iops"]
    rows = [" ".join(row) for row in found.tables["projection-0"][1:]]

    assert json.loads("".join(found.code["whatif-0.json"])) == whatif
    assert len(rows) > 8
    assert [row for row in rows if " ".join(row.split()) not in " ".join(table.split())] == []
    assert f", range {band['low']:.0f} to {band['high']:.0f});" in words_of(found)
    mean = whatif["time"]["projected"]["write"]["mean"]
    assert f"a write takes {mean['low']:.1f} to {mean['high']:.1f} ms" in words_of(found)


def test_the_plan_is_that_of_plan():
    """Each command of ``plan``, to the letter and in its order, with its risk and the way back."""
    found = proposed(tuple(VGHDD), "raid10")
    plan = json.loads(run([*VGHDD, "plan", "vm-disk1", "--to", "raid10", "-J"]).stdout)
    (way, *_) = plan["ways"]
    told = words_of(found)
    commands = [" ".join(words.split()) for words in map("".join, found.code.values())]
    steps = [
        " ".join(line.split())
        for step in way["steps"]
        for line in (step["line"], *step["undo_lines"])
    ]

    assert len(steps) > 10
    assert [command for command in commands if command in steps] == steps
    assert all(step["risks"].replace("`", "") in told for step in way["steps"] if step["risks"])
    assert "OFFLINE in steps" in told


def test_the_disks_that_are_named_are_those_of_the_plan():
    """--onto is that of ``plan``: the same PVs, in the order that was asked for."""
    asked = [word for disk in "dcba" for word in ("--onto", f"sd{disk}")]
    page = run([*VGHDD, "report", "vm-disk1", "--to", "raid10", *asked, "-o", "-"])
    plan = json.loads(run([*VGHDD, "plan", "vm-disk1", "--to", "raid10", *asked, "-J"]).stdout)
    _guard, create, *_ = plan["ways"][0]["steps"]

    assert create["line"].endswith("/dev/sdd /dev/sdc /dev/sdb /dev/sda")
    assert create["line"] in map("".join, Read(page.stdout).code.values())


@pytest.mark.parametrize(("wish", "mended"), [("raid10", True), ("raid6", False)])
def test_what_a_layout_does_not_mend_is_said(wish, mended):
    """A slow disk stays slow; what parity costs goes where there is none, and stays where there is."""
    told = words_of(proposed(tuple(VGHDD), wish)).partition("Fixes:")[2]
    told = told.partition("Risks:")[0]

    assert ('It fixes "vghdd/vm-disk1 writes partial stripes, at' in told) == mended
    assert ("It fixes none of the findings." in told) != mended
    assert "sda is 12.9× as slow as its peers" in told.partition("It does not fix")[2]


def test_a_proposal_for_what_a_text_says():
    """sar -d tells no reads from writes: a range is projected, and what the layout mends is known."""
    host, words = CASES["medusa"]
    result = run([*host, "report", *words, "--to", "raid10", "-o", "-"])
    told = words_of(Read(result.stdout))

    assert result.exit_code == 0
    assert "1440 → 534 member requests/s (-63 %, range 377 to 749)" in told
    assert 'It fixes "vghdd/vm-disk1 writes partial stripes, at' in told
    assert (
        "One request causes 3.84 requests at the members, 3.84 at the disks (before merging)."
        in told
    )
    assert "Data and parity of vghdd/vm-disk1 cost 3.12 disk bytes per byte written (" in told


def test_what_cannot_be_planned_says_why(tmp_path):
    """A capture without LVM's answer has a projection all the same."""
    capture = tmp_path / "capture"
    shutil.copytree(SAMPLES / "vghdd", capture)
    (capture / command_file(lvm_report.COMMAND).lstrip("/")).unlink()
    told = words_of(proposed(("--from", str(capture)), "raid10"))

    assert "No plan: mirror, convert, copy: free space and placement are not known" in told
    assert "There is no plan for it" in told


@pytest.fixture(params=["idle disks", "disks that others use"])
def idle(request, tmp_path):
    """Counters of which none grows, or those of disks alone."""
    counters = CapturedHost(str(SAMPLES / "vghdd")).read("/proc/diskstats")
    path = tmp_path / "diskstats.txt"
    with path.open("w") as text:
        for sample in range(3):
            text.write(f"TS {1795257000 + 15 * sample}.000000000 x\n")
            for line in counters.splitlines():
                words = line.split()
                if request.param != "idle disks" and words[2] in ("sda", "sdb", "sdc", "sdd"):
                    words[3] = str(int(words[3]) + 1500 * sample)
                    words[5] = str(int(words[5]) + 12000 * sample)
                text.write(" ".join(words) + "\n")
    return path


@pytest.mark.parametrize("wish", ["raid10", "raid5"])
def test_of_a_volume_that_did_nothing_nothing_is_projected(wish, idle):
    """Where ``whatif`` says so the page does, without a figure; of the present layout once, for nothing is proposed."""
    asked = ["--input", str(idle), "vm-disk1", "--to", wish]
    whatif = run([*VGHDD, "whatif", *asked])
    found = Read(run([*VGHDD, "report", *asked, "-o", "-"]).stdout)
    told = words_of(found)
    said = "vghdd/vm-disk1 was idle: there is no load to project."
    figures = (
        "would serve about",
        "With all other load",
        "disk requests per second on",
        "Requests at the disks",
        "the last column is the error of the model",
        "counts requests, not latency",
    )

    assert said in whatif.stdout
    assert told.count(said) == {"raid10": 2, "raid5": 1}[wish]
    assert [each for each in figures if each in told] == []
    assert [name for name in found.tables if name.startswith(("projection-", "levels-"))] == []


def test_layouts_stand_beside_each_other():
    """--to may be said again; each has its own numbers, and no anchor is there twice."""
    found = proposed(tuple(VGHDD), "raid10", "raid6", "raid5")

    assert found.wrong == []
    assert len(found.ids) == len(set(found.ids))
    assert {"projection-0", "projection-1", "projection-2"} <= set(found.tables)
    assert (
        "raid5 with 3 data members and 1 parity member, 64 KiB chunks is the present layout"
        in words_of(found)
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "raid10"], "missing NAME: which volume?"),
        (["vm-disk1", "--to", "raid7"], "unknown layout raid7"),
        (["vm-disk1", "--onto", "sda"], "--onto needs --to LAYOUT"),
    ],
)
def test_a_proposal_that_cannot_be_is_refused(words, said, tmp_path):
    """Before anything is measured, with the status of wrong usage."""
    done = subprocess.run(
        [sys.executable, "-m", "stackmap", *VGHDD, "report", *words, "-o", tmp_path / "x.html"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "x.html").exists()


HOUR = 240  # samples, 15 s apart


@pytest.fixture(scope="module")
def hour(tmp_path_factory):
    """An hour of counters: those of the recording, one after another, under stamps of an hour."""
    host = CapturedHost(str(SAMPLES / "vghdd"))
    frames = [host.read("/proc/diskstats") for _ in host.ticks(1, None)]
    first, last = ([line.split() for line in text.splitlines()] for text in (frames[0], frames[-1]))
    done = [
        [int(b) - int(a) for a, b in zip(x[3:], y[3:], strict=True)]
        for x, y in zip(first, last, strict=True)
    ]
    path = tmp_path_factory.mktemp("hour") / "diskstats.txt"
    with path.open("w") as text:
        for sample in range(HOUR + 1):
            text.write(f"TS {1795257000 + 15 * sample}.000000000 x\n")
            for row, more in zip(first, done, strict=True):
                told = [int(value) + sample * add for value, add in zip(row[3:], more, strict=True)]
                told[8] = int(row[11])  # in flight: a gauge
                text.write(" ".join([*row[:3], *map(str, told)]) + "\n")
    return path


@pytest.mark.parametrize("words", [["explain", "-J"], ["report", "-m", "-o", "-"]])
def test_all_of_a_text_is_looked_at(words, hour):
    """Not only its first intervals, as many as are taken of a live machine."""
    result = run([*VGHDD, *words[:1], "vm-disk1", "--input", str(hour), *words[1:]])

    assert f"{HOUR} intervals" in result.stdout


def test_averaged_intervals_are_said_to_be(hour, monkeypatch):
    """Where a point is the mean of several, the page says of how many, and what looked at these."""
    monkeypatch.setattr(time_series, "MAX_STRETCHES", 60)
    told = words_of(
        Read(run([*VGHDD, "report", "vm-disk1", "--input", str(hour), "-o", "-"]).stdout)
    )

    assert f"{HOUR} intervals; each point is the mean of 8 (120 s)" in told
    assert f"{HOUR} intervals were averaged in 30 groups of 8" in told


def test_hours_are_told_apart(hour):
    """An hour from 10:30 to 11:30 UTC is half in the one and half in the other."""
    found = Read(run([*VGHDD, "report", "vm-disk1", "--input", str(hour), "-o", "-"]).stdout)
    rows = {row[0]: row for row in found.tables["by-hour-dm-8"]}

    assert rows["10:00"][1:] == rows["11:00"][1:]
    assert rows["10:00"][1] == "30.0"


def test_a_hostile_name_is_a_name(tmp_path):
    """A volume's name that is markup, or controls a terminal, is read as what it is."""
    capture = tmp_path / "capture"
    shutil.copytree(SAMPLES / "vghdd", capture)
    hostile = "<img/src=x/onerror=alert(1)>\x1b[2J`|"
    path = capture / "sys/block/sda/device/model"
    path.write_text(hostile)
    text = run(["--from", str(capture), "report", "vm-disk1", "-o", "-"]).stdout
    found = Read(text)

    assert found.wrong == []
    assert "<img" not in text
    assert "\x1b" not in text
    assert "onerror=alert(1)" in "".join(found.said)
    assert "\x1b" not in run(["--from", str(capture), "report", "vm-disk1", "-m", "-o", "-"]).stdout


def test_the_page_is_the_only_output(tmp_path):
    """Nothing is printed; with --force the page replaces a larger file."""
    out = tmp_path / "page.html"
    out.write_text("x" * 10_000_000)
    result = run([*VGHDD, "report", "vm-disk1", "-o", str(out), "--force"])

    assert (result.exit_code, result.output) == (0, "")
    assert out.read_text() == page("vghdd-disk")


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.bak"])
def test_a_file_of_another_kind_is_refused(name, tmp_path):
    """Before anything is measured; --markdown says what it is to be."""
    out = tmp_path / name

    assert run([*VGHDD, "report", "-o", str(out)]).exit_code == 2
    assert not out.exists()
    assert run([*VGHDD, "report", "-m", "-o", str(out)]).exit_code == 0
    assert out.read_text().startswith("# ")


def test_where_nothing_was_measured_nothing_is_written(tmp_path):
    """A capture of one frame has no rates."""
    out = tmp_path / "page.html"
    result = CliRunner().invoke(
        stackmap, ["--from", str(SAMPLES / "mysql-raid"), "report", "-o", str(out)]
    )

    assert result.exit_code != 0
    assert not out.exists()


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def browsed(tmp_path):
    """Return what a browser makes of a page: its document, its complaints, what it asked the server for."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, _, *arguments):
            asked.append(arguments[0])

    serve = functools.partial(Handler, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def browse(html):
        (tmp_path / "page.html").write_text(html)
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-sync", f"--user-data-dir={tempfile.mkdtemp(dir=tmp_path)}",  # not one that has seen another page
                "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom",
                f"http://127.0.0.1:{server.server_port}/page.html",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, said, [words.split()[1] for words in asked]

    yield browse
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["vghdd", "medusa-iostat"])
def test_a_browser_has_nothing_to_say(name, browsed):
    """It draws every chart, complains of nothing, and asks for nothing but the page."""
    document, said, asked = browsed(page(name))

    assert said == []
    assert asked == ["/page.html"]
    assert document.count('class="chart live"') == page(name).count('class="chart"')


def test_a_browser_would_have_told(browsed):
    """A script that is not the page's own is refused by it, and a failing one is heard of."""
    foreign = page("vghdd").replace("</main>", "<script>nope()</script></main>")
    failing = page("vghdd").replace('"lines":', '"line":')

    assert any("Content Security Policy" in line for line in browsed(foreign)[1])
    assert any("Uncaught" in line for line in browsed(failing)[1])


@pytest.fixture
def night(tmp_path):
    """A night of sar: sda waits 5 ms and 60 ms in reports 81 to 84, sdb 5 ms all the time."""
    heading = "{:02}:{:02}:00          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"
    rows = ["Linux 6.1.0 (db1) \t01/02/26 \t_x86_64_\t(4 CPU)", "", heading.format(0, 0)]
    for report in range(1, 144):
        hour, minute = divmod(10 * report, 60)
        for name in ("sda", "sdb"):
            wait = 5.0 + 0.1 * (report % 7) + (55.0 if name == "sda" and 81 <= report <= 84 else 0)
            rows.append(
                f"{hour:02}:{minute:02}:00    {name:>9}     40.00    320.00      0.00      8.00 "
                f"{wait / 25:9.2f} {wait:9.2f}     20.00"
            )
    path = tmp_path / "sar.txt"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_charts_shade_the_episodes(night):
    """Of the device that was slow, also where a script draws it; of no other."""
    words = ["report", "--input", str(night), "-o", "-"]
    drawn = run(words).stdout
    charts = {key: json.loads(text)["shaded"] for key, text in Read(drawn).scripts.items()}

    assert "13:20–14:00 sda await 5.3 → 60.4 ms" in run([*words, "-m"]).stdout
    assert charts["data-await_ms-sda"] == [[80.5, 84.5]]
    assert charts["data-await_ms-sdb"] == []
    assert drawn.count('class="shade"') == sum(map(len, charts.values())) >= 2
