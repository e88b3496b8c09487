"""Output files: only new regular files, whole or not at all, wherever others planted links."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
import stat
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.errors import OutputRefused
from stackmap.host.directory import OutputFile
from tests.paths import ROOT

VGHDD = str(ROOT / "sample_topologies" / "vghdd")
KEPT = "not to be touched"
NOBODY = 65534


def written(path, content=b"new", **options):
    with OutputFile(str(path), **options).writing() as file:
        file.write(content)


@pytest.fixture
def victim(tmp_path):
    """A file outside the directory that is written to; it must keep its content."""
    path = tmp_path / "victim"
    path.write_text(KEPT)
    yield path
    assert path.read_text() == KEPT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "folder"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o644])
@pytest.mark.parametrize("name", ["page.html", "/page.html", "./x/../page.html", "-", "a" * 255])
def test_a_new_file_is_private(folder, name, mode):
    """With any umask; 0644 only if requested. No other file remains."""
    (folder / "x").mkdir()
    path = f"{folder}{name}" if name.startswith("/") else name
    before = os.umask(0o002)
    try:
        written(path, mode=mode)
    finally:
        os.umask(before)

    assert Path(path).read_bytes() == b"new"
    assert stat.S_IMODE(os.stat(path).st_mode) == mode
    assert len(list(folder.iterdir())) == 2


def plant(kind, path, victim):
    """Put something at *path*; root can also make devices."""
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim.parent / "nothing")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)  # an address has 108 bytes
    else:
        type_ = stat.S_IFBLK if kind == "block device" else stat.S_IFCHR
        try:
            os.mknod(path, 0o660 | type_, os.makedev(7, 255))
        except PermissionError:
            pytest.skip("making a device node needs root")


KINDS = {
    "link": "symbolic link",
    "dangling link": "symbolic link",
    "pipe": "named pipe",
    "directory": "directory",
    "socket": "socket",
    "block device": "block device",
    "character device": "character device",
}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_only_a_regular_file_is_replaced(folder, victim, kind, force):
    """At once, with or without --force; a pipe without a reader does not block."""
    plant(kind, folder / "page", victim)

    with pytest.raises(OutputRefused, match=f"page: is a {KINDS[kind]}; give a file"):
        OutputFile("page", force=force)
    assert not (victim.parent / "nothing").exists()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_appears_meanwhile_is_not_replaced(folder, victim, kind, force):
    """Between the first check and the end of the measurement."""
    file = OutputFile("page", force=force)
    plant(kind, folder / "page", victim)

    with pytest.raises(OutputRefused, match=KINDS[kind]), file.writing() as stream:
        stream.write(b"new")
    assert [path.name for path in folder.iterdir()] == ["page"]


@pytest.mark.usefixtures("folder")
def test_a_file_is_replaced_only_when_asked():
    """Another name of the same file keeps the old content."""
    Path("page").write_text("old")
    os.link("page", "other")

    with pytest.raises(OutputRefused, match="page: exists; use --force to overwrite it"):
        OutputFile("page")
    written("page", force=True)
    assert (Path("page").read_text(), Path("other").read_text()) == ("new", "old")


def test_a_file_that_appears_is_another_s(folder):
    """Also if the other file appears just before the complete file is linked."""
    with pytest.raises(OutputRefused, match="exists"), OutputFile("page").writing():
        Path("page").write_text("another's")

    assert Path("page").read_text() == "another's"
    assert [path.name for path in folder.iterdir()] == ["page"]


def test_a_file_system_without_hard_links(folder, monkeypatch):
    """The name is given by a rename."""

    def refuse(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    written("page")

    assert [path.read_text() for path in folder.iterdir()] == ["new"]


def test_a_link_of_another_user_on_the_way(folder, tmp_path):
    """A directory is reached through one's own links and root's, not through those of others."""
    target = tmp_path / "target"
    target.mkdir()
    (folder / "own").symlink_to(target)
    (folder / "loop").symlink_to("loop")
    written("own/page")
    assert (target / "page").read_text() == "new"
    with pytest.raises(OSError, match="Not a directory") as error:
        OutputFile("loop/page")
    assert error.value.filename == "loop/page"

    if os.geteuid():
        pytest.skip("a link of another user needs root")
    os.lchown(folder / "own", NOBODY, NOBODY)
    with pytest.raises(OutputRefused, match="own is a symbolic link of another user"):
        OutputFile("own/other")


def test_a_race_for_the_name(folder, victim):
    """Another process swaps the name between a link, a file and a pipe as fast as it can."""
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for kind in ("link", "pipe"):
                with contextlib.suppress(OSError):
                    plant(kind, folder / "x", victim)
                    (folder / "x").rename(folder / "page")
            with contextlib.suppress(OSError):
                (folder / "page").unlink()

    swapping = threading.Thread(target=swap)
    swapping.start()
    done = refused = 0
    start = time.monotonic()
    try:
        # A second, and on a busy machine until both outcomes were seen.
        while (passed := time.monotonic() - start) < 1 or (passed < 30 and not (done and refused)):
            try:
                written("page", force=True)
                done += 1
            except OutputRefused:
                refused += 1
    finally:
        stop.set()
        swapping.join()
    assert done
    assert refused
    assert {path.name for path in folder.iterdir()} <= {"page", "x"}


@contextlib.contextmanager
def largest(size):
    """Limit each file to *size* bytes: writing more fails as on a full disk."""
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # it would keep half a file
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 99_999])
@pytest.mark.parametrize("force", [False, True])
def test_full_at_any_byte(folder, size, force):
    """No new file remains, an existing file is unchanged, and the error names the file."""
    if force:
        Path("page").write_text("")
    before = list(folder.iterdir())
    file = OutputFile("page", force=force)
    with (
        largest(size),
        pytest.raises(OSError, match="too large") as error,
        file.writing() as stream,
    ):
        stream.writelines([b"x" * 100] * 1000)

    assert error.value.filename == "page"
    assert list(folder.iterdir()) == before


@pytest.mark.parametrize("call", ["fsync", "fchmod", "link"])
def test_full_at_the_end(folder, monkeypatch, call):
    """Space is also allocated late, and a name takes some."""

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left") as error:
        written("page")

    assert error.value.filename == "page"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, ValueError])
def test_an_unfinished_file_is_removed(folder, stopped):
    with pytest.raises(stopped), OutputFile("page").writing():
        raise stopped

    assert list(folder.iterdir()) == []


COMMANDS = {
    "page.html": ["report", "vm-disk1"],
    "page.md": ["report", "vm-disk1"],
    "figures.txt": ["export", "--openmetrics"],
    "figures.parquet": ["export", "--parquet"],
}


def run(name, *options):
    words = ["--from", VGHDD, *COMMANDS[name], "-o", name, *options]
    return CliRunner().invoke(stackmap, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_writes_so(folder, victim, name):
    """One private file; status 3 if the file exists; no file if the disk is full."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with largest(2000):
        full = run(name)
    assert isinstance(full.exception, OSError)
    assert full.exception.filename == name
    assert list(folder.iterdir()) == []

    assert run(name).exit_code == 0
    content = Path(name).read_bytes()
    assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
    assert run(name).exception.exit_code == 3
    assert run(name, "--force").exit_code == 0
    assert Path(name).read_bytes() == content
    assert len(list(folder.iterdir())) == 1

    Path(name).unlink()
    Path(name).symlink_to(victim)
    assert run(name, "--force").exception.exit_code == 3
