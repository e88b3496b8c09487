"""A reason is text for people that carries a code for programs."""

from stackmap.model.reason import Reason, code_of


def test_a_reason_is_its_words():
    """Sentences and JSON have the words; only ``code_of`` sees the code."""
    reason = Reason("shared", "sda serves several volumes")

    assert (reason, f"{reason}.") == ("sda serves several volumes", "sda serves several volumes.")
    assert code_of(reason) == "shared"


def test_without_a_reason_there_is_no_code():
    assert (code_of(""), code_of(None)) == (None, None)
