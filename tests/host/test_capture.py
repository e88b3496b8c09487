"""What a recorder keeps, a captured host tells."""

import gzip
import json
import os
import subprocess

import pytest

from stackmap.errors import CaptureError, OutputRefused, SourceDenied, SourceMissing, SourceTimeout
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import command_file, parse_udev
from stackmap.host.recording import RecordingHost


class Pretender:
    """A host with an answer of every kind, and counters that grow by 7 per tick."""

    def __init__(self):
        self.ticked = 0

    def read(self, path):
        if path == "/proc/diskstats":
            return f"counters {7 * self.ticked}\n"
        if path == "/secret":
            raise SourceDenied("/secret: Permission denied")
        return f"content of {path}\n"

    def names_in(self, path):
        if path == "/gone":
            raise SourceMissing("/gone: No such file or directory")
        return ["b", "a\ttab"]

    def link(self, path):
        assert path
        return "../there"

    def run(self, *command):
        if command[0] == "slow":
            raise SourceTimeout("slow: no answer within 5 s")
        return " ".join(command) + "\n"

    def udev(self, number):
        return {"DM_NAME": "vg-lv", "ID": number}

    def metadata(self, of):
        return [{"lv_name": "root", "size": 17}] if of == "volumes" else []

    def machine_id(self):
        return "5" * 64

    def uevents(self):
        return [{"ACTION": "add", "DEVNAME": f"dm-{self.ticked}"}] if self.ticked == 2 else []

    def ticks(self, interval, count):
        for tick in range(count):
            self.ticked = tick
            yield 1000.0 + interval * tick


def ask(host):
    """Every question once, then the counters over three ticks."""
    answers = [
        host.read("/sys/block/sda/size"),
        host.names_in("/sys/block"),
        host.link("/sys/block/sda"),
        host.run("dmsetup", "status", "--noflush"),
        host.run("lvs", "--all", "--reportformat=json"),
        host.udev("8:0"),
        host.metadata("volumes"),
        host.metadata("arrays"),
    ]
    for question, argument in (
        (host.read, "/secret"),
        (host.names_in, "/gone"),
        (host.run, "slow"),
    ):
        try:
            question(argument)
        except (SourceDenied, SourceMissing, SourceTimeout) as refusal:
            answers.append((type(refusal), str(refusal)))
    return answers + [
        (time, host.read("/proc/diskstats"), host.uevents()) for time in host.ticks(2.0, 3)
    ]


def test_a_recording_answers_as_the_host_did(tmp_path):
    """Every answer, every refusal with its kind and words, every frame."""
    with RecordingHost(Pretender(), str(tmp_path / "c")) as recorder:
        told = ask(recorder)

    assert ask(Pretender()) == told
    assert told == ask(CapturedHost(str(tmp_path / "c")))


def test_a_recording_of_a_recording_is_the_same(tmp_path):
    """A recording of a capture has the same files as the capture."""
    for place, host in (("a", Pretender()), ("b", None)):
        with RecordingHost(
            host or CapturedHost(str(tmp_path / "a")), str(tmp_path / place)
        ) as recorder:
            ask(recorder)

    files = [
        {
            p.relative_to(tmp_path / place): p.read_bytes()
            for p in (tmp_path / place).rglob("*")
            if p.is_file()
        }
        for place in "ab"
    ]
    assert files[0] == files[1]


def test_what_did_not_change_is_kept_once(tmp_path):
    """Frames hold only answers that differ."""
    with RecordingHost(Pretender(), str(tmp_path / "c")) as recorder:
        for _ in recorder.ticks(1.0, 2):
            recorder.read("/same")
            recorder.read("/proc/diskstats")

    kept = {str(p.relative_to(tmp_path / "c")) for p in (tmp_path / "c").rglob("*") if p.is_file()}
    assert kept == {"capture.json", "answers.tar.gz", "log/1000.000000.gz"}
    text = gzip.decompress((tmp_path / "c" / "log" / "1000.000000.gz").read_bytes()).decode()
    assert text.count("content of /same") == 1
    assert text.count("counters 0") == text.count("counters 7") == 1


