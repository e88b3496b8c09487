"""Diagrams: the same boxes and arrows in every language, and nothing a name could break."""

import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

import stackmap
from stackmap.document.blocks import Stack
from stackmap.document.pictured_load import pictured
from stackmap.document.wording import size
from stackmap.errors import InputError
from stackmap.ledger.ledger import Ledger
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from stackmap.render.diagrams import render_dot, render_graphml, render_mermaid, render_svg
from stackmap.render.html.page import draw
from stackmap.render.picture import Arrow, Box, Picture, layered, picture
from tests.drawn import raid_volume, topology
from tests.paths import ROOT

TWO_VOLUMES = topology(raid_volume("vg/r5", "raid5", 7), raid_volume("vg/r10", "raid10", 11))

NASTY = Topology(
    [
        Device("dm-0", Kind.DM, "254:0", label='a"b<c>&d\\e[f]{g}|`h`#i\n\x1bj'),
        Device("sda", Kind.DISK, "8:0", state="]]>"),
    ],
    [Edge("dm-0", "sda", Role.DATA)],
)
BOTH = pytest.mark.parametrize(
    "shown", [picture(TWO_VOLUMES), picture(NASTY)], ids=["two", "nasty"]
)

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text):
    """Read XML of our own making; a name that broke it would stop here."""
    return ET.fromstring(text)  # noqa: S314 - not from strangers


def test_a_box_a_row_and_an_arrow_a_tie():
    """Hidden LVs of a role share a box: 2 volumes, 2 roles each, 4 disks."""
    shown = picture(TWO_VOLUMES)
    assert (2 + 4 + 4, 4 + 16) == (len(shown.boxes), len(shown.arrows))


def test_expanded_a_box_a_device():
    assert len(TWO_VOLUMES) == len(picture(TWO_VOLUMES, expand=True).boxes)


@BOTH
def test_svg_is_xml_with_every_box(shown):
    """Self-contained: no link, script or font from elsewhere."""
    text = render_svg(shown)
    root = parsed(text)
    assert len(shown.boxes) == len(root.findall(f"{SVG}g"))
    assert not re.search(r"href|script|url\(|@import", text)


@BOTH
def test_boxes_lie_apart(shown):
    """No box lies over another, and none outside of the picture."""
    root = parsed(render_svg(shown))
    whole = float(root.get("width")), float(root.get("height"))
    boxes = [
        tuple(float(box.get(side)) for side in ("x", "y", "width", "height"))
        for box in root.iter(f"{SVG}rect")
        if box.get("x")
    ]
    for place, (x, y, wide, high) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + wide <= whole[0]
        assert y + high <= whole[1]
        for x2, y2, wide2, high2 in boxes[:place]:
            assert x + wide <= x2 or x2 + wide2 <= x or y + high <= y2 or y2 + high2 <= y


def test_arrows_at_a_box_end_apart():
    """Of those that reach one disk, no two in one point, and none beside the box."""
    root = parsed(render_svg(picture(TWO_VOLUMES)))
    ends = [re.findall(r"([\d.]+) ([\d.]+)$", path.get("d"))[0] for path in root.iter(f"{SVG}path")]
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("x")]
    assert len(ends) == len(set(ends))
    for x, y in ends:
        assert any(
            float(box.get("y")) <= float(y) <= float(box.get("y")) + float(box.get("height"))
            for box in boxes
            if box.get("x") == x
        )


@BOTH
@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_graphviz_reads_dot(shown):
    """Every box and arrow comes back."""
    done = subprocess.run(
        ["dot", "-Tplain"], input=render_dot(shown), text=True, capture_output=True, check=True
    )
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert (len(shown.boxes), len(shown.arrows)) == (words.count("node"), words.count("edge"))


@BOTH
def test_mermaid_has_one_line_a_thing(shown):
    """A name is only text: nothing in it opens a box, ends a line or is HTML."""
    lines = render_mermaid(shown).splitlines()
    boxes = [line for line in lines if re.fullmatch(r'  n\d+\["[^"\[\]{}|`\\]*"\]:::c\d+', line)]
    arrows = [line for line in lines if re.fullmatch(r"  n\d+ (-->|-\. [a-z]+ \.->) n\d+", line)]

    assert (len(shown.boxes), len(shown.arrows)) == (len(boxes), len(arrows))
    assert {"<br>"} >= {tag for line in boxes for tag in re.findall("<[^>]*>", line)}


@pytest.mark.parametrize("whole", [TWO_VOLUMES, NASTY], ids=["two", "nasty"])
def test_graphml_has_every_device_and_edge(whole):
    tags = [element.tag.rpartition("}")[2] for element in parsed(render_graphml(whole)).iter()]
    assert len(whole) == tags.count("node")
    assert len(list(whole.edges)) == tags.count("edge")


def test_the_disks_are_in_one_layer():
    """However short the way to a disk; an arrow over a layer bends in it."""
    places = layered(dict.fromkeys("abcd", 10.0), [("a", "b"), ("b", "c"), ("a", "d")], 2.0)
    assert [{"c", "d"}, {"b", "a>d@1"}, {"a"}] == [set(layer) for layer in places.layers]


