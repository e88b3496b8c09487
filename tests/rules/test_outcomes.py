"""A disk whose data is elsewhere gets no advice of a disk; a member with a neighbour is not accused."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.document.rule_words import filled, words_of
from stackmap.host.recording import RecordingHost
from stackmap.model.far_side import FAR_SIDES, by_name, far_side
from stackmap.rules.copy_on_write import thin_pool_data
from stackmap.rules.decision import decide
from stackmap.rules.peers import slow_member
from stackmap.rules.rule import Finding, Outcome, observe, rank
from stackmap.sources import health
from tests.machine import block
from tests.rules import cases_disks
from tests.rules.scripted import (
    ALL_DISKS,
    GIB_SECTORS,
    Did,
    Scripted,
    disks,
    explained,
    md,
    partition,
    volume,
)

PCI = "-> ../devices/pci0000:00/0000:00:05.0"
# Of each kind: the kernel's name, links and attributes as its driver makes them.
KINDS = {
    "nbd": ("nbd0", "", {}),
    "rbd": ("rbd1", "", {}),
    "drbd": ("drbd0", "", {}),
    "virtio": ("vda", "", {}),
    "xen": ("xvda", "", {}),
    "loop": ("loop0", "", {"loop__backing_file": "/srv/image"}),
    "zram": ("zram0", "", {}),
    "ublk": ("ublkb0", "", {}),
    "zvol": ("zd16", "", {}),
    "iscsi": ("sda", "-> ../devices/platform/host3/session1/target3:0:0/3:0:0:0/block/sda", {}),
    "fc": ("sda", f"{PCI}/host4/rport-4:0-2/target4:0:0/4:0:0:1/block/sda", {}),
    "lun": ("sdc", "", {"device__vendor": "NETAPP", "device__model": "LUN C-Mode"}),
    "nvmeof": ("nvme0n1", "", {"device__transport": "tcp", "device__model": "Linux"}),
    "ebs": ("nvme0n1", "", {"device__transport": "pcie", "device__model": "Amazon Elastic Block Store"}),
    "hypervisor": ("sda", f"{PCI}/ata1/host0/target0:0:0/0:0:0:0/block/sda",
                   {"device__vendor": "VMware", "device__model": "Virtual disk"}),
}  # fmt: skip
LOCAL = {
    "sata": ("sda", f"{PCI}/ata1/host0/target0:0:0/0:0:0:0/block/sda",
             {"device__vendor": "ATA", "device__model": "ST4000NM0033-9ZM"}),
    "sas": ("sdb", f"{PCI}/host1/port-1:0/end_device-1:0/target1:0:0/1:0:0:0/block/sdb", {}),
    "nvme": ("nvme0n1", "", {"device__transport": "pcie", "device__model": "SAMSUNG MZVL21T0"}),
    "instance store": ("nvme1n1", "", {"device__transport": "pcie",
                                       "device__model": "Amazon EC2 NVMe Instance Storage"}),
}  # fmt: skip


def machine(name, link, attributes):
    """One disk that answers 20 reads per second, each after 200 ms."""
    files = block(name, "8:0", GIB_SECTORS, device__state="running", **attributes)
    links = {f"/sys/block/{name}": link} if link else {}
    return Scripted(files, links, parts=[{name: Did(reads=5, read_ms=200)}])


def test_every_kind_has_a_case():
    assert KINDS.keys() == FAR_SIDES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_advice_is_about_the_other_side(kind):
    """Never to replace the disk or to read its SMART values."""
    host = machine(*KINDS[kind])
    topology = discover(host, geometry=True)
    assert far_side(topology[KINDS[kind][0]]) == FAR_SIDES[kind]
    found = explained(host)
    texts = [
        filled(text, words_of(topology, each.observed))
        for each in found
        for text in (each.rule.sentence, each.rule.advice)
    ]

    assert [each.rule.name for each in found if each.is_grave] == ["remote-wait"]
    assert FAR_SIDES[kind].look in " ".join(texts)
    assert not [text for text in texts if "smartctl" in text or "replace" in text]


@pytest.mark.parametrize("transport", ["tcp", "rdma", "fc", "loop"])
def test_each_transport_of_nvme_but_pcie_is_a_network(transport):
    """It is NVMe-oF over Fibre Channel, no SCSI LUN, and nvme-loop is no loop device (nvmet's loop.c)."""
    topology = discover(machine("nvme0n1", "", {"device__transport": transport}), geometry=True)

    assert far_side(topology["nvme0n1"]) == FAR_SIDES["nvmeof"]


@pytest.mark.parametrize("kind", LOCAL)
def test_a_disk_of_this_machine_is_sick(kind):
    host = machine(*LOCAL[kind])

    assert [each.rule.name for each in explained(host) if each.is_grave] == ["sick-disk"]


@pytest.mark.parametrize("name", ["sda", "dm-3", "md0", "nvme0n1", "vdo", "zd", "mmcblk0", "loop"])
def test_other_names_show_nothing(name):
    """The kernel numbers the devices of these drivers: ``vdo`` is a virtio disk, ``loop`` is none."""
    assert by_name(name) == ("virtio" if name == "vdo" else "")


PARTS = [f"{name}1" for name in ALL_DISKS]


@pytest.mark.parametrize(("bully", "expected"), [(250, ["neighbour"]), (0, ["slow-member"])])
def test_a_member_with_a_neighbour_is_not_accused(bully, expected):
    """sdd1 waits 90 ms where its peers wait 10 ms: because of sdd2's requests, or by itself."""
    files = [partition(name, 1, 2048) for name in ALL_DISKS]
    own = Did(writes=20, write_ms=10)
    slow = own._replace(write_ms=90)
    part = {
        "md0": Did(writes=40, write_ms=90),
        **dict.fromkeys(ALL_DISKS, own),
        **dict.fromkeys(PARTS, own),
        "sdd": slow._replace(writes=20 + bully),
        "sdd1": slow,
        "sdd2": slow._replace(writes=bully),
    }
    host = Scripted(
        disks(), *files, partition("sdd", 2, 80000), md("raid10", PARTS), parts=[part] * 4
    )
    names = [
        each.rule.name for each in explained(host) if each.rule.name in ("neighbour", "slow-member")
    ]

    assert names == expected


FAST_COPY = Did(reads=210, read_ms=5, busy=1.0, queue=1.1)
SLOW_COPY = Did(reads=29, read_ms=66, busy=1.0, queue=1.9)


@pytest.mark.parametrize(("queue", "expected"), [(1.1, ["slow-member"]), (6.0, [])])
def test_a_saturated_copy_that_serves_far_less_is_slow(queue, expected):
    """Both copies of a mirror are always busy. A peer with a longer queue may be faster because of it."""
    part = {
        "md0": Did(reads=239, read_ms=12),
        "sda": FAST_COPY._replace(queue=queue),
        "sdb": SLOW_COPY,
    }
    host = Scripted(disks(), md("raid1", ["sda", "sdb"]), parts=[part] * 4)
    found = [each.rule.name for each in explained(host) if each.is_grave]

    assert [name for name in found if name == "slow-member"] == expected


@pytest.mark.parametrize(("await_ms", "expected"), [(14, ["neighbour"]), (8, [])])
def test_a_victim_waits_as_long_as_one_request_may_take(await_ms, expected):
    """sda needs 21 ms per request, more than any single one does: what is in its queue waits, if not served first."""
    part = {
        "sda": Did(reads=800, read_ms=21),
        "sda1": Did(reads=66, read_ms=await_ms),
        "sda2": Did(reads=734, read_ms=21.6),
    }
    parts = [partition("sda", 1, 2048), partition("sda", 2, 80000)]
    found = explained(Scripted(disks(), *parts, parts=[part] * 4))

    assert [each.rule.name for each in found if each.rule.name == "neighbour"] == expected


def test_what_makes_requests_wait_comes_before_a_pool_that_fills_up():
    risk, cause = Finding(thin_pool_data, observe("dm-0")), Finding(slow_member, observe("sda"))

    assert sorted([risk, cause], key=rank) == [cause, risk]
    assert decide(discover(Scripted(disks())), [risk, cause]).before_layout == (cause,)


@pytest.mark.parametrize(("done", "expected"), [(20, ["throttled"]), (17, []), (25, ["throttled"])])
def test_a_low_cap_lets_whole_requests_through(done, expected):
    """Of 25 requests per second, blk-throttle lets 2 through in each tenth of a second."""
    group = "/sys/fs/cgroup/app.service"
    counts = [
        {
            f"{group}/io.stat": f"8:0 rbytes=0 wbytes=0 rios={number * done * 10} wios=0 dbytes=0 dios=0\n"
        }
        for number in range(4)
    ]
    files = {f"{group}/io.max": "8:0 rbps=max wbps=max riops=25 wiops=max\n"}
    root = {"/sys/fs/cgroup/cgroup.controllers": "io\n"}
    part = {"sda": Did(reads=done, read_ms=3)}
    host = Scripted(disks(["sda"]), files | counts[0], root, parts=[part] * 3, changes=counts)

    assert [each.rule.name for each in explained(host) if each.is_grave] == expected


@pytest.mark.parametrize(
    ("own", "wait", "expected"), [(40, 24.0, ["dm-0"]), (40, 6.0, []), (1200, 24.0, [])]
)
def test_a_neighbour_on_a_shared_array(own, wait, expected):
    """
    Two volumes on one RAID10: the array's disks cannot tell whose requests they serve, the volumes' own counters can.

    The one that sends few and waits as long is the other's victim; not if it waits briefly, nor if it sends as many.
    """
    rest = 1300 - own
    part = {
        "dm-0": Did(reads=own, read_ms=wait),
        "dm-1": Did(reads=rest, read_ms=23, queue=30),
        "md0": Did(reads=1300, read_ms=23, queue=31),
        **dict.fromkeys(ALL_DISKS, Did(reads=325, read_ms=23, busy=1.0, queue=8)),
    }
    host = Scripted(
        disks(),
        md("raid10"),
        volume(0, "vg-mild", "md0", size=65536),
        volume(1, "vg-rude", "md0", size=65536),
        targets=["vg-mild: 0 65536 linear 9:0 2048", "vg-rude: 0 65536 linear 9:0 67584"],
        parts=[part] * 4,
    )
    found = [each for each in explained(host) if each.rule.name == "neighbour"]

    assert [each.device for each in found] == expected
    for each in found:
        words = each.observed.words
        assert (words["neighbour"], words["place"]) == ("vg/rude", "md0")


def test_a_flat_rate_is_no_guess_where_the_disk_counts_its_limits():
    """The rate of an EBS volume is even: its page says whether that is a limit, and which."""
    over = explained(cases_disks.over_limit())
    well = explained(cases_disks.over_limit(over=0.0))

    assert [each.rule.name for each in over if each.rule.outcome is Outcome.THROTTLED] == [
        "over-limit"
    ]
    assert not [each for each in well if each.rule.outcome is Outcome.THROTTLED]


def test_a_recording_has_the_page_of_its_end(tmp_path):
    """The volume was over its IOPS for 45 of 150 seconds, its instance for 12."""
    host = cases_disks.over_limit()
    host.parts *= 5
    host.answers = cases_disks.pages(45.0, 12.0)
    host.answers[3:] = [{}, {}, host.answers[-1]]
    _assert_over(host, tmp_path, 30.0, 5)


def test_the_page_of_the_end_counts_soon_after_the_one_before(tmp_path):
    """The volume was over its IOPS for 19.5 of 65 seconds; answers are looked for each ten seconds, and at the end."""
    host = cases_disks.over_limit()
    host.parts *= 5  # more than it needs
    quiet, *_, over = cases_disks.pages(19.5)
    host.answers = [quiet, *[{}] * 12, over]
    _assert_over(host, tmp_path, 5.0, 13)


def _assert_over(host, tmp_path, interval, count):
    """That the volume is found to be over its IOPS for 30 % of a recording."""
    host.files["/proc/diskstats"] = ""
    with RecordingHost(host, str(tmp_path / "c")) as recording:
        for _ in samples(recording, interval, count, health_of=health.read):
            pass
    said = CliRunner().invoke(stackmap, ["--from", str(tmp_path / "c"), "explain", "-J"])

    (found,) = [each for each in json.loads(said.stdout)["findings"] if each["id"] == "SM703"]
    (over,) = found["evidence"]
    assert over["value"] == pytest.approx(0.3)
    assert found["title"] == "nvme0n1 is over the volume's IOPS"


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_queue_names_the_other_side_too(kind):
    """What a disk needs is no measure there: the first thing to do is to look at the other side."""
    name, link, attributes = KINDS[kind]
    host = machine(name, link, attributes)
    host.parts = [{name: Did(writes=100, write_ms=160, queue=16.0, busy=1.0)}]
    (finding,) = (each for each in explained(host) if each.rule.name == "evident-overload")
    words = words_of(discover(host), finding.observed)

    assert filled(finding.rule.advice, words).startswith(f"Check {FAR_SIDES[kind].look}.")
    assert FAR_SIDES[kind].what in filled(finding.rule.sentence, words)
