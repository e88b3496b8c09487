"""Which device has a name between two surveys, and what uevents add to what samples show."""

import pytest

from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sampling.snapshots import Snapshot, _unidentified, identities, unsampled_events
from stackmap.sources.diskstats import Sample
from stackmap.sources.uevent import UeventDelta


def topology(**known):
    return Topology([Device("sda", Kind.DISK, "8:0", **known)])


REPLUGGED = UeventDelta(added={"sda": 1}, removed={"sda": 1})


@pytest.mark.parametrize(
    ("known", "changes", "expected"),
    [
        # A diskseq is counted by the kernel: equal at both ends, it was the same device throughout.
        ({"diskseq": "7"}, REPLUGGED, "8:0 7"),
        ({"diskseq": "7"}, UeventDelta(), "8:0 7"),
        # A WWN comes back with the same disk, whose counters began again at 0.
        ({"wwn": "0x5"}, REPLUGGED, None),
        ({"wwn": "0x5"}, UeventDelta(), "8:0 0x5"),
    ],
)
def test_a_device_that_came_back_is_known_by_its_diskseq_alone(known, changes, expected):
    """Without a diskseq, a removal and an addition between two surveys leave the identity unknown."""
    assert identities(topology(**known), topology(**known), changes) == {"sda": expected}


@pytest.mark.parametrize(
    ("changes", "sampled", "events"),
    [
        (UeventDelta(removed={"sda": 1}), frozenset(), ["sda went away"]),
        (UeventDelta(removed={"sda": 1}), frozenset({"sda"}), []),
        (UeventDelta(added={"sda": 1}), frozenset(), []),
        (REPLUGGED, frozenset(), ["sda appeared and went away"]),
    ],
)
def test_only_what_no_two_samples_show_is_reported(changes, sampled, events):
    """The next pair of samples shows a sampled device that went, and one that was added and stayed."""
    assert list(unsampled_events(changes, topology(), sampled, [])) == events


@pytest.mark.parametrize(
    ("later", "event"),
    [
        ("8:0 7", "sda is identified from here on; no figures before"),
        (None, "sda is not identified yet: no figures for it"),
    ],
)
def test_each_interval_without_figures_says_why(later, event):
    """Also those between the one in which a device changed and the one in which it is known again."""
    here = topology(diskseq="7")
    sample = Sample(0.0, ())
    first = Snapshot(sample, here, {"sda": None})
    second = Snapshot(sample, here, {"sda": later})

    assert list(_unidentified(first, second, ["sda"])) == [("sda", event)]
