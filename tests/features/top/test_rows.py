"""The rows of each view of ``top``: their order, their filter, and the figure that each is about."""

from __future__ import annotations

import io
from types import SimpleNamespace

import click
import pytest

from stackmap.errors import NameNotFound
from stackmap.features.top.cells import (
    COLUMNS,
    Figure,
    _amplification,
    digits_of,
    filled,
    tone_of,
    widths,
)
from stackmap.features.top.moment import GroupLoad
from stackmap.features.top.program import _interval, check_names
from stackmap.features.top.rows import ROWS, row_figure, rows_of
from stackmap.features.top.state import SORTS, VIEWS, Row, Screen, State, _next
from stackmap.features.top.terminal import Terminal
from stackmap.model.cgroup_io import ProcessIo
from stackmap.model.topology import Topology
from tests.drawn import disk
from tests.features.top.watched import SAMPLES, watch

VIEWS_WITH_FIGURES = ("volumes", "disks", "services")


@pytest.fixture(scope="module")
def moment():
    watcher, _ = watch(SAMPLES / "vghdd")
    return watcher.moment


def rows(moment, view, **more):
    return rows_of(moment, State(view=VIEWS.index(view), **more))


@pytest.mark.parametrize("direction", ["read", "write", "total"])
@pytest.mark.parametrize("sort", [1, 2])
@pytest.mark.parametrize("view", VIEWS_WITH_FIGURES)
def test_rows_fall_by_what_they_are_sorted_by(moment, view, sort, direction):
    """Requests or bytes, of one direction; unknown ones are last, and the layers of a stack stay below it."""
    state = State(view=VIEWS.index(view), sort=sort, direction=direction)
    heads = [row for row in ROWS[view](moment, state) if row.layer is None]
    figures = [
        row_figure(moment, state, row, state.metric)
        for row in heads
        if not row.about or view == "services"
    ]
    known = [figure for figure in figures if figure is not None]

    assert figures == sorted(known, reverse=True) + [None] * (len(figures) - len(known))
    assert SORTS[sort] in ("IOPS", "bytes")
    assert state.metric == ("iops" if sort == 1 else "bytes")


@pytest.mark.parametrize("view", VIEWS_WITH_FIGURES)
def test_sorting_changes_the_order_alone(moment, view):
    keys = [row.key for row in rows(moment, view)]
    assert sorted(keys) == sorted(row.key for row in rows(moment, view, sort=1))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("view", VIEWS)
def test_a_filter_keeps_what_has_its_letters(moment, view):
    """Upper and lower case are the same; a text that no row has leaves no row."""
    every = rows(moment, view)
    assert rows(moment, view, filter="no such name") == []
    for row in every[:3]:
        word = row.name[:6]
        found = [each.key for each in rows(moment, view, filter=word.upper())]
        assert row.key in found or row.layer is not None
        assert len(found) <= len(every)


def test_a_layer_has_its_share_and_the_await_of_its_devices(moment):
    """As `iostat -l`; a group of processes has no await."""
    state = State(direction="write")
    busy = [
        row
        for row in rows(moment, "volumes")
        if row.layer is not None and not moment.load(row.stack).idle
    ]
    assert busy
    for row in busy:
        layer = moment.stack(row.stack).layers[row.layer]
        assert row_figure(moment, state, row, "iops") == layer.share.write.ios
        assert row_figure(moment, state, row, "bytes") == layer.share.write.bytes
        assert row_figure(moment, state, row, "await") == layer.own["write"].await_ms
    group = busy[0]._replace(about=GroupLoad("/a", "service", "a", "sda", 7.0, 4096.0))
    assert [row_figure(moment, state, group, metric) for metric in ("iops", "bytes", "await")] == [
        *(7.0, 4096.0),
        None,
    ]


def test_a_cell_without_a_rule_has_no_tone(moment):
    """Nor has one whose rules found nothing."""
    (row, *_) = rows(moment, "volumes")
    for column in COLUMNS["volumes"]:
        assert tone_of(column, moment, row, {}) == ""
        if not column.rules:
            assert tone_of(column, moment, row, {(row.device, "SM401"): "critical"}) == ""
    judged = [
        column.heading
        for column in COLUMNS["volumes"]
        if tone_of(column, moment, row, {(row.device, "SM401"): "warning"})
    ]
    assert judged == ["await ms", "queue"]
    both = {(row.device, "SM401"): "warning", (row.device, "SM402"): "critical"}
    assert {
        tone_of(column, moment, row, both) for column in COLUMNS["volumes"] if column.rules
    } == {"critical", ""}


@pytest.mark.parametrize("kind", ["iops_amplification", "byte_amplification"])
def test_a_layer_has_its_own_amplification_and_a_stack_that_of_its_disks(kind):
    """Twice at the members, three times at the disks; nothing where nothing was sent."""
    layers = [
        SimpleNamespace(**{kind: {"write": factor, "read": 7.0}}) for factor in (1.0, 2.0, 3.0)
    ]
    row, fill = Row("k", "vg/lv", "dm-8", "dm-8"), _amplification(kind)
    for idle, cells in ((False, [Figure(3.0), Figure(2.0), Figure(3.0)]), (True, ["", "", ""])):
        made = SimpleNamespace(
            load=lambda _, idle=idle: SimpleNamespace(idle=idle),
            stack=lambda _: SimpleNamespace(layers=layers),
        )
        asked = (row, row._replace(layer=1), row._replace(layer=2))
        assert [fill(made, State(direction="write"), each) for each in asked] == cells


