"""Intervals of a machine whose devices come, go, and are replaced under their names."""

from functools import partial

import pytest

from stackmap.discover import discover
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.sampling import watch as watch_module
from stackmap.sampling.snapshots import only_same_devices, topology_events
from stackmap.sampling.watch import Watch
from stackmap.sources import uevent
from stackmap.sources.diskstats import PATH
from stackmap.sources.uevent import NO_CHANGES
from tests.machine import DrawnHost, block, lvm_uuid, mapped

SEQNUM = "/sys/kernel/uevent_seqnum"


class Machine(DrawnHost):
    """
    A disk and what stands on it; each tick one of *steps* is taken, then the counters grow.

    A counter of a device grows by 7 reads a tick; a new one begins at 1,000,
    so that its counters never go back from those of the one it replaced.
    """

    def __init__(self, steps=(), *, listens=True):
        super().__init__({SEQNUM: "31\n"})
        self.steps = list(steps)
        self.listens = listens
        self.reads: dict[str, int] = {}
        self.born = 0
        self.add("sda", block("sda", "8:0"))
        self.events = [] if listens else None

    def add(self, name, files):
        self.born += 1
        path = f"/sys/block/{name}/uevent"
        files[path] = files[path].replace("DISKSEQ=1", f"DISKSEQ={self.born}")
        self.files = {**self.files, **files, f"/sys/class/block/{name}/uevent": files[path]}
        self.reads[name] = 1000 * self.born
        self.tell("add", name)

    def add_volume(self, number, label):
        dm_name = label.replace("/", "-")
        self.add(f"dm-{number}", mapped(number, dm_name, lvm_uuid(self.born), below=("sda",)))

    def remove(self, name):
        gone = (f"/sys/block/{name}/", f"/sys/class/block/{name}/")
        self.files = {p: text for p, text in self.files.items() if not p.startswith(gone)}
        del self.reads[name]
        self.tell("remove", name)

    def rename(self, name, label):
        self.files = {**self.files, f"/sys/block/{name}/dm/name": label.replace("/", "-") + "\n"}
        self.tell("change", name)

    def tell(self, action, name):
        self.files = {**self.files, SEQNUM: f"{int(self.files[SEQNUM]) + 1}\n"}
        if self.events is not None:
            self.events.append({"ACTION": action, "DEVNAME": f"/dev/{name}"})

    def ticks(self, interval, count):
        for tick in range(count):
            if tick < len(self.steps):
                self.steps[tick](self)
            lines = (
                f"   8 0 {name} {reads} 0 0 0 0 0 0 0 0 0 0\n" for name, reads in self.reads.items()
            )
            self.files = {**self.files, "/proc/diskstats": "".join(lines)}
            yield 1000.0 + interval * tick
            self.reads = {name: reads + 7 for name, reads in self.reads.items()}


def nothing(_):
    """Do nothing: the usual tick."""


def replace_quickly(machine):
    """Another LV under a number that was free for a moment; its counters are higher."""
    machine.remove("dm-0")
    machine.add_volume(0, "vg/other")


def watched(machine, count, *, listens=True):
    """Return each interval's topology, rates by name, and events."""
    if listens:
        uevent.read(machine)
    watch = Watch(machine, discover(machine), discover)
    return [
        (topology, {n: load.read.ios for n, load in interval.loads.items()}, interval.events)
        for topology, interval in watch.intervals(1.0, count)
    ]


@pytest.fixture(params=[True, False], ids=["listening", "by the count"])
def listens(request):
    return request.param


def with_volume(steps, *, listens):
    machine = Machine(steps, listens=listens)
    machine.add_volume(0, "vg/lv")
    return machine


def test_a_device_that_was_replaced_has_no_rate_across(listens):
    """Its counters did not go back; only its identity shows the change. It has figures from the next interval on."""
    found = watched(
        with_volume([nothing, nothing, replace_quickly], listens=listens), 4, listens=listens
    )
    rates = [rates.get("dm-0") for _, rates, _ in found]

    assert [rates["sda"] for _, rates, _ in found] == [7, 7, 7, 7]
    assert rates[0] == rates[3] == 7
    assert rates[1] is None
    assert rates[2] in (None, 7)
    assert any("dm-0: replaced by another" in event for event in found[1][2])
    assert found[3][0]["dm-0"].title == "vg/other"


