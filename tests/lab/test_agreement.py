"""
Every machine that a scenario dumps: its edges are those that lsblk, dmsetup and lvs say together.

A scenario that dumps more machines is compared with no more code: these are
all that its folder holds.
"""

from __future__ import annotations

import tarfile

import pytest

from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Kind
from tests.agreement import (
    UNDUMPED,
    edges_by_dmsetup,
    edges_by_lsblk,
    pvs_by_lvs,
    pvs_by_topology,
)

pytestmark = pytest.mark.lab("all")

# The options of each are those of the tests that it was made for, so it is booted once.
SCENARIOS = {
    "rows": {"disks": 8, "timeout": 1200},
    "sharing": {"disks": 7, "timeout": 1800},
    "stacks": {"disks": 10, "nvme": 1, "timeout": 2400},
    "states": {"disks": 5, "timeout": 1200},
}


@pytest.fixture(params=SCENARIOS)
def machines(request, kernel, lab, tmp_path):
    """Each machine of a scenario, unpacked, by name."""
    out = lab(request.param, kernel=kernel, **SCENARIOS[request.param])
    found = {}
    for archive in sorted(out.glob("*.tar")):
        found[archive.stem] = tmp_path / archive.stem
        with tarfile.open(archive) as tar:
            # Debian 12's Python knows no filters; these tars are ours.
            known = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(found[archive.stem], **known)  # noqa: S202 - our own
    return found


def orphans(topology):
    """Members whose disk is gone: lsblk draws from the disks up, and has none to draw them from."""
    return {d.name for d in topology if d.kind is Kind.MEMBER and not topology.below(d.name)}


def test_edges_are_what_others_say(machines):
    """lsblk's whole; of mapped devices dmsetup's; and of each LV the PVs that lvs leads to."""
    assert machines
    for name, machine in machines.items():
        topology = discover(CapturedHost(str(machine)))
        edges = {(edge.above, edge.below) for edge in topology.edges}
        drawn = {edge for edge in edges_by_lsblk(machine) if not edge[1].startswith(UNDUMPED)}
        assert edges
        assert drawn == {edge for edge in edges if edge[1] not in orphans(topology)}, name
        assert edges_by_dmsetup(machine, topology) == {e for e in edges if e[0][:3] == "dm-"}, name
        assert pvs_by_lvs(machine, topology) == pvs_by_topology(machine, topology), name