def test_names_that_are_not_there_are_told_and_none_is_an_error(moment):
    told = []
    session = SimpleNamespace(tell_missing=lambda _, names: told.append(names))
    some = ["vghdd/vm-disk1", "nosuch"]
    check_names(session, moment.topology, some)
    assert told == [some]
    with pytest.raises(NameNotFound):
        check_names(session, moment.topology, ["nosuch"])


def test_messages_of_the_time_in_full_screen_are_printed_once_at_its_end(capsys):
    terminal = Terminal.__new__(Terminal)
    terminal._held = io.StringIO("a note\nanother\na note\n")
    terminal._print_held()
    assert capsys.readouterr() == ("", "a note\nanother\n")


def test_services_fall_by_what_their_groups_did():
    """3, 11 and 7 requests per second; in the order of the machine without a sort. One without I/O is left out."""
    groups = [
        GroupLoad(f"/{name}", "service", name, "sda", ios, 8192 - ios)
        for name, ios in (("a", 3.0), ("b", 11.0), ("c", 7.0), ("d", 0.0))
    ]
    made = SimpleNamespace(
        topology=Topology([disk("sda")], []),
        groups=groups,
        processes=(),
        scope=SimpleNamespace(users=[]),
    )
    view = VIEWS.index("services")
    orders = {
        sort: [row.name for row in rows_of(made, State(view=view, sort=sort))] for sort in range(3)
    }
    assert orders == {0: ["a", "b", "c"], 1: ["b", "c", "a"], 2: ["a", "c", "b"]}


def test_processes_are_below_the_containers_they_run_in(moment):
    """With bytes of all devices by direction; requests, await and queue of a process are counted nowhere."""
    shop = ("container", "docker 0123456789ab")
    processes = [
        ProcessIo("7", "postgres", 3.0, 5.0, "/docker", shop),
        ProcessIo("11", "dd\x1b[2J", 0.0, 2.0),
    ]
    group = GroupLoad("/docker", *shop, "sda", 17.0, 19.0)
    made = SimpleNamespace(
        topology=moment.topology, groups=[group], processes=processes, scope=SimpleNamespace(users=[])
    )  # fmt: skip
    view = VIEWS.index("services")
    found = rows_of(made, State(view=view))

    assert [row.name for row in found] == [
        "docker 0123456789ab", "postgres (7) in docker 0123456789ab", "dd\x1b[2J (11)"
    ]  # fmt: skip
    assert [row.name for row in rows_of(made, State(view=view, filter="POSTGRES"))] == [
        found[1].name
    ]
    assert found[1].command == "stackmap blame 1"
    for direction, moved in (("read", 3.0), ("write", 5.0), ("total", 8.0)):
        state = State(view=view, direction=direction)
        assert [row_figure(made, state, found[1], metric) for metric in ("bytes", "iops", "await")] == [
            moved, None, None
        ]  # fmt: skip
    cells = [column.fill(made, State(view=view), found[1]) for column in COLUMNS["services"]]
    assert cells[1:3] == ["process", "all devices"]
    assert cells[-2:] == [Figure(None), ""]


def test_devices_without_io_come_last(moment):
    """The floppy drive is the first device of this machine, and did nothing."""
    assert moment.scope.tops[0] == moment.scope.disks[0] == "fd0"
    for view in ("volumes", "disks"):
        heads = [row.device for row in rows(moment, view) if row.layer is None]
        assert heads[-1] == "fd0"
        assert len(heads) > 1


def test_a_column_has_the_same_decimals_in_each_row():
    """Two as iostat has; fewer where the largest figure has no room for them. A mark takes room, too."""
    column = COLUMNS["volumes"][1]

    def texts(*values):
        cells = [Figure(value) for value in values]
        return [each.strip() for each in filled(cells, 7, column, point=".", ascii_only=False)]

    assert texts(0.0, 7.0, 1174.4, None) == ["0.00", "7.00", "1174.40", "-"]
    assert texts(7.0, 10000.4) == ["7.0", "10000.4"]
    assert texts(7.0, 400000.0) == ["7", "400000"]
    assert digits_of([Figure(1174.4, estimated=True)], 7) == 1
    assert digits_of([], 7) == 2


def test_the_figures_stand_beside_the_names():
    """A screen of 200 columns does not put them at its right edge; a bar takes all that is left."""
    for room in (80, 120, 200):
        wide = widths(COLUMNS["volumes"], room, 20)
        assert wide[0] == 20 or room == 80
        assert sum(wide) + len(wide) <= room
    *_, bar = widths(COLUMNS["disks"], 200, 20)
    assert bar > 80
    assert sum(widths(COLUMNS["disks"], 200, 20)) + len(COLUMNS["disks"]) == 200


@pytest.mark.parametrize("text", ["", "vda", "5 3", "0", "-1", "nan", "1 vda"])
def test_what_is_typed_as_an_interval_is_one_number(text):
    with pytest.raises(click.UsageError, match="INTERVAL"):
        _interval(text)
    assert _interval("7.5") == 7.5


def test_the_next_match_is_a_stack_and_none_of_its_layers():
    """From the last one on to the first; without any the cursor stays."""
    listed = [
        Row("a", "a", "a", "a"),
        Row("a 1", "2 disks", "", "a", 1),
        Row("b", "b", "b", "b"),
        Row("b 1", "", "", "b", 1),
    ]
    state = State(cursor="a", filter="x")
    found = []
    for _ in range(3):
        state = _next(state, "n", Screen(listed, 10))
        found.append(state.cursor)
    assert found == ["b", "a", "b"]
    assert _next(State(cursor="a 1"), "n", Screen(listed[1:2], 10)).cursor == "a 1"
