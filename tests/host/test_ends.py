"""A recording that is ended in any way, at any time, loses no more than the sample it was at."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackmap.errors import CaptureError
from stackmap.host.capture import CapturedHost
from stackmap.sources.diskstats import PATH
from tests.long import Repeated
from tests.paths import ROOT

STACKMAP = Path(sys.executable).with_name("stackmap")
TIMES = 12  # ./run fuzz has more of them
DEVICES, ACTIVE = 24, 12
MANY = 1_000_000  # seconds of a recording that is not let come to its end
BEFORE_THE_FIRST = "ended before its first sample"


class Recorder:
    """Starts recordings, each a process of its own: forked, so that many take one import."""

    def __init__(self):
        self._server = subprocess.Popen(
            [sys.executable, ROOT / "tests/long.py", "-"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, *words):
        """Return the process that runs stackmap with *words*."""
        self._server.stdin.write(" ".join(map(str, words)) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def status(self):
        """Wait for its end."""
        return int(self._server.stdout.readline())

    def close(self):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()


@pytest.fixture
def recorder():
    recorder = Recorder()
    yield recorder
    recorder.close()


def read_back(out):
    """Return the number of samples; each must equal the machine's counters."""
    host, truth = CapturedHost(str(out)), Repeated(DEVICES, ACTIVE)
    count = 0
    for at, expected in zip(host.ticks(1.0, None), truth.ticks(1.0, MANY), strict=False):
        assert at == expected
        assert host.read(PATH) == truth.text()
        count += 1
    return count


def begun(out):
    """Return the number of samples that the recording reported as begun."""
    told = Path(f"{out}.told")
    lines = told.read_text().split("\n")[:-1] if told.exists() else []
    return int(lines[-1]) + 1 if lines else 0


def test_killed_at_any_time(tmp_path, recorder):
    """After kill -9 at random times, all samples before the current one can be read."""
    rng = random.Random(17)
    kept = []
    for number in range(TIMES):
        out = tmp_path / str(number)
        process = recorder.start(out, MANY, DEVICES, ACTIVE)
        if number % 4:  # most of them in the middle of samples, some while it still looks around
            while not (out / "log").exists():
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(process, signal.SIGKILL)
        assert recorder.status() == -signal.SIGKILL
        try:
            count = read_back(out)
        except CaptureError as error:
            # A folder that it had only just made is no capture, nor is anything lost.
            if out.exists() and any(out.iterdir()) and BEFORE_THE_FIRST not in str(error):
                raise
            count = 0
        assert count >= begun(out) - 1
        kept.append(count)
    assert sum(count > 1 for count in kept) > TIMES / 2


@pytest.mark.parametrize("manifest", ["capture.json.new", ""])
def test_killed_while_the_first_archive_is_written(tmp_path, manifest):
    """
    What is there of it is no tar; the reader says that there is no sample, not that it is damaged.

    Also between the removal of the unfinished manifest and its replacement.
    """
    out = tmp_path / "c"
    out.mkdir()
    if manifest:
        (out / manifest).touch()
    (out / "answers.tar.gz").write_bytes(gzip.compress(b"x" * 700)[:20])
    with pytest.raises(CaptureError, match=BEFORE_THE_FIRST):
        CapturedHost(str(out))


def test_full_at_any_size(tmp_path, recorder):
    """With random file-size limits: one line of error, status 1, and a capture of the samples that fitted."""
    rng = random.Random(19)
    for number in range(TIMES):
        out = tmp_path / str(number)
        # The answers before the first sample take some 45,000 bytes.
        recorder.start(out, MANY, DEVICES, ACTIVE, rng.randrange(60_000, 90_000))
        assert recorder.status() == 1
        (line,) = Path(f"{out}.said").read_text().splitlines()
        assert "File too large" in line
        assert read_back(out) == begun(out) - 1 > 1


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of that many KiB, and unmount it afterwards."""
    if shutil.which("mount") is None:
        pytest.skip("no mount: ./run install mount")
    mounted = []

    def mount(kib):
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "stackmap-test", place]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount a tmpfs here")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", place], check=True)


@pytest.mark.root
def test_a_disk_that_fills_up(tmp_path, small_disk, recorder):
    """
    The command itself, on a real file system that has no more room.

    What it says is saved can be read; without a sample nothing remains.
    """
    if os.geteuid():
        pytest.skip("mounting takes root")
    source = tmp_path / "source"
    recorder.start(source, 600, DEVICES, ACTIVE)
    assert recorder.status() == 0
    rng = random.Random(23)
    needed = sum(path.stat().st_size for path in source.rglob("*")) >> 10
    for number in range(TIMES):
        # The complaint goes beside it, where there is room.
        place = small_disk(rng.randrange(needed // 3, needed * 9 // 10) if number % 10 else 16)
        out = place / "out"
        for ending in (".told", ".said"):
            Path(f"{out}{ending}").symlink_to(tmp_path / f"{number}{ending}")
        recorder.start("stackmap", "--from", source, "record", out)
        assert recorder.status() == 1
        (line,) = Path(f"{out}.said").read_text().splitlines()
        assert line.startswith("stackmap: ")
        assert "No space left on device" in line
        if kept := re.search(r"; (\d+) samples are saved", line):
            assert read_back(out) == int(kept[1])
            assert all(path.stat().st_size for path in (out / "log").iterdir())
        else:
            assert not out.exists()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_well(tmp_path, ending):
    """Status 0; the number of samples in the message is the number in the capture."""
    out = tmp_path / "out"
    # A background job of a shell ignores SIGINT, and its children inherit that.
    command = ["env", "--default-signal=INT,TERM", STACKMAP, "record", out, "0.1"]
    recording = subprocess.Popen(command, stderr=subprocess.PIPE)
    while not (out / "log").exists() or not list((out / "log").iterdir()):
        assert recording.poll() is None
        time.sleep(0.05)
    time.sleep(0.35)
    recording.send_signal(ending)
    try:
        said = recording.communicate(timeout=60)[1].decode()
    finally:
        recording.kill()

    assert recording.returncode == 0, said
    assert len(list(CapturedHost(str(out)).ticks(1.0, None))) == int(said.split()[1]) + 1
