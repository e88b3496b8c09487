"""Reports of one time in a text."""

import pytest

from stackmap.ledger.averages import average
from stackmap.measurement.same_time import Copies, one_per_time
from stackmap.model.interval import Interval
from stackmap.model.load import PrintedLoads
from stackmap.text import intervals
from stackmap.text.table_layout import layout_of_names

HEADING = "DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"
KIB = 1024


def banner(date):
    return f"Linux 6.1.0 (db7) \t{date}\t_x86_64_\t(8 CPU)\n\n"


def sar(start, device, **written):
    """``sar -d`` of *device*: KiB/s written by the time, as at_0210."""
    rows = [(f"{key[3:5]}:{key[5:]}:01", rate) for key, rate in written.items()]
    lines = [
        f"{time}  {device}  7.00  0.00  {rate}.00  9.00  0.10  5.00  3.00" for time, rate in rows
    ]
    return "\n".join([f"{start}:01  {HEADING}", *lines]) + "\n\n"


def iostat(time, device, written):
    """A report of ``iostat -dt``, of the 21st."""
    heading = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn"
    row = f"{device}  7.00  0.00  {written}.00  0  {60 * written}"
    return f"11/21/2026 {time}\n{heading}\n{row}\n\n"


def read(text):
    copies = Copies(lambda _: None)
    whole = intervals([text.encode()], "text")
    return [*one_per_time(report for report in whole if not copies.has(report))]


def written(report):
    """KiB/s by device; None where unknown."""
    sizes = {name: load.total.bytes for name, load in report.loads.items()}
    return {name: None if size is None else size / KIB for name, size in sizes.items()}


def by_time(text):
    return [(report.stamp, written(report)) for report in read(text)]


def test_the_disks_of_a_mirror_have_the_same_row_at_one_time():
    """They are no copies of each other: the second one was not idle."""
    text = sar("02:00", "sdk", at_0210=130, at_0220=170) + sar(
        "02:00", "sdl", at_0210=130, at_0220=190
    )

    assert by_time(text) == [
        ("02:10:01", {"sdk": 130, "sdl": 130}),
        ("02:20:01", {"sdk": 170, "sdl": 190}),
    ]


@pytest.mark.parametrize("second", ["sdk", "dev8-160"])
def test_the_same_row_under_the_same_name_or_a_number_is_a_copy(second):
    """As after ``sar -d`` and ``sar -dp`` of one device."""
    text = "".join(sar("02:00", name, at_0210=130, at_0220=170) for name in ("sdk", second))

    assert by_time(text) == [("02:10:01", {"sdk": 130}), ("02:20:01", {"sdk": 170})]


def test_several_equal_rows_are_a_copy_under_other_names():
    """LVs have numbers in ``sar -d`` and names in ``sar -dp -j``."""
    told = []
    layout = layout_of_names(("tps", "rkB/s", "wkB/s"))
    copies = Copies(told.append)
    reports = [
        Interval(
            layout.table(names, [3.0, 0.0, 11.0, 5.0, 0.0, 17.0]), stamp="02:10:01", clock=7801.0
        )
        for names in (["dm-3", "dm-4"], ["vg-a", "vg-b"])
    ]

    assert [copies.has(report) for report in reports] == [False, True]
    assert told == ["the text has the report of 02:10:01 twice: the first one is used"]


def test_times_of_two_days_are_two_reports():
    """The dates stand above them."""
    text = (
        banner("11/21/2026")
        + sar("02:00", "sdk", at_0210=130, at_0220=170)
        + banner("11/22/2026")
        + sar("02:00", "sdl", at_0210=50, at_0220=70)
    )

    assert by_time(text) == [
        ("02:10:01", {"sdk": 130}),
        ("02:20:01", {"sdk": 170}),
        ("02:10:01", {"sdl": 50}),
        ("02:20:01", {"sdl": 70}),
    ]


@pytest.mark.parametrize("date", ["", banner("11/21/2026")])
def test_a_day_that_was_searched_for_each_device_is_one_day(date):
    """Where a time goes back by hours, the next day is guessed: that of the second device is the same."""
    days = {"at_0010": 20, "at_1210": 30, "at_2350": 40}
    text = (
        date
        + sar("00:00", "sdk", **days)
        + sar("00:00", "sdl", **days)
        + sar("00:00", "md7", **days)
    )

    assert by_time(text) == [
        (time, dict.fromkeys(("sdk", "sdl", "md7"), rate))
        for time, rate in (("00:10:01", 20), ("12:10:01", 30), ("23:50:01", 40))
    ]


