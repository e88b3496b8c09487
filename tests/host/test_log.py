"""The log of a capture: whole samples up to wherever it ends, and no more read than a window needs."""

import gzip
import json
import re
import shutil
import subprocess
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.errors import CaptureError, InputError, SourceDenied
from stackmap.host import log
from stackmap.host.budget import Budget
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import Refusal
from stackmap.host.log_reader import Answers
from stackmap.host.recording import RecordingHost
from stackmap.host.segments import Limits
from stackmap.host.timeline import TimeWindow
from stackmap.sampling.watch import Watch
from stackmap.sources.diskstats import PATH
from tests.long import SPAN, START, Repeated
from tests.test_watch import Machine, nothing, replace_quickly, watched, with_volume


def segment(capture):
    (found,) = (Path(capture) / "log").iterdir()
    return found


def test_a_segment_is_read_up_to_the_last_whole_frame(tmp_path):
    """Cut after any byte, it has a prefix of its frames and no incomplete frame."""
    with RecordingHost(Repeated(30, 7), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 4):
            pass
    content = segment(tmp_path / "c").read_bytes()
    whole = list(log.Frames(content))
    assert len(whole) == 5

    before = 0
    for cut in range(len(content) + 1):
        found = list(log.Frames(content[:cut]))
        assert found == whole[: len(found)]
        assert len(found) >= before
        before = len(found)
    assert before == 5


def test_what_was_written_over_ends_it(tmp_path):
    """A crash of the machine may leave zeros, or another file's blocks: the frames before them are read."""
    with RecordingHost(Repeated(30, 7), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 50):
            pass
    content = segment(tmp_path / "c").read_bytes()
    whole = list(log.Frames(content))
    for start in range(0, len(content), 97):
        for junk in (bytes(500), bytes(range(250)) * 2):
            found = list(log.Frames(content[:start] + junk + content[start + 500 :]))
            assert found == whole[: len(found)]


def damaged(long, tmp_path, number, how):
    """Return a copy with one damaged segment, and its warnings."""
    shutil.copytree(long, tmp_path / "damaged")
    path = sorted((tmp_path / "damaged" / "log").iterdir())[number]
    content = path.read_bytes()
    path.write_bytes(how(content))
    told = []
    return CapturedHost(str(tmp_path / "damaged"), told.append), told


