"""Nothing gets into HTML as markup that was not made as markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.render.csv import csv_line
from stackmap.render.html import data, tag, text
from stackmap.render.html.plot import ticks, time_ticks


class Read(HTMLParser):
    """What a browser would make of a piece of HTML: its elements, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.said = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes

    def handle_data(self, words):
        self.said += words


@given(st.text())
def test_a_text_stays_a_text(words):
    """Whatever a name holds, it opens no element, closes none, and ends no attribute."""
    read = Read(tag("p", words, title=words))

    assert read.tags == ["p"]
    assert [name for name, _ in read.attributes] == ["title"]
    assert read.said == read.attributes[0][1]


@pytest.mark.parametrize(
    "words", ["</script><script>alert(1)</script>", "<!--", "]]>", "\u2028", "&amp;"]
)
def test_data_ends_no_script(words):
    """JSON for the page's script is read back as it was, and nothing in it is seen by the parser."""
    element = data("k", {"name": words})
    inside = element.partition(">")[2].removesuffix("</script>")

    assert json.loads(inside) == {"name": words}
    assert not set("<>&\u2028\u2029") & set(inside)


def test_not_a_number_is_refused():
    """JSON has no NaN: it would stop the page's script."""
    with pytest.raises(ValueError, match="JSON"):
        data("k", [float("nan")])


def test_what_is_added_to_markup_is_made_markup():
    """Two elements after each other are two elements, and a text after one is a text."""
    read = Read(tag("div", tag("dt", "a") + tag("dd", "b") + "<c>"))

    assert read.tags == ["div", "dt", "dd"]
    assert read.said == "ab<c>"


def test_control_characters_are_spelled_out():
    """A name that would clear a terminal is seen as what it is."""
    assert text("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"


@given(st.floats(1e-6, 1e15))
def test_ticks_hold_the_greatest(most):
    """The marks of an axis begin at 0, end at or above the greatest value, and are not many."""
    marks = ticks(most)

    assert marks[0] == 0
    assert marks[-2] < most <= marks[-1] * (1 + 1e-6)
    assert 3 <= len(marks) <= 6


@given(st.floats(1e8, 4e9), st.floats(0.001, 86400 * 60))
def test_time_ticks_lie_between(start, long):
    """Marks of time lie between the ends, and there is room for them."""
    marks = [at for at, _ in time_ticks(start, start + long)]

    assert all(start <= at <= start + long for at in marks)
    assert len(marks) <= 10


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_csv_keeps_every_digit(value):
    """A number that is copied out of the page is the number that was measured."""
    assert float(csv_line([value])) == value


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_csv_holds_no_formula(name):
    """A spreadsheet takes a name for text."""
    assert csv_line([name]).startswith("'")
