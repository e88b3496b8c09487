"""
Files of ``dstat --output`` and ``pcp-dstat --output``.

The texts have the form that dstat 0.7 and 0.8 and pcp-dstat 6.0.3 wrote here, where pcp-dstat's screen said 256k
and its file 255.990: KiB. The figures are primes.
"""

from __future__ import annotations

import pytest

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.text import intervals

KIB = 1024

HEAD = """\
"Author:","Somebody <somebody@example.org>",,,,"URL:","http://example.org/"
"Host:","web3",,,,"User:","root"
"Cmdline:","dstat -tdr -D sda,total --output o.csv 10",,,,"Date:","05 Mar 2024 23:59:41 UTC"
"""
DSTAT_08 = f""""Dstat 0.8.0 CSV output"
{HEAD}"system","dsk/sda",,"dsk/total",,"io/sda",,"io/total",
"time","dsk/sda:read","dsk/sda:writ","dsk/total:read","dsk/total:writ","io/sda:read","io/sda:writ","io/total:read","io/total:writ"
05-03 23:59:41,1178.104,4475.327,1,2,103.400,100.477,3,4
05-03 23:59:51,2048,6144.500,5,6,2,3.250,7,8
06-03 00:00:01,0,0,9,10,0,0,11,12
"""
DSTAT_07 = f""""Dstat 0.7.3 CSV output"
{HEAD}"epoch","total cpu usage",,,"dsk/sda",,"dsk/sdb",
"epoch","usr","sys","idl","read","writ","read","writ"
1709683181.104,1,2,97,3,5,7,11
1709683191.104,1,2,97,13,17,19,23
"""
PCP = f""""pcp-dstat 6.0.3 CSV Output"
{HEAD}"system","dsk/sda",,"dsk/total",,"io/total",
"time","dsk/sda:read","dsk/sda:writ","dsk/total:read","dsk/total:writ","read","writ"
05-03 23:59:41,,,,,,
05-03 23:59:51,255.990,3239,255.990,3239,57.998,245
06-03 00:00:01,0,2,0,2,0,1
"""


def read(text: str) -> list[Interval]:
    return [*intervals([text.encode()], "ticket")]


def test_a_file_of_dstat() -> None:
    reports = read(DSTAT_08)
    assert [[*each.loads] for each in reports] == [["sda"]] * 3
    assert [each.load("sda").read for each in reports] == [Flow(103.4, bytes=1178.104), Flow(2, bytes=2048), Flow(0, bytes=0)]  # fmt: skip
    assert [each.load("sda").write for each in reports] == [Flow(100.477, bytes=4475.327), Flow(3.25, bytes=6144.5), Flow(0, bytes=0)]  # fmt: skip
    assert [each.since_boot for each in reports] == [True, False, False]
    assert {each.machine.host for each in reports} == {"web3"}
    clocks = [each.clock or 0 for each in reports]
    assert [clock - clocks[0] for clock in clocks] == [0, 10, 20]  # over midnight
    assert clocks[0] == 1709683181  # as if it were UTC


def test_a_file_of_an_older_dstat_without_names_in_its_columns() -> None:
    for text in (DSTAT_07, DSTAT_07.partition("\n")[2]):  # with its first line and without
        reports = read(text)
        assert [each.time for each in reports] == [1709683181.104, 1709683191.104]
        assert reports[1].load("sda").read == Flow(bytes=13)
        assert reports[1].load("sdb").write == Flow(bytes=23)


def test_a_file_of_pcp_dstat_has_kib_and_no_averages_since_boot() -> None:
    reports = read(PCP)
    assert [each.since_boot for each in reports] == [False, False]
    assert [each.load("sda").write for each in reports] == [Flow(bytes=3239 * KIB), Flow(bytes=2 * KIB)]  # fmt: skip
    assert reports[0].load("sda").read.bytes == pytest.approx(255.99 * KIB)


@pytest.mark.parametrize("text", [DSTAT_08, PCP])
def test_without_its_first_line_the_unit_is_not_known(text: str) -> None:
    reports = read(text.partition("\n")[2])
    assert [each.load("sda").write.bytes for each in reports] == [None] * len(reports)
    assert all("bytes are not known" in each.notes[0] for each in reports)
    assert reports[-1].load("sda").read.ios == (0 if text == DSTAT_08 else None)


def test_a_second_run_in_one_file_begins_again() -> None:
    """dstat adds to a file that is there, with its heading; pcp-dstat without its first line."""
    assert [each.since_boot for each in read(DSTAT_08 * 2)] == [True, False, False] * 2
    again = PCP + PCP.partition("\n")[2]
    assert [each.load("sda").write.bytes for each in read(again)] == [3239 * KIB, 2 * KIB] * 2


@pytest.mark.parametrize(
    "damage", [lambda line: line + "\r", lambda line: "> " + line, lambda line: line + "  "]
)
def test_quotes_and_line_ends_change_nothing(damage) -> None:
    damaged = "\n".join(map(damage, DSTAT_08.splitlines())) + "\n"
    assert [each.loads for each in read(damaged)] == [each.loads for each in read(DSTAT_08)]


@pytest.mark.parametrize("word", ["-5", "1e9", "nan", "", "9" * 400])
def test_what_is_no_figure_is_left_out(word: str) -> None:
    _, report = read(DSTAT_07.replace("13,17,19,23", f"13,{word},19,23"))
    assert report.load("sda") == Load(Flow(bytes=13))
    assert report.load("sdb").write == Flow(bytes=23)


def test_a_row_that_was_cut_is_left_out() -> None:
    assert len(read(DSTAT_07.replace("13,17,19,23", '13,"'))) == 1


def test_totals_alone_are_no_devices() -> None:
    only = DSTAT_08.replace("dsk/sda", "dsk/total").replace("io/sda", "io/total")
    with pytest.raises(InputError, match="no device statistics"):
        read(only)
