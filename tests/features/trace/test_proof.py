"""Whether counters are doubled, by device-mapper's own statistics."""

from __future__ import annotations

import pytest

from stackmap.features.trace import dm_stats
from stackmap.features.trace.dm_stats import proving
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from tests.features.trace.test_trace import Machine

TOPOLOGY = Topology([Device("dm-0", Kind.VOLUME, "253:0", target="raid")], [])


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, SystemExit])
def test_only_its_own_statistics_are_removed(ending):
    machine = Machine(writes=12)
    dm_stats.Statistics(machine).add("253:0")  # of a trace that runs
    found = []
    try:
        with proving(machine, TOPOLOGY, []) as found:
            assert len(machine.stats["253:0"]) == 2
            if ending:
                raise ending
    except (KeyboardInterrupt, SystemExit):
        pass
    assert machine.stats["253:0"] == ["0: 0+1 2 stackmap\n"]
    assert [each.ratio for each in found] == ([] if ending else [2.0])


def test_a_ratio_of_nothing_is_unknown():
    device = TOPOLOGY["dm-0"]
    assert dm_stats.Proof(device, 26, 13).ratio == 2.0
    assert dm_stats.Proof(device, 0, 0).ratio is None
