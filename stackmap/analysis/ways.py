"""
What of a device's traffic goes down each of several ways, where one table spans several devices.

No counter says. A guess divides by the length of the segments; but no more can
have gone down a way than arrived there beyond what others sent, and no less
than what the other ways had no room for. So each part has a range, which is a
point where nobody else used the devices below. The guesses sum to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stackmap.analysis.share import Amount, Portion
from stackmap.model.load import ratio
from stackmap.model.topology import Edge, Topology

# By way down, the requests and bytes that arrived there and can have come this way; None if unknown.
Rooms = Mapping[str, Amount]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a whole: the best guess, and what it is at least and at most."""

    guess: float | None = None
    least: float | None = None
    most: float | None = None


NO_PART = Part()


def ways(topology: Topology, edge: Edge) -> frozenset[str]:
    """Return the devices that the one above *edge* spreads such traffic over."""
    return frozenset(other.below for other in _beside(topology, edge))


def divides(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* spreads its traffic over several ways down."""
    return len(ways(topology, edge)) > 1


def down(
    topology: Topology, edge: Edge, portion: Portion, whole: Portion, rooms: Callable[[], Rooms]
) -> Portion:
    """
    Return what of *portion* went down *edge*, with its range if that is not known.

    *portion* is some or all of the *whole* that the device above passed on. Of
    several segments on one device each has its part, by length.
    """
    if not divides(topology, edge):
        return portion.times(_segment(topology, edge))
    there, (low, high) = rooms(), portion.ends
    lengths, segment = _lengths(topology, edge), _segment(topology, edge)

    def part(what: str) -> Part:
        """Return the part of the requests ("arrivals") or of the bytes."""
        total, mine = getattr(whole, what), getattr(portion, what)
        if total is None or mine is None:
            return NO_PART
        room = {way: getattr(amount, what) for way, amount in there.items()}
        here = divided(total, lengths, room)[edge.below]
        return _of_mine(here, total, mine, (getattr(low, what), getattr(high, what)), segment)

    requests, moved = part("arrivals"), part("bytes")
    factor = ratio(requests.guess, portion.arrivals) or 0.0
    return Portion(
        requests.guess,
        None if portion.ios is None else portion.ios * factor,
        moved.guess,
        None if portion.wait is None else portion.wait * factor,
        least=Amount(requests.least, moved.least),
        most=Amount(requests.most, moved.most),
    )


def divided(
    total: float, lengths: Mapping[str, float], rooms: Mapping[str, float | None]
) -> dict[str, Part]:
    """Return the parts of *total*, by way: by length as far as there is room."""
    most = {way: total if room is None else min(total, room) for way, room in rooms.items()}
    everywhere = sum(most.values())
    least = {way: max(0.0, total - (everywhere - most[way])) for way in most}
    # Counters are not read at one instant: a little less may have arrived than was sent.
    ends = {way: sorted((least[way], most[way])) for way in most}
    guess = {way: min(max(total * lengths[way], low), high) for way, (low, high) in ends.items()}
    left = total - sum(guess.values())
    slack = {
        w: (high - guess[w] if left > 0 else guess[w] - low) for w, (low, high) in ends.items()
    }
    free = sum(slack.values())
    for way in guess:
        guess[way] += left * (slack[way] / free if free > 0 else lengths[way])
    return {way: Part(guess[way], *ends[way]) for way in guess}


def _of_mine(
    part: Part, total: float, mine: float, ends: tuple[float | None, float | None], segment: float
) -> Part:
    """
    Return what of *mine*, some of *total*, went where *part* of all did.

    *mine* lies between *ends*; *segment*: what this edge has of its way.
    """
    low, high = (mine if end is None else end for end in ends)
    guess, least, most = part.guess or 0.0, part.least or 0.0, part.most or 0.0
    return Part(
        guess * mine / total * segment if total else 0.0,
        max(0.0, least - (total - low)) * segment,
        min(high, most) * segment,
    )


def _beside(topology: Topology, edge: Edge) -> list[Edge]:
    return [other for other in topology.below(edge.above) if other.role is edge.role]


def _lengths(topology: Topology, edge: Edge) -> dict[str, float]:
    """Return the part of the device above that lies on each way; equal parts where nothing says."""
    beside = _beside(topology, edge)
    lengths = dict.fromkeys((other.below for other in beside), 0.0)
    known = all(other.length is not None for other in beside)
    for other in beside:
        lengths[other.below] += (other.length or 0) if known else 1.0
    total = sum(lengths.values())
    return {way: length / total if total else 1 / len(lengths) for way, length in lengths.items()}


def _segment(topology: Topology, edge: Edge) -> float:
    """Return what *edge* has of its way: all, but where several segments lie on one device."""
    same = [other for other in _beside(topology, edge) if other.below == edge.below]
    if len(same) == 1:
        return 1.0
    lengths = [other.length or 0 for other in same]
    total = sum(lengths)
    return (edge.length or 0) / total if total else 1 / len(same)
