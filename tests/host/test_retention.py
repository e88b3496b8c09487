"""Bounded recordings: the oldest segments go first, and what is left is a whole recording."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.errors import CaptureError, OutputRefused, UsageError
from stackmap.host import log
from stackmap.host.capture import CapturedHost
from stackmap.host.directory import Directory
from stackmap.host.file_tree import DirectoryTree
from stackmap.host.recording import RecordingHost
from stackmap.host.segments import NO_LIMITS, SHARE, Limits
from stackmap.host.timeline import SKIPPED
from stackmap.sampling.snapshots import RESTARTED
from stackmap.sampling.watch import Watch
from stackmap.sources.diskstats import PATH
from tests.long import START, Repeated
from tests.test_watch import nothing

STEP = 20.0  # seconds between samples: 30 per segment


class Later(Repeated):
    """The same machine, *delay* seconds later, with other counters; it may have lost a disk."""

    def __init__(self, delay: float = 0.0, devices: int = 30, active: int = 7) -> None:
        super().__init__(devices, active)
        self._delay = delay

    def ticks(self, interval, count):
        for tick in range(int(self._delay / interval)):
            self._grow(tick)
        for at in super().ticks(interval, count):
            yield at + self._delay


def record(out, count, limits=NO_LIMITS, *, delay=0.0, append=False, each=nothing):
    """Record *count* samples; call *each* after every one."""
    with RecordingHost(Later(delay), str(out), limits, append=append) as host:
        for _ in samples(host, STEP, count - 1):
            each(host)


def used(out):
    """Return the bytes of all files below *out*."""
    return sum(path.stat().st_size for path in Path(out).rglob("*") if path.is_file())


def segments(out):
    return sorted((Path(out) / "log").glob("*.gz"))


def instants(out):
    return list(CapturedHost(str(out)).ticks(0, None))


def test_size_is_never_beyond_the_limit_by_more_than_a_segment(tmp_path):
    """After every sample of nine hours; at the end a part of them is left, without a gap."""
    out, limit, most = tmp_path / "c", 150_000, []
    record(out, 1600, Limits(size=limit), each=lambda _: most.append(used(out)))

    largest = max(path.stat().st_size for path in segments(out))
    left = instants(out)
    assert limit * 0.7 < most[-1]
    assert max(most) <= limit + largest
    assert largest <= limit / SHARE + 5000
    assert 50 < len(left) < 1500
    assert left[-1] == START + 1599 * STEP
    assert {b - a for a, b in pairwise(left)} == {STEP}


def test_age_is_that_of_the_newest_sample_of_a_segment(tmp_path):
    """Nothing that is younger is removed, and what is older by a segment is."""
    out, age = tmp_path / "c", 3600.0
    record(out, 600, Limits(age=age))

    newest = START + 599 * STEP
    assert newest - age - log.SEGMENT_SECONDS <= instants(out)[0] <= newest - age


def test_without_limits_nothing_is_removed(tmp_path):
    record(tmp_path / "c", 200)
    assert len(instants(tmp_path / "c")) == 200


def test_any_segment_can_be_the_first(tmp_path):
    """Topology and counters are there before and after the first tick, as in the whole recording."""
    out = tmp_path / "c"
    record(out, 150)
    whole = CapturedHost(str(out))
    counters = {at: whole.read(PATH) for at in whole.ticks(0, None)}
    topology = discover(whole)
    for path in segments(out)[:-1]:
        path.unlink()
        host = CapturedHost(str(out))
        first, last = host.span()
        assert host.read(PATH) == counters[first]
        assert discover(host).devices.keys() == topology.devices.keys()
        assert [(at, host.read(PATH)) for at in host.ticks(0, None)] == [
            (at, text) for at, text in counters.items() if at >= first
        ]
        assert last == START + 149 * STEP


def test_answers_are_those_of_the_first_sample_left(tmp_path):
    """Before the first tick, too: `tree` shows no devices that were removed before it."""
    machine, path = Later(), "/proc/version"
    machine.files[path] = "old"
    with RecordingHost(machine, str(tmp_path / "c"), Limits(age=1000.0)) as host:
        host.read(path)
        for number, _ in enumerate(host.ticks(STEP, 200)):
            machine.files[path] = "old" if number < 40 else "new"
            host.read(path)

    assert CapturedHost(str(tmp_path / "c")).read(path) == "new"


@pytest.mark.parametrize(
    "command", [["iostat"], ["iostat", "-l"], ["tree"], ["explain"], ["export", "--openmetrics"]]
)
def test_commands_read_what_is_left(tmp_path, command):
    out = tmp_path / "c"
    record(out, 300, Limits(size=60_000))
    result = CliRunner().invoke(stackmap, ["--from", str(out), *command], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "damaged" not in result.output


def test_a_reader_goes_on_when_segments_are_removed(tmp_path, monkeypatch):
    """It has listed them; those that are gone are skipped, and the counters of others are right."""
    out = tmp_path / "c"
    record(out, 300)
    whole = CapturedHost(str(out))
    counters = {at: whole.read(PATH) for at in whole.ticks(0, None)}
    names = [f"{log.FOLDER}/{path.name}" for path in segments(out)]
    read, gone = DirectoryTree.read, names[1:6]

    def trimmed(self, path):
        if path == names[1]:
            for name in gone:
                (out / name.lstrip("/")).unlink(missing_ok=True)
        return read(self, path)

    host = CapturedHost(str(out))
    monkeypatch.setattr(DirectoryTree, "read", trimmed)
    seen = {at: (host.read(PATH), host.uevents()) for at in host.ticks(0, None)}

    assert {at: text for at, (text, _) in seen.items()} == {
        at: text for at, text in counters.items() if at in seen
    }
    assert len(seen) == 300 - 5 * 30
    (skipped,) = [at for at, (_, events) in seen.items() if {"ACTION": SKIPPED} in events]
    assert skipped == START + 180 * STEP


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_kill_during_trimming_loses_nothing_else(tmp_path, number, done):
    """Killed before or after a segment is removed, all samples of the others are there."""
    out = tmp_path / "c"
    child = os.fork()
    if child == 0:
        remove, calls = Directory.remove, []

        def killed(self, name):
            calls.append(name) if name.startswith(log.FOLDER) else None
            if len(calls) == number and name.startswith(log.FOLDER):
                if done:
                    remove(self, name)
                os.kill(os.getpid(), signal.SIGKILL)
            remove(self, name)

        Directory.remove = killed
        record(out, 2000, Limits(size=90_000))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    left = instants(out)
    first = log.segment_start(segments(out)[0].name)
    assert left[0] == first
    assert len(left) == (left[-1] - first) / STEP + 1
    assert used(out) <= 90_000 + max(path.stat().st_size for path in segments(out))


def test_append_continues_a_recording(tmp_path):
    """Across the gap, readers look at every device again; both parts are there, and limits hold."""
    out = tmp_path / "c"
    record(out, 100)
    record(out, 100, Limits(size=10**7), delay=9000.0, append=True)
    host = CapturedHost(str(out))
    seen = {at: host.uevents() for at in host.ticks(0, None)}

    assert len(seen) == 200
    assert seen[START + 9000.0] == [{"ACTION": SKIPPED}]
    before = used(out)
    record(out, 100, Limits(size=before), delay=20000.0, append=True)
    assert instants(out)[-1] == START + 20000.0 + 99 * STEP
    assert instants(out)[0] > START
    assert used(out) <= before


@pytest.mark.parametrize(("boot", "figures"), [("one", True), ("two", False)])
def test_append_after_a_restart_of_the_machine(tmp_path, boot, figures):
    """Counters of two boots are never subtracted, though they may have gone up and diskseq be the same."""
    out = tmp_path / "c"
    path = "/proc/sys/kernel/random/boot_id"
    for delay, name in ((0.0, "one"), (9000.0, boot)):
        machine = Later(delay)
        machine.files[path] = f"{name}\n"
        with RecordingHost(machine, str(out), append=True) as host:
            for _ in samples(host, STEP, 2):
                pass
    host = CapturedHost(str(out))
    found = [each for _, each in Watch(host, discover(host), discover).intervals(0, None)]

    assert [bool(each.loads) for each in found] == [True, True, figures, True, True]
    assert [RESTARTED in each.events for each in found] == [False, False, not figures, False, False]


BOOT, HOST = "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname"
WWNS = "/sys/block/sda/wwid", "/sys/block/sdb/wwid"


def recorded(path, delay, *, boot="", host="", wwns=()):
    """Record a machine with these identities, *delay* seconds after the first one."""
    machine = Later(delay)
    given = {BOOT: boot, HOST: host, **dict(zip(WWNS, wwns, strict=False))}
    machine.files |= {name: f"{text}\n" for name, text in given.items()}
    with RecordingHost(machine, str(path)) as recording:
        for _ in samples(recording, STEP, 2):
            pass
    return str(path)


A, B, SHARED = (
    "naa.5000c500a1b2c3d4",
    "naa.5000c500a1b2c3d5",
    "naa.600140500000000000000000000000aa",
)
SAME = [
    ({"host": "db1", "boot": "1"}, {"host": "db2", "boot": "1"}),  # renamed
    ({"host": "db1", "boot": "1"}, {"host": "db1", "boot": "2"}),  # restarted
    ({"host": "db1", "boot": "1"}, {"host": "DB1.example", "boot": "2"}),
    ({"host": "db1", "boot": "1", "wwns": [A]}, {"host": "db2", "boot": "2", "wwns": [B, A]}),
    ({"host": "db1", "boot": "1", "wwns": [A]}, {"host": "db1", "boot": "2"}),
    ({}, {"host": "db1", "boot": "1"}),
    ({"host": "db1", "boot": "1"}, {"host": "localhost", "boot": "2"}),  # no DHCP yet
]
ANOTHER = [
    ({"host": "db1", "boot": "1"}, {"host": "db2", "boot": "2"}, "host db1, not db2"),
    ({"host": "db1"}, {"host": "db2"}, "host db1, not db2"),
    (
        {"host": "db1", "boot": "1", "wwns": [A]},
        {"host": "db1", "boot": "2", "wwns": [B]},
        "no disk has the world-wide name of one there",
    ),
    (  # nodes of a cluster share a disk
        {"host": "db1", "boot": "1", "wwns": [A, SHARED]},
        {"host": "db2", "boot": "2", "wwns": [B, SHARED]},
        "host db1, not db2",
    ),
    (
        {"host": "db1", "boot": "1", "wwns": ["t10.QEMU    QEMU HARDDISK   drive-scsi0"]},
        {"host": "db2", "boot": "2", "wwns": ["t10.QEMU    QEMU HARDDISK   drive-scsi0"]},
        "host db1, not db2",
    ),
]


@pytest.mark.parametrize(("first", "then"), SAME)
def test_append_to_the_recording_of_this_machine(first, then, tmp_path):
    """The same boot, the same disks under another name, or the same name."""
    out, other = recorded(tmp_path / "c", 0.0, **first), recorded(tmp_path / "o", 9000.0, **then)
    done = CliRunner().invoke(stackmap, ["--from", other, "record", out, "1", "2", "--append"])

    assert done.exit_code == 0, done.exception
    assert len(instants(out)) == 6


@pytest.mark.parametrize(("first", "then", "reason"), ANOTHER)
def test_append_to_the_recording_of_another_machine_is_refused(first, then, reason, tmp_path):
    """Nothing in it changes, and the exit status is that of a refusal."""
    out, other = recorded(tmp_path / "c", 0.0, **first), recorded(tmp_path / "o", 9000.0, **then)
    before = {path: path.read_bytes() for path in Path(out).rglob("*") if path.is_file()}
    done = CliRunner().invoke(stackmap, ["--from", other, "record", out, "1", "2", "--append"])

    assert isinstance(done.exception, OutputRefused)
    assert str(done.exception) == f"{out}: of another machine: {reason}; give a new directory"
    assert done.exception.exit_code == 3
    assert {path: path.read_bytes() for path in Path(out).rglob("*") if path.is_file()} == before


def test_append_looks_at_the_newest_sample(tmp_path):
    """A machine that was renamed and then restarted may continue the recording."""
    out = recorded(tmp_path / "c", 0.0, host="db1", boot="1")
    for delay, host, boot in ((9000.0, "db2", "1"), (20000.0, "db2", "2")):
        other = recorded(tmp_path / boot, delay, host=host, boot=boot)
        done = CliRunner().invoke(stackmap, ["--from", other, "record", out, "1", "2", "--append"])
        assert done.exit_code == 0, done.exception


def test_append_after_a_kill(tmp_path):
    """The segment that was cut off is completed: only the cut sample is lost, and nothing is called damaged."""
    out = tmp_path / "c"
    child = os.fork()
    if child == 0:
        record(
            out, 45, each=lambda host: host.frames == 40 and os.kill(os.getpid(), signal.SIGKILL)
        )
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    newest = segments(out)[-1]
    os.truncate(newest, newest.stat().st_size - 20)  # as after a crash of the machine

    record(out, 10, delay=5000.0, append=True)

    left = instants(out)
    assert left[:39] == [START + tick * STEP for tick in range(39)]
    assert len(left) == 49


def test_append_with_a_clock_that_went_back_is_refused(tmp_path):
    """Readers order segments by time: counters and topology of the later ones would come first."""
    out = tmp_path / "c"
    record(out, 45, delay=9000.0)
    before = instants(out)
    with pytest.raises(CaptureError, match="clock is before"):
        record(out, 3, append=True)
    assert instants(out) == before


def test_append_keeps_a_damaged_segment(tmp_path):
    """What cannot be read is not removed: readers tell of it, and its owner may have a copy."""
    out = tmp_path / "c"
    record(out, 45)
    newest = segments(out)[-1]
    content = bytearray(newest.read_bytes())
    content[300:310] = b"0123456789"
    newest.write_bytes(content)

    record(out, 3, delay=5000.0, append=True)

    assert newest.read_bytes() == content
    told: list[str] = []
    assert len(list(CapturedHost(str(out), warn=told.append).ticks(0, None))) == 33
    assert [newest.name in each for each in told] == [True]


def test_append_to_what_began_and_has_no_sample(tmp_path):
    """A recorder that was killed before its first sample does not stop the next one."""
    out = tmp_path / "c"
    out.mkdir()
    (out / "capture.json.new").touch()
    record(out, 3, append=True)
    assert len(instants(out)) == 3


def test_append_to_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputRefused, match="is no recording"):
        record(tmp_path, 3, append=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_append_to_an_older_format_is_refused(tmp_path):
    (tmp_path / "capture.json").write_text('{"format": 2}')
    with pytest.raises(CaptureError, match="not a recording of this version"):
        record(tmp_path, 3, append=True)


def test_two_recorders_do_not_share_a_directory(tmp_path):
    out = tmp_path / "c"
    with RecordingHost(Later(), str(out)) as host:
        next(samples(host, STEP, 3))
        with pytest.raises(OutputRefused, match="another stackmap records here"):
            record(out, 3, append=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-size", "2"], "'2' is not a size; write 500M, 2G or 1T"),
        (["--max-size", "0G"], "'0G' is not a size"),
        (["--max-age", "1 fortnight"], "'1 fortnight' is not a length of time"),
    ],
)
def test_a_wrong_limit_is_refused_before_anything_is_written(tmp_path, words, message):
    words = ["record", *words, str(tmp_path / "c")]
    with pytest.raises(UsageError, match=message):
        CliRunner().invoke(stackmap, words, catch_exceptions=False)
    assert not (tmp_path / "c").exists()


def test_time_of_a_sample_with_limits(tmp_path):
    """Trimming costs no look at the directory: a thousand samples take seconds."""
    before = time.process_time()
    record(tmp_path / "c", 1000, Limits(size=10**8, age=10**6))
    assert time.process_time() - before < 30