def halved(content):
    return content[: len(content) // 2]


def overwritten(content):
    half = len(content) // 2
    return content[:half] + bytes(999) + content[half + 999 :]


@pytest.mark.parametrize("how", [halved, overwritten, lambda _: b"", lambda _: b"junk" * 99])
def test_a_damaged_segment_is_said_and_the_next_is_read(long, tmp_path, how):
    """One warning with the samples left out; the samples after it are unchanged."""
    whole = counters(CapturedHost(str(long)), TimeWindow())
    host, told = damaged(long, tmp_path, 1, how)
    found = counters(host, TimeWindow())
    assert found == counters(host, TimeWindow())
    assert [time for time, _ in found if time < START + 600] == [START + n for n in range(600)]
    assert [each for each in found if each[0] >= START + 1200] == whole[1200:]
    assert [each for each in whole if each in found] == found
    assert len(found) < len(whole)
    (line,) = told
    assert re.search(r"/log/\S+: damaged: samples from \S+Z to 2025-11-20T01:20:00Z", line)


def test_the_command_line_says_what_is_left_out(long, tmp_path):
    """One line on stderr, and the report of the rest; an average whose ends are whole lacks nothing."""
    damaged(long, tmp_path, 1, halved)
    command = ["--from", str(tmp_path / "damaged"), "iostat", "-J"]
    every = CliRunner().invoke(stackmap, [*command, "--report", "all"])
    average = CliRunner().invoke(stackmap, command)
    whole = CliRunner().invoke(stackmap, ["--from", str(long), "iostat", "-J"])

    lines = [line for line in every.stderr.splitlines() if "not known" not in line]
    assert len(lines) == 1, lines
    assert re.fullmatch(r"stackmap: .*/damaged/log/\S+: damaged: samples .*", lines[0])
    assert every.exit_code == 0
    assert 1200 < len(every.stdout.splitlines()) < SPAN
    assert average.stdout == whole.stdout


def test_a_log_that_ends_in_the_middle_is_whole(long, tmp_path):
    """A cut last segment is normal after a power failure; overwritten bytes in it cause a warning."""
    host, told = damaged(long, tmp_path, 3, halved)
    assert START + 1800 < host.span()[1] < START + SPAN
    assert told == []


def test_the_end_of_a_log_that_was_written_over_is_said(long, tmp_path):
    host, told = damaged(long, tmp_path, 3, overwritten)
    host.span()
    assert re.search(r"damaged: samples from \S+Z on are left out", told[0])


def test_what_is_damaged_is_no_capture_for_who_is_not_told(long, tmp_path):
    """Nothing is left out without a word."""
    damaged(long, tmp_path, 1, halved)
    with pytest.raises(CaptureError, match="damaged"):
        counters(CapturedHost(str(tmp_path / "damaged")), TimeWindow())


def test_across_what_is_left_out_every_device_is_looked_at(tmp_path):
    """The lost part may contain an uevent: a replaced device has no figures across it."""
    steps = [nothing] * 12
    steps[6] = replace_quickly
    path = tmp_path / "c"
    limits = Limits(segment=4.0)
    with RecordingHost(with_volume(steps, listens=True), str(path), limits) as host:
        watched(host, 11)
    second = sorted((path / "log").iterdir())[1]
    second.write_bytes(halved(second.read_bytes()))
    host = CapturedHost(str(path), [].append)
    across = [
        interval
        for _, interval in Watch(host, discover(host), discover).intervals(1.0, None)
        if interval.seconds > 1
    ]
    assert [interval.loads.keys() for interval in across] == [{"sda"}]


@pytest.mark.parametrize(
    "unpacked",
    [
        b"no frame\n" * 20,
        b"frame x 1 1\nx",
        b"frame 1.0 99999999999999 1\nx",
        b"x" * 300,
        log.encode_frame(1.0, [b'["~", "read /x", 2]\n9\n\n']),
        log.encode_frame(1.0, [b'["=", "read /x", "y"]\n']),
        log.encode_frame(1.0, [b"[" * 100_000 + b"\n"]),
        log.encode_frame(1.0, [b'{"a": 1}\n']),
        log.encode_frame(1.0, [log.encode_transient("count", "many")]) * 2,
    ],
    ids=range(9),
)
def test_a_hostile_segment_is_refused_in_one_line(tmp_path, unpacked):
    """Impossible content is an error that names the place."""
    (tmp_path / "log").mkdir()
    (tmp_path / "capture.json").write_text(json.dumps({"format": 2}))
    (tmp_path / "log" / "1.0.gz").write_bytes(gzip.compress(unpacked))

    host = CapturedHost(str(tmp_path))
    with pytest.raises(CaptureError, match=r"log/1\.0\.gz: damaged"):
        list(chain(host.ticks(1.0, None), host.steps()))


def test_entries_say_what_changed():
    """A few lines of many as those lines; all else whole; a refusal with its words."""
    before = [f"line {number}" for number in range(10)]
    after = [*before]
    after[3], after[7] = "three", "séven"
    answers = Answers(Budget("c"))
    answers.take(log.encode_entry("read /x", before) + log.encode_entry("read /y", ["1"]), "it")

    entries = [
        log.encode_entry("read /x", after, before),
        log.encode_entry("read /y", Refusal("denied", "no"), ["1"]),
        log.encode_transient("uevents", "[]"),
    ]
    assert answers.take(b"".join(entries), "it") == {"uevents": "[]"}
    assert answers.get("read /x") == after
    assert answers.get("read /y") == Refusal("denied", "no")
    assert b"line 4" not in entries[0]


def shown(path, window):
    """Return a capture that answers from *window* only."""
    host = CapturedHost(str(path))
    host.select(window)
    return host


def counters(host, window):
    """The instants and counters of a window."""
    host.select(window)
    return [(time, host.read(PATH)) for time in host.ticks(1.0, None)]


@pytest.mark.parametrize(
    ("since", "until"), [(None, None), (5, 9), (599, 601), (600, 600), (1250.5, 1290), (1999, None)]
)
def test_a_window_is_that_part_of_the_whole(long, since, until):
    """Bounds are included; the answers are those recorded at that time."""
    whole = counters(CapturedHost(str(long)), TimeWindow())
    begin, end = since or 0, SPAN if until is None else until
    expected = [each for each in whole if begin <= each[0] - START <= end]
    window = TimeWindow(
        None if since is None else START + since, None if until is None else START + until
    )

    assert len(whole) == SPAN + 1
    assert counters(CapturedHost(str(long)), window) == expected


@pytest.mark.parametrize("every", [2, 7, 60, 600, 700, 1300])
def test_every_nth_second(long, every):
    """Over the ends of segments, and past whole ones, the same samples as by counting."""
    whole = counters(CapturedHost(str(long)), TimeWindow())
    assert counters(CapturedHost(str(long)), TimeWindow(every=every)) == whole[::every]


def test_a_window_reads_no_other_segment(long, monkeypatch):
    """Of a week, an hour takes an hour's files, found by their names."""
    host = CapturedHost(str(long))
    host.span()
    read = []
    real = host._tree.read
    monkeypatch.setattr(host._tree, "read", lambda path: read.append(path) or real(path))
    counters(host, TimeWindow(START + 700, START + 800))
    logs = {path for path in read if path.startswith("/log/")}
    assert logs == {f"/log/{START + 600:.6f}.gz"}


def test_an_empty_window_is_said(long):
    with pytest.raises(InputError, match="no sample in the requested time window"):
        shown(long, TimeWindow(since=START + SPAN + 1))


def test_a_tar_of_it_is_it(long, tmp_path):
    """The same samples, the same topology."""
    path = tmp_path / "c.tar.gz"
    subprocess.run(["tar", "czf", path, "-C", long.parent, long.name], check=True)
    window = TimeWindow(START + 590, START + 610)
    directory, tar = shown(long, window), shown(path, window)

    assert counters(directory, window) == counters(tar, window)
    assert discover(directory).devices == discover(tar).devices


def test_what_is_told_later_replaces_what_was(tmp_path):
    """An answer after a refusal, a refusal after an answer, a link, a listing: each in its frame."""

    class Changing(Repeated):
        frame = 0

        def read(self, path):
            if path == "/changing" and self.frame == 1:
                raise SourceDenied("/changing: not now")
            return f"{self.frame}\n" if path == "/changing" else super().read(path)

        def link(self, path):
            return f"../to{path}/{self.frame}"

        def names_in(self, path):
            return [f"{path[1:]}{number}" for number in range(self.frame)]

        def ticks(self, interval, count):
            for self.frame in range(count):
                yield START + interval * self.frame

    def ask(host):
        answers = []
        for question, path in (
            (host.read, "/changing"),
            (host.link, "/changing"),
            (host.names_in, "/folder"),
        ):
            try:
                answers.append(question(path))
            except SourceDenied as refusal:
                answers.append(str(refusal))
        return answers

    with RecordingHost(Changing(), str(tmp_path / "c")) as host:
        live = [ask(host), *(ask(host) for _ in host.ticks(1.0, 4))]
    replay = CapturedHost(str(tmp_path / "c"))
    assert [ask(replay), *(ask(replay) for _ in replay.ticks(1.0, None))] == live
    assert live[2][0] == "/changing: not now"


def test_a_replay_says_what_was_said_live(tmp_path):
    """A device replaced under its name, its counters higher: the same events and rates, no figure across."""
    steps = [nothing, nothing, replace_quickly, nothing, lambda m: m.rename("dm-0", "vg/named")]
    with RecordingHost(with_volume(steps, listens=True), str(tmp_path / "c")) as host:
        live = watched(host, 7)
    host = CapturedHost(str(tmp_path / "c"))
    replayed = [
        (topology, {n: load.read.ios for n, load in interval.loads.items()}, interval.events)
        for topology, interval in Watch(host, discover(host), discover).intervals(1.0, None)
    ]

    assert [(t.devices, rates, events) for t, rates, events in replayed] == [
        (t.devices, rates, events) for t, rates, events in live
    ]
    assert any("replaced" in event for _, _, events in replayed for event in events)


def test_a_sample_in_many_still_knows_a_replaced_device(tmp_path):
    """--every skips the frame with the uevent; the identity of the device shows the change."""
    steps = [nothing, nothing, replace_quickly]
    with RecordingHost(with_volume(steps, listens=True), str(tmp_path / "c")) as host:
        watched(host, 13)
    host = shown(tmp_path / "c", TimeWindow(every=4.0))
    first, _, third = Watch(host, discover(host), discover).intervals(1.0, None)

    assert "dm-0" not in first[1].loads
    assert any("dm-0: replaced" in event for event in first[1].events)
    assert third[1].loads["dm-0"].read.ios == 7
    assert [report[0]["dm-0"].title for report in (first, third)] == ["vg/lv", "vg/other"]


def test_what_happens_in_segments_that_a_window_skips_is_known(tmp_path):
    """Without a diskseq only its uevents tell a disk from the one it replaced, which had counted less."""
    machine = Machine([*[nothing] * 900, replace_quickly])
    machine.add = partial(without_diskseq, machine, machine.add)
    machine.add_volume(0, "vg/lv")
    machine.files = {**machine.files, PATH: ""}
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 3200):
            pass
    host = shown(tmp_path / "c", TimeWindow(every=800.0))
    found = [loads for _, loads in Watch(host, discover(host), discover).intervals(1.0, None)]

    rates = [interval.loads.get("dm-0") for interval in found]
    assert [load and load.read.ios for load in rates] == [7, None, None, 7]


