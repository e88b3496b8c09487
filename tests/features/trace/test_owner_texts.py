"""Histograms of owners as the kernel prints them."""

from __future__ import annotations

import pytest

from stackmap.features.trace import owners
from stackmap.features.trace.owners import OwnerIo, Sum

DISK, LV = 8 << 20, 254 << 20 | 18
COUNTED = """\
# event histogram
#
# trigger info: hist:keys=bio:vals=hitcount:started=common_timestamp.usecs,group=cg,by=common_pid:sort=hitcount:size=16384 if size > 0 && op < 2 && again == 0 [active]
#

{{ bio: 18446620735106174976 }} hitcount:          1
# event histogram
#
# trigger info: hist:keys=dev,cg,op:vals=hitcount,size:sort=hitcount:size=16384 if size > 0 && op < 2 && again == 0 [active]
#

{{ dev:  {lv}, cg:        132, op:          1 }} hitcount:          8  size:    8388608
{{ dev:  {disk}, cg:          1, op:          0 }} hitcount:          1  size:       4096

Totals:
    Hits: 9
    Entries: 2
    Dropped: 3
# event histogram
#
# trigger info: hist:keys=dev,common_pid.execname,op:vals=hitcount,size:sort=hitcount:size=16384 if size > 0 && op < 2 && again == 0 [active]
#

{{ dev:  {lv}, common_pid: {name:<16}[       884], op:          1 }} hitcount:          8  size:    8388608

Totals:
    Hits: 9
    Entries: 2
    Dropped: 0
"""
LATENCIES = f"""\
# event histogram
#
# trigger info: hist:keys=dev,cg,op:vals=hitcount,lat:sort=hitcount:size=16384 [active]
#

{{ dev:  {LV}, cg:        132, op:          1 }} hitcount:          8  lat:       4000
# event histogram
#
# trigger info: hist:keys=dev,thread,op:vals=hitcount,lat:sort=hitcount:size=16384 [active]
#

{{ dev:  {LV}, thread:        884, op:          1 }} hitcount:          8  lat:       4000
"""


@pytest.mark.parametrize(
    "name",
    ["dd", "a, b: c", "x } hitcount: ", "kworker/u4:1", "a\nb", "[1], op: 1 }", "\n Dropped: 9\n."],
)
def test_owners(name):
    counted = COUNTED.format(lv=LV, disk=DISK, name=name)
    (groups_lv, groups_disk, thread), kept, cleared = owners.parse(counted, LATENCIES)
    assert (kept, cleared) == (0, 3)
    assert groups_lv == OwnerIo("254:18", True, 132, "", "write", Sum(8, 8388608, 8, 4000))
    assert groups_lv.io.milliseconds == 0.5
    assert groups_disk == OwnerIo("8:0", True, 1, "", "read", Sum(1, 4096))
    assert groups_disk.io.milliseconds is None
    assert (thread.name, thread.owner, thread.io.bytes, thread.io.timed) == (
        name.rstrip(),
        884,
        8388608,
        8,
    )


def test_the_probe_follows_the_kernels_structures():
    offsets = {member: 8 * place for place, member in enumerate(owners.OFFSETS)}
    chain = "+".join(str(offsets[member]) + "(" for member in reversed(owners.GROUP_OF_BIO))
    probe = owners.submit_probe(offsets)
    assert (probe.name, probe.symbol) == ("owner", "submit_bio_noacct")
    assert f"cg=+{chain}$arg1)))))" + ":u64" in probe.fields
    assert all(len(field.partition("=")[2]) <= 63 for field in probe.fields)
