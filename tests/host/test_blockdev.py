"""libblockdev's plugins run programs as root."""

import os
import sys

import pytest

from stackmap.errors import SourceMissing
from stackmap.host import blockdev


def test_its_programs_are_not_those_of_the_callers_path(monkeypatch, tmp_path):
    """A program that was planted in PATH ran."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os.path, "exists", lambda _: True)  # device-mapper's node
    monkeypatch.setitem(sys.modules, "gi", None)  # its import fails

    with pytest.raises(SourceMissing, match="PyGObject"):
        blockdev.volumes()

    assert os.environ["PATH"] == "/usr/sbin:/usr/bin:/sbin:/bin"


def test_without_device_mapper_its_node_is_not_made(monkeypatch):
    """Loading the plugin runs ``lvm version``, which makes /dev/mapper/control: stackmap only reads."""
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/dev/mapper/control")
    monkeypatch.setattr(blockdev, "_library", lambda *_: pytest.fail("the plugin was loaded"))

    with pytest.raises(SourceMissing, match="no device-mapper"):
        blockdev.volumes()
