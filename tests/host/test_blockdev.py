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
    monkeypatch.setitem(sys.modules, "gi", None)  # its import fails

    with pytest.raises(SourceMissing, match="PyGObject"):
        blockdev.volumes()

    assert os.environ["PATH"] == "/usr/sbin:/usr/bin:/sbin:/bin"
