"""Who uses files as disks, and what says that a file was not made for tests."""

from __future__ import annotations

import pytest

from stackmap.discover.uses import file_uses, guest_number, sees_all_processes, writers
from stackmap.features.fiojob.target import (
    HEAD,
    SECTOR,
    SIGNATURES,
    SYSTEM,
    not_a_test_file,
    used_by,
)
from stackmap.model.device import Use
from stackmap.sources.mountinfo import swap_priorities
from tests.machine import DrawnHost

SWAPS = "Filename Type Size Used Priority\n/dev/dm-4 partition 1 0 -2\n/swap\\040file file 1 0 -3\n"
DOMAIN = """\
<domain><name>web1</name><devices>
 <disk type='block'><source dev='/dev/vg/lv'/></disk>
 <disk type='file'><source file='/images/a.qcow2'/>
  <backingStore type='file'><source file='/images/base.qcow2'/></backingStore></disk>
</devices></domain>
"""


def test_files_that_are_disks():
    """Behind a loop device, swapped to, a guest's, and what a guest's is a snapshot of; no device among them."""
    host = DrawnHost(
        {
            "/sys/block/loop7/loop/backing_file": "/srv/disk.img\n",
            "/sys/block/loop8/size": "0\n",
            "/sys/block/sda/size": "8\n",
            "/proc/swaps": SWAPS,
            "/etc/libvirt/qemu/web1.xml": DOMAIN,
        }
    )
    expected = [
        ("/srv/disk.img", Use("loop", "loop7", "/sys/block/loop7/loop/backing_file")),
        ("/swap file", Use("swap", "[SWAP]", "/proc/swaps")),
        ("/images/a.qcow2", Use("vm", "web1", "/etc/libvirt/qemu/web1.xml")),
        ("/images/base.qcow2", Use("vm", "web1", "/etc/libvirt/qemu/web1.xml")),
    ]

    assert expected == list(file_uses(host))


def test_priorities_of_swap():
    host = DrawnHost({"/proc/swaps": SWAPS})
    assert swap_priorities(host) == {"/dev/dm-4": -2, "/swap file": -3}
    assert swap_priorities(DrawnHost({})) == {}


def test_where_nothing_tells_nobody_uses_files():
    assert [] == list(file_uses(DrawnHost({})))


def process(pid, flags, path, comm="qemu"):
    return {
        f"/proc/{pid}/comm": f"{comm}\n",
        f"/proc/{pid}/fd/3": f"-> {path}",
        f"/proc/{pid}/fdinfo/3": f"pos:\t0\nflags:\t{flags}\nmnt_id:\t29\n",
    }


def test_who_writes_to_a_file():
    """A file is found by the last part of its path, because a process may have another root; reading it is no use."""
    host = DrawnHost(
        {
            **process(11, "0100002", "/srv/a.img"),
            **process(13, "0100001", "/inside/a.img", "dd"),
            **process(17, "0100000", "/srv/a.img"),
            **process(19, "0100002", "/srv/b.img"),
        }
    )
    expected = [
        ("/proc/11/fd/3", Use("open", "qemu (11)", "/proc/11/fd/3")),
        ("/proc/13/fd/3", Use("open", "dd (13)", "/proc/13/fd/3")),
    ]

    assert expected == list(writers(host, "a.img"))


def test_a_process_that_may_not_be_looked_at_is_passed_over():
    """Visible processes are reported; the result says whether all were visible."""
    host = DrawnHost({"/proc/7/comm": "hidden\n", **process(11, "0100002", "/srv/a.img")})

    assert [use.name for _, use in writers(host, "a.img")] == ["qemu (11)"]
    assert not sees_all_processes(host)


def test_who_may_look_at_all_processes():
    """Who may look at the first one: root."""
    assert sees_all_processes(DrawnHost({"/proc/1/fd/0": "-> /dev/null"}))
    assert not sees_all_processes(DrawnHost({"/proc/11/fd/0": "-> /dev/null"}))


def test_a_guests_disk_by_its_name():
    """Whatever format it has."""
    assert guest_number("/images/100/vm-100-disk-0.qcow2") == "100"
    assert guest_number("/images/100/base-17-disk-1.raw") == "17"
    assert guest_number("/images/vm-test.img") == ""


@pytest.mark.parametrize(("start", "magic", "what"), SIGNATURES, ids=lambda value: str(value)[:24])
def test_a_file_that_says_what_it_is_is_no_tests(start, magic, what):
    """Each signature stands where it is looked for, and alone."""
    head = bytes(start) + magic + bytes(HEAD - start - len(magic))

    assert not_a_test_file("/srv/x", HEAD, head, executable=False) == f"is {what}, by its content"
    assert not_a_test_file("/srv/x", HEAD, b"\1" + head, executable=False) == ""


@pytest.mark.parametrize("folder", SYSTEM)
def test_no_test_is_made_where_the_system_is(folder):
    """Below it, not beside it."""
    assert "a system file" in not_a_test_file(f"{folder}/x", 0, b"", executable=False)
    assert not_a_test_file(f"{folder}x/x", 0, b"", executable=False) == ""


def test_a_file_of_whole_sectors_may_be_a_tests():
    """What direct I/O cannot fill was made for something else."""
    assert not_a_test_file("/srv/x", 7 * SECTOR, bytes(7), executable=False) == ""
    assert "not a multiple of 512" in not_a_test_file(
        "/srv/x", 7 * SECTOR + 1, bytes(7), executable=False
    )
    assert "is executable" in not_a_test_file("/srv/x", SECTOR, bytes(7), executable=True)


def test_a_use_is_a_sentence():
    """Without a subject, which is the target."""
    assert used_by(Use("loop", "loop7", "x")) == "is used by loop7"
    assert used_by(Use("open", "dd (13)", "x")) == "is held open for writing by dd (13)"
