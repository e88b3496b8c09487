"""
A load recorded on one layout, projected on another, and run there: the kernel's own count of it is the judge.

The table of all is printed at the end of the run.
"""

from __future__ import annotations

import pytest

from tests.lab import judged, predicted
from tests.lab.predicted import PREDICTION

pytestmark = pytest.mark.lab("all")

KERNELS = ("6.1", "6.12")
WORKLOADS = (
    "rand4k-write",
    "rand8k-mixed",
    "rand16k-write",
    "rand32k-write",
    "seq4k-write",
    "seq128k-write",
    "seq128k-read",
    "rand8k-fsync",
    "database",
    "rand4k-deep",
    "database-deep",
    "ext4-fsync",
)
LAYOUTS = {"r5": "raid5", "r10": "raid10", "r6": "raid6:members=5"}
WAYS = (("r5", "r10"), ("r5", "r6"), ("r10", "r5"))
# Where the recording cannot tell, the truth is held to be in the band, and the band to have the room it needs:
# neither its middle nor what is shown as likely is held to be near.
UNTOLD = {
    # RAID10 writes the bitmap for each of the eight by itself, or once for all that one plug holds
    # (raid1-10.c: raid1_prepare_flush_writes). On RAID5 these are the same: raid5d collects them either way.
    ("r5", "r10", "rand4k-deep"),
    # Pages of eight requests at once merge one and all, or hardly, as they come to be taken: of this very load
    # 6.1 and 6.12 differed by two thirds on RAID5. RAID10 cuts no pages.
    ("r10", "r5", "database-deep"),
}

# A fifth of what this load writes is a log in sequence, which RAID5's stripe cache spares reads, by how long rows
# stay in it. It is flushed without FUA, as no journal is, so RAID10 does not tell it from the other writes: the
# members are a range, and the truth is held to be in it.
OPEN = {("r10", "r5", "database-deep")}

MEMBERS = 0.05
MIDDLE = 0.20


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.fixture
def runs(lab, kernel):
    return judged.measured(lab("migrate", kernel=kernel, disks=5, timeout=5400))


def test_every_load_ran(runs):
    """On each of the three, to the end of the samples."""
    assert set(runs) == {f"lab.{volume}-{name}" for volume in LAYOUTS for name in WORKLOADS}
    assert [name for name, workload in runs.items() if workload.status] == []


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_load_is_predicted_on_the_other_layout(runs, kernel, request, way, name):
    """Members' requests within 5 %, the disks' within the band, its middle within 20 %, and so what is shown as likely."""
    found = predict(runs, way, name)
    request.node.user_properties.append((PREDICTION, found.row(kernel)))
    if (*way, name) in OPEN:
        assert found.least <= found.members_counted <= found.most
    else:
        assert abs(found.members_off) <= MEMBERS
    assert found.in_band
    if (*way, name) not in UNTOLD:
        assert abs(found.middle_off) <= MIDDLE
        assert abs(found.likely_off) <= MIDDLE


@pytest.mark.parametrize("volume", LAYOUTS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_present_layout_checks_the_model(runs, volume, name):
    """What the model makes of a load on the layout it was measured on is what was counted there."""
    found = predict(runs, (volume, volume), name)
    assert abs(found.members_off) <= MEMBERS
    assert found.in_band


def predict(runs, way, name):
    recorded, ran = (runs[f"lab.{volume}-{name}"] for volume in way)
    return predicted.prediction(recorded, ran, LAYOUTS[way[1]])
