"""The pages in a browser: nothing is cut and nothing overlaps, wide, on a phone, on paper, with every part unfolded."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape

import pytest

from tests.features.fleet.stub import ask, serving, small_fleet
from tests.features.report.test_report_command import CHROMIUM, VGHDD, run

FULL_NAME = "storage-node-0017.rack-12.hall-b.frankfurt-2.example-bank.net:9100"
PAPER = 718  # pixels between the margins of A4
WIDTHS = (1300, 400, PAPER)
# What it finds is text: elements beyond the page, parts of a section above the end of the one before, words over
# words, and short words of a table that are folded, except on a phone.
MEASURE = """
<script>
for (const each of document.querySelectorAll("details")) each.open = true;
const found = [], room = document.documentElement.clientWidth;
const say = (what, element) => found.push(what + ": " + element.tagName + " " + element.textContent.trim().slice(0, 40));
if (document.documentElement.scrollWidth > room) say("wider than the page", document.body);
for (const each of document.querySelectorAll("body *")) {
  if (each.closest(".wide, pre, .uplot, svg, script")) continue;
  const box = each.getBoundingClientRect();
  if (box.width && (box.right > room + 1 || box.left < -1)) say("beyond the edge", each);
}
for (const each of document.querySelectorAll(".wide")) {
  if (each.querySelector("table, svg") && each.scrollWidth > each.clientWidth + 1) say("cut", each);
}
for (const each of document.querySelectorAll("main, section, details, article, figure, header")) {
  const parts = [...each.children].map(c => [c, c.getBoundingClientRect()]).filter(([, b]) => b.height && b.width);
  for (let n = 1; n < parts.length; n++)
    if (parts[n][1].top < parts[n - 1][1].bottom - 1 && parts[n][1].left < parts[n - 1][1].right - 1) say("over the part before", parts[n][0]);
}
for (const drawing of document.querySelectorAll(".stack svg")) {
  const words = [...drawing.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
  for (const [text, box] of words) for (const [other, near] of words)
    if (text !== other && box.left < near.right - 1 && near.left < box.right - 1 && box.top < near.bottom - 3 && near.top < box.bottom - 3) say("words over words", text);
}
for (const cell of room > 480 ? document.querySelectorAll("tbody th, td") : []) {
  const lines = document.createRange();
  for (const part of cell.childNodes) {
    lines.selectNodeContents(part);
    if (/^\\w{1,16}$/.test(part.textContent) && lines.getClientRects().length > 1) say("a word on two lines", cell);
  }
}
parent.postMessage(JSON.stringify({room, sections: document.querySelectorAll("section").length, found}), "*");
</script>"""

# A window is not made narrower than 500 pixels; a frame in it is.
FRAME = """<title></title><script>addEventListener("message", told => document.title = told.data)</script>
<iframe src="page.html" style="width:{width}px;height:2000px;border:0"></iframe>"""


@pytest.fixture
def measured(tmp_path):
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")

    def measure(page, width):
        """What is wrong with *page* in a window of *width*; its policy would refuse the script that measures."""
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        if width == PAPER:
            page, rules = re.subn(r"@media print\b", "@media all", page)
            assert rules
        (tmp_path / "page.html").write_text(page.replace("</body>", f"{MEASURE}</body>"))
        frame = tmp_path / "frame.html"
        frame.write_text(FRAME.format(width=width))
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={tmp_path}", "--window-size=1400,2100", "--virtual-time-budget=3000",
                "--dump-dom", frame.as_uri(),
            ],
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        told = re.search(r"<title>(\{.*?\})</title>", done.stdout)
        assert told is not None
        result = json.loads(unescape(told[1]))
        assert result["room"] == width
        assert result["sections"] > 0
        return result["found"]

    return measure


@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_is_whole(measured, width):
    """With an example of a write and two stacks, whose drawings are the widest parts."""
    page = run([*VGHDD, "report", "-o", "-", "--explain-write", "8k"]).stdout

    assert measured(page, width) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_fleet_is_whole(measured, width, tmp_path):
    """Long names are folded; a phone has the columns that matter."""
    out = tmp_path / "fleet.html"
    names = {"instance": FULL_NAME, "name": "vg_backup/archive-long-name"}

    def answer(query):
        status, found = small_fleet(query)
        for each in found["data"]["result"]:
            each["metric"] |= {key: name for key, name in names.items() if key in each["metric"]}
        return status, found

    with serving(answer) as (url, _):
        ask(url, "--report", str(out))
    page = out.read_text()
    assert all(name in page.replace("<wbr>", "") for name in names.values())

    assert measured(page, width) == []


def test_what_is_wrong_is_found(measured):
    """A part that is too wide, and one that is drawn over another."""
    wide = '<p style="width:3000px">wide</p><p style="margin-top:-40px">over</p></main>'
    page = run([*VGHDD, "report", "-o", "-", "vm-disk1"]).stdout.replace("</main>", wide)

    found = measured(page, 400)

    assert any(each.startswith("beyond the edge: P wide") for each in found)
    assert any(each.startswith("over the part before: P over") for each in found)


def test_a_folded_word_is_found(measured):
    """A column without room for a short word, where no part is wider than the page."""
    narrow = "<style>td { width: 1px; max-width: 1px; word-break: break-all; }</style></main>"
    page = run([*VGHDD, "report", "-o", "-", "vm-disk1"]).stdout.replace("</main>", narrow)

    assert any(each.startswith("a word on two lines") for each in measured(page, 1300))
