"""No key in a table leaves stackmap: every kind of target, every way in, every command and what it writes."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.output import tell
from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.errors import CaptureError, SourceError, StackmapError
from stackmap.host import dm_ioctl, live, log
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import TRACE
from stackmap.host.intercepting import InterceptingHost
from stackmap.host.live import LiveHost
from stackmap.host.recording import RecordingHost
from stackmap.host.table_keys import masked
from stackmap.model.device import Role
from tests.host.test_dm_ioctl import Mapped, ModelKernel
from tests.keyed import (
    IOSTAT,
    KEYS,
    LINES,
    RING,
    SIZE,
    STATUS,
    TABLE,
    TARGETS,
    WITH_KEY,
    Machine,
    keys_in,
)
from tests.machine import DrawnHost
from tests.sosreport import write_sosreport

Route = Callable[[Path], Path]


def as_folder(out: Path) -> Path:
    """A tree of files made by hand, with two samples in format 1."""
    host = Machine()
    for path, text in host.files.items():
        place = out / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    for number, _ in enumerate(host.ticks(1, None)):
        below = out / (f"frames/{number}" if number else "")
        for path, text in (
            ("proc/diskstats", host.files["/proc/diskstats"]),
            ("cmd/dmsetup-table.txt", TABLE),
            ("cmd/dmsetup-status.txt", STATUS),
        ):
            (below / path).parent.mkdir(parents=True, exist_ok=True)
            (below / path).write_text(text)
    (out / "capture.json").write_text(json.dumps({"format": 1, "times": [1.0, 2.0]}))
    return out


def as_tar(out: Path) -> Path:
    """A tar of it."""
    folder = as_folder(out)
    with tarfile.open(f"{out}.tar", "w") as archive:
        archive.add(folder, ".")
    return Path(f"{out}.tar")


def as_recording(out: Path) -> Path:
    """What ``record`` wrote when it masked nothing: an archive and a log."""
    return recorded(Machine(), out)


def as_log(out: Path) -> Path:
    """A recording whose tables had no key until after the first sample."""
    return recorded(Machine((LINES["plain"], TABLE)), out)


def as_changed_lines(out: Path) -> Path:
    """The same, with the same number of lines: the log has only those that changed."""
    clean = masked(TABLE)
    lines = [clean, clean.replace(LINES["plain"], LINES["plain"].replace("2048", "4096")), TABLE]
    return recorded(Machine(tuple(lines)), out)


def recorded(host: DrawnHost, out: Path) -> Path:
    """Record as an earlier version did: without a mask. The tables are in every sample."""
    with RecordingHost(host, str(out)) as recording:
        for _ in samples(recording, 1.0, None):
            discover(recording)
    return out


def as_sosreport(out: Path) -> Path:
    """A sosreport whose plugin added --showkeys."""
    host = Machine()
    return write_sosreport(out / "sosreport-host", host, discover(host)).parent / "sosreport-host"


def as_refusal(out: Path) -> Path:
    """A capture in which the message of a refused command quotes the table."""
    folder = as_folder(out)
    message = "dmsetup table: unknown line: " + " ".join(TABLE.split("\n"))
    manifest = {
        "format": 1,
        "times": [1.0, 2.0],
        "refused": {"run dmsetup table": ["failed", message]},
    }
    (folder / "capture.json").write_text(json.dumps(manifest))
    for path in folder.rglob("dmsetup-table.txt"):
        path.unlink()
    return folder


ROUTES: list[Route] = [
    as_folder,
    as_tar,
    as_recording,
    as_log,
    as_changed_lines,
    as_sosreport,
    as_refusal,
]
COMMANDS = [
    ["tree"],
    ["tree", "-J"],
    ["tree", "--graphml"],
    ["iostat", "-J"],
    ["iostat", "--why"],
    ["blame", "sda"],
    ["explain"],
    ["explain", "-J"],
    ["check", "--all"],
    ["check", "-J"],
    ["whatif", "plain", "--to=raid1"],
    ["plan", "plain", "--to=raid1"],
    ["report", "--output=page.html"],
    ["export", "--openmetrics"],
    ["fiojob", "secret"],
    ["record", "again"],
    ["compare", "CAPTURE", "CAPTURE"],
    ["trace"],
    ["annotate", "../text"],
    ["iostat", "--input=../text"],
    ["explain", "--input=../text"],
    ["iostat", "--input=../table"],
    ["annotate", "../table"],
    ["nosuch"],
]  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch) -> Callable[..., str]:
    """``run(capture, "tree")`` → all that the command printed, and the text of all files it wrote."""
    (tmp_path / "text").write_text(IOSTAT + TABLE + IOSTAT)
    (tmp_path / "table").write_text(TABLE)

    def call(capture: Path, *arguments: str) -> str:
        folder = tmp_path / "written"
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        runner = CliRunner()
        words = [str(capture) if word == "CAPTURE" else word for word in arguments]
        done = runner.invoke(
            stackmap, words if words[0] == "compare" else ["--from", str(capture), *words]
        )
        text = done.output
        if isinstance(done.exception, StackmapError):
            with runner.isolation() as streams:
                tell(*done.exception.lines)  # as ``main`` does
                text += streams[0].getvalue().decode()
        elif done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return text + "".join(content_of(folder))

    return call


def content_of(folder: Path) -> Iterator[str]:
    """The text of each file below *folder*; of a packed one, what is in it."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            with suppress(gzip.BadGzipFile):
                content = gzip.GzipFile(fileobj=io.BytesIO(content)).read()
            yield content.decode("latin-1")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_no_command_writes_a_key(route, command, run, tmp_path):
    assert keys_in(run(route(tmp_path / "old"), *command)) == []


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_each_route_has_every_key(route, tmp_path):
    """So that the test above looks for what is there."""
    path = route(tmp_path / "old")
    folder = path if path.is_dir() else path.parent
    assert keys_in("".join(content_of(folder))) == list(KEYS)


