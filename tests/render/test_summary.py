"""The summary of a report: what a layout would be on disks that serve others too."""

from __future__ import annotations

import re

import pytest

from stackmap.document.blocks import Paragraph
from stackmap.features.report.decision import decision_section
from stackmap.features.report.figures import Measuring
from stackmap.features.report.proposals import Proposing
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.topology import Edge, Topology
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, topology

PAGE = 4096
SENTENCE = re.compile(
    r"With all other load, .* now. A disk of the new layout, one of .*, would serve about .*"
)


def said(where, name, loads, wish):
    """Return the sentence on what the disks do for others too, "" for none; and what is projected for a disk."""
    taken = Measuring(where, (name,))
    for second in range(5):
        taken.add(Interval(loads, 1000.0 + second, 1.0))
    proposed = Proposing(taken, name, timed=False).propose(wish, parse(wish), "not asked")
    *_, details = decision_section(taken.report(), (proposed,), ()).blocks
    texts = (b.text for b in details.blocks if isinstance(b, Paragraph) and b.lead == "Effect:")
    disks = proposed.projection.projected.disks
    each = disks.requests.likely / disks.count
    return next((found[0] for text in texts if (found := SENTENCE.search(text))), ""), each


ONE = Topology(
    [disk("sda"), passing("dm-0", label="vg/lv", size=1 << 30), passing("dm-1", label="vg/rest")],
    [Edge("dm-0", "sda", Role.DATA), Edge("dm-1", "sda", Role.DATA)],
)


def on_one(writes, rest):
    return {
        "dm-0": moved(None, did(writes, PAGE)),
        "dm-1": moved(None, did(rest, PAGE)),
        "sda": moved(None, did(writes + rest, PAGE)),
    }


def test_of_more_members_each_gets_its_part():
    """A disk does 100 writes for the LV and 59 for the rest; of four in RAID0 each takes 25 for it, and has its rest."""
    text, each = said(ONE, "dm-0", on_one(100.0, 59.0), "raid0:members=4")

    assert each == pytest.approx(25)
    assert text.startswith("With all other load, sda serves 159 requests/s now.")
    assert "A disk of the new layout, one of 4, would serve about 84.0: 47 % fewer" in text


def test_where_a_disk_serves_nobody_else_nothing_is_said():
    """What it does is what the projection says already."""
    assert said(ONE, "dm-0", on_one(100.0, 0.0), "raid10:members=4")[0] == ""


def test_of_as_many_members_each_has_less_of_all():
    """Of 173 a disk 73 are others' and stay; what is projected for a disk is the rest."""
    others = passing("dm-9", label="vg/rest")
    base = topology(raid_volume("vm", "raid5", 8, label="vg/vm", size=700 << 20))
    where = Topology([*base, others], [*base.edges, *(Edge("dm-9", d, Role.DATA) for d in DISKS)])
    member = moved(did(50.0, PAGE), did(50.0, PAGE))
    loads = {
        "vm": moved(None, did(100.0, PAGE)),
        "dm-9": moved(did(4 * 73.0, PAGE)),
        **{f"vm_rimage_{place}": member for place in range(4)},
        **{f"vm_rmeta_{place}": moved() for place in range(4)},
        **dict.fromkeys(DISKS, moved(did(123.0, PAGE), did(50.0, PAGE))),
    }

    text, each = said(where, "vm", loads, "raid10")

    assert text.startswith("With all other load, these 4 disks serve 173 requests/s each")
    assert float(re.search(r"about (\d+)", text)[1]) == pytest.approx(73 + each, abs=0.5)
