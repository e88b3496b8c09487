"""Caps on I/O, as control groups and libvirt write them down."""

from __future__ import annotations

import pytest

from stackmap.model.cgroup_io import IoLimit
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sources.guests import parse_domain
from stackmap.sources.limits import FILES, parse, read
from tests.machine import DrawnHost

LV = Device("dm-3", Kind.VOLUME, "254:3", label="vg/vm")


@pytest.mark.parametrize(
    ("line", "caps"),
    [
        ("254:3 rbps=2 wbps=3 riops=5 wiops=7",
         (("read_bytes", 2), ("write_bytes", 3), ("read_ios", 5), ("write_ios", 7))),
        ("254:3 rbps=max wbps=max riops=max wiops=11", (("write_ios", 11),)),
    ],
)  # fmt: skip
def test_a_line_of_io_max(line, caps):
    """Each cap is separate; max is no cap."""
    assert list(parse(line, FILES["io.max"])) == [("254:3", caps)]


def test_a_device_without_a_cap_is_not_limited():
    """A line of nothing but max, and a file with no line."""
    assert list(parse("254:3 rbps=max wbps=max riops=max wiops=max\n", FILES["io.max"])) == []
    assert list(parse("", FILES["io.max"])) == []


def test_caps_are_found_in_groups_within_groups():
    """By device number, under the group's own name; other devices are not ours."""
    path = "/sys/fs/cgroup/machine.slice/vm.scope/io.max"
    host = DrawnHost({path: "254:3 wiops=13\n8:0 wiops=17\n", "/sys/fs/cgroup/cpu.stat": ""})

    assert list(read(host, Topology([LV]))) == [
        IoLimit("dm-3", "control group machine.slice/vm.scope", path, (("write_ios", 13.0),))
    ]


def test_caps_of_version_1():
    """It has a file for each of the four, in blkio's tree."""
    path = "/sys/fs/cgroup/blkio/docker/1/blkio.throttle"
    names = ("read_bps", "write_bps", "read_iops", "write_iops")
    drawn = {
        f"{path}.{name}_device": f"254:3 {cap}\n"
        for name, cap in zip(names, (2, 3, 5, 7), strict=True)
    }
    found = list(read(DrawnHost(drawn), Topology([LV])))

    assert {"control group docker/1"} == {limit.owner for limit in found}
    assert {
        f"{path}.read_bps_device": (("read_bytes", 2),),
        f"{path}.write_bps_device": (("write_bytes", 3),),
        f"{path}.read_iops_device": (("read_ios", 5),),
        f"{path}.write_iops_device": (("write_ios", 7),),
    } == {limit.source: limit.caps for limit in found}


DOMAIN = """
<domstatus><domain><name>vm</name><devices><disk>
  <source dev='/dev/vg/vm'/>
  <iotune><total_iops_sec>200</total_iops_sec><read_bytes_sec>0</read_bytes_sec></iotune>
</disk><disk><source file='/a'/></disk></devices></domain></domstatus>
"""


def test_the_iotune_of_a_domain():
    """By the path of the disk; 0 is no cap, and neither is a text that is no XML."""
    folder = "/run/libvirt/qemu"
    files = {f"{folder}/vm.xml": DOMAIN, f"{folder}/damaged.xml": "<domain>"}
    host = DrawnHost(files)

    assert parse_domain(DOMAIN, "").caps == {"/dev/vg/vm": (("total_ios", 200.0),)}
    assert [limit.device for limit in read(host, Topology([LV]))] == ["dm-3"]


def test_a_host_without_groups_has_no_caps():
    """Without permission to read, there are no limits and no errors."""
    assert list(read(DrawnHost({}), Topology([LV]))) == []
