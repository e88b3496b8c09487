"""Lines of dmsetup."""

from hypothesis import given
from hypothesis import strategies as st

from stackmap.sources import dm


def test_a_device_of_several_segments():
    """Segments keep their order, and are in bytes."""
    text = "vg-lv: 0 2048 linear 8:0 7\nvg-lv: 2048 4096 linear 8:16 11\n"

    (found,) = dm.parse_segments(text).values()

    assert [(0, 2048 * 512), (2048 * 512, 4096 * 512)] == [(s.start, s.length) for s in found]
    assert [("8:0", "7"), ("8:16", "11")] == [s.words for s in found]


def test_names_lose_their_mangling():
    r"""``\x20`` is how a space stands in a name."""
    assert ["vg-my disk"] == list(dm.parse_segments("vg-my\\x20disk: 0 1 zero \n"))


def test_a_name_may_hold_a_colon():
    assert ["a:b"] == list(dm.parse_segments("a:b: 0 1 zero"))


def test_what_is_no_line_is_passed_over():
    """A device without a table, and "No devices found", give no segments."""
    assert {} == dm.parse_segments("No devices found\nempty: \n\n")


@given(st.text())
def test_any_text_is_read(text):
    """Nothing that could be printed stops the program."""
    dm.parse_segments(text)