def test_a_circle_has_places():
    places = layered(dict.fromkeys("ab", 10.0), [("a", "b"), ("b", "a")], 2.0)
    assert {"a", "b"} <= set(places.across)


def test_a_dense_graph_is_refused_with_advice():
    """80 devices, each on all below it: 3,160 arrows that pass up to 78 layers; a volume on 4,999 disks is drawn."""
    names = [f"d{number}" for number in range(80)]
    below = [(above, name) for number, above in enumerate(names) for name in names[number + 1 :]]
    devices = [Device(name, Kind.DM, f"254:{name[1:]}") for name in names]
    dense = Topology(devices, [Edge(above, name, Role.DATA) for above, name in below])
    with pytest.raises(InputError, match="NAMEs of fewer devices"):
        render_svg(picture(dense))
    (figure,) = [str(draw(Stack(dense, "all"), 3))]
    assert "no picture shows that" in figure
    assert "d79" in figure

    flat = layered(
        dict.fromkeys(map(str, range(5000)), 1.0), [("0", str(n)) for n in range(1, 5000)], 1.0
    )
    assert 5000 == len(flat.across)


def loaded_sample(**more):
    """The picture of a recorded machine with its average load, and that load's ledger."""
    machine = stackmap.open(str(ROOT / "sample_topologies" / "vghdd"))
    whole, interval = next(machine.intervals(which="average"))
    right = stackmap.corrected(whole, interval)
    ledger = Ledger(whole, right.loads, right.seconds)
    return picture(whole, load=pictured(ledger), **more), ledger


def test_an_arrow_has_what_went_down_it():
    """A member sends its requests on to its disk; those of all members of a RAID together came from above."""
    shown, ledger = loaded_sample(expand=True)
    names = {box.key: box.lines[0] for box in shown.boxes}
    words = {(names[a.above].rpartition("_")[-1], names[a.below]): a.load for a in shown.arrows}
    first = ledger.load("dm-1")

    assert "dm-1" in next(
        box.lines[2] for box in shown.boxes if box.lines[0] == "vghdd/vm-disk1_rimage_0"
    )
    reads, writes, *moved = (
        words["vghdd/vm-disk1", "vghdd/vm-disk1_rimage_0"].replace("w/s", "r/s").split(" r/s ")
    )
    assert float(reads) == pytest.approx(first.read.ios, abs=0.5)
    assert float(writes) == pytest.approx(first.write.ios, abs=0.5)
    assert moved == [f"{size(first.total.bytes)}/s"]
    joined, _ = loaded_sample()
    (members,) = [a for a in joined.arrows if a.share == 1.0]
    rates = [
        sum(ledger.load(f"dm-{n}").flow(d).ios for n in (1, 3, 5, 7)) for d in ("read", "write")
    ]
    assert members.load.startswith(f"{rates[0]:.0f} r/s {rates[1]:.0f} w/s 4.6 MiB/s")


def test_a_box_has_what_its_devices_completed():
    """With their await; an idle device has nothing, as one without counters."""
    shown, ledger = loaded_sample()
    lines = {box.lines[0]: box.lines for box in shown.boxes}
    total = ledger.load("dm-8").total

    assert lines["vghdd/vm-disk1"][-1] == f"33.3 r/s 140 w/s, {total.await_ms:.2f} ms"
    assert lines["fd0"][-1] == "4 KiB"
    assert pictured(Ledger(TWO_VOLUMES, {})) is None


def test_words_of_arrows_are_in_the_drawing_and_apart():
    """Each beside its disk; the line with most bytes is the thickest. In other languages there are roles alone."""
    shown, _ = loaded_sample()
    root = parsed(render_svg(shown))
    texts = [each for each in root.iter(f"{SVG}text") if each.get("class") == "r"]
    places = [(float(each.get("x")), float(each.get("y"))) for each in texts]

    assert sorted(each.text for each in texts) == sorted(
        f"{a.role} {a.load}".strip() for a in shown.arrows if a.role or a.load
    )
    for x, y in places:
        assert [abs(y - other) for at, other in places if at == x and 0 < abs(y - other) < 9] == []
    thick = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert thick.count("w4") >= 1
    assert "r/s" not in render_dot(shown).split("->", 1)[1]


def test_words_that_have_no_room_are_left_out():
    """A disk with a dozen arrows: their words would lie over each other."""
    boxes = [Box("d", ("sda",), "#fff"), *(Box(f"n{n}", ("a",), "#fff") for n in range(12))]
    arrows = [Arrow(f"n{n}", "d", "", "7.00 w/s", 0.5) for n in range(12)]

    assert "w/s" not in render_svg(Picture(tuple(boxes), tuple(arrows)))
    assert render_svg(Picture(tuple(boxes[:2]), tuple(arrows[:1]))).count("7.00 w/s") == 1


def test_nothing_is_an_empty_picture():
    parsed(render_svg(picture(Topology([]))))
    assert "digraph" in render_dot(picture(Topology([])))


def test_graphml_without_networkx(monkeypatch):
    """Debian's package does without it: the message says what to install."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="needs networkx: install python3-networkx"):
        render_graphml(TWO_VOLUMES)
