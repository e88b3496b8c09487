"""Frames in which more happened than counters going up are marked, and the others need not be examined."""

import gzip
import shutil
from pathlib import Path

import pytest

from stackmap.discover import discover
from stackmap.host import log
from stackmap.host.capture import CapturedHost
from stackmap.host.timeline import TimeWindow
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.source import IntervalSelection
from tests.test_stretches import START, recorded, same

COARSE = TimeWindow(START, None, 600.0)


def without_marks(recording, out):
    """Copy *recording* as a version wrote it that did not tell which frames are marked."""
    shutil.copytree(recording, out)
    for path in (Path(out) / "log").iterdir():
        frames = [*log.Frames(path.read_bytes())]
        plain = (
            (time, entries.replace(log.MARKED, b"").replace(log.UNMARKED, b""))
            for time, entries in frames
        )
        path.write_bytes(gzip.compress(b"".join(log.encode_frame(t, [each]) for t, each in plain)))
    return out


def coarse(recording):
    host = CapturedHost(str(recording))
    host.select(COARSE)
    return [interval for _, interval in CaptureSource(host).select(IntervalSelection())]


def average(recording):
    (found,) = CaptureSource(CapturedHost(str(recording))).select_steady(
        IntervalSelection(which="average")
    )
    return found


@pytest.mark.parametrize("rare", [3, 20, 80])
@pytest.mark.parametrize("seed", range(4))
def test_marks_change_no_figure(tmp_path, seed, rare):
    """Intervals of several samples and the average are those of a recording without marks."""
    recording = recorded(tmp_path / "c", seed, rare)
    older = without_marks(recording, tmp_path / "older")
    assert coarse(recording) == coarse(older)
    assert same(average(recording), average(older))


def examined(recording, *, ends):
    """The samples that are examined for intervals of ten minutes, or for the average."""
    host = CapturedHost(str(recording))
    if not ends:
        host.select(COARSE)
    return len([*host.steps()])


@pytest.mark.parametrize("ends", [True, False])
def test_only_marked_frames_are_examined(tmp_path, ends):
    """In a segment in which something happened, not every sample is examined."""
    recording = recorded(tmp_path / "c", 1, 20)
    older = without_marks(recording, tmp_path / "older")
    assert 1 < examined(recording, ends=ends) < examined(older, ends=ends) / 2


def test_asked_again_after_changes_only(tmp_path):
    """A topology is discovered again where an answer changed that it is made of, and nowhere else."""
    recording = recorded(tmp_path / "c", 2, 20)
    host = CapturedHost(str(recording))
    calls = []

    def counted(asked):
        calls.append(1)
        return discover(asked)

    again = host.remembered(counted)
    samples = 0
    for _ in host.ticks(1.0, None):
        samples += 1
        assert again(host).devices == discover(host).devices
    assert len(calls) < samples / 2


def test_a_changed_answer_is_seen(tmp_path):
    """Two results are remembered independently of each other."""
    host = CapturedHost(str(recorded(tmp_path / "c", 1, 3)))
    counters, uptime = (
        host.remembered(lambda asked, path=path: asked.read(path))
        for path in ("/proc/diskstats", "/proc/uptime")
    )
    for number, _ in enumerate(host.ticks(1.0, None)):
        if number % 3 == 0:
            assert uptime(host) == host.read("/proc/uptime")
        assert counters(host) == host.read("/proc/diskstats")
