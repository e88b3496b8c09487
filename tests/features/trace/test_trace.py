"""What a trace does on kernels that lack something, and that it leaves nothing behind."""

from __future__ import annotations

import re

import pytest

from stackmap.errors import SourceDenied, SourceError, SourceMissing, TraceRefused
from stackmap.features.trace import cost, dm_stats, probes, tracefs
from stackmap.features.trace.measure import TraceOptions, Tracer, clean
from stackmap.features.trace.record import TraceRecord, parse
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from stackmap.sources import trace_text
from tests.features.trace.test_tracefs import Kernel

TOPOLOGY = Topology(
    [Device("dm-0", Kind.VOLUME, "253:0", label="t/lin"), Device("sda", Kind.DISK, "8:0")],
    [Edge("dm-0", "sda", Role.DATA)],
)
OPTIONS = TraceOptions(3.0, 0.05)
EVERY = dict.fromkeys((*probes.BIO, probes.FLAGS, *probes.REQUEST), 8)
SYMBOLS = (
    "submit_bio_noacct",
    "bio_endio",
    "blk_mq_start_request",
    "__x64_sys_getppid",
    "__x64_sys_getuid",
)


class Machine(Kernel):
    """A kernel whose probes fire *fires* times per look; reads of diskstats move by *writes*."""

    def __init__(self, *, fires=100, writes=10, btf=True, calls=2000):
        super().__init__()
        self.files["/sys/devices/system/cpu/online"] = ["0-1"]
        self.files[trace_text.KALLSYMS] = [f"ffff{n} T {name}" for n, name in enumerate(SYMBOLS)]
        self.files["/sys/block/dm-0/dev"] = ["253:0"]
        self.fires, self.writes, self.btf, self.calls = fires, writes, btf, calls
        self.looks = self.samples = 0
        self.stats: dict[str, list[str]] = {}
        self.now = 1000.0

    def read(self, path):
        if path == "/proc/diskstats":
            self.samples += 1
            done = self.samples * self.writes
            return "".join(
                f"{major} 0 {name} 0 0 0 0 {done} 0 {done * 8} {done} 0 {done} {done}\n"
                for major, name in ((253, "dm-0"), (8, "sda"))
            )
        if path == tracefs.PROFILE and not self.denied:
            probes = "".join(self.files[tracefs.PROBES])
            copies = re.findall(r"p:stackmap/(cost_\w+)", probes)
            if copies:
                return "".join(f"  {name} {self.calls} 0\n" for name in copies)
            self.looks += 1  # the first is before the trace
            ours = f"  submit {self.looks * self.fires} {min(self.looks - 1, 1)}\n"
            return f"  other_probe 99999999999 77\n{ours}"
        if path.endswith("/hist"):
            return ""
        return super().read(path)

    def drain(self, _path, _most):
        return ""

    def offsets(self, _, members):
        if not self.btf:
            raise SourceMissing("/sys/kernel/btf/vmlinux: No such file or directory")
        return {member: EVERY[member] for member in members}

    def constant(self, name):
        return {"BIO_TRACE_COMPLETION": 7}[name]

    def seconds_of_calls(self, count):
        """Return 1 µs per call, 0.5 µs per probe with one paused histogram, and 1 µs per further histogram."""
        probes = "".join(self.files[tracefs.PROBES]).count("stackmap/cost_")
        triggers = sum(
            len(lines) for path, lines in self.files.items() if "/cost_" in path or "_cost_" in path
        )
        return count * (1 + 0.5 * probes + max(0, triggers - probes)) * 1e-6

    def clock(self):
        return self.now

    def message(self, number, text):
        found = self.stats.setdefault(number, [])
        if text.startswith("@stats_create"):
            found.append(f"{len(found)}: 0+1 2 stackmap\n")
            return f"{len(found) - 1}\n"
        if text.startswith("@stats_list"):
            return "".join(found)
        if text.startswith("@stats_delete"):
            found.remove(f"{text.split()[1]}: 0+1 2 stackmap\n")
            return ""
        counts = ":".join(["0"] * 100 + ["6"] + ["0"] * 300)
        return f"0+1 0 0 0 0 6 0 48 900 0 0 0 0 0 {counts}"

    def ticks(self, interval, count):
        for place in range(count):
            self.now += interval * bool(place)
            yield self.now


def is_clean(machine):
    return (
        tracefs.INSTANCE not in machine.directories
        and machine.files[tracefs.PROBES] == machine.files[tracefs.SYNTHETIC] == []
        and not any(machine.stats.values())
    )


