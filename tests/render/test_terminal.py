"""Documents as text: folded, aligned and escaped."""

from __future__ import annotations

import pytest

from stackmap.document.blocks import (
    Card,
    Checklist,
    Command,
    Folded,
    Headline,
    Listing,
    Paragraph,
    Part,
    Rows,
    Table,
    Terms,
    plain_columns,
)
from stackmap.render.html.page import draw_all
from stackmap.render.markdown import render_blocks
from stackmap.render.terminal import Style
from tests.terminal_text import render_text

WORDS = "stackmap reads the counters of each device " * 6
HOSTILE = "vg/\x1b[2Jlv\n\u202e"
TABLE = Table(
    "t",
    plain_columns(("", "IOPS\n× top", "accounted")),
    (Rows((("volume", "1.00", "-"), (" metadata", "", "")), "READS"), Rows((("disk", "22.5", "1.000"),))),
    legend="IOPS × top: requests per request at the top",
)  # fmt: skip
CARD = Card(
    "critical",
    "slow-member (SM202), sda",
    (Paragraph("sda is slow."), Paragraph("It may be new.", "But:"), Paragraph("Replace it.", "Do:")),
    label="critical",
)  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 200])
def test_text_fills_the_width_and_no_more(width):
    lines = render_text([Paragraph(WORDS), Paragraph(WORDS, "note:")], Style(width)).splitlines()

    assert max(map(len, lines)) <= width
    assert all(len(line) > width - 12 for line in lines if line.startswith("stackmap"))


def test_lines_after_the_first_hang_below_a_lead_or_an_item():
    text = render_text([Paragraph(WORDS, "note:"), Listing((WORDS, WORDS))])

    assert [line[:3] for line in text.splitlines() if line[0] != " "] == ["not", "sta", "sta"]


def test_terms_are_aligned_after_the_longest():
    text = render_text([Terms((("now", "raid5"), ("projected", "raid10")))])

    assert text == "now       raid5\nprojected raid10\n"


def test_a_command_is_one_line_however_long_and_alone():
    command = "lvcreate " + "--option value " * 20

    lines = render_text([Part("1. Create it", (Command(command),))], Style(60)).split("\n")

    assert lines[1] == f"  {command}"


def test_nothing_from_the_system_controls_the_terminal():
    blocks = [
        Headline((HOSTILE, HOSTILE)),
        Paragraph(HOSTILE, HOSTILE),
        Command(HOSTILE),
        Listing((HOSTILE,)),
        Terms(((HOSTILE, HOSTILE),)),
        Table("t", plain_columns(("name",)), (Rows(((HOSTILE,),)),)),
        Card("info", HOSTILE, (Paragraph(HOSTILE),), label=HOSTILE),
        Checklist(((HOSTILE, (Card("info", HOSTILE, (), label=HOSTILE),)),)),
        Part(HOSTILE, (Paragraph(HOSTILE),)),
    ]
    for text in (render_text(blocks, Style(200)), render_blocks(blocks), draw_all(blocks, 2)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert r"\x1b" in text


def test_a_heading_may_take_two_lines_and_groups_have_titles():
    assert render_text([TABLE], Style(legend=True)) == (
        "            IOPS\n"
        "           × top  accounted\n"
        "READS\n"
        "volume      1.00          -\n"
        " metadata\n"
        "disk        22.5      1.000\n"
        "IOPS × top: requests per request at the top\n"
    )


def test_a_pipe_gets_no_legend_and_no_heading_on_request():
    assert "per request" not in render_text([TABLE])
    assert "accounted" not in render_text([Headline(("accounted",)), TABLE], Style(headings=False))


def test_a_table_too_wide_moves_its_columns_together():
    assert render_text([TABLE], Style(26)).splitlines()[3] == "volume     1.00         -"


def test_a_table_still_too_wide_is_shown_in_parts():
    assert render_text([TABLE], Style(18)).splitlines() == [
        "           IOPS",
        "          × top",
        "READS",
        "volume     1.00",
        " metadata",
        "disk       22.5",
        "",
        "          accounted",
        "READS",
        "volume            -",
        " metadata",
        "disk          1.000",
    ]


def test_a_card_has_its_severity_first_and_its_texts_aligned():
    assert render_text([Paragraph("1 critical"), CARD]) == (
        "1 critical\n"
        "\n"
        "CRITICAL: slow-member (SM202), sda\n"
        "  sda is slow.\n"
        "  But: It may be new.\n"
        "  Do:  Replace it.\n"
    )


def test_only_a_severity_has_a_colour():
    text = render_text([CARD], Style(colour=True))

    assert text.startswith("\x1b[1m\x1b[31mCRITICAL\x1b[0m: slow-member")
    assert text.count("\x1b[0m") == 1


def test_a_checklist_has_a_line_per_card_and_reasons_only_below_problems():
    cards = (
        Card("good", "5 MiB, a multiple of 4 KiB (SM901)", (), label="ok"),
        Card("warning", "5.1 MiB (SM901)", (Paragraph("4 KiB", "should be:"),), label="WARNING"),
    )

    checks = Checklist((("sda", cards),))

    assert render_text([checks]) == (
        "sda\n"
        "  ok      5 MiB, a multiple of 4 KiB (SM901)\n"
        "  WARNING 5.1 MiB (SM901)\n"
        "          should be: 4 KiB\n"
    )
    assert render_blocks([checks]) == (
        "| device |  | is | should be |\n"
        "|---|---|---|---|\n"
        "| sda | ok | 5 MiB, a multiple of 4 KiB (SM901) |  |\n"
        "| sda | WARNING | 5.1 MiB (SM901) | 4 KiB |\n"
    )


def test_details_that_a_reader_may_skip_are_not_in_a_card_on_a_terminal():
    card = Card("info", "busy", (Folded("The evidence", (Paragraph("1.00"),)),), label="info")

    assert render_text([card]) == "INFO: busy\n"
    assert "The evidence" in render_blocks([card])


def test_commands_in_a_sentence_are_code_and_names_are_not_markup():
    block = Paragraph("Run `lvs -a` on a_b, <b> and a`b.")

    assert render_text([block]) == "Run `lvs -a` on a_b, <b> and a`b.\n"
    assert render_blocks([block]) == "Run `lvs -a` on a\\_b, \\<b> and a\\`b.\n"
    assert draw_all([block], 2) == "<p>Run <code>lvs -a</code> on a_b, &lt;b&gt; and a`b.</p>"
