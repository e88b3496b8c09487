"""What is read ahead of a text, and which of its intervals and devices are used."""

from __future__ import annotations

import io

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import InputError, UsageError
from stackmap.measurement import text as measured_text
from stackmap.measurement import ticket
from stackmap.measurement.capture_part import CapturePart
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.source import IntervalSelection
from stackmap.measurement.text import ForeignText, TextSource, _only
from stackmap.measurement.ticket import told_machine
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from stackmap.model.topology import Machine
from stackmap.sources.printed import capture_files

HEADING = "Device            r/s     w/s     rkB/s     wkB/s\n"


class Pipe(io.BytesIO):
    """A text that comes in *chunks*, and cannot be read again."""

    name = "-"

    def __init__(self, *chunks):
        super().__init__(b"".join(chunks))
        self._chunks = list(chunks)

    def seekable(self):
        return False

    def read1(self, _):
        return self._chunks.pop(0) if self._chunks else b""


def report(*names, time=""):
    """A report of `iostat -dt`: each device has its place in the primes as its reads and writes."""
    rows = "".join(f"{name} 2.00 3.00 8.00 12.00\n" for name in names)
    return f"{time}\n{HEADING}{rows}\n".encode()


def at(minute):
    return f"11/21/26 10:{minute:02}:00"


def ends(part, *chunks):
    """The minutes in which the intervals of a part end."""
    text = TextSource(Pipe(*chunks), None, print, part)
    intervals = text._measured(IntervalSelection(which="all"), "all")
    return [interval.stamp[-5:-3] for _, interval in intervals]


def test_a_part_of_a_pipe_is_used():
    """Its times are read first, and then the pipe once more."""
    text = [b"Linux 6.1.0 (lab) \t11/21/26 \t_x86_64_\t(4 CPU)\n"]
    text += [report("sda", time=at(minute)) for minute in range(1, 6)]

    assert ends(CapturePart("2026-11-21T10:02Z", "2026-11-21T10:04Z"), *text) == ["03", "04"]
    assert ends(CapturePart(since="2026-11-21T10:04Z"), *text) == ["05"]


def test_a_text_without_times_has_no_part():
    with pytest.raises(UsageError, match="- has no times for --since or --until"):
        ends(CapturePart(since="10:00"), report("sda"), report("sda"))


def test_the_names_of_the_first_chunk_are_known():
    """Of all its reports; the last one may end within a name."""
    whole = report("sda") + report("sda", "sdb") + report("sdc")
    cut = whole + HEADING.encode() + b"sdd 2.00 3.00 8.00 12.00\nsd"
    for chunk, names in ((whole, {"sda", "sdb", "sdc"}), (cut, {"sda", "sdb", "sdc"})):
        topology = TextSource(Pipe(chunk, b"x 2.00 3.00 8.00 12.00\n"), None, print).topology()
        assert {device.name for device in topology} == names


def test_only_the_chosen_devices_are_kept():
    interval = Interval(dict.fromkeys(("sda", "sdb", "sdc"), IDLE))

    assert [*next(_only(frozenset({"sdb", "sdz"}), iter([interval]))).loads] == ["sdb"]
    assert next(_only(None, iter([interval]))) is interval


def test_another_machine_is_noted_once():
    notes = []
    foreign = ForeignText(Machine("lab", "6.1.0"), notes.append)
    foreign.check(Machine("lab", "6.1.0"))
    assert notes == []
    for _ in range(2):
        foreign.check(Machine("web1", "6.1.0"))
    assert notes == ["device names may mean other devices: the text is from host web1, not lab"]


def test_a_second_host_is_noted_once():
    """However often the hosts take turns."""
    notes = []
    foreign = ForeignText(Machine(), notes.append)
    for host in ("web1", "web1.example.com", "web2", "web1", "web3", "web2"):
        foreign.check_hosts(f"Linux 6.1.0 ({host}) \t11/21/26 \t_x86_64_\t(4 CPU)\n".encode())
    assert notes == ["the text is from web1 and web2: names of both are looked up on one machine"]


def test_a_text_of_figures_alone_tells_of_no_machine():
    text, host = told_machine(Pipe(report("sda")), print)
    assert host is None
    assert text.read() == report("sda")