@pytest.mark.parametrize("route", ROUTES[:-1], ids=lambda route: route.__name__)
def test_a_mask_hides_no_device(route, tmp_path):
    """Devices below, where on them, and the keyring's name of a key."""
    host = CapturedHost(str(route(tmp_path / "old")))
    for _ in host.ticks(1, None):
        pass
    found = {(e.above, e.below, e.role, e.start) for e in discover(host).edges}

    assert {
        ("dm-0", "sda", Role.DATA, 32768 * 512),
        ("dm-3", "sdd", Role.DATA, 17 * 512),
        ("dm-5", "sdf", Role.DATA, 4096 * 512),
        ("dm-6", "sdf", Role.DATA, 2048 * 512),
    } <= found
    assert RING in host.run("dmsetup", "table")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__)
def test_check_reports_the_key_and_record_removes_it(route, run, tmp_path):
    """Each volume is critical; in the capture that record writes, nothing is left to report."""
    path = route(tmp_path / "old")
    runner = CliRunner()
    before = runner.invoke(stackmap, ["--from", str(path), "check", "-J", "--exit-code"])
    found = [each for each in json.loads(before.stdout)["checks"] if each["id"] == "SM931"]
    run(path, "record", "new")
    new = tmp_path / "written" / "new"
    after = runner.invoke(stackmap, ["--from", str(new), "check", "-J", "--exit-code"])

    if route is not as_refusal:  # which does not say whose key it is
        assert {each["label"] for each in found} == {*WITH_KEY}
        (crypt,) = (each for each in found if each["label"] == "secret")
        assert "cryptsetup reencrypt /dev/sda" in crypt["advice"]
    assert found
    assert {each["severity"] for each in found} == {"critical"}
    assert f"stackmap --from {path} record NEW" in found[0]["advice"]
    assert before.exit_code == 11
    assert "SM931" not in after.stdout
    assert after.exit_code != 11


def test_the_new_capture_shows_the_same(run, tmp_path):
    old = as_log(tmp_path / "old")
    run(old, "record", "new")
    new = tmp_path / "written" / "new"

    assert CapturedHost(str(new)).span() == CapturedHost(str(old)).span()
    for command in (["tree", "-J"], ["iostat", "-J"]):
        before, after = (
            CliRunner().invoke(stackmap, ["--from", str(path), *command]).stdout
            for path in (old, new)
        )
        assert before == after


def test_the_trace_of_a_capture_is_kept(run, tmp_path):
    folder = as_folder(tmp_path / "old")
    (folder / TRACE.lstrip("/")).write_text("a trace")
    run(folder, "record", "new")

    assert CapturedHost(str(tmp_path / "written" / "new")).read(TRACE) == "a trace"