def without_diskseq(machine, add, name, files):
    """Add a device to *machine* that has neither a diskseq nor a uuid of its own."""
    add(name, files)
    machine.files = {
        path: re.sub("DISKSEQ=.*", "", re.sub("LVM.*", "LVM-x", text))
        for path, text in machine.files.items()
    }


@pytest.mark.parametrize(
    "heading",
    [
        ["=", "read /q", -3], ["=", "read /q", -1], ["=", "read /q", 99], ["=", "read /q", True], ["=", "read /q", "3"], ["=", "read /q"],
        ["?", "read /q", 3], ["=", None, 3], ["=", ["read /q"], 3], [], {}, 17, ["!", "read /q"], ["~", "read /q", 3],
    ],
    ids=str,
)  # fmt: skip
def test_an_entry_of_another_form_is_damage(heading):
    """A negative length is an error; once it caused an endless loop."""
    entry = json.dumps(heading).encode() + b"\nabc\n"

    with pytest.raises(CaptureError, match="damaged"):
        Answers(Budget("c")).take(entry, "log/1.gz")


@pytest.mark.parametrize("name", ["nan", "inf", "1e9", "1_0", "", "9" * 13, "253402300800"])
def test_a_file_with_no_instant_as_its_name_is_no_segment(name):
    assert log.segment_start(f"{name}.gz") is None


