"""The status of dm targets and md's threads beside the counters: live, recorded and replayed alike."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.ledger.device_state import readings_of, status_changes, thread_usage
from stackmap.measurement.machines import CaptureSource
from stackmap.model.device import StatusReading, TargetStatus
from stackmap.sampling.watch import READING_INTERVAL, Watch
from tests.machine import block, lvm_uuid, mapped
from tests.test_watch import Machine, nothing

TABLE = "vg-c: 0 196608 cache 254:1 254:2 254:3 128 1 writeback smq 0\n"
STATUS = "vg-c: 0 196608 cache 8 10/2048 128 {used}/640 {hits} {misses} 0 0 0 {promoted} 0 2 metadata2 writeback 2 migration_threshold 2048 smq 0 rw - \n"
THREAD = "40 (md0_raid5) S 2 0 0 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 24 0 0\n"


class Cached(Machine):
    """A cache that per tick hits 9 times, misses once and promotes 2 blocks; *misses*: no more from this tick on."""

    def __init__(self, quiet_from=1000):
        super().__init__()
        self.quiet_from = quiet_from
        self.add("dm-0", mapped(0, "vg-c", lvm_uuid(9), below=("dm-1", "dm-2", "dm-3")))
        for number in (1, 2, 3):
            self.add(f"dm-{number}", mapped(number, f"vg-part{number}", lvm_uuid(number)))
        self.commands = {"dmsetup table": TABLE}
        self.tell_status(0)

    def tell_status(self, tick):
        tick = min(tick, self.quiet_from)
        self.commands["dmsetup status"] = STATUS.format(
            used=tick, hits=9 * tick, misses=tick, promoted=2 * tick
        )

    def ticks(self, interval, count):
        for tick, time in enumerate(super().ticks(interval, count)):
            self.tell_status(tick)
            yield time


class Striped(Machine):
    """An md RAID5 whose thread uses nine tenths of a CPU: 60 ticks of user and 30 of system time per second."""

    def __init__(self):
        super().__init__()
        md = {"md__level": "raid5", "md__raid_disks": "3", "md__array_state": "active"}
        self.add("md0", block("md0", "9:0", **md))
        self.commands = {"ps": "    3 kworker/0:0\n   40 md0_raid5\n   41 md0_resync\n"}

    def ticks(self, interval, count):
        for tick, time in enumerate(super().ticks(interval, count)):
            stat = THREAD.format(user=60 * tick, system=30 * tick)
            self.files = {**self.files, "/proc/40/stat": stat}
            yield time


def intervals(host, count):
    watch = Watch(host, discover(host), discover)
    return [interval for _, interval in watch.intervals(1.0, count)]


def replayed(directory, count=None):
    """Return the intervals of a recording, as every command gets them."""
    source = CaptureSource(CapturedHost(str(directory)))
    return [interval for _, interval in source.intervals(count=count)]


def rates(found):
    change = status_changes(readings_of(found))["dm-0"]
    names = ("read_hits", "read_misses", "promotions")
    return change.seconds, *(change.rate(name) for name in names)


@pytest.mark.parametrize("count", [1, 3, 10, 25])
def test_both_ends_have_the_status(count):
    """For any length of a run, its rates cover the whole run."""
    assert rates(intervals(Cached(), count)) == pytest.approx((count, 9, 1, 2))


@pytest.mark.parametrize("count", [1, 7, 25])
def test_a_replay_has_the_readings_of_the_live_run(count, tmp_path):
    with RecordingHost(Cached(), str(tmp_path / "c")) as host:
        live = intervals(host, count)

    assert rates(replayed(tmp_path / "c")) == rates(live)


@pytest.mark.parametrize("quiet_from", [3, 12])
def test_an_idle_end_lowers_the_rates(quiet_from, tmp_path):
    """A replay cannot distinguish the last two equal answers: its last reading may be one period earlier."""
    with RecordingHost(Cached(quiet_from), str(tmp_path / "c")) as host:
        live = status_changes(readings_of(intervals(host, 25)))["dm-0"]
    again = status_changes(readings_of(replayed(tmp_path / "c")))["dm-0"]

    assert (live.seconds, live.grown["read_hits"]) == (25, 9 * quiet_from)
    assert again.grown == live.grown
    assert live.seconds - READING_INTERVAL < again.seconds <= live.seconds


def test_the_status_is_read_at_its_own_period():
    """Five hundred samples, some fifty readings; after a survey the period starts with the next sample."""
    machine = Cached()
    found = readings_of(intervals(machine, 500))

    assert machine.asked.count("dmsetup status") <= 500 / READING_INTERVAL + 10
    assert max(b.time - a.time for a, b in pairwise(found)) <= READING_INTERVAL + 1


def test_a_machine_without_such_targets_is_not_asked():
    machine = Machine()
    machine.add_volume(0, "vg/lv")
    found = intervals(machine, 40)

    assert "dmsetup status" not in machine.asked
    assert all(each.readings == () for each in found)


class Failing(Machine):
    """A SCSI disk: two commands time out between the seconds 15 and 25, and nothing else."""

    counts = "/sys/block/sda/device/iotmo_cnt"

    def __init__(self):
        super().__init__()
        self.add_volume(0, "vg/lv")
        self.files = {**self.files, self.counts: "0x1\n"}

    def ticks(self, interval, count):
        for tick, time in enumerate(super().ticks(interval, count)):
            self.files = {**self.files, self.counts: "0x3\n" if tick >= 17 else "0x1\n"}
            yield time


def test_errors_during_a_measurement_are_an_event(tmp_path):
    """Live, and the same in a replay; also where intervals are summed."""
    with RecordingHost(Failing(), str(tmp_path / "c")) as host:
        live = intervals(host, 40)
    told = ("sda: 2 command timeouts (now 3)",)
    assert [each.events for each in live if each.events] == [told]
    assert [each.events for each in replayed(tmp_path / "c") if each.events] == [told]

    source = CaptureSource(CapturedHost(str(tmp_path / "c")))
    summed = [interval for _, interval in source.ends()]
    assert [each.events for each in summed if each.events] == [told]
    grown = status_changes(readings_of(summed))["sda"].grown
    assert grown == {"timeouts": 2}


def test_the_part_of_a_recording_has_its_own_rates(tmp_path):
    with RecordingHost(Cached(), str(tmp_path / "c")) as host:
        intervals(host, 60)

    seconds, hits, *_ = rates(replayed(tmp_path / "c", count=30))
    assert 30 - READING_INTERVAL < seconds <= 30
    assert hits == pytest.approx(9)


def test_a_thread_of_md_is_measured(tmp_path):
    """Nine tenths of a CPU, live and replayed; md0_resync is no thread that serves requests."""
    with RecordingHost(Striped(), str(tmp_path / "c")) as host:
        live = intervals(host, 12)

    for found in (live, replayed(tmp_path / "c")):
        ((thread, used),) = thread_usage(readings_of(found)).items()
        assert (thread.name, thread.pid) == ("md0_raid5", 40)
        assert used == pytest.approx(0.9, abs=0.02)


def test_md_says_what_it_does(tmp_path):
    """A member fails after five seconds: the first reading has none missing, the last one."""
    machine = Striped()
    path = "/sys/block/md0/md"
    machine.files |= {f"{path}/sync_action": "idle\n", f"{path}/degraded": "0\n"}
    machine.steps = [nothing] * 5 + [
        lambda m: m.files.update({f"{path}/sync_action": "recover\n", f"{path}/degraded": "1\n"})
    ]
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        live = intervals(host, 12)

    for found in (live, replayed(tmp_path / "c")):
        readings = readings_of(found)
        told = [
            (r.targets["md0"].state, r.targets["md0"].counts) for r in (readings[0], readings[-1])
        ]
        assert told == [("active", {"missing": 0}), ("recover", {"missing": 1})]


def test_another_device_of_that_name_has_no_rate_across():
    """Its identity differs, so earlier counts belong to the other device."""
    counts = {"read_hits": 5}
    readings = [
        StatusReading(1.0, {"dm-0": TargetStatus("one", "active", counts)}),
        StatusReading(9.0, {"dm-0": TargetStatus("other", "active", {"read_hits": 900})}),
    ]

    assert status_changes(readings)["dm-0"].seconds == 0
    assert status_changes(readings)["dm-0"].rate("read_hits") is None


def test_counters_that_go_back_are_left_out():
    """The table was loaded anew between the second and the third reading: 4 s and 4 hits remain."""
    counts = [10, 12, 1, 3]
    readings = [
        StatusReading(2.0 * n, {"dm-0": TargetStatus("one", "active", {"read_hits": hits})})
        for n, hits in enumerate(counts)
    ]
    change = status_changes(readings)["dm-0"]

    assert (change.seconds, change.grown) == (4.0, {"read_hits": 4})
