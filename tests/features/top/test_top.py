"""The screen of ``top`` is text that a test can read: its figures, its width, its colours."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.wording import number
from stackmap.features.top.cells import chart, sparkline
from stackmap.features.top.moment import GroupLoad, Scope
from stackmap.features.top.program import _NewInterval, _Quit, _serve
from stackmap.features.top.rows import _user_row
from stackmap.features.top.state import Request
from stackmap.model.device import Device, Kind, Use
from stackmap.model.load import IDLE
from stackmap.model.topology import Topology
from stackmap.render.text import width
from tests.features.top.watched import SAMPLES, press, rows_as_iostat, watch
from tests.paths import ROOT

README = ROOT / "README.md"
SCREENS = ROOT / "tests" / "features" / "top" / "screens"
VGHDD = SAMPLES / "vghdd"
CAPTURES = ROOT.parent / "shared/captures"
RECORDED = [path for path in sorted([*SAMPLES.iterdir(), *CAPTURES.glob("*/**/record*")])
            if (path / "frames").is_dir() or (path / "log").is_dir()]  # fmt: skip

# The keys that lead to each screen, and its size.
SCREENSHOTS = {
    "volumes": ([], (80, 24)),
    "volumes-writes-by-cost": (["w", "s", "s", "s", "s"], (80, 24)),
    "volumes-folded": (["down", " ", "y"], (80, 24)),
    "volumes-filtered": (["/", *"r10", "enter"], (80, 24)),
    "volumes-60x15": (["down", "down"], (60, 15)),
    "volumes-wide": ([], (140, 30)),
    "volumes-large": ([], (120, 40)),
    "volumes-latency-60x15": (["m"], (60, 15)),
    "disks": (["2"], (100, 24)),
    "disks-very-large": (["2"], (200, 60)),
    "services": (["3"], (80, 24)),
    "findings": (["4"], (80, 24)),
    "findings-explained": (["4", "e"], (80, 24)),
    "events": (["5"], (80, 24)),
    "layers": (["down", "enter"], (80, 30)),
    "help": (["?"], (80, 40)),
    "prompt": (["/", *"vm"], (80, 15)),
}


@pytest.mark.parametrize("name", SCREENSHOTS)
def test_screen_is_as_agreed(name, request):
    """A person has read each screen; ``--update-expected`` writes what is shown now."""
    keys, size = SCREENSHOTS[name]
    watcher, display = watch(VGHDD, size=size)
    for key in keys:
        watcher.press(key)
    path = SCREENS / f"{name}.txt"
    if request.config.getoption("--update-expected"):
        path.write_text(display.text)

    assert display.text == path.read_text()


def test_readme_shows_the_screen():
    """README.md has the rows of a sample as top shows them."""
    shown = "\n".join((SCREENS / "volumes.txt").read_text().splitlines()[:9])

    assert f"```\n{shown}\n```" in README.read_text()


def test_every_screen_belongs_to_a_test():
    assert {path.stem for path in SCREENS.iterdir()} == set(SCREENSHOTS)


@pytest.mark.parametrize("direction", "rwb")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_figures_equal_those_of_iostat(path, direction):
    """Each row of a stack has the figures of ``iostat -l -J`` for that interval, rounded as a table does."""
    part = {"r": "read", "w": "write", "b": "total"}[direction]
    watcher, display = watch(path, size=(200, 100))
    press(watcher, direction)
    told = CliRunner().invoke(
        stackmap, ["--from", str(path), "iostat", "-l", "-J", "--report", "last"]
    )
    stacks = json.loads(told.output)["stacks"]
    checked = rows_as_iostat(display.text, stacks, part)
    assert checked or all(not s["layers"][0]["total"]["iops"] for s in stacks)


KEYS = ("down", "e", "q", "enter", "q", "?", "pgdn", "end", "q", "/", "x", "esc", "W", "esc")


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (132, 43), (400, 100), (20, 4), (1, 1)])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_is_wider_and_no_screen_higher(size, ascii_only):
    """Whatever the size, with every pane and prompt open."""
    watcher, display = watch(VGHDD, size=size, ascii_only=ascii_only)
    for key in (key for view in "12345" for key in (view, *KEYS)):
        watcher.press(key)
        assert len(display.lines) <= size[1]
        text = display.text
        assert max(map(width, text.splitlines()), default=0) <= size[0]
        assert not ascii_only or text.isascii()


@pytest.mark.parametrize("typed", ["/var/tmp/" + "x" * 60 + "/end", "名" * 30 + "end"])
@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
def test_the_end_of_a_long_text_in_a_prompt_is_seen(typed, size):
    """Also where the next letter goes."""
    watcher, display = watch(VGHDD, size=size)
    press(watcher, "W", *["backspace"] * 80, *typed)
    *_, text, cursor = display.lines[-1]

    assert text.text.endswith("end")
    assert cursor == (" ", "reverse")
    assert width(display.text.splitlines()[-1]) < size[0]


def test_names_are_cut_in_the_middle():
    """Both ends of a long name tell it from others."""
    _, display = watch(VGHDD, size=(80, 15))
    assert "- vghdd/…isk1-r10 " in display.text


@pytest.mark.parametrize("ascii_only", [False, True])
def test_names_cannot_control_the_terminal(ascii_only):
    """A name, a mount point and a host name are what others chose: controls are escaped wherever shown."""
    evil = "a\x1b[2J\u202eb\x9b31m\nc"
    watcher, display = watch(VGHDD, size=(140, 30), ascii_only=ascii_only)
    topology = watcher.moment.topology
    device = topology["dm-8"]

    uses = (Use("mount", f"/{evil}", "test"),)
    topology.devices["dm-8"] = device._replace(label=f"vg/{evil}", uses=uses)
    watcher.moment.scope.users = [("dm-8", uses[0])]
    watcher.moment.scope.topology.machine = replace_host(topology.machine, evil)
    for key in (
        "1",
        "y",
        "3",
        "down",
        "y",
        "e",
        "q",
        "1",
        "down",
        "enter",
        "q",
        "2",
        "4",
        "5",
        "z",
    ):
        watcher.press(key)
        text = display.text
        assert all(letter.isprintable() for letter in text.replace("\n", "")), repr(text)
        assert len(text.splitlines()) <= 30
    watcher.say(evil)
    assert "\\x1b[2J" in display.text


def replace_host(machine, host):
    return (
        machine._replace(host=host) if hasattr(machine, "_replace") else replace(machine, host=host)
    )


def test_colours_are_those_of_findings_alone():
    """Nothing has a colour before a finding lasts; then only what its rules judge, on its devices."""
    _, first = watch(VGHDD, size=(119, 40), count=1)
    assert tones(first) == set()
    watcher, last = watch(VGHDD, size=(119, 40))
    watcher.press("2")
    assert watcher.moment.findings
    coloured = [line for line in last.lines if any(s.tone in ("warning", "critical") for s in line)]
    assert [line[0].text.split()[0] for line in coloured] == ["WARNING", "sda"]


def tones(display):
    return {s.tone for line in display.lines for s in line} & {"warning", "critical"}


def test_a_key_shows_rate_latency_and_cost_in_turn():
    """The sparkline shows it, and its columns are the last to be left out; sorting chooses it, too."""
    watcher, display = watch(VGHDD, size=(60, 15))
    shown = []
    for _ in range(4):
        shown.append((watcher.state.metric, display.text.splitlines()[4].split()[1:]))
        watcher.press("m")

    assert [metric for metric, _ in shown] == ["iops", "await", "bytes", "iops"]
    assert shown[0] == shown[3]
    assert {"await", "queue"} <= {*shown[1][1]}
    assert {"IOPS×", "bytes×", "cost"} <= {*shown[2][1]}
    press(watcher, *"sss")
    assert watcher.state.metric == "await"


@pytest.mark.parametrize("value", [0.5, 7, 400_000])
@pytest.mark.parametrize("count", [1, 2, 24])
def test_a_constant_load_has_bars_of_half_the_height(value, count):
    """Whatever its rate; a burst is full, and an hour without load flat at the bottom."""
    assert {*sparkline((value,) * count, 24).strip()} == {"▅"}
    assert sparkline((value,) * 5 + (4 * value,), 6) == "▃▃▃▃▃█"
    assert {*sparkline((0.0,) * count, 24).strip()} == {"▁"}


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
@pytest.mark.parametrize("view", "1234")
def test_a_large_screen_has_the_other_views_in_its_empty_lines(size, view):
    """With the figures that they have in full, and the stack of the marked row over time."""
    watcher, display = watch(VGHDD, size=size)
    press(watcher, view, "down")
    text = display.text

    titles = {"1": "[1] Volumes", "2": "[2] Disks", "3": "[3] Services", "4": "[4] Findings"}
    below = "\n".join(text.splitlines()[6:])
    assert [title in below for key, title in titles.items() if key != view] == [True] * 3
    assert display.text.count("\n") == size[1]
    press(watcher, "1", "home")
    values = watcher.moment.recent.values("dm-8", "iops", "total")
    (line,) = [line for line in display.text.splitlines() if line.startswith("IOPS ")]
    shown = [number(each, 2) for each in (values[-1], sorted(values)[1], max(values))]
    assert " ".join(shown) in " ".join(line.split())


def test_a_full_or_small_screen_has_rows_only():
    """No row gives way to another view."""
    for size in ((119, 40), (120, 18)):
        _, display = watch(VGHDD, size=size)
        assert "usual" not in display.text


def test_figures_have_the_decimal_point_of_the_terminals_locale():
    """Names and sentences keep theirs."""
    watcher, display = watch(VGHDD, size=(120, 40))
    display.point = ","
    watcher.show()

    assert "176,71" in display.text
    assert "62.3 ms" in display.text
    assert "176.7" not in display.text


def test_a_chart_of_several_lines_is_read_as_one_bar_per_time():
    """From below in eighths of a line: a quarter of four lines is one full line; 0 is seen, unknown is blank."""
    assert chart((0.0, 1.0, 4.0, None), (4, 4)) == ["  █ ", "  █ ", " ▁█ ", "▁██ "]
    assert chart((4.0, 4.0), (9, 2), 3) == ["   ▁▁▁▁▁▁", "   ██████"]
    assert chart((0, 4), (2, 2), ascii_only=True) == [" @", "_@"]
    assert chart((), (3, 2)) == ["   ", "   "]
    assert chart((9.0, 0.0, 0.0, 0.0), (4, 1), 2) == ["██▁▁"]


def test_a_sparkline_keeps_what_is_highest():
    """Fewer columns than values: a peak is not averaged away; unknown is blank, all zero is a floor."""
    assert sparkline((0, 0, 9, 0), 2) == "▁█"
    assert sparkline((None, None, 1, 1), 4) == "  ▅▅"
    assert sparkline((0, 0, 0), 3) == "▁▁▁"
    assert sparkline((0, 4), 2, ascii_only=True) == "_@"
    assert sparkline((), 3) == "   "


def test_a_request_of_a_key_reaches_the_program():
    """The last screen before it stays."""
    watcher, _ = watch(VGHDD)

    assert press(watcher, "down") is None
    assert press(watcher, "q") == Request("quit")


def test_figures_of_another_machine_are_computed_anew():
    """What was kept fits as long as neither the topology nor the devices with counters change."""
    watcher, _ = watch(VGHDD)
    kept = Scope(watcher.moment.topology, watcher.moment.interval.loads, ())
    loads = watcher.moment.interval.loads

    assert kept.fits(kept.topology, loads)
    assert not kept.fits(Topology(list(kept.topology), kept.topology.edges), loads)
    assert not kept.fits(kept.topology, {**loads, "sdz": IDLE})


def test_a_row_has_its_command():
    """A control group's I/O is shown by blame, that of a mount by its stack."""
    watcher, _ = watch(VGHDD)
    topology = watcher.moment.topology
    use = Use("mount", "/srv", "mountinfo")
    group = GroupLoad("/db", "service", "db", "dm-8", 2.0, 3.0)
    rows = [
        _user_row(topology, ("mount", "/srv", "dm-8"), use),
        _user_row(topology, group.who, group),
    ]

    assert [row.shows for row in rows] == ["iostat -l", "blame"]


