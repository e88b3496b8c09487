"""Counters subtract; a counter that went back is reported."""

from hypothesis import given
from hypothesis import strategies as st

from stackmap.model.interval import Counters
from stackmap.model.load import Flow, Load

START = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
EARLIER = Counters(*START, in_flight=137)
GROWTH = (59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131)
LATER = Counters(*(a + b for a, b in zip(START, GROWTH, strict=True)), in_flight=139)


def test_a_load_is_growth_a_second():
    """Each counter grew by a prime of its own, in half a second; the gauge has two ends."""
    expected = Load(
        read=Flow(118, 122, 134, 142),
        write=Flow(146, 158, 166, 178),
        discard=Flow(206, 214, 218, 226),
        flush=Flow(ios=254, wait=262),
        aqu=0.202,
        busy=0.194,
        in_flight_at_ends=137 + 139,
    )

    assert expected == LATER.load_since(EARLIER, 0.5)


def test_milliseconds_wrap_at_32_bits():
    """The kernel keeps them as unsigned int: 7 before the wrap and 9 after are 16."""
    before = EARLIER._replace(write_ms=2**32 - 7)
    after = LATER._replace(write_ms=9)

    assert after.load_since(before, 1).write.wait == 16


def test_a_count_that_went_back_is_told():
    """Each count of requests, bytes or merges that is smaller marks another device, or a wrap."""
    for field in (
        "reads", "read_merges", "read_bytes", "writes", "write_merges", "write_bytes",
        "discards", "discard_merges", "discard_bytes", "flushes",
    ):  # fmt: skip
        smaller = LATER._replace(**{field: getattr(EARLIER, field) - 1})

        assert smaller.went_back_from(EARLIER)

    assert not LATER.went_back_from(EARLIER)


def test_absent_fields_stay_unknown():
    """A kernel without discards and flushes has no rate of them, not 0."""
    old = LATER._replace(discards=None, flushes=None)

    assert (Flow(), Flow()) == (
        old.load_since(EARLIER, 1).discard,
        old.load_since(EARLIER, 1).flush,
    )


@given(st.lists(st.tuples(*[st.integers(0, 2**40)] * 3), min_size=4, max_size=4))
def test_loads_of_two_spans_make_the_load_of_both(columns):
    """What was done in a second and in the next is what was done in both."""
    a, b, c = (
        Counters(x[0], 0, x[1], 0, x[2], 0, x[3], 0, 0, 0)
        for x in zip(*(sorted(t) for t in columns), strict=True)
    )
    whole = c.load_since(a, 2)
    first, second = b.load_since(a, 1), c.load_since(b, 1)

    assert whole.read.ios * 2 == first.read.ios + second.read.ios
    assert whole.write.bytes * 2 == first.write.bytes + second.write.bytes
