"""Jobs from the recorded workloads, whose order is known from fio's options."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
VOLUMES = {"r5": "vm-disk1", "r10": "vm-disk1-r10"}
# What each workload's writes were: its name is what fio was told.
WRITES = {"rand4k-write": False, "rand16k-rw": False, "seq4k-write": True, "full-stripe": True}
LOADS = [
    path
    for path in sorted(CAPTURES.glob("vghdd*/load/*.diskstats"))
    if path.stem.partition("-")[2] in WRITES
]

if not LOADS:
    pytest.skip("the recorded kernels are not beside this checkout", allow_module_level=True)


def told(path, command, *words):
    volume = VOLUMES[path.stem.partition("-")[0]]
    machine = str(path.parent.parent / "capture.tar.gz")
    result = CliRunner().invoke(
        stackmap, ["--from", machine, command, volume, "--input", str(path), "-J", *words]
    )
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("path", LOADS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_writes_are_in_the_order_they_were(path):
    """A stream becomes a sequential job, writes all over the volume a random one; and a projection says the same."""
    (write,) = (s for s in told(path, "fiojob")["streams"] if s["direction"] == "write")
    projected = told(path, "whatif", "--to", "raid10")["load"]["sequential"]
    _, _, workload = path.stem.partition("-")

    assert write["options"]["rw"] == ("write" if WRITES[workload] else "randwrite")
    assert "percentage_random" not in write["options"]
    assert write["follows"] == pytest.approx(projected["likely"], abs=0.01)
