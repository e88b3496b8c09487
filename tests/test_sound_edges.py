"""Edges that no kernel has: they are left out, and named."""

from stackmap.discover import MAX_DEPTH, sound_edges
from stackmap.model.device import Role
from stackmap.model.topology import Edge


def edges(*pairs):
    return [Edge(above, below, Role.DATA) for above, below in pairs]


def test_sound_edges_are_all_kept():
    """A diamond is no cycle."""
    given = edges(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))

    kept, doubts = sound_edges(given)

    assert sorted(kept) == sorted(given)
    assert not doubts


def test_a_device_below_itself_is_named():
    for given in (edges(("a", "a"), ("a", "b")), edges(("a", "b"), ("b", "c"), ("c", "a"))):
        kept, doubts = sound_edges(given)

        assert len(kept) == len(given) - 1
        assert len(doubts) == 1
        assert "below itself" in doubts[0]


def test_a_stack_is_followed_for_a_hundred_levels():
    """With any order of the edges; each device stays, if only as a top of its own."""
    given = edges(*((f"d{n}", f"d{n + 1}") for n in range(1000)))

    for order in (given, given[::-1]):
        kept, doubts = sound_edges(order)

        missing = {int(edge.above[1:]) for edge in set(given) - set(kept)}
        assert missing == set(range(MAX_DEPTH, 1000, MAX_DEPTH + 1))
        assert len(doubts) == 1
