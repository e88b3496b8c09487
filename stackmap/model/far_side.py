"""
Disks whose data is not in a disk of this machine: on a server, on a hypervisor's host, in a file, in memory.

What a healthy disk needs says nothing about these, and neither do their SMART values: the other side does.
"""

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.device import Device


class FarSide(NamedTuple):
    """``what``: the kind of device, with its article; ``look``: where its requests are served, an imperative."""

    what: str
    look: str


SAN = "the storage system's own figures of this LUN, and the switches and ports between"
HYPERVISOR = (
    "the disk, the I/O limits and the other guests on the hypervisor or cloud that provides it"
)
FAR_SIDES: Mapping[str, FarSide] = {
    "nbd": FarSide("a network block device", "the NBD server, its disk and the network between"),
    "rbd": FarSide("a Ceph RBD image", "ceph status, ceph osd perf and the network between"),
    "drbd": FarSide("a DRBD device", "drbdadm status, the peer's disk and the network between"),
    "iscsi": FarSide("an iSCSI disk", "the target, its disk and the network between"),
    "fc": FarSide("a Fibre Channel disk", SAN),
    "nvmeof": FarSide("an NVMe-oF disk", SAN),
    "lun": FarSide("a LUN of a storage system", SAN),
    "ebs": FarSide(
        "an Amazon EBS volume", "its IOPS and throughput limits, and those of the instance"
    ),
    "hypervisor": FarSide("a virtual disk", HYPERVISOR),
    "virtio": FarSide("a virtio disk", HYPERVISOR),
    "xen": FarSide("a Xen virtual disk", HYPERVISOR),
    "loop": FarSide("a loop device", "the file system that stores its file, and the disk below"),
    "zram": FarSide("compressed memory", "CPU time and free memory with vmstat"),
    "ublk": FarSide("a ublk device", "the program that serves it, in user space"),
    "zvol": FarSide("a ZFS volume", "its pool with zpool iostat"),
}
STORAGE_SYSTEMS = frozenset({"iscsi", "fc", "nvmeof", "lun"})
# The beginnings of kernel names, which the drivers choose.
DRIVERS = {"nbd": "nbd", "rbd": "rbd", "drbd": "drbd", "vd": "virtio", "xvd": "xen", "loop": "loop",
           "zram": "zram", "ublkb": "ublk", "zd": "zvol"}  # fmt: skip
# Transports of NVMe in this machine; lsblk prints "nvme" for all.
LOCAL = {"", "pcie", "apple-nvme", "nvme"}
# Parts of the path of a disk's directory in /sys/devices, and words of its model.
PATHS = {
    "/session": "iscsi",
    "/rport-": "fc",
    "/vmbus_": "hypervisor",
    "/VMBUS:": "hypervisor",
    "/xen": "xen",
}
MODELS = {"Amazon Elastic Block Store": "ebs", "QEMU": "hypervisor", "VMware": "hypervisor",
          "Virtual disk": "hypervisor", "Virtual Disk": "hypervisor", "PersistentDisk": "hypervisor",
          "nvme_card-pd": "hypervisor", "BlockVolume": "hypervisor", "VBOX": "hypervisor",
          **dict.fromkeys(("NETAPP", "SYMMETRIX", "DGC", "3PARdata", "FlashArray", "COMPELNT", "EQLOGIC", "INFINIDAT",
                           "Nimble", "OPEN-V", "LIO-ORG"), "lun")}  # fmt: skip


def by_name(name: str) -> str:
    """Return the key in ``FAR_SIDES`` that the kernel's name of a disk shows; "" if it shows none."""
    return next((DRIVERS[begin] for begin in DRIVERS if _is_numbered(name, begin)), "")


def _is_numbered(name: str, begin: str) -> bool:
    rest = name.removeprefix(begin)
    letters = begin in ("vd", "xvd")  # vda, xvdba; the others have numbers
    return rest != name and (rest.isalpha() if letters else rest[:1].isdigit())


def by_place(path: str, transport: str, model: str) -> str:
    """Return the key by the *path* in /sys/devices, NVMe's *transport* and the *model*; "" if all is local."""
    if transport not in LOCAL:
        return "nvmeof"
    places = (key for part, key in PATHS.items() if part in path)
    return next(places, "") or next((key for word, key in MODELS.items() if word in model), "")


def far_side(device: Device) -> FarSide | None:
    """Return where *device*, a disk, has its data; None if in this machine, as far as is known."""
    return FAR_SIDES.get(device.far_side or by_name(device.name))
