"""annotate: every dm row of a real run has the name that iostat -N printed in the same run."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
TEXTS = sorted(CAPTURES.glob("vghdd*/load/*.iostat.txt"))
MEDUSA = ROOT / "sample_topologies" / "raid5-raid10-medusa"


def annotated(capture, *arguments, text=None):
    """Run the real program; return its bytes and what it said."""
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "stackmap",
            "--from",
            str(capture),
            "annotate",
            *map(str, arguments),
        ],
        cwd=ROOT,
        input=text,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return result.stdout, result.stderr.decode()


def mapper_name(label):
    """vghdd/vm-disk1_rimage_0 → vghdd-vm--disk1_rimage_0, as device-mapper writes it."""
    group, _, volume = label.partition("/")
    return f"{group.replace('-', '--')}-{volume.replace('-', '--')}"


def first_report(text, begin):
    """Return the first words of the rows of the first table under a line that begins with *begin*."""
    rows = text.split(begin, 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [row.split()[0] for row in rows if row.strip()]


if not TEXTS:
    pytest.skip("the recorded kernels are not beside this checkout", allow_module_level=True)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: f"{p.parts[-3]}/{p.name}")
def test_iostat_rows_bear_the_names_of_minus_n(path):
    """Both runs list all devices in the order of their kernel names."""
    capture = path.parent.parent / "capture.tar.gz"
    out, said = annotated(capture, "--replace", path)
    document = path.with_name(path.name.replace("iostat.txt", "iostat.json")).read_text()
    named = [
        disk["disk_device"]
        for disk in json.loads(document)["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    ]
    shown = [mapper_name(n) if "/" in n else n for n in first_report(out.decode(), "Device")]

    assert shown == named
    assert said == ""
    assert out.count(b"\n") == path.read_bytes().count(b"\n")


@pytest.mark.parametrize(
    "path", sorted(CAPTURES.glob("vghdd*/load/*.sar.txt")), ids=lambda p: f"{p.parts[-3]}/{p.name}"
)
def test_sar_rows_bear_them_too(path):
    """Every dm row, whatever sar called it; all else is as it was."""
    capture = path.parent.parent / "capture.tar.gz"
    out, _ = annotated(capture, "--no-align", path)
    before, after = path.read_text().splitlines(), out.decode().splitlines()

    assert len(before) == len(after)
    named = 0
    for old, new in zip(before, after, strict=True):
        found = re.search(r"\b(dm-\d+|dev254-\d+)\b", old)
        if found is None:
            assert new == old
        else:
            named += 1
            assert re.search(rf"vghdd/vm-disk1\S* \({re.escape(found[1])}\)", new)
    assert named > 10


def test_a_line_that_is_no_devices_passes_byte_for_byte():
    """Whatever its bytes, its blanks, its end."""
    text = b"# a note \xff\xfe  with\tblanks   \r\n\n\x00\n  zzz *** Sat\nlast line without an end"

    note = "stackmap: <stdin>: no device table found; nothing annotated\n"
    assert annotated(MEDUSA, text=text) == (text, note)


def test_each_report_comes_as_it_arrives():
    """A live pipe is not held up: what went in has come out before more goes in."""
    with subprocess.Popen(
        [sys.executable, "-m", "stackmap", "--from", str(MEDUSA), "annotate"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        for number in range(3):
            process.stdin.write(b"Device:            tps\ndm-89             %d.00\n" % number)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b"Device:")
            assert b"vghdd/vm-disk1 (dm-89)" in process.stdout.readline()
        process.stdin.close()


def test_a_number_of_another_machine_stays_and_is_counted():
    """sar's names are looked up by number alone: 252-3 is unknown here."""
    text = b"00:00:01          DEV       tps\n00:00:01     dev252-3      1.00\n"
    out, said = annotated(MEDUSA, "--no-align", text=text)

    assert out == text
    assert "1 device name in the text is unknown here (1 row unchanged)" in said
    assert "dev252-3" in said