def test_with_probes():
    machine = Machine()
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert (record.sources, record.notes) == (("tracepoints", "kprobes"), ())
    assert record.seconds == pytest.approx(3.0)
    assert record.hits == (machine.looks - 1) * 100
    assert record.missed == 1
    assert record.added[0] > 0 < record.added[1]
    assert is_clean(machine)


@pytest.mark.parametrize(
    ("machine", "note"),
    [(Machine(btf=False), "/sys/kernel/btf/vmlinux"), (Machine(calls=0), "does not run them")],
)
def test_without_probes_dm_counts(machine, note):
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.sources == ("tracepoints", "dm-stats")
    assert note in record.notes[0]
    assert record.hits > 0
    assert record.added is None
    assert record.overhead == pytest.approx(record.hits * cost.ASSUMED.request / 3 / 2)
    ((key, counts),) = parse(record).latency.items()
    assert key == ("253:0", "write")
    assert sum(counts.values()) == 6
    assert is_clean(machine)


def test_a_cost_that_could_not_be_measured_is_not_printed_as_measured():
    machine = Machine()
    machine.files[trace_text.KALLSYMS] = machine.files[trace_text.KALLSYMS][:3]
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.sources == ("tracepoints", "kprobes")
    assert record.overhead > 0
    assert record.added is None


class Refusing(Machine):
    """A kernel that refuses a trigger with *word*."""

    def __init__(self, word):
        super().__init__()
        self.word = word

    def write(self, path, text):
        if path.endswith("trigger") and self.word in text and not text.startswith("!"):
            raise SourceError(f"{path}: Invalid argument")
        super().write(path, text)

    def ticks(self, interval, count):
        for now in super().ticks(interval, count):
            self.seen = {path for path, lines in self.files.items() if lines}
            yield now


def test_a_kernel_without_histograms_still_has_dm_statistics():
    machine = Refusing("hist:")
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.sources == ("dm-stats",)
    assert "no tracepoints" in record.notes[0]
    assert sum(sum(counts.values()) for counts in parse(record).latency.values()) == 6
    assert is_clean(machine)
    with pytest.raises(SourceError, match="Invalid argument"):
        Tracer(machine, TOPOLOGY, ["sda"]).run(OPTIONS)
    assert is_clean(machine)


def test_probes_that_cannot_be_used_are_removed_before_the_trace():
    """Else they would cost CPU time without a limit."""
    machine = Refusing("lat.buckets")
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.sources == ("tracepoints", "dm-stats")
    assert tracefs.PROBES not in machine.seen
    assert not any("stackmap/submit" in path for path in machine.seen)
    assert any(path.endswith("block_bio_queue/trigger") for path in machine.seen)
    assert is_clean(machine)


def test_a_heat_map_does_not_delay_the_look_at_the_overhead():
    machine = Machine()
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(TraceOptions(600.0, 0.05, 60))
    assert len(record.slices) == 60
    assert machine.looks >= 600


def test_statistics_of_another_process_stay():
    machine = Machine(btf=False)
    dm_stats.Statistics(machine).add("253:0")
    Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert machine.stats == {"253:0": ["0: 0+1 2 stackmap\n"]}


class Unplugged(Machine):
    """A machine whose dm-0 is removed during the trace."""

    def read(self, path):
        text = super().read(path)
        gone = path == "/proc/diskstats" and self.now > 1000
        return "".join(line for line in text.splitlines(True) if not (gone and "dm-0" in line))


def test_a_device_that_is_removed_takes_no_requests_back():
    """Else `record --trace` would write a capture that cannot be read."""
    machine = Unplugged(btf=False)
    machine.samples = 1000
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert 0 < record.hits < 1000
    assert TraceRecord.from_json(record.to_json()).hits == record.hits


def test_a_removed_volume_leaves_the_figures_of_the_others():
    class Removing(Machine):
        def message(self, number, text):
            if text.startswith("@stats_print") and number == "253:0":
                raise SourceError("dm device 253:0: @stats_print: No such device or address")
            return super().message(number, text)

    devices = [*TOPOLOGY, Device("dm-1", Kind.VOLUME, "253:1")]
    machine = Removing(btf=False)
    record = Tracer(machine, Topology(devices, TOPOLOGY.edges), []).run(OPTIONS)
    assert record.notes[-1].startswith("no latencies: dm device 253:0")
    assert {number for number, _ in parse(record).latency} == {"253:1"}
    assert is_clean(machine)


def test_without_tracefs_dm_counts():
    machine = Machine()
    machine.denied = "Operation not permitted"
    machine.files[tracefs.LOCKDOWN] = ["none integrity [confidentiality]"]
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.sources == ("dm-stats",)
    assert "lockdown" in record.notes[0]
    assert is_clean(machine)