def test_only_a_request_has_an_effect():
    """A "q" ends the program, an interval ends the present one; any other key does not."""
    watcher, _ = watch(VGHDD)

    assert _serve(watcher, None, None) is None
    with pytest.raises(_Quit):
        _serve(watcher, Request("quit"), None)
    with pytest.raises(_NewInterval) as caught:
        _serve(watcher, Request("interval", "7"), None)
    assert caught.value.seconds == 7.0


def test_what_was_replaced_is_forgotten_and_nothing_else():
    """sdb is another disk now, sdc went; sda stayed."""
    watcher, _ = watch(VGHDD)
    before = [Device(name, Kind.DISK, "8:0", diskseq=name) for name in ("sda", "sdb", "sdc")]
    after = [before[0], before[1]._replace(diskseq="new")]
    forgotten = []
    watcher._recent = watcher._judge = SimpleNamespace(forget=forgotten.append)

    watcher._topology = None
    watcher._change_topology(Topology(before, []))
    assert forgotten == []
    watcher._change_topology(Topology(after, []))
    assert forgotten == [{"sdb", "sdc"}] * 2


def test_only_the_chosen_stack_is_in_its_scope():
    """Its disks are summed, and its users listed; of all without a NAME."""
    watcher, _ = watch(VGHDD)
    topology, loads = watcher.moment.topology, watcher.moment.interval.loads
    (chosen,) = [device.name for device in topology if device.label == "vghdd/vm-disk1"]
    whole, part = Scope(topology, loads, ()), Scope(topology, loads, (chosen,))

    assert list(part.tops) == [chosen]
    assert chosen in whole.tops
    assert {d.name for d in part.part} == set(topology.with_all_below(chosen))
    assert len({d.name for d in whole.part}) > len({d.name for d in part.part})
    assert set(part.disks) < set(whole.disks) or set(part.disks) == set(whole.disks)
    assert {name for name, _ in part.users} <= set(topology.with_all_below(chosen))
