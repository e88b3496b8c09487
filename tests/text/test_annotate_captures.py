"""The recorded machines' iostat and sar texts, against what `iostat -N` called their devices."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from stackmap.text.annotate import Annotator, Style
from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
LOADS = sorted(CAPTURES.glob("vghdd*/load/*.iostat.json"))

pytestmark = pytest.mark.skipif(not LOADS, reason=f"no captures in {CAPTURES}")


def machine(capture: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the mapper's name of each device, and each kernel name by number."""
    names: dict[str, str] = {}
    numbers: dict[str, str] = {}
    with tarfile.open(capture) as members:
        for member in members:
            asked = re.search(r"/block/([^/]+)/(dm/name|dev)$", member.name)
            if asked is None or not member.isfile():
                continue
            answer = members.extractfile(member).read().decode().strip()
            if asked[2] == "dev":
                numbers[answer] = asked[1]
                names.setdefault(asked[1], asked[1])
            else:
                names[asked[1]] = answer
    return names, numbers


@pytest.mark.parametrize("tool", ["iostat", "sar"])
@pytest.mark.parametrize("load", LOADS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_every_row_is_named(load, tool):
    """Each dm row gets the name that `iostat -N` printed in the same seconds; none is left over."""
    meant = set(re.findall(r'"disk_device": "([^"]+)"', load.read_text()))
    text = load.with_name(load.name.replace("iostat.json", f"{tool}.txt")).read_bytes()
    annotator = Annotator(*machine(load.parents[1] / "capture.tar.gz"), Style(append=False))
    shown = (annotator.feed(text) + annotator.finish()).decode()
    names = re.findall(r"^(?:[\d:]{8} +|Average: +)?([a-z][\w-]+) +\d+\.\d\d ", shown, re.MULTILINE)
    assert set(names) == meant
    assert not annotator.unresolved