def test_the_topology_is_that_of_the_begin(listens):
    """A replaced LV is under its old name in the interval that it was replaced in, then under its own."""
    found = watched(
        with_volume([nothing, nothing, replace_quickly], listens=listens), 3, listens=listens
    )

    assert ["vg/lv", "vg/lv", "vg/other"] == [topology["dm-0"].title for topology, *_ in found]


def test_a_new_volume_shows_in_the_next_interval():
    """It has an event when it appears, and figures after two samples."""
    found = watched(Machine([nothing, lambda m: m.add_volume(3, "vg/new")]), 2)

    assert "dm-3 (vg/new) appeared" in found[0][2]
    assert "dm-3" not in found[0][1]
    assert found[1][0]["dm-3"].title == "vg/new"
    assert found[1][1] == {"sda": 7, "dm-3": 7}


def test_one_that_goes_is_an_event(listens):
    found = watched(
        with_volume([nothing, lambda m: m.remove("dm-0")], listens=listens), 2, listens=listens
    )

    assert "dm-0 (vg/lv) went away" in found[0][2]
    assert [set(rates) for _, rates, _ in found] == [{"sda"}, {"sda"}]
    assert "dm-0" not in found[1][0]


def test_one_that_came_and_went_between_two_samples_is_an_event():
    """No sample has the device; only uevents show it."""

    def flash(machine):
        machine.add_volume(5, "vg/flash")
        machine.remove("dm-5")

    found = watched(Machine([nothing, flash]), 1)
    assert found[0][2] == ("dm-5 appeared and went away",)


def test_a_renamed_one_is_the_same(listens):
    """Its figures go on; its name is the new one from the next interval."""
    machine = with_volume([nothing, lambda m: m.rename("dm-0", "vg/renamed")], listens=listens)
    found = watched(machine, 2, listens=listens)

    assert found[0][2] == ("dm-0: renamed from vg/lv to vg/renamed",)
    assert [rates["dm-0"] for _, rates, _ in found] == [7, 7]
    assert found[1][0]["dm-0"].title == "vg/renamed"


def test_missed_events_are_said():
    """After the kernel's buffer overflowed, a survey finds the changes."""

    def overrun(machine):
        replace_quickly(machine)
        machine.events = [{"ACTION": "lost"}]

    found = watched(with_volume([nothing, overrun], listens=True), 1)
    assert "dm-0" not in found[0][1]
    assert any(event.startswith("events were missed") for event in found[0][2])


def test_while_nothing_happens_no_device_is_looked_at(listens):
    """Per tick, the counters are read once, with one or two other questions; errors only every ten seconds."""
    machine = with_volume([], listens=listens)
    if listens:
        uevent.read(machine)
    watch = Watch(machine, discover(machine), discover)
    taken = watch.snapshots(1.0, 9)
    first = next(taken)
    machine.asked.clear()
    assert [next(taken).identities is first.identities for _ in range(3)] == [True] * 3
    assert set(machine.asked) == {PATH, SEQNUM}
    assert machine.asked.count(PATH) == 3


def test_figures_for_a_fixed_topology_are_of_its_devices(listens):
    """Devices that are missing or replaced are left out permanently."""
    machine = with_volume([nothing, nothing, replace_quickly], listens=listens)
    first = discover(machine)
    fixed = list(only_same_devices(first, Watch(machine, first, discover).intervals(1.0, 5)))
    assert ["dm-0" in interval.loads for interval in fixed] == [True, *[False] * 4]


def test_without_a_diskseq_what_was_told_decides():
    """Before 5.15, and for partitions, only uevents show that a device of equal number and uuid came back."""

    def bounce(machine):
        machine.tell("remove", "sda")
        machine.tell("add", "sda")

    machine = Machine([nothing, nothing, bounce])
    machine.files = {
        path: "\n".join(line for line in text.splitlines() if "DISKSEQ" not in line) + "\n"
        for path, text in machine.files.items()
    }
    assert [set(rates) for _, rates, _ in watched(machine, 4)][1:3] == [set(), set()]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"diskseq": "7", "uuid": "LVM-a", "wwn": "0x5"}, "8:0 7"),
        ({"uuid": "LVM-a", "wwn": "0x5"}, "8:0 LVM-a"),
        ({"wwn": "0x5"}, "8:0 0x5"),
    ],
)
def test_a_device_is_identified_by_the_best_that_is_known(known, expected):
    """The kernel's diskseq never repeats; a uuid or WWN stays when the same disk comes back."""
    assert Device("sda", Kind.DISK, "8:0", **known).identity == expected


