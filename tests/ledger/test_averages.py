"""Several intervals as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.ledger import averages
from stackmap.ledger.averages import Average, average
from stackmap.model.interval import IDENTITY_UNKNOWN, Interval
from stackmap.model.load import UNKNOWN_LOAD, Flow, Load
from stackmap.text.table_layout import TableLayout, layout_of_names


def reading(ios: float) -> Load:
    return Load(read=Flow(ios=ios))


def averaged(*intervals: Interval) -> Interval:
    (found,) = average(intervals)
    return found


def test_an_interval_weighs_its_seconds():
    """2/s for 3 s and 7/s for 2 s are 4/s over the 5."""
    found = averaged(
        Interval({"sda": reading(2)}, seconds=3), Interval({"sda": reading(7)}, seconds=2)
    )

    assert (found.loads["sda"].read.ios, found.seconds) == (4, 5)


def test_a_device_that_one_interval_lacks_is_unknown():
    """Its rate over the whole span cannot be told."""
    found = averaged(
        Interval({"sda": reading(2), "sdb": reading(3)}, seconds=1),
        Interval({"sda": reading(4)}, seconds=1),
    )

    assert set(found.loads) == {"sda"}


def test_an_interval_in_which_no_device_was_identified_is_left_out():
    """A device that comes or goes does not hide the load of all others before and after."""
    gap = Interval({}, seconds=3, events=(IDENTITY_UNKNOWN,))
    known = [Interval({"sda": reading(ios)}, seconds=1) for ios in (2, 4)]
    for intervals in ([known[0], gap, known[1]], [gap, *known], [*known, gap]):
        found = averaged(*intervals)
        assert (found.loads["sda"].read.ios, found.seconds, found.events) == (
            3,
            2,
            (IDENTITY_UNKNOWN,),
        )
    assert averaged(gap, gap).loads == {}


def test_a_device_that_a_report_of_a_text_lacks_was_idle():
    """iostat -z leaves out idle devices: 7/s in one of two reports are 3.5/s, with a note."""
    found = averaged(
        Interval({"sda": reading(2), "sdb": reading(7)}), Interval({"sda": reading(4)})
    )

    assert (found.loads["sda"].read.ios, found.loads["sdb"].read.ios) == (3, 3.5)
    assert any("idle" in note for note in found.notes)


def test_a_device_that_a_report_of_sums_lacks_was_idle():
    """``iostat -dz`` prints tps, the requests of both directions."""
    found = averaged(
        Interval({"sda": Load(whole=Flow(2)), "sdb": Load(whole=Flow(7))}),
        Interval({"sda": Load(whole=Flow(4))}),
    )

    assert [load.total.ios for load in found.loads.values()] == [3, 3.5]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_texts_own_averages_are_no_intervals(place):
    """Wherever sar's rows of averages stand, they are not averaged in, nor told of."""
    intervals = [Interval({"sda": reading(3)}), Interval({"sda": reading(5)})]
    intervals.insert(
        place, Interval({"sda": reading(97)}, stamp="Average:", summary=True, notes=("sar's",))
    )

    found = averaged(*intervals)

    assert (found.loads["sda"].read.ios, found.stamp) == (4, "average of 2 intervals")
    assert (found.summary, found.notes) == (False, ())


def test_where_there_is_nothing_else_the_last_summary_counts():
    """sar -x gives minimum and maximum first: no mean of the three means anything."""
    extremes = [
        Interval({"sda": reading(n)}, stamp=w, summary=True)
        for w, n in (("Minimum:", 2), ("Maximum:", 11))
    ]
    own = Interval({"sda": reading(5)}, stamp="Average:", summary=True)

    assert averaged(*extremes, own) == own


def test_a_second_run_in_a_text_keeps_the_first():
    """The first report of each run is since boot: all others are averaged, of both runs."""
    boot = Interval({"sda": reading(97)}, since_boot=True, notes=("since boot",))
    runs = [boot, Interval({"sda": reading(2)}), boot, Interval({"sda": reading(4)})]

    found = averaged(*runs)

    assert (found.loads["sda"].read.ios, found.since_boot, found.notes) == (3, False, ())


@given(st.lists(st.sampled_from([2.0, 3.0, 5.0, 7.0]), min_size=1), st.sampled_from([1, 3, 20_000]))
def test_what_is_the_same_is_counted(rates, most):
    """The same loads again and again give the average that equal ones give, however few are held."""
    same = {rate: {"sda": reading(rate)} for rate in rates}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(averages, "MAX_HELD", most)
        found = averaged(*(Interval(same[rate]) for rate in rates))

    assert found.loads["sda"].read.ios == pytest.approx(sum(rates) / len(rates))


HEADINGS = (
    "r/s rkB/s rrqm/s r_await rareq-sz w/s wkB/s w_await aqu-sz %util",
    "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await %util",
    "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz await",
    "tps rkB/s wkB/s areq-sz aqu-sz await",
)
FIGURES = st.integers(0, 500_000).map(lambda cents: cents / 100) | st.sampled_from([0.0, None])


