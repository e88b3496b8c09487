"""Who uses a device, and where that is said."""

from stackmap.discover import discover
from stackmap.model.device import Use
from stackmap.sources import libvirt, proxmox
from tests.machine import DrawnHost, block, lvm_uuid, mapped

SDA, SDB = block("sda", "8:0"), block("sdb", "8:16")
VOLUME = SDA | mapped(0, "vg--md-my--disk", lvm_uuid(7), below=("sda",))

DOMAIN = """\
<domstatus state='running'><domain type='kvm'><name>web1</name><devices>
 <disk type='block' device='disk'><source dev='/dev/vg-md/my-disk' index='1'/></disk>
 <disk type='file' device='disk'><source file='/images/a.qcow2'/></disk>
 <disk type='file' device='cdrom'/>
</devices></domain></domstatus>
"""


def uses(files, name="dm-0", **more):
    return discover(DrawnHost(files, **more))[name].uses


def test_a_domain_of_libvirts():
    """By the path in its XML, whether it runs or not."""
    path = "/run/libvirt/qemu/web1.xml"
    assert (Use("vm", "web1", path),) == uses(VOLUME | {path: DOMAIN})


def test_a_domain_that_is_no_xml_is_passed_over():
    assert () == uses(VOLUME | {"/etc/libvirt/qemu/x.xml": "<domain>"})


def test_a_domain_has_a_name_and_disks():
    domain = libvirt.parse(DOMAIN, "x")
    assert ("web1", ("/dev/vg-md/my-disk", "/images/a.qcow2")) == (domain.name, domain.disks)


PROXMOX = SDA | mapped(0, "pve-vm--100--disk--0", lvm_uuid(7), below=("sda",))


def test_a_guest_of_proxmox():
    """Its number is in the LV's name, its own name in a file for root."""
    path = "/etc/pve/qemu-server/100.conf"
    conf = "cores: 2\nname: web1\n[before-update]\nname: old\n"

    assert (Use("vm", "100", "LV name"),) == uses(PROXMOX)
    assert (Use("vm", "web1", path),) == uses(PROXMOX | {path: conf})


def test_a_name_after_a_snapshot_is_the_snapshots():
    assert "" == proxmox.parse("cores: 2\n[before]\nname: old\n", "name")


def test_a_guest_by_what_its_process_holds_open():
    files = VOLUME | {
        "/run/libvirt/qemu/web1.pid": "4711\n",
        "/proc/4711/fd/17": "-> /dev/dm-0",
        "/proc/4711/fd/19": "-> socket:[12345]",
    }
    assert (Use("vm", "web1", "/proc/4711/fd"),) == uses(files)


def test_two_sources_of_one_use_are_one_use():
    """The XML says it first."""
    files = VOLUME | {
        "/run/libvirt/qemu/web1.xml": DOMAIN,
        "/run/libvirt/qemu/web1.pid": "4711\n",
        "/proc/4711/fd/17": "-> /dev/dm-0",
    }
    assert 1 == len(uses(files))


def test_an_osd_of_cephs():
    """By number where root may look, else by the LV's name."""
    files = SDA | mapped(0, "ceph--1-osd--block--2", lvm_uuid(7), below=("sda",))
    path = "/var/lib/ceph/osd/ceph-3/block"

    assert (Use("ceph", "[Ceph OSD]", "LV name"),) == uses(files)
    assert (Use("ceph", "osd.3", path),) == uses(files | {path: "-> /dev/ceph-1/osd-block-2"})


def test_what_is_written_on_an_idle_device():
    """udev's record of the first blocks tells of users that the kernel does not."""
    udev = {
        "8:0": {"ID_FS_TYPE": "LVM2_member"},
        "8:16": {"ID_FS_TYPE": "zfs_member", "ID_FS_LABEL": "tank"},
    }
    topology = discover(DrawnHost(SDA | SDB, udev=udev))
    assert [("[LVM PV]",), ("[ZFS tank]",)] == [
        tuple(use.who for use in topology[name].uses) for name in ("sda", "sdb")
    ]


def test_a_device_in_use_is_not_asked_what_is_written_on_it():
    """A PV with LVs is used by them."""
    files = block("vda", "254:0") | mapped(0, "vg-lv", lvm_uuid(7), below=("vda",))
    host = DrawnHost(files, udev={"254:0": {"ID_FS_TYPE": "LVM2_member"}})
    assert () == discover(host)["vda"].uses
    assert "udev 254:0" not in host.asked


def test_mounts_swap_and_all_their_places():
    """A device that is mounted twice has two uses."""
    files = VOLUME | {
        "/proc/self/mountinfo": (
            "1 0 254:0 / /a rw - ext4 /dev/x rw\n2 0 254:0 / /b rw - ext4 /dev/x rw\n"
        ),
        "/proc/swaps": "Filename Type Size Used Priority\n/dev/dm-0 partition 1 0 -2\n",
    }
    assert ["/a", "/b", "[SWAP]"] == [use.who for use in uses(files)]
