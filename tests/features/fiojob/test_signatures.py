"""What a file holds is known by the signatures that its format publishes: such a file is never a target."""

from __future__ import annotations

import pytest

from stackmap.features.fiojob import target
from stackmap.features.fiojob.target import HEAD, not_a_test_file

FORMATS = {
    "qcow2": (0, b"QFI\xfb"),
    "VMDK": (0, b"KDMV"),
    "VDI": (0, b"<<< Oracle VM VirtualBox Disk Image >>>"),
    "VHDX": (0, b"vhdxfile"),
    "VHD": (0, b"conectix"),
    "LUKS": (0, b"LUKS\xba\xbe"),
    "XFS": (0, b"XFSB"),
    "ext4": (0x438, b"\x53\xef"),
    "btrfs": (0x10040, b"_BHRfS_M"),
}


def judged(head, path="/srv/test.img"):
    return not_a_test_file(path, 1 << 30, head.ljust(HEAD, b"\0"), executable=False)


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_known_by_its_signature_at_its_place(name):
    """A byte beside its place it is something else."""
    place, magic = FORMATS[name]
    reason = judged(bytes(place) + magic)
    assert name in reason
    assert judged(bytes(place + 1) + magic) != reason


def test_a_file_of_zeros_has_no_signature():
    assert not any(name in judged(b"") for name in FORMATS)


def test_who_does_not_see_all_processes_does_not_know_the_writers(tmp_path, monkeypatch):
    """Without root, one more note says to run as root; the data that the job overwrites is named in any case."""
    path = tmp_path / "test.img"
    path.write_bytes(bytes(8 * 512))
    monkeypatch.setattr(target, "_uses", lambda *_: iter(()))
    notes = {}
    for sees in (True, False):
        monkeypatch.setattr(target, "sees_all_processes", lambda _, sees=sees: sees)
        notes[sees] = target._file(None, None, str(path)).notes
    assert [note for note in notes[True] if "4096 bytes of data" in note]
    assert len(notes[False]) == len(notes[True]) + 1
    assert "run as root" in notes[False][-1]


def test_a_file_of_holes_has_nothing_to_lose(tmp_path, monkeypatch):
    path = tmp_path / "test.img"
    with path.open("wb") as file:
        file.truncate(1 << 20)
    monkeypatch.setattr(target, "_uses", lambda *_: iter(()))
    monkeypatch.setattr(target, "sees_all_processes", lambda _: True)
    assert target._file(None, None, str(path)).notes == ()