@pytest.mark.parametrize("name", ["folder", "file", "link", "dangling", "pipe"])
def test_a_recording_makes_its_own_directory(tmp_path, name):
    """An existing directory is refused, even an empty one; a link is not followed."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OutputRefused, match="exists; give a new directory"):
        RecordingHost(Pretender(), str(tmp_path / name))
    assert list((tmp_path / "folder").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_a_plain_tree_is_a_machine(tmp_path):
    """proc/ and sys/ are enough; missing files are missing answers."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "diskstats").write_text("x")
    host = CapturedHost(str(tmp_path))

    assert host.read("/proc/diskstats") == "x"
    assert host.udev("8:0") == {}
    assert list(host.ticks(1.0, None)) == [0.0]
    for question in (lambda: host.run("dmsetup", "table"), lambda: host.metadata("volumes")):
        with pytest.raises(SourceMissing):
            question()


@pytest.mark.parametrize(
    ("manifest", "said"),
    [("{", "damaged"), ('{"format": 99}', "format 3"), ("[]", "format 3"), (None, "not a capture")],
)
def test_what_is_no_capture_says_so(tmp_path, manifest, said):
    """One line that names the path."""
    if manifest is not None:
        (tmp_path / "capture.json").write_text(manifest)

    with pytest.raises(CaptureError, match=said) as refusal:
        CapturedHost(str(tmp_path))
    assert str(tmp_path) in str(refusal.value)


def test_a_missing_path_says_so(tmp_path):
    """Neither a directory nor a tar."""
    with pytest.raises(CaptureError, match="no such file"):
        CapturedHost(str(tmp_path / "none"))


def test_commands_are_kept_by_their_words():
    """Options do not name a question; a report in JSON is known by its name."""
    assert command_file(("dmsetup", "info", "-c", "--separator=|")) == "/cmd/dmsetup-info.txt"
    assert command_file(("lvs", "-a", "--reportformat=json")) == "/cmd/lvs.json"


def test_udevs_own_format_is_read():
    """E: lines are properties, S: lines are links; the rest is udev's business."""
    text = "S:mapper/vg-lv\nS:vg/lv\nI:17\nE:DM_NAME=vg-lv\nE:ODD=a=b\nG:systemd\n"

    assert {
        "DM_NAME": "vg-lv",
        "ODD": "a=b",
        "DEVLINKS": "/dev/mapper/vg-lv /dev/vg/lv",
    } == parse_udev(text)


def test_a_manifest_is_readable_by_people(tmp_path):
    """Indented, sorted: git shows what changed."""
    with RecordingHost(Pretender(), str(tmp_path / "c")) as recorder:
        ask(recorder)

    manifest = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert manifest["format"] == 3
    assert manifest["refused"]["read /secret"] == ["denied", "/secret: Permission denied"]


def test_the_first_answers_are_one_file_for_any_tar(tmp_path):
    """3,000 answers make three files; unpacked beside the manifest they are the same capture."""
    paths = [f"/sys/block/sd{n}/size" for n in range(3000)]
    with RecordingHost(Pretender(), str(tmp_path / "c")) as recorder:
        for path in paths:
            recorder.read(path)
        for _ in recorder.ticks(1.0, 1):
            recorder.read("/proc/diskstats")
    recorded = CapturedHost(str(tmp_path / "c"))
    answers = [recorded.read(path) for path in paths]

    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [
        "answers.tar.gz",
        "capture.json",
        "log",
    ]
    assert answers == [f"content of {path}\n" for path in paths]

    subprocess.run(["tar", "xzf", "answers.tar.gz"], cwd=tmp_path / "c", check=True)
    (tmp_path / "c" / "answers.tar.gz").unlink()
    unpacked = CapturedHost(str(tmp_path / "c"))
    assert [unpacked.read(path) for path in paths] == answers

    subprocess.run(["tar", "czf", "../c.tgz", "."], cwd=tmp_path / "c", check=True)
    assert [CapturedHost(str(tmp_path / "c.tgz")).read(path) for path in paths[::100]] == answers[
        ::100
    ]


def test_a_recording_in_a_tar_has_its_first_answers(tmp_path):
    """An archive within an archive; a damaged one is one line."""
    with RecordingHost(Pretender(), str(tmp_path / "c")) as recorder:
        ask(recorder)
    subprocess.run(["tar", "czf", "c.tgz", "c"], cwd=tmp_path, check=True)

    path = "/sys/block/sda/size"
    assert CapturedHost(str(tmp_path / "c.tgz")).read(path) == f"content of {path}\n"
    packed = (tmp_path / "c" / "answers.tar.gz").read_bytes()
    (tmp_path / "c" / "answers.tar.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(CaptureError, match=r"answers\.tar\.gz: .*damaged"):
        CapturedHost(str(tmp_path / "c"))
