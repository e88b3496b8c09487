"""``export --textfile`` keeps samples beside its file, and names the members that ``explain`` calls slow."""

from __future__ import annotations

import shutil
import sys

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from stackmap.cli import stackmap
from stackmap.errors import ParseError
from stackmap.features.export.textfile_command import KeptSamples, parse
from stackmap.sources.diskstats import Sample
from tests.features.fleet.servers import HERE

VGHDD = HERE / "sample_topologies" / "vghdd"
BOOT = "2f9418ef-0ba7-4a1a-b73d-577049ba4287"  # of vghdd
DISKS = ("sda", "sdb", "sdc", "sdd")
WRITES = 20  # per second, on each disk, one after the other
RATIO = "stackmap_slow_member_ratio"
COUNT = "stackmap_stack_slow_members"


def diskstats(seconds, awaits):
    """Return the counters of the disks after so many seconds; *awaits*: ms per write of each."""
    count = WRITES * seconds
    return tuple(
        f"8 0 {name} 7 0 56 7 {count} 0 {count * 16} {count * ms} 0 {count * ms} {count * ms} 0 0 0 0 0 0"
        for name, ms in zip(DISKS, awaits, strict=True)
    )


def exported(folder, minutes, awaits, boot=BOOT):
    """Return the samples of a host that kept *minutes* of samples before it exports, by metric."""
    machine, place = folder / "machine", folder / "textfile"
    shutil.copytree(VGHDD, machine)
    place.mkdir()
    frame = machine / "proc" / "diskstats"
    frame.write_text("\n".join(diskstats(10_000, awaits)) + "\n")
    now = 1795257542.7858698  # of the first frame
    kept = tuple(
        Sample(now - 60 * minute, diskstats(10_000 - 60 * minute, awaits))
        for minute in range(minutes, 0, -1)
    )
    (place / "stackmap.samples").write_text("".join(KeptSamples(boot, kept).text()))
    words = ["--from", str(machine), "export", "--textfile", str(place)]
    result = CliRunner().invoke(stackmap, words)
    assert result.exit_code == 0, result.output
    families = text_string_to_metric_families((place / "stackmap.prom").read_text())
    return {family.name: family.samples for family in families}


def test_a_slow_member_is_exported_with_its_ratio(tmp_path):
    """As `explain` says: 20 ms, and 5 ms at each of its peers."""
    found = exported(tmp_path, 10, (5, 5, 20, 5))

    assert {sample.labels["device"] for sample in found[RATIO]} == {"sdc"}
    assert {sample.labels["name"] for sample in found[RATIO]} == {
        "vghdd/vm-disk1",
        "vghdd/vm-disk1-r10",
    }
    assert [sample.value for sample in found[RATIO]] == pytest.approx([4, 4])
    assert [sample.value for sample in found[COUNT]] == [1, 1]


def test_equal_members_are_judged_and_not_slow(tmp_path):
    found = exported(tmp_path, 10, (5, 5, 5, 5))

    assert [sample.value for sample in found[COUNT]] == [0, 0]
    assert RATIO not in found


@pytest.mark.parametrize(("minutes", "boot"), [(9, BOOT), (10, "another")])
def test_nothing_is_said_before_ten_minutes_of_one_boot(minutes, boot, tmp_path):
    found = exported(tmp_path, minutes, (5, 5, 20, 5), boot)

    assert COUNT not in found
    assert RATIO not in found


def test_a_gap_or_a_step_of_the_clock_begins_anew():
    lines = diskstats(1, (1, 1, 1, 1))
    kept = KeptSamples("b", (Sample(1000, lines),))
    times = {
        now: [each.time for each in kept.with_newest("b", Sample(now, lines), DISKS).samples]
        for now in (1060, 1301, 1000, 900)
    }

    assert times == {1060: [1000, 1060], 1301: [1301], 1000: [1000], 900: [900]}


def test_the_file_holds_ten_minutes_and_the_devices_of_arrays():
    lines = diskstats(1, (1, 1, 1, 1))
    kept = KeptSamples("b")
    for minute in range(60):
        kept = kept.with_newest("b", Sample(60.0 * minute, lines), {"sda", "sdb"})
    again = parse("".join(kept.text()))

    assert "".join(again.text()) == "".join(kept.text())
    assert again.samples[-1].time - again.samples[0].time == 660
    assert [len(sample.lines) for sample in again.samples] == [2] * 12


@pytest.mark.parametrize(
    "text",
    [
        "",
        "other\n",
        "{first}time x\n",
        "{first}time 2.0\ntime 1.0\n",
        "{first}time 1.0\n8 0 sda 1 2\n",
    ],
)
def test_a_damaged_file_is_an_error(text):
    first = next(KeptSamples("b").text())
    with pytest.raises(ParseError):
        parse(text.format(first=first))


def test_a_damaged_file_does_not_stop_the_export(tmp_path):
    """One line says so, and the samples begin anew."""
    first = next(KeptSamples(BOOT).text())
    (tmp_path / "stackmap.samples").write_text(first + "time 1.0\nhalf a li")
    words = ["--from", str(VGHDD), "export", "--textfile", str(tmp_path)]
    result = CliRunner().invoke(stackmap, words)

    assert result.exit_code == 0
    assert "the samples begin anew" in result.output
    assert len(parse((tmp_path / "stackmap.samples").read_text()).samples) == 1


def test_counters_that_only_went_back_tell_nothing(tmp_path, monkeypatch):
    """As after a restore of the samples of another time: nothing is slow or hangs, as far as is known."""
    rising = diskstats

    def falling(seconds, awaits):
        return rising(20_000 - seconds, awaits)

    monkeypatch.setattr(sys.modules[__name__], "diskstats", falling)
    found = exported(tmp_path, 10, (5, 5, 20, 5))
    assert RATIO not in found
    assert COUNT not in found
    assert "stackmap_hung_devices" not in found
