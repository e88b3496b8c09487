"""What is asked of a recording from sample to sample is charged to the bytes of its log."""

import io
import json
import tarfile
import zlib

import pytest

from stackmap.errors import CaptureError
from stackmap.host import budget, log
from stackmap.host.capture import CapturedHost
from stackmap.measurement.machines import CaptureSource
from stackmap.sources.diskstats import PATH
from stackmap.sources.sysfs import attribute
from tests.host.test_log import COUNTED, written
from tests.long import START

TOO_MANY = "refused: too many devices, or changes of them, for so many samples in so few bytes"


def charged(monkeypatch, free, per_byte=0):
    """Set what a replay may do: *free* lines of counters, and as many *per_byte* of its log."""
    monkeypatch.setattr(budget, "FREE_LINES", free)
    monkeypatch.setattr(budget, "LINES_PER_BYTE", per_byte)


def samples_until_refused(host, ask):
    """Ask *host* at each sample; return how many answers there were before it refused."""
    answers = (ask(host) for _ in host.ticks(1.0, None))
    given = []
    with pytest.raises(CaptureError, match=TOO_MANY):
        given.extend(answers)
    return len(given)


def test_a_log_with_more_lines_of_counters_than_its_bytes_carry_is_refused(tmp_path, monkeypatch):
    """Samples cost a few bytes each, and each has all devices; the first one is free."""
    charged(monkeypatch, 4 * (100 + budget.QUESTION_LINES))
    host = written(tmp_path, COUNTED, *[[]] * 9)

    assert samples_until_refused(host, lambda host: host.read(PATH)) == 5


def test_bytes_of_a_log_pay_for_its_lines(tmp_path, monkeypatch):
    charged(monkeypatch, 0, 1000)
    host = written(tmp_path, COUNTED, *[[]] * 9)

    assert len([host.read(PATH) for _ in host.ticks(1.0, None)]) == 10


def test_bytes_of_a_log_that_is_read_again_pay_once(tmp_path, monkeypatch):
    """An average reads a log for its marks, too: a log of 10 MB had the lines of 40 MB."""
    paid = []
    monkeypatch.setattr(budget.Budget, "replay_of", lambda _, content: paid.append(content))
    host = written(tmp_path, COUNTED, *[[]] * 9)

    assert len([*host.ticks(1.0, None)]) == len([*host.ticks(1.0, None)]) == 10
    assert len(paid) == 1


def test_of_a_log_that_is_compressed_as_a_part_of_an_archive_the_bytes_of_the_archive_pay(
    tmp_path, monkeypatch
):
    """A log that is not compressed itself has many bytes, of which an archive makes few."""
    frames = b"".join(log.encode_frame(START + n, COUNTED) for n in range(300))
    packing = zlib.compressobj(0, zlib.DEFLATED, log.GZIP)
    members = {
        "capture.json": b'{"format": 2}',
        f"log/{START:.6f}.gz": packing.compress(frames) + packing.flush(),
    }
    path = tmp_path / "twice.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    charged(monkeypatch, 0, 1)

    packed = path.stat().st_size
    assert packed < sum(map(len, members.values())) / 10
    host = CapturedHost(str(path))
    answered = samples_until_refused(host, lambda host: host.read(PATH))
    assert 100 * answered < 2 * packed


def test_samples_in_which_devices_change_are_charged(tmp_path, monkeypatch):
    """A topology is made again at each of them: its questions are charged, and what was remembered is not."""
    changes = [[log.encode_entry("read /sys/block/sda/size", [str(n)])] for n in range(9)]
    charged(monkeypatch, 5 * budget.QUESTION_LINES)
    host = written(tmp_path, COUNTED, *[[]] * 20, *changes)
    size = host.remembered(lambda host: attribute(host, "/sys/block/sda/size"))

    assert samples_until_refused(host, size) == 1 + 20 + 5


def test_samples_of_the_old_format_without_files_are_charged(tmp_path, monkeypatch):
    """Their instants cost a few bytes each."""
    (tmp_path / "capture.json").write_text(json.dumps({"format": 1, "times": [*range(1, 10)]}))
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/diskstats").write_text("8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n" * 100)
    charged(monkeypatch, 4 * (budget.QUESTION_LINES + budget.LOOK_LINES + 100))

    host = CapturedHost(str(tmp_path))
    assert samples_until_refused(host, lambda host: host.read(PATH)) == 5


def test_sums_that_cannot_span_samples_are_charged(tmp_path, monkeypatch):
    """A counter that goes back at each sample makes an interval of its own of each."""
    counters = ([f"8 0 sda {n % 2} 0 8 1 1 0 8 1 0 1 1"] for n in range(9))
    frames = [[log.encode_entry("read /proc/diskstats", each)] for each in counters]
    host = written(tmp_path, *frames)
    source = CaptureSource(host)
    charged: list[int] = []
    monkeypatch.setattr(host, "charge", charged.append)

    assert len([*source.ends()]) == 8
    assert sum(charged) >= 4 * (budget.LOAD_LINES + budget.BUSY_LINES)