def test_a_source_that_does_not_answer_changes_nothing():
    """dmsetup that ran out of time once leaves layouts unknown; they are no others for that."""
    machine = with_volume([], listens=True)
    machine.commands = {
        "dmsetup table": "vg-lv: 0 2048 linear 8:0 0\n",
        "dmsetup status": "vg-lv: 0 2048 linear\n",
    }
    known = discover(machine)
    machine.commands = {}
    refused = discover(machine)
    assert known["dm-0"].state != refused["dm-0"].state
    assert list(topology_events(known, refused, NO_CHANGES)) == []
    assert list(topology_events(refused, known, NO_CHANGES)) == []


def test_one_that_came_while_the_topology_was_read_is_an_event_when_it_goes():
    """The device is in the topology but in no sample."""
    machine = with_volume([], listens=True)
    uevent.read(machine)

    def again(host):
        found = discover(host)
        if late:
            late.pop()(machine)
            found = discover(host)
            machine.remove("dm-7")
        return found

    late = []
    watch = Watch(machine, discover(machine), again)
    machine.steps = [nothing, lambda m: (m.add("sdz", block("sdz", "65:0")), late.append(bring))]
    bring = partial(Machine.add_volume, number=7, label="vg/late")
    found = [interval.events for _, interval in watch.intervals(1.0, 3)]
    assert "sdz appeared" in found[0]
    assert any(event.startswith("dm-7 (vg/late) appeared and went away") for event in found[1])


def test_a_layout_changed_if_it_has_other_parts_or_another_shape():
    """An LV that was extended onto another disk; a RAID5 that became a RAID6 on as many; one that stayed."""
    disks = [Device(name, Kind.DISK, "") for name in ("sda", "sdb")]

    def drawn(level="raid5", below=("sda",)):
        top = Device("lv", Kind.VOLUME, "", uuid="LVM-1", layout=layout(level, 4), state="active")
        return Topology([top, *disks], [Edge("lv", name, Role.DATA) for name in below])

    changed = ["lv: its layout changed; ratios below it mix both layouts"]
    assert list(topology_events(drawn(), drawn(), NO_CHANGES)) == []
    assert list(topology_events(drawn(), drawn(below=("sda", "sdb")), NO_CHANGES)) == changed
    assert list(topology_events(drawn(), drawn("raid6"), NO_CHANGES)) == changed


def test_errors_of_all_readings_since_the_last_sample_are_told(monkeypatch):
    """A reading may come between two samples: what it shows is not lost with the next."""
    shown = iter([("sda: 3 errors",), (), ("sdb: 5 errors", "sdc: 7 errors")])
    monkeypatch.setattr(watch_module, "error_events", lambda *_: next(shown))
    machine = Machine()
    watch = Watch(machine, discover(machine), discover)
    before = watch._errors
    for _ in range(3):
        watch._take_reading(watch._current.polled, 1000.0)
    assert watch._errors == (*before, "sda: 3 errors", "sdb: 5 errors", "sdc: 7 errors")


def test_a_device_that_grew_or_failed_is_an_event():
    """How far a resync is changes all the time, and is none; nor is another device of the name."""
    before = Device("sda", Kind.DISK, "8:0", uuid="a", size=7, state="resync 12.5 %")

    def events(**now):
        tops = [Topology([each], []) for each in (before, before._replace(**now))]
        return list(topology_events(*tops, NO_CHANGES))

    assert events(size=11) == ["sda: its size changed from 7 to 11 bytes"]
    assert events(state="resync 13.1 %") == events() == []
    assert [str(each) for each in events(state="degraded")] != []
    assert events(read_only=True) == ["sda: was writable, now read-only"]
    assert events(label="slot 1")[0].startswith("sda: renamed from ")
    assert events(size=11, uuid="b") == []