def test_without_anything_it_fails():
    machine = Machine()
    machine.denied = "Operation not permitted"
    with pytest.raises(SourceDenied, match="needs root"):
        Tracer(machine, TOPOLOGY, ["sda"]).run(OPTIONS)


def test_probes_that_see_nothing_of_the_io_are_a_failure():
    machine = Machine(fires=0)
    with pytest.raises(SourceError, match="no probe fired while the counters of dm-0 moved"):
        Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert is_clean(machine)

    def recorded():
        tracer = Tracer(machine, TOPOLOGY, ["dm-0"])
        with tracer.running():
            machine.now += 3
            tracer.result()
            pytest.fail("`record --trace` would keep a trace without evidence")

    with pytest.raises(SourceError, match="no probe fired"):
        recorded()
    assert is_clean(machine)


def test_no_io_and_no_hit_is_a_result():
    record = Tracer(Machine(fires=0, writes=0), TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.hits == 0


def test_probes_that_cost_too_much_end_the_trace():
    machine = Machine(fires=10**6)
    record = Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    assert record.seconds == pytest.approx(1.0)
    assert "stopped after 1.0 s" in record.notes[-1]
    assert is_clean(machine)


def test_a_trace_in_a_long_recording_ends_after_an_hour():
    machine = Machine()
    tracer = Tracer(machine, TOPOLOGY, ["dm-0"])
    with tracer.running():
        machine.now += 3600
        assert not tracer.stop_above(0.05)
        machine.now += 60
        assert tracer.stop_above(0.05)
        assert tracer.record.notes == ("stopped after 3660 s: a trace takes at most 3600 s",)
        assert not tracer.stop_above(0.05)
    assert is_clean(machine)


@pytest.mark.parametrize(
    ("volumes", "notes"),
    [
        (48, ()),
        (51, ("no times of arrival at 3 of 51 volumes: the kernel filters 48 at a time",)),
    ],
)
def test_volumes_without_times_of_arrival_are_counted(volumes, notes):
    """A filter must fit a page."""
    machine = Machine()
    topology = Topology(
        [Device(f"dm-{n}", Kind.VOLUME, f"253:{n}", label=f"t/{n}") for n in range(volumes)], []
    )
    tracer = Tracer(machine, topology, [], arrivals=True)
    with tracer.running():
        (chosen,) = machine.files[f"{tracefs.EVENTS}/block/block_bio_queue/filter"]
    assert chosen.count("dev == ") == 48
    assert tracer.record.notes == notes


def test_a_second_trace_is_refused_and_clean_removes_a_killed_one():
    machine = Machine()
    Tracer(machine, TOPOLOGY, ["dm-0"])._instruments.install(type("Never", (), {
        "enter_context": lambda _, context: context.__enter__(), "callback": lambda *_: None,
    })())  # fmt: skip
    dm_stats.Statistics(machine).add("253:0")
    with pytest.raises(TraceRefused, match="--clean"):
        Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
    removed = clean(machine)
    assert removed[-1] == "dm statistics of dm-0"
    assert any(line.startswith("probe stackmap/submit") for line in removed)
    assert is_clean(machine)
    assert clean(machine) == []


class Dispatching(Machine):
    """A machine that also dispatches *dispatched* requests per look; *looked*: its probes during the trace."""

    def __init__(self, dispatched, symbols=SYMBOLS):
        super().__init__()
        self.files[trace_text.KALLSYMS] = [f"ffff{n} T {name}" for n, name in enumerate(symbols)]
        self.dispatched, self.looked = dispatched, ""

    def read(self, path):
        text = super().read(path)
        if path == tracefs.PROFILE and "  submit " in text:
            self.looked = "".join(self.files[tracefs.PROBES])
            text += f"  {probes.DISPATCH} {self.looks * self.dispatched} 0\n"
        return text


def test_the_dispatch_is_probed_where_the_kernel_has_its_function():
    for symbols in (SYMBOLS, [name for name in SYMBOLS if name != probes.DISPATCH_SYMBOL]):
        machine = Dispatching(0, symbols)
        Tracer(machine, TOPOLOGY, ["dm-0"]).run(OPTIONS)
        assert (probes.DISPATCH_SYMBOL in machine.looked) == (symbols is SYMBOLS)


def test_dispatches_of_other_requests_are_not_counted_as_work():
    """No more than arrived at the traced devices: the others are filtered early."""
    spent = []
    for dispatched in (0, 5, 500, 5000):
        record = Tracer(Dispatching(dispatched), TOPOLOGY, ["dm-0"]).run(OPTIONS)
        spent.append(record.cost * record.hits)
    assert spent[0] < spent[1] < spent[2] == pytest.approx(spent[3])
