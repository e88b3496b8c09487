"""The directory of a recording: its own, private, and not fooled by what others put there."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from stackmap.discover import discover
from stackmap.errors import CaptureError
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from tests.long import START, Repeated
from tests.rules.scripted import Scripted, disks

PATH = "/proc/diskstats"


def recorded(out, count=3, meanwhile=None, after=1):
    """Record *count* samples into *out*; *meanwhile* is called when *after* are written."""
    with RecordingHost(Repeated(30, 7), str(out)) as host:
        host.read("/proc/uptime")
        for number, _ in enumerate(host.ticks(1.0, count)):
            host.read(PATH)
            if meanwhile and number == after:
                meanwhile()


def test_everything_is_private(tmp_path):
    """Directories 0700, files 0600, whatever the umask: serial numbers are in them."""
    before = os.umask(0)
    try:
        recorded(tmp_path / "a" / "b" / "out")
    finally:
        os.umask(before)

    paths = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert len(paths) > 6
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("planted", ["proc", "log", "capture.json.new", "proc/uptime"])
def test_a_planted_link_is_not_followed(tmp_path, planted):
    """No other file changes, even if others may write to the directory."""
    victim = tmp_path / "victim"
    victim.mkdir()
    for name in ("uptime", "capture.json.new"):
        (victim / name).write_text("mine")
    out = tmp_path / "out"
    host = RecordingHost(Repeated(30, 7), str(out))
    (out / planted).parent.mkdir(exist_ok=True)
    (out / planted).unlink(missing_ok=True)
    (out / planted).symlink_to(victim / planted.rpartition("/")[2] if "." in planted or "/" in planted
                               else victim)  # fmt: skip
    try:
        with host:
            host.read("/proc/uptime")
            for _ in host.ticks(1.0, 2):
                host.read(PATH)
    except CaptureError as error:
        assert planted in str(error)  # noqa: PT017 - a link in the way is replaced or refused
    assert sorted(path.name for path in victim.iterdir()) == ["capture.json.new", "uptime"]
    assert {path.read_text() for path in victim.iterdir()} == {"mine"}


def test_a_file_in_the_way_of_the_log_is_not_overwritten(tmp_path):
    """The name of a segment can be guessed."""
    log = tmp_path / "out" / "log"

    def plant():
        log.mkdir()
        for second in range(9):
            (log / f"{START + second:.6f}.gz").write_text("mine")

    with pytest.raises(CaptureError, match="File exists"):
        recorded(tmp_path / "out", 3, plant, after=0)


def test_a_removed_directory_is_said(tmp_path):
    """Nothing is saved, and the next sample ends the recording with an error."""
    out = tmp_path / "out"
    with pytest.raises(CaptureError, match="out: the directory was removed; no sample is saved"):
        recorded(out, 9, lambda: shutil.rmtree(out))
    assert not out.exists()


@pytest.mark.parametrize("count", [2, 9])
def test_a_replaced_directory_is_said(tmp_path, count):
    """The directory in its place is unchanged; the moved one has the samples so far."""
    out, moved, other = (tmp_path / name for name in ("out", "moved", "other"))
    other.mkdir()

    def replace():
        out.rename(moved)
        out.symlink_to(other)

    with pytest.raises(CaptureError, match="out: the directory was moved or replaced"):
        recorded(out, count, replace)
    assert list(other.iterdir()) == []
    assert len(list(CapturedHost(str(moved)).ticks(1.0, None))) == 1


def test_a_path_that_leads_out_is_refused(tmp_path):
    """No answer of the system can name a file beside the directory."""
    host = RecordingHost(Repeated(30, 7), str(tmp_path / "out"))
    with pytest.raises(CaptureError, match="Invalid argument"):
        host._write("/sys/../../beside", "x")
    assert not (tmp_path / "beside").exists()


class Slow(Scripted):
    """A machine whose background answers are ready while ``is_ready``."""

    is_ready = True

    def in_background(self, ask):
        answer = super().in_background(ask)
        answer.ready = lambda _: self.is_ready
        return answer


def test_an_answer_that_is_late_when_asked_again_keeps_the_first_ones(tmp_path):
    """LVM's report is asked again after a change, and takes longer than a sample."""
    host = Slow(disks(["sda", "sdb"]), parts=[{}] * 3)
    with RecordingHost(host, str(tmp_path / "out")) as recording:
        drawn = discover(recording)
        for number, _ in enumerate(recording.ticks(1.0, 4)):
            recording.read(PATH)
            recording.ask_beside("LVM's report", lambda each: each.read("/proc/version"))
            host.is_ready = number != 1
            recording.take_beside(0.0)

    assert discover(CapturedHost(str(tmp_path / "out"))).devices == drawn.devices
