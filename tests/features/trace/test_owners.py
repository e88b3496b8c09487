"""``blame --trace``: the kernel's texts, the owners at each layer, and the probes' removal when they take too much."""

from __future__ import annotations

import re

import pytest

from stackmap.errors import SourceError
from stackmap.features.trace import cost, owners, tracefs
from stackmap.features.trace.owners import GONE, ROOT, OwnerIo, OwnerSample, OwnerTrace, Sum
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from stackmap.render.terminal import Style
from tests.features.trace.test_trace import Machine, is_clean
from tests.terminal_text import render_text

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


TOPOLOGY = Topology(
    [
        Device("dm-0", Kind.VOLUME, "253:0", label="vg/data", target="linear"),
        Device("sda1", Kind.PARTITION, "8:1"),
        Device("sda", Kind.DISK, "8:0"),
        Device("sdb", Kind.DISK, "8:16"),
    ],
    [Edge("dm-0", "sda1", Role.DATA, 0), Edge("sda1", "sda", Role.DATA, 0)],
)
GROUPS = {7: "/system.slice/mariadb.service", 1: ""}


def row(number, owner, size, direction="write", *, name="", took=0):
    return OwnerIo(number, not name, owner, name, direction, Sum(2, size, 1 if took else 0, took))


def owners_at(rows, *names):
    return OwnerSample(tuple(rows), GROUPS).owners(TOPOLOGY, names)


def test_a_partitions_requests_are_the_disks_too():
    """They are submitted once, to the partition."""
    found = owners_at([row("8:1", 7, 8192, took=3000), row("8:0", 7, 512)], "sda")
    sums = {each.device: each.parts["write"] for each in found}
    assert sums["sda1"].bytes == 8192
    assert sums["sda"].bytes == 8704
    assert sums["sda"].milliseconds == 3.0
    assert sums["sda"].size == 2176


def test_other_stacks_are_left_out():
    found = owners_at([row("8:16", 7, 4096), row("7:0", 7, 4096)], "sda")
    assert found == []


def test_the_heaviest_owner_of_the_top_is_first():
    rows = [row("8:1", 7, 99), row("253:0", 1, 10), row("253:0", 7, 20), row("253:0", 7, 5, "read")]
    found = owners_at(rows, "dm-0")
    assert [(each.device, each.number, each.bytes) for each in found] == [
        ("dm-0", 7, 25),
        ("dm-0", 1, 10),
        ("sda1", 7, 99),
        ("sda", 7, 99),
    ]


def test_names():
    rows = [row("8:0", 7, 4), row("8:0", 1, 3), row("8:0", 99, 2), row("8:0", 4711, 1, name="dd")]
    named = [each.title for each in owners_at(rows, "sda")]
    assert named == ["service mariadb", ROOT, GONE, "dd 4711"]


def test_the_table_and_its_json():
    sample = OwnerSample((row("253:0", 7, 8192, took=1500),), GROUPS, 3, 0.012)
    text = render_text(sample.blocks(TOPOLOGY, ["dm-0"]), Style(100))
    assert "service mariadb  vg/data  write         2  8.0      4.0  1.50" in text
    assert "3 requests could not be counted" in text
    assert sample.json(TOPOLOGY, ["dm-0"]) == {
        "cgroups": [
            {
                "cgroup": "/system.slice/mariadb.service",
                "owner": "service mariadb",
                "device": "dm-0",
                "read": {"requests": 0, "bytes": 0, "size": None, "latency_us": None},
                "write": {"requests": 2, "bytes": 8192, "size": 4096.0, "latency_us": 1500.0},
            }
        ],
        "processes": [],
        "lost": {"hits": 3},
        "overhead": 0.012,
        "stopped": None,
    }


def test_nothing_traced_is_said():
    text = render_text(OwnerSample().blocks(TOPOLOGY, ["dm-0"]), Style(100))
    assert "No request was traced" in text
    assert "could not be counted" not in text
    assert OwnerSample().json(TOPOLOGY, ["dm-0"])["lost"] == {"hits": 0}


