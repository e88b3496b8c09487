"""The users of a device, and the source that names them."""

import json

import pytest

from stackmap.discover import discover
from stackmap.document.describe import what
from stackmap.model.device import Device, Kind, Use
from stackmap.sources import guests
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
    domain = guests.parse_domain(DOMAIN, "x")
    assert ("web1", ("/dev/vg-md/my-disk", "/images/a.qcow2")) == (domain.name, domain.disks)


PROXMOX = SDA | mapped(0, "pve-vm--100--disk--0", lvm_uuid(7), below=("sda",))


def test_a_guest_of_proxmox():
    """Its number is in the LV's name, its own name in a file for root."""
    path = "/etc/pve/qemu-server/100.conf"
    conf = "cores: 2\nname: web1\n[before-update]\nname: old\n"

    assert (Use("vm", "100", "LV name"),) == uses(PROXMOX)
    assert (Use("vm", "web1", path),) == uses(PROXMOX | {path: conf})


def test_a_name_after_a_snapshot_is_the_snapshots():
    assert "" == guests.config_value("cores: 2\n[before]\nname: old\n", "name")


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
    """By number as root, otherwise by the LV's name."""
    files = SDA | mapped(0, "ceph--1-osd--block--2", lvm_uuid(7), below=("sda",))
    path = "/var/lib/ceph/osd/ceph-3/block"

    assert (Use("ceph", "[Ceph OSD]", "LV name"),) == uses(files)
    assert (Use("ceph", "osd.3", path),) == uses(files | {path: "-> /dev/ceph-1/osd-block-2"})