@given(st.data(), st.sampled_from(HEADINGS), st.lists(st.integers(1, 3), min_size=1))
def test_tables_are_added_up_as_their_loads_are(draw, heading, sizes):
    """By column or one load after the other: the same to the last digit, also of rows that were cut."""
    layout = TableLayout(heading.split())
    tables = []
    for size in sizes:
        count = layout.width * size
        figures = draw.draw(st.lists(FIGURES, min_size=count, max_size=count))
        tables.append(layout.table(["sda", "sdb", "sdc"][:size], figures))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(averages, "MAX_HELD", draw.draw(st.sampled_from([1, 5, 1000])))
        by_column = averaged(*map(Interval, tables))
        by_load = averaged(*(Interval(dict(table)) for table in tables))

    assert dict(by_column.loads) == by_load.loads


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=6))
def test_the_average_at_the_end_of_a_report_is_a_summary(rates):
    """A reader of the output must not take it for another interval; of one interval there is none."""
    running = Average()
    for rate in rates:
        running.add(Interval({"sda": reading(rate)}, seconds=1.0))

    found = list(running.closing())
    assert len(found) == (len(rates) > 1)
    for whole in found:
        assert whole.summary
        assert whole.loads["sda"].read.ios == pytest.approx(sum(rates) / len(rates))


def table(columns: str, *rows: str) -> Interval:
    """Return a report of a text: each row a name and its figures."""
    names = [row.split()[0] for row in rows]
    figures = [float(word) for row in rows for word in row.split()[1:]]
    return Interval(layout_of_names(tuple(columns.split())).table(names, figures))


def test_examples_with_other_devices_and_headings_keep_their_figures():
    """An article shows one disk, then another with other columns: neither was idle in between."""
    found = averaged(
        table("r/s w/s r_await", "sda 158.00 2.00 18.40"),
        table("r/s r_await aqu-sz", "nvme0n1 42000.00 0.21 8.82", "nvme1n1 40.00 0.20 0.01"),
    )

    assert [found.loads[name].read.ios for name in ("sda", "nvme0n1", "nvme1n1")] == [
        158,
        42000,
        40,
    ]
    assert found.notes == (averages.SEPARATE,)


def test_a_device_that_a_report_of_one_run_lacks_was_idle():
    """As with -z."""
    found = averaged(
        table("r/s w/s r_await", "sda 10.00 2.00 8.00", "sdc 6.00 1.00 1.00"),
        table("r/s w/s r_await", "sdb 20.00 4.00 9.00"),
    )

    assert found.loads["sdc"].read.ios == 3
    assert found.notes == (averages.ABSENT,)


def test_reports_of_another_command_are_not_averaged_with_a_table_of_more_devices():
    """After `iostat -x` of an array and its members, `iostat` of the array alone says nothing of their ratio."""
    found = averaged(
        table("r/s w/s r_await", "md0 10.00 2.00 8.00", "sdc 6.00 1.00 1.00"),
        table("r/s r_await aqu-sz", "md0 20.00 9.00 0.18"),
        table("r/s r_await aqu-sz", "md0 40.00 9.00 0.36"),
    )

    assert found.loads["md0"].read.ios == 10
    assert found.loads["sdc"].read.ios == 6
    assert found.notes == (averages.SEPARATE,)


@pytest.mark.parametrize("most", [1, 1000])
def test_what_was_not_measured_yet_was_not_idle(most, monkeypatch):
    """Of a device whose figures begin later only these count, however few reports are held."""
    monkeypatch.setattr(averages, "MAX_HELD", most)
    monkeypatch.setattr(averages, "MAX_ROWS", most)
    both = [
        table("r/s w/s r_await", f"sdc {n}.00 1.00 3.00", f"sdd {n + 9}.00 1.00 2.00")
        for n in (4, 6, 8)
    ]
    begin = Interval({"sdc": both[1].loads["sdc"], "sdd": UNKNOWN_LOAD})

    for order in ([begin, *both], [*both, begin], [both[0], begin, begin, *both[1:]]):
        found = averaged(*order)
        assert (found.loads["sdc"].read.ios, found.loads["sdd"].read.ios) == (6, 15)
        assert found.notes == ()

    assert averaged(begin, begin).loads["sdd"] == UNKNOWN_LOAD


def test_a_short_table_of_more_devices_does_not_displace_a_run():
    """After five reports of `iostat -x` of a disk, one of `iostat -d` lists an idle one, too: five are the average."""
    run = [
        table("r/s w/s rkB/s wkB/s r_await w_await", f"sdc {n}.00 2.00 8.00 8.00 70.00 60.00")
        for n in (3, 4, 5, 6, 7)
    ]
    last = table("tps kB_read/s kB_wrtn/s", "loop4 0.00 0.00 0.00", "sdc 1.00 4.00 4.00")

    found = averaged(*run, last)

    assert found.loads["sdc"].read.ios == 5
    assert found.loads["sdc"].read.await_ms == pytest.approx(70)
    assert found.loads["loop4"].idle
    assert found.stamp == "average of 5 of 6 intervals"
    assert found.notes == (averages.SEPARATE,)


def test_reports_that_add_a_busy_device_are_of_the_average():
    """Its figures are theirs."""
    found = averaged(
        table("r/s w/s r_await", "sdc 10.00 2.00 8.00"),
        table("tps kB_read/s", "sdc 1.00 4.00", "sdd 6.00 9.00"),
    )

    assert found.loads["sdd"].total.ios == 6
    assert found.stamp == "average of 2 intervals"


def test_a_report_without_devices_is_an_idle_one_of_its_run():
    """As with -z, before and after one with devices."""
    busy = table("r/s w/s r_await", "sda 12.00 3.00 8.00")
    found = averaged(Interval({}), busy, Interval({}))

    assert found.loads["sda"].read.ios == 4
    assert found.notes == (averages.ABSENT,)