@pytest.mark.parametrize("command", ["annotate", "iostat --input", "explain --input"])
def test_a_pasted_table_is_masked(command, run, tmp_path):
    """Where annotate passes it on, the rest of its lines stays."""
    folder = as_folder(tmp_path / "old")
    text = run(folder, *command.split(), "../text")
    (tmp_path / "text").write_text(IOSTAT + LINES["secret"].rstrip("\n"))
    unended = run(folder, *command.split(), "../text")

    assert keys_in(text + unended) == []
    if command == "annotate":
        assert masked(TABLE) in text
        assert masked(LINES["secret"]).rstrip("\n") in unended


def test_a_message_that_quotes_a_table_has_no_key(capsys):
    tell(f"a line is unknown: {LINES['secret']!r}", LINES["signed"])

    said = capsys.readouterr().err
    assert "secret: 0 4096 crypt aes-xts-plain64 000" in said
    assert "signed: 0 4096 integrity" in said
    assert keys_in(said) == []


@pytest.mark.parametrize(
    "line", [LINES["secret"].strip() + " " * log.MAX_ENTRY_HEADING, json.dumps(LINES["secret"])]
)
def test_a_damaged_log_is_quoted_without_its_key(line, tmp_path):
    """A line of a table where the heading of an entry should be, or the count of frames."""
    path = recorded(Machine(), tmp_path / "c")
    (segment,) = (path / "log").iterdir()
    segment.write_bytes(gzip.compress(log.encode_frame(1763600400.0, [line.encode() + b"\n"])))
    with pytest.raises(CaptureError, match="no heading") as damaged:
        for _ in CapturedHost(str(path)).steps():
            pass
    with pytest.raises(CaptureError, match="no count") as uncounted:
        log.frame_count(log.encode_transient("count", line), "log")

    for error in (damaged, uncounted):
        assert "crypt aes-xts-plain64 000" in str(error.value)
        assert keys_in(str(error.value)) == []


class Hidden:
    """A live host on a machine with the control device of device-mapper at *path*."""

    def __init__(self, monkeypatch, path: Path) -> None:
        path.touch()
        monkeypatch.setattr(live, "CONTROL", str(path))
        self.kept: list[str] = []
        self.host = InterceptingHost(LiveHost(), lambda answer: self.kept.append(str(answer)))

    def asked(self) -> str:
        """All answers and errors, and what a recorder got of them."""
        texts = []
        for question in (("dmsetup", "table"), ("dmsetup", "status", "--noflush")):
            try:
                texts.append(self.host.run(*question))
            except SourceError as error:
                texts.append(str(error))
        return "".join([*texts, *self.kept])


def test_no_key_comes_from_the_kernel(monkeypatch, tmp_path):
    """By ioctl; the answer of the child that asks has none."""
    lines = [
        Mapped(
            name.encode(),
            b"",
            number,
            ((0, SIZE, kind.encode(), words.encode(), words.encode()),),
        )
        for number, (name, text) in enumerate(TARGETS.items())
        for kind, _, words in [text.partition(" ")]
    ]
    monkeypatch.setattr(dm_ioctl, "opened", lambda: dm_ioctl.Control(ModelKernel(lines)))
    text = Hidden(monkeypatch, tmp_path / "control").asked()

    assert masked(TABLE) in text
    assert keys_in(text) == []
    assert keys_in(dm_ioctl.MapperQuestion("table").answer(5)[1].decode()) == []


@pytest.mark.parametrize("status", [0, 1])
def test_no_key_comes_from_dmsetup(status, monkeypatch, tmp_path):
    """A dmsetup that masks nothing, or quotes the table in its error, where the kernel refuses the ioctl."""

    def refused():
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(dm_ioctl, "opened", refused)
    (tmp_path / "table").write_text(TABLE if status == 0 else " ".join(TABLE.split("\n")))
    program = tmp_path / "dmsetup"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/table >&{status + 1}\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setattr("stackmap.host.command.SYSTEM_PATH", f"{tmp_path}:/bin")
    text = Hidden(monkeypatch, tmp_path / "control").asked()

    assert "secret: 0 4096 crypt aes-xts-plain64 " in text
    assert keys_in(text) == []