def test_two_runs_of_one_date_are_one():
    """Each has its own first line."""
    day = banner("11/21/2026")
    text = day + sar("02:00", "sdk", at_0210=130, at_0220=170)
    text += day + sar("02:00", "sdl", at_0210=50, at_0220=70)

    assert by_time(text) == [
        ("02:10:01", {"sdk": 130, "sdl": 50}),
        ("02:20:01", {"sdk": 170, "sdl": 70}),
    ]


def test_a_run_that_passed_midnight_and_one_of_the_next_day_are_one():
    """Their first lines have other dates; their times do not."""
    text = (
        banner("11/20/2026")
        + iostat("09:00:00 AM", "sdk", 3)
        + iostat("10:00:00 AM", "sdk", 130)
        + banner("11/21/2026")
        + iostat("09:00:00 AM", "sdl", 5)
        + iostat("10:00:00 AM", "sdl", 50)
    )

    assert by_time(text)[-1] == ("11/21/2026 10:00:00 AM", {"sdk": 130, "sdl": 50})


RUNS = (
    banner("11/21/2026")
    + iostat("09:59:00 AM", "sdk", 1)
    + iostat("10:00:00 AM", "sdk", 130)
    + iostat("10:01:00 AM", "sdk", 150),
    banner("11/21/2026") + iostat("10:00:00 AM", "sdl", 2) + iostat("10:01:00 AM", "sdl", 90),
)


@pytest.mark.parametrize("runs", [RUNS, RUNS[::-1]])
def test_an_average_since_boot_is_not_joined_with_a_rate(runs):
    """A second iostat began at a time of the first one: until then, nothing is known of its disk."""
    found = read("".join(runs))

    assert [written(each) for each in found if each.since_boot] == [{"sdk": 1}, {"sdl": 2}]
    rates = {each.stamp[11:16]: written(each) for each in found if not each.since_boot}
    assert rates == {"10:00": {"sdk": 130, "sdl": None}, "10:01": {"sdk": 150, "sdl": 90}}


@pytest.mark.parametrize("runs", [RUNS, RUNS[::-1]])
def test_a_disk_is_not_idle_before_its_first_rate(runs):
    """Its average is of the one interval that it has."""
    (found,) = average(read("".join(runs)))

    assert written(found) == {"sdk": 140, "sdl": 90}
    assert found.events == (
        "sdl: no figures at 11/21/2026 10:00:00 AM: its first report is since boot",
    )


def test_reports_of_a_log_that_was_searched_are_in_the_order_of_time():
    """The second device was busy earlier; sar's averages remain the last."""
    text = (
        banner("11/21/2026")
        + sar("02:00", "md7", at_0210=20, at_0220=30)
        + sar("01:50", "sdk", at_0200=10, at_0210=15)
        + "Average:  sdk  7.00  0.00  12.00  9.00  0.10  5.00  3.00\n"
    )

    assert by_time(text) == [
        ("02:00:01", {"sdk": 10}),
        ("02:10:01", {"md7": 20, "sdk": 15}),
        ("02:20:01", {"md7": 30}),
        ("Average:", {"sdk": 12}),
    ]


def test_after_midnight_is_after_before():
    """The log has no dates, and the second device two times that the first one lacks."""
    text = sar("22:50", "md7", at_2300=20, at_0010=40, at_0020=50)
    text += sar("22:50", "sdk", at_2300=5, at_2350=6, at_0010=7, at_0030=8)

    assert by_time(text) == [
        ("23:00:01", {"md7": 20, "sdk": 5}),
        ("23:50:01", {"sdk": 6}),
        ("00:10:01", {"md7": 40, "sdk": 7}),
        ("00:20:01", {"md7": 50}),
        ("00:30:01", {"sdk": 8}),
    ]


def test_a_log_of_a_clock_that_was_set_back_keeps_its_order():
    """As at the end of summer time: nothing was searched, so nothing is sorted."""
    text = sar("02:40", "sdk", at_0250=20, at_0200=30, at_0210=40, at_0220=50, at_0300=60)

    stamps = [stamp[:5] for stamp, _ in by_time(text)]
    assert stamps == ["02:50", "02:00", "02:10", "02:20", "03:00"]


def test_many_tables_of_one_time_are_joined_once(monkeypatch):
    """No load is made for it: a text may have thousands."""
    made = []
    monkeypatch.setattr(PrintedLoads, "__getitem__", lambda _, name: made.append(name))
    layout = layout_of_names(("tps", "rkB/s", "wkB/s"))
    names = [f"dm-{n}" for n in range(300)]
    read_rows = []

    def convert(figures):
        read_rows.append(len(figures))
        return layout.convert(figures)

    tables = (PrintedLoads((name,), (3.0, 0.0, 11.0), convert) for name in names)

    (found,) = one_per_time(Interval(table, stamp="02:10:01", clock=7801.0) for table in tables)

    assert [*found.loads] == names
    assert (made, read_rows) == ([], [])
