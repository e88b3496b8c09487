"""Files that a trace changes, on an ordinary file system: one write per line, no waiting, refusals by name."""

from __future__ import annotations

import os

import pytest

from stackmap.errors import SourceError, SourceMissing
from stackmap.host import signals
from stackmap.host.tracing import InstanceExists, LiveTracingHost


@pytest.fixture
def host(monkeypatch):
    """A host that leaves the handlers of this process as they are."""
    monkeypatch.setattr(signals, "handle_all", lambda: None)
    return LiveTracingHost()


def test_lines_are_appended(host, tmp_path):
    path = tmp_path / "kprobe_events"
    path.write_text("p:others/probe vfs_read\n")
    host.write(str(path), "p:stackmap/submit submit_bio_noacct")
    assert path.read_text().splitlines()[1:] == ["p:stackmap/submit submit_bio_noacct"]
    assert host.write_denied(str(path)) == ""


def test_a_refusal_names_the_file_and_the_line(host, tmp_path):
    missing = str(tmp_path / "none")
    with pytest.raises(SourceMissing, match=f"^{missing}: No such"):
        host.write(missing, "text")
    assert host.write_denied(missing) == f"{missing}: No such file or directory"
    with pytest.raises(SourceError, match=r"^/dev/full: text: No space"):
        host.write("/dev/full", "text")


def test_a_pipe_is_drained_without_waiting(host, tmp_path):
    path = str(tmp_path / "trace_pipe")
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    os.write(descriptor, b"one\ntwo\n")
    assert host.drain(path, 65536) == "one\ntwo\n"
    assert host.drain(path, 65536) == ""
    os.close(descriptor)
    with pytest.raises(SourceMissing, match="none"):
        host.drain(f"{path}/none", 1)


def test_an_instance_is_locked_until_it_is_removed(host, tmp_path):
    path = str(tmp_path / "instance")
    host.make_directory(path)
    with pytest.raises(InstanceExists):
        host.make_directory(path)
    before = len(os.listdir("/proc/self/fd"))
    assert host.lock(path)
    assert not host.lock(path)
    host.remove_directory(path)
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(SourceMissing):
        host.remove_directory(path)
    with pytest.raises(SourceMissing):
        host.lock(path)


def test_a_control_groups_number_is_that_of_its_directory(host, tmp_path):
    assert host.inode(str(tmp_path)) == tmp_path.stat().st_ino
    with pytest.raises(SourceMissing):
        host.inode(str(tmp_path / "none"))
