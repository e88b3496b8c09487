"""
Each article's question, asked as its author would: the answer is in the first eight lines.

They hold the article's own number and the right conclusion.
"""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"


def answer(sample, *words):
    """Return the first eight lines of the answer on stdout, without empty ones, as one line."""
    given = [str(SAMPLES / sample / "input" / w) if w.endswith(".txt") else w for w in words]
    result = CliRunner().invoke(
        stackmap, ["--from", str(SAMPLES / sample), *given], catch_exceptions=False
    )
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    return " ".join(lines[:8]), result.exit_code


ALONE = ("--baseline", "iostat-1-thread.txt")
QUESTIONS = {
    # 000: is an NVMe drive at 96 and 98 % util saturated?
    "000-one": (
        "ceph-nvme", ["--input", "iostat-one-run.txt"],
        [r"^Do first: Nothing", r"No warning", r"Overload and slow disks: no warning \(1 disk\)", r"2\.3 requests"], 0,
    ),
    "000-two": (
        "ceph-nvme", ["--input", "iostat-two-runs.txt"],
        [r"^Do first: Nothing", r"No warning", r"Overload and slow disks: no warning \(1 disk\)", r"0\.07 ms"], 0,
    ),
    # 001: 7.83, 13.69 and 108.72 ms; three times the await of one thread is overload.
    "001-1": ("mysql-raid", ["--input", "iostat-1-thread.txt"], [r"^Do first: Nothing", r"7\.8 ms"], 0),
    "001-4": (
        "mysql-raid", ["--input", "iostat-4-threads.txt", *ALONE], [r"No warning", r"13\.7 ms"], 0,
    ),
    "001-64": (
        "mysql-raid", ["--input", "iostat-64-threads.txt", *ALONE],
        [r"^Do first: vgdrawn/mysql is overloaded: 13\.9×", r"109 ms", r"7\.8 ms"], 10,
    ),
    "001-64-alone": (
        "mysql-raid", ["--input", "iostat-64-threads.txt"],
        [r"WARNING: vgdrawn/mysql is overloaded", r"66\.0 requests are in flight", r"109 ms"], 10,
    ),
    # 003: is it the disk or the workload? 434 ms with 2 in flight.
    "003": (
        "laptop-luks-lvm", ["--input", "iostat-worst.txt"],
        [r"^Do first: sdb is slow: 434 ms at queue depth 2\.0", r"Move the data off", r"not overloaded", r"222 ms"], 11,
    ),
    "003-second": (
        "laptop-luks-lvm", ["--input", "iostat-worst.txt", "--report", "2"],
        [r"^Do first: sdb is slow: 434 ms", r"not overloaded"], 11,
    ),
    "003-lid": (
        "laptop-luks-lvm", ["--input", "iostat-faster.txt"],
        [r"1 info", r"sdb has an await of 5\.1 ms", r"high if its 128 KiB requests are sequential"], 0,
    ),
    # 004: what does RAID5 do to these writes, and how do the disks fare?
    "004-sar": (
        "raid5-raid10-medusa", ["--input", "sar-0710.txt"],
        [r"^Do first: vghdd/vm-disk1 writes partial stripes, at 3\.12× cost.* RAID10", r"375\.3 requests/s cause 1439\.6 requests/s", r"3\.12 disk bytes"], 10,
    ),
    "004-1": (
        "raid5-raid10-medusa", ["--input", "iostat-1.txt"],
        [r"^Do first: sdd is 1\.80× as slow as its peers", r"25\.7 ms"], 10,
    ),
    "004-2": (
        "raid5-raid10-medusa", ["--input", "iostat-2.txt"],
        [r"^Do first: Something reads the members of vghdd/vm-disk1-r10", r"probably a sync"], 10,
    ),
    "004-3": (
        "raid5-raid10-medusa", ["--input", "iostat-3.txt"],
        [r"^Do first: sdd is 1\.64× as slow as its peers", r"76\.6 ms"], 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_in_the_first_lines(name):
    """The number is the article's, the conclusion its author's, the exit status fits both."""
    sample, words, expected, status = QUESTIONS[name]
    told, code = answer(sample, "explain", "--exit-code", *words)

    missing = [each for each in expected if not re.search(each, told)]
    assert not missing, told
    assert code == status


def test_after_the_lid_is_pressed_await_is_still_high():
    """5.11 ms where its author expects 1 to 2 ms for sequential reads."""
    words = ["explain", "--input", str(SAMPLES / "laptop-luks-lvm/input/iostat-faster.txt")]
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLES / "laptop-luks-lvm"), *words])
    told = " ".join(result.stdout.split())

    assert "INFO: sdb: 5.1 ms is long for sequential requests" in told
    assert "No problem found" not in told