def test_padded_attributes_are_read_up_to_their_nul(tmp_path):
    """GNU tar of a live /sys pads them: the disk was lost, silently."""
    for path, content in {"size": b"2048\n", "dev": b"8:0\n"}.items():
        (tmp_path / "sys/block/sda").mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys/block/sda" / path).write_bytes(content.ljust(4096, b"\0"))
    told = []

    (disk,) = discover(CapturedHost(str(tmp_path), told.append))

    assert (disk.size, disk.number) == (2048 * 512, "8:0")
    assert len(told) == 1
    assert "padded with NULs" in told[0]


@pytest.mark.parametrize("start", [-1000.25, -3.0, 0.0])
def test_a_clock_before_1970(tmp_path, monkeypatch, start):
    """A clock without a battery may stand anywhere; segments are read in the order of their names' times."""
    monkeypatch.setattr("tests.long.START", start)
    with RecordingHost(Repeated(7, 2), str(tmp_path / "c"), Limits(segment=2.0)) as host:
        for _ in samples(host, 1.0, 5):
            pass
    host = CapturedHost(str(tmp_path / "c"))

    assert [*host.ticks(0, None)] == [start + n for n in range(6)]
    assert host.span() == (start, start + 5)
    for command in (["iostat"], ["tree"], ["iostat", "-l", "--report", "all", "-J"]):
        result = CliRunner().invoke(stackmap, ["--from", str(tmp_path / "c"), *command])
        assert result.exit_code == 0, result.output


def written(place, *frames):
    """Write a capture with a log of *frames*, each a list of entries, a second apart."""
    (place / "log").mkdir()
    (place / "capture.json").write_text(json.dumps({"format": 2}))
    entries = (log.encode_frame(START + number, each) for number, each in enumerate(frames))
    (place / "log" / f"{START:.6f}.gz").write_bytes(gzip.compress(b"".join(entries)))
    return CapturedHost(str(place))


COUNTED = [log.encode_entry("read /proc/diskstats", ["8 0 sda 1 0 8 1 1 0 8 1 0 1 1"] * 100)]
OTHER = [log.encode_entry("read /proc/uptime", ["1 1"])]


def test_an_empty_sample_is_no_step_of_a_sum(tmp_path):
    """Nothing changed in it, so an average need not look at it."""
    host = written(tmp_path, COUNTED, [], [], OTHER, [], [], [])

    assert list(host.steps()) == [(START, 1), (START + 2, 2), (START + 3, 1), (START + 6, 3)]


def test_a_version_changes_with_answers_that_are_not_counters(tmp_path):
    host = written(tmp_path, COUNTED, COUNTED, [], OTHER, COUNTED)

    versions = [host.version() for _ in host.ticks(1.0, None)]
    assert versions[0] == versions[1] == versions[2] != versions[3] == versions[4]
