"""What a terminal and a locale expect: the width after a resize, and the decimal point in tables for people alone."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.paths import ROOT

STACKMAP = Path(sys.executable).with_name("stackmap")
SAMPLE = ROOT / "sample_topologies" / "vghdd"
COMMA = "de_DE.utf8"
FIGURE = r"\b\d+{}\d+\b"
REPORT = """
Device             r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda              11.00     44.00     0.00   0.00    1.50     4.00   13.00     52.00     0.00   0.00    2.50     4.00    0.05   1.70
sdb              17.00     68.00     0.00   0.00    1.50     4.00   19.00     76.00     0.00   0.00    2.50     4.00    0.05   1.70
"""


def locales():
    done = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def printed(*words, locale):
    """What the program prints into a pipe with LC_NUMERIC as *locale*."""
    environment = {**os.environ, "LC_NUMERIC": locale, "LC_CTYPE": "C.UTF-8"}
    environment.pop("LC_ALL")
    command = [STACKMAP, "--from", SAMPLE, *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


comma = pytest.mark.skipif(COMMA not in locales(), reason=f"the locale {COMMA} is not installed")


@comma
@pytest.mark.parametrize(
    "words", ["iostat --report 1", "iostat -x --human --report 1", "iostat -l --report 1 vm-disk1", "blame sda"]
)  # fmt: skip
def test_tables_have_the_decimal_point_of_the_locale(words):
    """The same figures in the same places; sentences keep the point."""
    point, with_comma = (printed(*words.split(), locale=name) for name in ("C", COMMA))
    rows = [line for line in with_comma.splitlines() if re.search(FIGURE.format(","), line)]

    assert len(rows) > 3
    assert not any(re.search(FIGURE.format(r"\."), row) for row in rows)
    assert with_comma.replace(",", ".") == point.replace(",", ".")


@comma
def test_sizes_of_the_tree_do_too():
    """As those of lsblk; with -b there is no point."""
    words = ["--from", ROOT / "sample_topologies" / "raid5-raid10-medusa", "tree", "-o", "SIZE"]
    environment = {**os.environ, "LC_ALL": COMMA}
    shown = subprocess.run(
        [STACKMAP, *words], env=environment, capture_output=True, text=True, check=True
    ).stdout

    assert re.search(FIGURE.format(","), shown)
    assert not re.search(FIGURE.format(r"\."), shown)


@comma
@pytest.mark.parametrize(
    "words",
    [
        "iostat -J --report 1", "iostat --csv --report 1", "iostat -l -J --report 1", "tree -J", "tree -P", "tree -r",
        "tree --csv", "tree -b", "blame sda --csv", "explain -m", "whatif vm-disk1 --to raid10 -J", "tree --svg",
    ],
)  # fmt: skip
def test_output_for_programs_has_no_locale(words):
    """Nor has Markdown, which a reader elsewhere gets."""
    assert printed(*words.split(), locale=COMMA) == printed(*words.split(), locale="C")


def test_a_locale_that_is_not_installed_is_no_error():
    """As on a machine that ssh told its user's."""
    words = ["iostat", "--report", "1"]

    assert printed(*words, locale="xx_XX.utf8") == printed(*words, locale="C")


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def read_table(terminal):
    """Return the lines of a report."""
    text = ""
    while "sdb" not in text or not text.endswith("\r\n\r\n"):
        text += os.read(terminal, 4096).decode()
    return text.split("\r\n")


def test_the_next_report_has_the_width_of_a_resized_terminal():
    """A report that repeats is divided for a narrow terminal, and whole in a wide one."""
    controller, terminal = pty.openpty()
    resize(controller, 60)
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    words = ["iostat", "-x", "--input", "-", "--report", "all"]
    with subprocess.Popen(
        [STACKMAP, *words], stdin=subprocess.PIPE, stdout=terminal, stderr=subprocess.DEVNULL, env=environment
    ) as program:  # fmt: skip
        os.close(terminal)
        assert program.stdin is not None
        widths = []
        for columns in (60, 150, 45):
            resize(controller, columns)
            program.stdin.write(REPORT.encode() * (2 if not widths else 1))
            program.stdin.flush()
            lines = read_table(controller)
            widths.append(max(map(len, lines)))
        program.kill()
    os.close(controller)

    assert 45 < widths[0] <= 60
    assert 100 < widths[1] <= 150
    assert widths[2] <= 45