@pytest.mark.parametrize(
    ("sample", "text", "warned"),
    [
        ("raid5-raid10-medusa", "sar.txt", True),
        ("raid5-raid10-medusa", "sar-0710.txt", False),
        ("laptop-luks-lvm", "iostat-worst.txt", False),
    ],
)
def test_different_workloads_are_not_averaged_silently(sample, text, warned):
    """sar at 07:10 and 14:20: small writes, then large reads."""
    commands = [["explain"], ["iostat"]]
    if sample == "raid5-raid10-medusa":
        commands.append(["whatif", "vghdd/vm-disk1", "--to", "raid10"])
    for command in commands:
        words = ["--from", str(SAMPLES / sample), *command, "--input"]
        result = CliRunner().invoke(stackmap, [*words, str(SAMPLES / sample / "input" / text)])
        told = " ".join(result.stdout.split())
        assert ("mixes different workloads" in told) == warned
        assert ("use --report 1 to --report 2" in told) == warned


MIX = """Device            r/s     rkB/s  r_await     w/s      wkB/s  w_await  aqu-sz  %util
nvme0n1      57300.00 229376.00     0.08 24500.00 6268928.00     1.10   31.53 100.00

"""


def test_reads_that_wait_for_writes_by_a_fixed_mix(tmp_path):
    """
    002: 57.3 k reads per second with 24.5 k writes of 256 KiB, 515 k without the fixed mix.

    The article prints lines of fio only: no device, no await, one figure per run. Such a text
    has nothing to judge. The test writes iostat's text at these rates; it gets the author's conclusion.
    """
    text = tmp_path / "iostat.txt"
    text.write_text(MIX * 6)
    words = ["--from", str(SAMPLES / "ceph-nvme"), "explain", "--input", str(text)]
    told = " ".join(CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout.split())

    assert "the mix limits them to 57300 requests/s, not the device" in told
    assert "0.43 writes per read" in told
    assert "fio `rate_iops`, not `rwmixread`" in told


SEEDS = sorted(ROOT.parent.glob("shared/seeds/00*.txt"))
FIRST = {
    "000": r"^Do first: Nothing",
    "001": r"^Do first: dm-0 is overloaded: 13\.9×",
    "003": r"^Do first: sdb is slow: 434 ms",
    "004": r"^Do first: dev253-89 is slow: await 553 ms",
}


@pytest.mark.skipif(not SEEDS, reason="the articles are not part of a clone")
def test_lines_of_fio_are_no_statistics_of_devices(tmp_path):
    """002 has no other: the error says what to give instead."""
    (tmp_path / "sys/block").mkdir(parents=True)
    (article,) = (seed for seed in SEEDS if seed.name.startswith("002"))
    words = ["--from", str(tmp_path), "explain", "--input", str(article)]
    error = CliRunner().invoke(stackmap, words).exception

    assert "no device statistics" in str(error)
    assert "iostat -x" in str(error)


@pytest.mark.skipif(not SEEDS, reason="the articles are not part of a clone")
@pytest.mark.parametrize("number", FIRST)
def test_a_whole_article_is_a_text_of_an_unknown_host(number, tmp_path):
    """Its tables are judged by their own names; the answer says that the layout is unknown."""
    (article,) = (seed for seed in SEEDS if seed.name.startswith(number))
    (tmp_path / "sys/block").mkdir(parents=True)  # a machine without any of the names
    words = ["--from", str(tmp_path), "explain", "--input", str(article)]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]

    assert re.search(FIRST[number], " ".join(lines[:3])), lines[:3]
    assert re.search("Could not judge: .*layout", " ".join(lines))


SAR = """Linux 5.14.0-362.el9.x86_64 (db1)  11/23/2026  _x86_64_  (8 CPU)

00:00:00          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
"""
SAR_ROW = "00:{minute:02}:00          sda {rate:9.2f} {half:9.2f} {half:9.2f}      0.00 {size:9.2f} {queue:9.2f} {ms:9.2f} {util:9.2f}\n"


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        # rate, KiB per request, await
        ([(60, 8, 6.0)] * 3 + [(150, 8, 40.0)] * 3, r"sda is overloaded: 6\.67× the quiet await"),
        ([(150, 8, 90.0)] * 6, r"sda is overloaded"),
        ([(150, 8, 40.0)] * 6, r"Could not judge: overload"),
        # Larger requests take longer without any queue: sizes differ too much to compare.
        ([(60, 8, 6.0)] * 3 + [(150, 64, 40.0)] * 3, r"Could not judge: overload"),
        ([(60, 8, 6.0)] * 6, r"Nothing"),
    ],
    ids=["rises", "evident", "unknown", "other-sizes", "quiet"],
)
def test_sar_is_judged_by_size_queue_and_await(loads, expected, tmp_path):
    """It has no read share, so loads are alike that have the same size."""
    rows = [
        SAR_ROW.format(minute=10 * (n + 1), rate=rate, half=rate * size / 2, size=size, ms=ms,
                       queue=rate * ms / 1000, util=min(100.0, rate * ms / 10))
        for n, (rate, size, ms) in enumerate(loads)
    ]  # fmt: skip
    text = tmp_path / "sar.txt"
    text.write_text(SAR + "".join(rows))
    (tmp_path / "sys/block").mkdir(parents=True)
    words = ["--from", str(tmp_path), "explain", "--input", str(text)]
    told = CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout

    assert re.search(expected, " ".join(told.split())), told
    assert "Overload and slow disks: no warning" not in told or expected == "Nothing"
