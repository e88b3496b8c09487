"""The report on paper: what a page of it begins and ends with."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from itertools import pairwise

import pytest

from tests.features.report.test_report_command import CHROMIUM, VGHDD, page, run

STEPS = range(
    640, 960, 10
)  # points down a page; somewhere there each part of the table is at its foot
HEADING = re.compile(r"Device\s+Kind\s+r/s")
ROW = re.compile(r"(volume|member|disk)\s+[\d.-]")

if CHROMIUM is None or shutil.which("pdftotext") is None:
    pytest.skip("neither chromium nor pdftotext can be done without", allow_module_level=True)


def printed(html, folder):
    """Return the lines of each page of *html* on paper."""
    source, paper = folder / "page.html", folder / "page.pdf"
    source.write_text(html)
    subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
            f"--user-data-dir={tempfile.mkdtemp(dir=folder)}", f"--print-to-pdf={paper}", str(source),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )  # fmt: skip
    text = subprocess.run(
        ["pdftotext", "-layout", paper, "-"], capture_output=True, text=True, check=True
    ).stdout
    return [[line for line in each.splitlines() if line.strip()] for each in text.split("\f")]


def pushed_down(html, rule=""):
    """Return the section of raw numbers, once for each place on a page that it may begin at; *rule* added to its style."""
    head = re.sub(r"<meta http-equiv[^>]*>", "", html[: html.index("</head>")])
    section = re.search(r'<section id="numbers".*?</section>', html, re.DOTALL)[0]
    before = '<div style="break-before: page; height: {}px">.</div>'
    parts = (before.format(step) + section for step in STEPS)
    shown = ".screen { display: block !important; }"  # paper leaves this section out
    return f"{head}<style>{shown}{rule}</style></head><body>{''.join(parts)}</body></html>"


def rows_at_the_foot(pages):
    """Return how many rows stand below the heading of a table that goes on on the next page."""
    found = []
    for lines, following in pairwise(pages):
        places = [place for place, line in enumerate(lines) if HEADING.search(line)]
        if places and following and HEADING.search(following[0]):
            found.append(sum(bool(ROW.search(line)) for line in lines[places[-1] :]))
    return found


def test_no_heading_of_a_table_stands_alone_at_the_foot_of_a_page(tmp_path):
    """With it stand two rows at least; and where the style did not say so, there would be fewer."""
    html = page("vghdd-disk")
    told = rows_at_the_foot(printed(pushed_down(html), tmp_path))
    untold = rows_at_the_foot(
        printed(pushed_down(html, "thead, tr { break-after: auto !important; }"), tmp_path)
    )

    assert min(told) >= 2
    assert min(untold) < 2


def test_a_volume_fits_on_six_pages_without_raw_data(tmp_path):
    """What is folded on a screen is printed; figures to copy and evidence to look up are not."""
    html = run([*VGHDD, "report", "vm-disk1", "--to", "raid10", "-o", "-"]).stdout
    pages = [lines for lines in printed(html, tmp_path) if lines]
    said = "\n".join(line for lines in pages for line in lines)

    assert len(pages) <= 6
    for heading in ("Findings", "The load over time", "How to get there", "Methods and caveats"):
        assert heading in said
    assert "lvcreate --yes --type raid10" in said
    for absent in ("Raw numbers", "requests_per_s", "median of its peers sda"):
        assert absent not in said