def test_of_a_text_only_so_many_rows_are_held_at_once(monkeypatch):
    """Rows of a few bytes each would take much; each row of a long text has enough bytes."""
    monkeypatch.setattr(
        measured_text, "MAX_HELD", 10
    )  # a report of one row counts as two, its device as four
    monkeypatch.setattr(measured_text, "BYTES_PER_HELD", 1000)

    def loads(*, held, count):
        source = TextSource(Pipe(*[report("sda")] * count), None, print, held=held)
        return [*source._measured(IntervalSelection(which="all"), "all")]

    assert len(loads(held=True, count=3)) == 3
    assert len(loads(held=False, count=9)) == 9
    with pytest.raises(InputError, match="more than 10 rows, reports and devices in so few bytes"):
        loads(held=True, count=9)
    monkeypatch.setattr(measured_text, "BYTES_PER_HELD", 10)
    assert len(loads(held=True, count=9)) == 9
    monkeypatch.setattr(measured_text, "MAX_ROWS", 5)
    monkeypatch.setattr(measured_text, "BYTES_PER_ROW", 1000)
    with pytest.raises(InputError, match="more than 5 rows, reports and devices in so few bytes"):
        loads(held=False, count=9)


def test_each_device_of_a_text_that_is_held_counts_as_rows(monkeypatch):
    """30,000 devices in 6 reports took 47 s: what is judged of each device takes as long as some rows."""
    monkeypatch.setattr(measured_text, "MAX_HELD", 60)
    monkeypatch.setattr(measured_text, "BYTES_PER_HELD", 1000)

    def loads(*names):
        source = TextSource(Pipe(*map(report, names)), None, print, held=True)
        return [*source._measured(IntervalSelection(which="all"), "all")]

    assert len(loads(*["sda"] * 12)) == 12
    with pytest.raises(InputError, match="more than 60 rows, reports and devices"):
        loads(*[f"sd{letter}" for letter in "abcdefghijkl"])


def test_devices_that_the_text_tells_of_count_as_rows(monkeypatch):
    """What is read of 22,000 arrays leaves less time for reports."""
    monkeypatch.setattr(measured_text, "MAX_HELD", 22)
    monkeypatch.setattr(measured_text, "BYTES_PER_HELD", 1000)
    arrays = "Personalities : [raid1]\nmd0 : active raid1 sda[0] sdb[1]\n      1024 blocks [2/2] [UU]\n\n"

    def loads(head):
        text, host = told_machine(Pipe(head.encode(), *[report("sda")] * 9), print)
        machine = None if host is None else CaptureSource(host)
        source = TextSource(text, machine, print, held=True)
        return [*source._measured(IntervalSelection(which="all"), "all")]

    assert len(loads("")) == 9
    with pytest.raises(InputError, match="more than 22 rows, reports and devices"):
        loads(arrays)


def test_so_many_lines_are_searched_for_outputs_of_tools(monkeypatch):
    """Many short lines would take long; a note says how many lines are searched."""
    monkeypatch.setattr(ticket, "MAX_LINES", 5)
    lsblk = b"NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 1G 0 disk\n"
    notes: list[str] = []

    _, host = told_machine(Pipe(b"a\n" * 9 + lsblk), notes.append)
    assert host is None
    assert notes == ["-: only its first 6 lines are searched for outputs of lsblk and others"]
    _, host = told_machine(Pipe(b"a\n" * 3 + lsblk), notes.append)
    assert host is not None


@pytest.mark.parametrize("words", [("explain",), ("report", "-o", "-")])
def test_a_command_that_holds_all_reports_refuses_too_many(tmp_path, monkeypatch, words):
    """The commands ask for that limit; a command that judges each report for itself has the other one."""
    monkeypatch.setattr(measured_text, "MAX_HELD", 100)
    monkeypatch.setattr(measured_text, "BYTES_PER_HELD", 1000)
    text = tmp_path / "iostat.txt"
    text.write_bytes(report("sda") * 60)

    def run(*more):
        return CliRunner().invoke(stackmap, [*words, "--input", str(text), *more])

    assert "more than 100 rows, reports and devices in so few bytes" in str(run().exception)
    assert run("--report", "last").exit_code == 0


def test_disks_of_which_a_text_names_partitions_count_as_devices(monkeypatch):
    """A partition of each of many disks is two devices."""
    monkeypatch.setattr(capture_files, "MAX_DEVICES", 5)
    arrays = "Personalities : [raid1]\nmd0 : active raid1 sda1[0] sdb1[1]{}\n      1024 blocks [2/2] [UU]\n\n"

    def devices(*more):
        return told_machine(Pipe(arrays.format(" ".join(["", *more])).encode()), print)[1]

    assert devices() is not None
    with pytest.raises(InputError, match="more than 5 devices"):
        devices("sdc1[2]")
