"""Without root, without dmsetup, without libblockdev: the same stack is drawn and counted."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.discover.find import find
from stackmap.errors import SourceDenied, SourceMissing
from stackmap.host.capture import CapturedHost
from stackmap.host.intercepting import UnprivilegedHost
from stackmap.render.figures_json import layers_json
from stackmap.sampling.watch import Watch
from tests.drawn import stack_figures
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"


class Without(CapturedHost):
    """The sample machine, with some questions refused in a given way."""

    def __init__(self, *questions: str, refusal: type[Exception] = SourceMissing) -> None:
        super().__init__(str(SAMPLE))
        for question in questions:
            setattr(self, question, self._refuse)
        self._refusal = refusal

    def _refuse(self, *words: str) -> None:
        raise self._refusal(f"{' '.join(words)}: taken away")


HOSTS = {
    "root": lambda: UnprivilegedHost(CapturedHost(str(SAMPLE))),
    "dmsetup": lambda: Without("run"),
    "the right to run dmsetup": lambda: Without("run", refusal=SourceDenied),
    "libblockdev": lambda: Without("volumes", "arrays"),
    "udev": lambda: Without("udev"),
    "all of them": lambda: UnprivilegedHost(Without("udev")),
}


def edges(topology):
    return {(edge.above, edge.below, edge.role) for edge in topology.edges}


@pytest.fixture(scope="module")
def whole():
    """Return the topology with every source present."""
    return discover(CapturedHost(str(SAMPLE)))


@pytest.mark.parametrize("taken", HOSTS)
def test_the_same_stack_is_drawn(whole, taken):
    """Devices, edges with their roles, names, kinds, sizes, RAID layout."""
    topology = discover(HOSTS[taken]())

    assert edges(topology) == edges(whole)
    for name, device in whole.devices.items():
        found = topology[name]
        assert (found.label, found.kind, found.size) == (device.label, device.kind, device.size)
        if device.layout and device.layout.parity:
            assert found.layout is not None
            assert (found.layout.level, found.layout.members, found.layout.chunk) == (
                device.layout.level,
                device.layout.members,
                device.layout.chunk,
            )


@pytest.mark.parametrize("taken", HOSTS)
def test_the_same_stack_is_counted(whole, taken):
    """Every figure of every layer is the same to the last digit."""
    host = HOSTS[taken]()
    topology = discover(host)
    _, span = next(Watch(CapturedHost(str(SAMPLE)), whole, discover).intervals(1, 1))
    for name in ("vm-disk1", "vm-disk1-r10"):
        (top,) = find(topology, name)
        (expected,), (figures,) = (
            layers_json([stack_figures(each, span.loads, top)], span)["stacks"]
            for each in (whole, topology)
        )

        assert expected["layers"] == figures["layers"]


@pytest.mark.parametrize("taken", ["root", "dmsetup", "the right to run dmsetup"])
def test_what_could_not_be_learned_is_said(taken):
    """One sentence names each missing fact."""
    unknown = discover(HOSTS[taken]()).unknown

    assert unknown
    assert any("dmsetup" in reason for reason in unknown)
    assert len(set(unknown)) == len(unknown)


def test_nothing_is_said_to_be_unknown_where_all_is_known(whole):
    """A root user with all tools reads no notes."""
    assert whole.unknown == ()
