"""libblockdev: its plugins run programs as root, its two generations differ, and its answers come from a child."""

import faulthandler
import os
import sys
import time
import warnings
from types import ModuleType, SimpleNamespace

import pytest

from stackmap.errors import NO_ANSWER, SourceDenied, SourceError, SourceMissing, SourceTimeout
from stackmap.host import blockdev
from stackmap.host.blockdev import LibraryQuestion
from stackmap.host.live import LiveHost


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


class Refused(Exception):
    """GLib.Error."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message


@pytest.fixture
def library(monkeypatch):
    """A library without functions, in place of libblockdev."""
    repository = ModuleType("gi.repository")
    repository.GLib = SimpleNamespace(Error=Refused)
    monkeypatch.setitem(sys.modules, "gi", ModuleType("gi"))
    monkeypatch.setitem(sys.modules, "gi.repository", repository)
    monkeypatch.setattr(os.path, "exists", lambda _: True)
    found = SimpleNamespace(lvm_vgs=lambda: [SimpleNamespace(name="vg")])
    monkeypatch.setattr(blockdev, "_library", lambda *_: found)
    return found


def test_volumes_of_2_have_no_tags(library):
    library.lvm_lvs = lambda vg: [SimpleNamespace(vg_name=vg, lv_name="[a]", attr="-wi-a-----")]
    (found,) = blockdev.volumes()
    assert (found["lv_name"], found["attr"], found["tags"]) == ("a", "-wi-a-----", None)


def test_volumes_of_3_have_tags_and_segments(library):
    segment = SimpleNamespace(pvdev="/dev/sda", pv_start_pe=3, size_pe=5)
    library.lvm_lvs = lambda _: pytest.fail("lvm_lvs_tree knows more")
    library.lvm_lvs_tree = lambda vg: [
        SimpleNamespace(vg_name=vg, lv_name="a", lv_tags=["ceph.osd_id=7"], segs=[segment]),
        SimpleNamespace(vg_name=vg, lv_name="b", lv_tags=None, segs=None),
    ]
    first, second = blockdev.volumes()
    assert (first["tags"], second["tags"]) == (["ceph.osd_id=7"], [])
    assert first["segments"] == [{"pv": "/dev/sda", "start": 3, "extents": 5}]


@pytest.mark.parametrize(
    ("message", "kind"),
    [("Permission denied", SourceDenied), ("first line\nlast line", SourceError)],
)
def test_an_error_of_the_library_is_a_refusal(library, message, kind):
    def refuse():
        raise Refused(message)

    library.lvm_vgs = refuse
    with pytest.raises(kind, match=message.splitlines()[-1]):
        blockdev.volumes()


def test_an_array_that_is_gone_hides_no_other(library):
    """It was stopped since its name was read."""

    def detail(path):
        if path == "/dev/md0":
            raise Refused("cannot open /dev/md0")
        return SimpleNamespace(device=path, level="raid5")

    library.md_detail = detail
    gone, other = blockdev.arrays(["md0", "md1"])
    assert gone == {"device": "/dev/md0", "refused": "libblockdev: cannot open /dev/md0"}
    assert (other["device"], other["level"]) == ("/dev/md1", "raid5")


def test_an_answer_comes_from_a_child():
    assert LibraryQuestion("pid", os.getpid).result(20) != os.getpid()


def test_a_refusal_keeps_its_kind():
    def refuse():
        raise SourceMissing("libblockdev: not here")

    with pytest.raises(SourceMissing, match="not here"):
        LibraryQuestion("x", refuse).result(20)


def test_a_library_that_aborts_does_not_end_stackmap():
    """A call into a plugin that is not loaded does so."""

    def abort():
        faulthandler.disable()  # pytest's would print the stack of the child
        os.abort()

    with pytest.raises(SourceError, match="ended with signal 6"):
        LibraryQuestion("x", abort).result(20)


def test_a_library_that_hangs_is_given_up():
    """It has no time limit of its own."""
    begun = time.monotonic()
    with pytest.raises(SourceTimeout, match=NO_ANSWER):
        LibraryQuestion("x", lambda: time.sleep(60)).result(0.2)
    assert time.monotonic() - begun < 10


def drawn_disk(library, power_mode, monkeypatch, tmp_path):
    """A disk whose ioctl answers *power_mode*; each question to the library and to the disk is kept."""
    path, asked = tmp_path / "disk", []
    path.write_text("")

    def answered(_, request, words):
        asked.append((request, tuple(words)))
        if power_mode is None:
            raise OSError(22, "Invalid argument")
        return bytes((0x50, 0, power_mode, 0))

    def info(*words):
        asked.append(words)
        attribute = SimpleNamespace(id=197, well_known_name="current-pending-sector", value_raw=8)
        return SimpleNamespace(overall_status_passed=True, attributes=[attribute])

    monkeypatch.setattr(blockdev, "ioctl", answered)
    library.smart_ata_get_info = library.smart_scsi_get_info = library.nvme_get_smart_log = info
    return str(path), asked


@pytest.mark.parametrize("mode", [0x80, 0x81, 0xFF])
def test_a_disk_that_is_awake_is_asked(library, mode, monkeypatch, tmp_path):
    path, asked = drawn_disk(library, mode, monkeypatch, tmp_path)
    found = blockdev.disk_health("smart_ata_get_info", path)
    assert found["attributes"] == [
        {"id": 197, "well_known_name": "current-pending-sector", "value_raw": 8}
    ]
    assert asked == [(0x031F, (0xE5, 0, 0, 0)), (path, None)]  # CHECK POWER MODE, then the library


@pytest.mark.parametrize("mode", [0x00, 0x01, 0x40])
def test_a_disk_that_sleeps_is_not_asked(library, mode, monkeypatch, tmp_path):
    """Reading its attributes would wake it, and libblockdev does not look."""
    path, asked = drawn_disk(library, mode, monkeypatch, tmp_path)
    assert blockdev.disk_health("smart_ata_get_info", path) == {"asleep": True}
    assert len(asked) == 1


def test_a_disk_that_does_not_tell_its_power_mode_is_not_asked(library, monkeypatch, tmp_path):
    path, asked = drawn_disk(library, None, monkeypatch, tmp_path)
    with pytest.raises(SourceError, match="power mode"):
        blockdev.disk_health("smart_ata_get_info", path)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("function", "words"), [("nvme_get_smart_log", ()), ("smart_scsi_get_info", (None,))]
)
def test_other_disks_have_no_power_mode_to_ask_for(library, function, words, monkeypatch, tmp_path):
    path, asked = drawn_disk(library, 0, monkeypatch, tmp_path)
    assert blockdev.disk_health(function, path)[
        "overall_status_passed" if words else "percent_used"
    ] in (True, None)
    assert asked == [(path, *words)]


def test_where_libblockdev_cannot_ask_disks_it_is_missing():
    """2.x has no such plugins, and where there is one, this is no disk."""
    if os.geteuid() != 0:
        pytest.skip("without root it is refused")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyGObject warns when it is imported
        with pytest.raises(SourceError, match="libblockdev"):
            LiveHost().run("libblockdev", "nvme_get_smart_log", "/dev/null")