class Owned(Machine):
    """A machine whose probe of owners fires *fires* times per look."""

    dropped = 0
    refusal = ""

    def names_in(self, path):
        return [] if path.startswith("/sys/fs/cgroup") else super().names_in(path)

    def offsets(self, _, members):
        return dict.fromkeys(members, 8)

    def read(self, path):
        if path == tracefs.PROFILE and self.refusal:
            raise SourceError(f"{path}: {self.refusal}")
        if path == tracefs.PROFILE and "stackmap/cost_" not in "".join(self.files[tracefs.PROBES]):
            self.looks += 1
            return f"  owner {self.looks * self.fires} 0\n"
        if path == f"{tracefs.EVENTS}/{owners.SUBMIT_EVENT}/hist":
            return (
                "# event histogram\n# trigger info: hist:keys=bio:vals=hitcount:started=x [active]\n"
                f"    Dropped: {self.dropped}\n"
            )
        return super().read(path)


def test_above_the_limit_nothing_is_probed_any_more():
    machine = Owned(fires=10**6)
    with OwnerTrace(machine, 0.05) as trace:
        machine.now += 1
        trace.look()
        assert machine.files[tracefs.PROBES] == machine.files[tracefs.SYNTHETIC] == []
        sample = trace.read()
        assert re.match(r"stopped after 1\.0 s: the trace took [0-9.e+]+ % of all", sample.stopped)
        assert trace.read().stopped == ""
    assert is_clean(machine)


def test_it_ends_after_an_hour():
    machine = Owned(fires=1)
    with OwnerTrace(machine, 0.05) as trace:
        machine.now += cost.LONGEST
        assert trace.read().stopped == ""
        machine.now += 1
        assert trace.read().stopped == "stopped after 3601 s: a trace takes at most 3600 s"
    assert is_clean(machine)


def test_the_thread_looks_too(monkeypatch):
    monkeypatch.setattr(owners, "TICK", 0.01)
    machine = Owned(fires=10**6)
    with OwnerTrace(machine, 0.05) as trace:
        trace._ended.wait(0.5)
        assert machine.files[tracefs.PROBES] == []
        assert trace.read().stopped
    assert is_clean(machine)


def test_a_refusal_in_the_thread_is_one_of_the_next_reading(monkeypatch):
    monkeypatch.setattr(owners, "TICK", 0.01)
    machine = Owned(fires=1)
    with OwnerTrace(machine, 0.05) as trace:
        machine.refusal = "Input/output error"
        trace._watch.join(5)
        assert not trace._watch.is_alive()
        with pytest.raises(SourceError, match="Input/output error"):
            trace.read()
    assert is_clean(machine)


@pytest.mark.parametrize("drops", [[3, 0, 4]])
def test_drops_of_requests_in_flight_are_said_once(drops):
    machine = Owned(fires=1)
    with OwnerTrace(machine, 1.0) as trace:
        for more in drops:
            machine.dropped += more
            assert trace.read().dropped == more


def test_dropped_requests_are_told_where_there_are_any():
    """One is singular."""
    for dropped, told in (
        (0, ""),
        (1, "1 request could not be counted"),
        (3, "3 requests could not be counted"),
    ):
        sample = OwnerSample((row("253:0", 7, 8192),), GROUPS, dropped, 0.012)
        text = render_text(sample.blocks(TOPOLOGY, ["dm-0"]), Style(100))
        assert told in text
        assert ("could not be counted" in text) == bool(told)


def test_what_the_probes_saw_before_does_not_end_a_trace():
    """A hundred million hits of an earlier trace: this one has ten per look."""
    machine = Owned(fires=10)
    machine.looks = 10**7
    with OwnerTrace(machine, 0.05) as trace:
        machine.now += 1
        assert trace.read().stopped == ""
    assert is_clean(machine)