def test_what_is_written_on_an_idle_device():
    """udev's record of a signature shows users that the kernel does not list."""
    udev = {
        "8:0": {"ID_FS_TYPE": "LVM2_member"},
        "8:16": {"ID_FS_TYPE": "zfs_member", "ID_FS_LABEL": "tank"},
    }
    topology = discover(DrawnHost(SDA | SDB, udev=udev))
    assert [("[LVM PV]",), ("[ZFS tank]",)] == [
        tuple(use.name for use in topology[name].uses) for name in ("sda", "sdb")
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
    assert ["/a", "/b", "[SWAP]"] == [use.name for use in uses(files)]


def test_a_btrfs_on_an_array_by_its_name():
    """It has no number of a device; its source is the path that it was mounted by."""
    array = block("md127", "9:127") | {
        "/sys/block/md127/md/level": "raid1\n",
        "/sys/block/md127/md/raid_disks": "2\n",
    }
    mounted = {"/proc/self/mountinfo": "1 0 0:50 / /srv rw - btrfs /dev/md/pool rw\n"}
    found = uses(array | mounted, "md127", udev={"9:127": {"MD_DEVNAME": "pool"}})

    assert ["/srv"] == [use.name for use in found]


def test_an_osd_of_cephadms():
    """Each cluster has a folder by its uuid."""
    files = SDA | mapped(0, "ceph--1-osd--block--2", lvm_uuid(7), below=("sda",))
    path = "/var/lib/ceph/0c1b-77/osd.3/block"
    assert (Use("ceph", "osd.3", path),) == uses(files | {path: "-> /dev/ceph-1/osd-block-2"})


def test_an_osd_by_its_tag():
    """LVM's tags have the number if no folder has it."""
    files = SDA | mapped(0, "ceph--1-osd--block--2", lvm_uuid(7), below=("sda",))
    lv = {"vg_name": "ceph-1", "lv_name": "osd-block-2", "lv_tags": "ceph.osd_id=5,ceph.type=block"}
    report = json.dumps({"report": [{"lv": [lv]}]})
    assert (Use("ceph", "osd.5", "LV tag"),) == uses(files, commands={"lvs": report})


GROUP = "/sys/fs/cgroup"
DOCKER = f"{GROUP}/system.slice/docker-{'0123456789abcdef' * 4}.scope"
BUSY = "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n"
IDLE = "254:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n"


def test_a_container_by_what_it_read():
    """A group's I/O counters are public; a group without I/O is no user."""
    path = f"{DOCKER}/io.stat"
    assert (Use("container", "docker 0123456789ab", path),) == uses(VOLUME | {path: BUSY})
    assert () == uses(VOLUME | {path: IDLE})


def test_a_container_by_what_it_mounted():
    """The host does not see its mounts: a process of it does."""
    mountinfo = "36 35 254:0 / / rw - ext4 /dev/dm-0 rw\n"
    files = {f"{GROUP}/lxc/web/cgroup.procs": "4711\n4713\n", "/proc/4711/mountinfo": mountinfo}
    assert (Use("container", "lxc web", "/proc/4711/mountinfo"),) == uses(VOLUME | files)


def test_a_service_by_what_it_wrote():
    path = f"{GROUP}/system.slice/mariadb.service/io.stat"
    assert (Use("service", "mariadb", path),) == uses(VOLUME | {path: BUSY})


OLDER = f"{GROUP}/blkio"
READ = "254:0 Read 3\n254:0 Write 0\n254:0 Total 3\nTotal 3\n"
UNREAD = READ.replace("3", "0")


def older(group, requests):
    """The files of version 1 for *group*."""
    path = f"{OLDER}/{group}/blkio.throttle"
    return {
        f"{OLDER}/tasks": "",
        f"{path}.io_serviced": requests,
        f"{path}.io_service_bytes": requests,
        f"{OLDER}/{group}/cgroup.procs": "4711\n",
    }


def test_version_1_by_what_it_charged():
    """Each controller has a tree; that of blkio counts each group without its subgroups."""
    docker = f"docker/{'0123456789abcdef' * 4}"
    path = f"{OLDER}/{docker}/blkio.throttle.io_serviced"
    inside = older(f"{docker}/init.scope", UNREAD)
    assert (Use("container", "docker 0123456789ab", path),) == uses(
        VOLUME | older(docker, READ) | inside
    )
    path = f"{OLDER}/system.slice/mariadb.service/blkio.throttle.io_serviced"
    service = older("system.slice/mariadb.service", READ)
    assert (Use("service", "mariadb", path),) == uses(VOLUME | service)
    assert () == uses(VOLUME | older("system.slice/mariadb.service", UNREAD))


def test_version_1_by_what_was_mounted():
    """Also if a container is only in systemd's tree, which has no I/O counters."""
    mountinfo = {"/proc/4711/mountinfo": "36 35 254:0 / / rw - ext4 /dev/dm-0 rw\n"}
    use = (Use("container", "nspawn web", "/proc/4711/mountinfo"),)
    tree = {
        f"{GROUP}/systemd/machine.slice/machine-web.scope/cgroup.procs": "4711\n",
        f"{OLDER}/tasks": "",
    }
    assert use == uses(VOLUME | mountinfo | tree)
    assert use == uses(VOLUME | mountinfo | older("machine.slice/machine-web.scope", UNREAD) | tree)


def test_no_group_is_asked_for_nobody():
    """If all tops belong to the system, no control group is read."""
    files = VOLUME | {f"{DOCKER}/io.stat": BUSY}
    root = {"/proc/self/mountinfo": "1 0 254:0 / / rw - ext4 /dev/dm-0 rw\n"}
    host = DrawnHost(files | root)
    assert ["/"] == [use.name for use in discover(host)["dm-0"].uses]
    assert not [path for path in host.asked if path.startswith(GROUP)]


def test_nobody_is_said_to_use_what_everyone_uses():
    """Each service reads the file system on /; and a login shell is no service."""
    root = {"/proc/self/mountinfo": "1 0 254:0 / / rw - ext4 /dev/dm-0 rw\n"}
    service = {f"{GROUP}/system.slice/cron.service/io.stat": BUSY}
    shell = {f"{GROUP}/user.slice/user-0.slice/session-3.scope/io.stat": BUSY}
    assert ["/"] == [use.name for use in uses(VOLUME | root | service)]
    assert () == uses(VOLUME | shell)


def test_what_is_below_belongs_to_what_stands_on_it():
    """The kernel may count I/O at the disk too: users are listed for the volume only."""
    path = f"{DOCKER}/io.stat"
    assert () == uses(VOLUME | {path: BUSY + BUSY.replace("254:0", "8:0")}, name="sda")


def test_a_service_that_only_probed_is_no_user():
    """udisks2 read 3 times and 5 times; another service did 801 requests."""
    probed = BUSY.replace(BUSY.split(maxsplit=1)[0], "254:0")
    paths = [f"{GROUP}/system.slice/{name}.service/io.stat" for name in ("nova", "udisks2")]
    many = "254:0 rbytes=0 wbytes=8192 rios=0 wios=801 dbytes=0 dios=0\n"
    few = "254:0 rbytes=8192 wbytes=0 rios=8 wios=0 dbytes=0 dios=0\n"

    assert (Use("service", "nova", paths[0]),) == uses(
        VOLUME | dict(zip(paths, (many, few), strict=True))
    )
    assert (Use("service", "udisks2", paths[1]),) == uses(VOLUME | {paths[1]: probed})


def test_a_volume_of_a_pod():
    """Namespace and pod are in the name of kubelet's folder of logs; without it, the UID stays."""
    uid = "0f4f3c0e-1c2b-4d6e-9a7b-5f1d2c3b4a59"
    point = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/pvc-17/mount"
    mounted = {"/proc/self/mountinfo": f"1 0 254:0 / {point} rw - ext4 /dev/x rw\n"}
    logs = {f"/var/log/pods/shop_db-0_{uid}/db/0.log": ""}

    assert [point, "kubernetes shop/db-0 pvc-17"] == [u.name for u in uses(VOLUME | mounted | logs)]
    assert [point, f"kubernetes {uid} pvc-17"] == [u.name for u in uses(VOLUME | mounted)]


UID = "0f4f3c0e-1c2b-4d6e-9a7b-5f1d2c3b4a59"
CSI = "/kubelet/plugins/kubernetes.io/csi"


@pytest.mark.parametrize(
    ("points", "name"),
    [
        (
            [f"/var/lib/k0s/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-17/mount"],
            f"{UID} pvc-17",
        ),
        ([f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~local-volume/pv-a"], f"{UID} pv-a"),
        ([f"/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-a/postgres/0"], f"{UID} pv-a"),
        ([f"/var/lib{CSI}/pv/pvc-17/globalmount"], "pvc-17"),
        (["/var/lib/kubelet/plugins/kubernetes.io/aws-ebs/mounts/aws/eu-1a/vol-0a1b"], "vol-0a1b"),
        (
            [
                f"/var/lib{CSI}/pv/pvc-17/globalmount",
                f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-17/mount",
            ],
            f"{UID} pvc-17",
        ),
    ],
)
def test_a_volume_of_kubernetes_is_named_by_its_paths(points, name):
    """Wherever kubelet's folder is; a volume that is only staged has no pod. People see the name, JSON the paths too."""
    lines = (f"1 0 254:0 / {point} rw - ext4 /dev/x rw\n" for point in points)
    found = uses(VOLUME | {"/proc/self/mountinfo": "".join(lines)})

    assert [use.name for use in found] == [*points, f"kubernetes {name}"]
    assert [use.name for use in Device("dm-0", Kind.DISK, "", uses=found).users] == [
        f"kubernetes {name}"
    ]


def test_other_mount_points_stay():
    """A volume of a pod that an administrator mounted as well, and a mount point of a newer CSI driver, by a hash."""
    hashed = f"/var/lib{CSI}/rbd.csi.ceph.com/3f2a9c/globalmount"
    lines = (f"1 0 254:0 / {point} rw - ext4 /dev/x rw\n" for point in ("/mnt", hashed))
    found = uses(VOLUME | {"/proc/self/mountinfo": "".join(lines)})

    assert [use.name for use in Device("dm-0", Kind.DISK, "", uses=found).users] == ["/mnt", hashed]


MOUNTS = """\
22 1 8:0 / / rw - ext4 /dev/sda rw
23 22 254:0 / /srv rw - xfs /dev/mapper/vg--md-my--disk rw
24 23 0:40 / /srv/scratch rw - tmpfs tmpfs rw
25 22 0:41 /sub /pool rw - btrfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("/srv/images/a.raw", "loop /srv/images/a.raw on vg-md/my-disk"),
        ("/srvx/a.raw", "loop /srvx/a.raw on sda"),
        ("/pool/a.raw (deleted)", "loop /pool/a.raw (deleted) on sdb"),
        ("/srv/scratch/a.raw", "loop /srv/scratch/a.raw"),  # in memory
    ],
)
def test_the_file_of_a_loop_device_is_on_a_device(file, words):
    """By the mount that is nearest to the file; another file system hides the one below."""
    loop = block("loop0", "7:0", 2048, loop__backing_file=file)
    topology = discover(DrawnHost(VOLUME | SDB | loop | {"/proc/self/mountinfo": MOUNTS}))

    assert what(topology["loop0"]) == words
