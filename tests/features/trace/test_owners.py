"""Probes of owners are removed when they take too much, at any time."""

from __future__ import annotations

import re

import pytest

from stackmap.errors import SourceError
from stackmap.features.trace import cost, owners, tracefs
from stackmap.features.trace.owners import OwnerTrace
from tests.features.trace.test_trace import Machine, is_clean


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
