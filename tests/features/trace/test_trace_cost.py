"""The probes and histograms of a trace, copied onto two system calls."""

from __future__ import annotations

import pytest

from stackmap.errors import SourceError
from stackmap.features.trace import cost, owners, probes, tracefs
from stackmap.features.trace.tracefs import ProbeSet, Tracing
from tests.features.trace.test_trace import EVERY, Machine, is_clean

SYMBOLS = ("__x64_sys_getppid", "__x64_sys_getuid")
NUMBERS = (8 << 20, 253 << 20)
LAYERS, DISKS = probes.at_layers(EVERY, 7, NUMBERS), probes.at_disks(EVERY, NUMBERS, 4)
TRIGGERS, AT_DISKS = LAYERS.triggers, DISKS.triggers


class Watched(Machine):
    """A machine that keeps each line that was written."""

    def __init__(self, **more):
        super().__init__(**more)
        self.written = []

    def write(self, path, text):
        self.written.append((path, text))
        super().write(path, text)


def measured(machine, symbols=SYMBOLS):
    with Tracing(machine) as tracing:
        found = cost.measured(machine, tracing, symbols, LAYERS, DISKS)
        assert machine.files[tracefs.PROBES] == machine.files[tracefs.SYNTHETIC] == []
    assert is_clean(machine)
    return found


def test_a_request_costs_its_probes_and_its_histograms():
    """The machine takes 0.5 µs for a probe, and 1 µs for each histogram."""
    found = measured(Watched())
    assert found.other == pytest.approx(3 * 0.5e-6)
    assert found.request == pytest.approx(found.other + len(TRIGGERS) * 1e-6)
    # Each probe of the machine comes with one trigger that counts nothing; these two have none.
    assert found.disk == pytest.approx((2 * 0.5 + len(AT_DISKS) - 2) * 1e-6)


def test_an_event_costs_its_probe_beyond_the_idle_call():
    """What the call takes without a probe is not part of it."""
    machine = Watched()
    with Tracing(machine) as tracing:
        assert cost.of_event(machine, tracing) == pytest.approx(0.5e-6)
    assert is_clean(machine)


def test_each_trigger_is_copied_and_none_is_on_a_block_event():
    machine = Watched()
    measured(machine)
    added = [(path, text) for path, text in machine.written if path.endswith("trigger")]
    added = [each for each in added if not each[1].startswith("!")]
    copies = [each for each in added if not each[1].endswith(":pause")]
    assert len(copies) == len(TRIGGERS) + len(AT_DISKS)
    assert all("/cost_" in path or "_cost_" in path for path, _ in added)
    text = "\n".join(text for _, text in copies)
    assert "onmatch(stackmap.cost_submit).stackmap_cost_latency(dev,op,$took)" in text
    assert "onmatch(stackmap.cost_block_bio_queue).stackmap_cost_gap(dev,op,$gap)" in text
    assert "size=32768" not in text
    assert "dev ==" not in text  # the calls have no device
    at_end = [text for path, text in machine.written if text.startswith("p:") and "getuid" in text]
    assert [line.split()[0] for line in at_end] == [
        "p:stackmap/cost_end",
        "p:stackmap/cost_dispatch",
        "p:stackmap/cost_block_rq_issue",
    ]


def test_every_field_of_a_probe_has_a_value_in_its_copy():
    """The kernel refuses a histogram of a field that its event does not have."""
    owner = (owners.submit_probe(dict.fromkeys(owners.OFFSETS, 8)),)
    copied = cost._copied(ProbeSet(owner), dict.fromkeys(("getppid", "getuid"), "x"))
    for probe, copy in zip(owner, copied.probes, strict=True):
        names = [field.partition("=")[0] for field in probe.fields]
        assert [field.partition("=")[0] for field in copy.fields] == names


def test_probes_that_do_not_run_are_an_error():
    with pytest.raises(SourceError, match="does not run them"):
        measured(Watched(calls=0))


def test_other_names_of_system_calls():
    assert measured(Watched(), ()) == cost.ASSUMED
