"""What the figures of a stack say, in sentences."""

from __future__ import annotations

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.parity import Parity
from stackmap.document.units import number, percent, size
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE, Layout

ENDS = 0.02  # a share this near to 0 or 1 is called none or all
WORDS = {"read": "reads", "write": "writes", "total": "requests"}
SURPLUS = 0.05  # of what was written; less is skew
EXCESS = 0.05  # of all bytes there; less is skew
MERGED = 1.05  # less coalescing than this is none worth a word


def findings(stack: StackFigures) -> list[str]:
    """Return the sentences below the table of *stack*: what becomes of a write and a read, and why."""
    sentences = [_becomes(stack, direction) for direction in _told(stack)]
    if stack.parity is None or stack.parity.reason:
        sentences.append(_expectation(stack))
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        sentences += _parity(stack.parity, stack.raid.title, stack.raid.layout)
        sentences.append(_pages(stack))
    sentences += [
        _excess(stack, layer, direction)
        for direction in ("read", "write")
        for layer in stack.layers[1:2]
    ]
    doubts = {f"not divided: {f.share.reason}": None for f in stack.layers if f.share.reason}
    doubts |= {f"not rated: {f.background}": None for f in stack.layers if f.background}
    doubts |= {f"closure at the {f.layer.role}: {f.doubt}": None for f in stack.layers if f.doubt}
    return [sentence for sentence in sentences if sentence] + list(doubts)


def _expectation(stack: StackFigures) -> str:
    """Return what the layouts make of a written byte, where they do not just pass it on."""
    for layer in stack.layers[1:]:
        likely = layer.expected
        if likely is not None and likely.write != (1.0, 1.0):
            least, most = likely.write
            ends = f"{least:.2f}" if most == least else f"{least:.2f} or more"
            if most is not None and most != least:
                ends = f"{least:.2f} to {most:.2f}"
            why = f" ({likely.why})" if likely.why else ""
            return f"expected: {ends} bytes at the {layer.layer.role} for a byte written{why}"
    return ""


def _excess(stack: StackFigures, layer: LayerFigures, direction: str) -> str:
    """Return what arrived just below beyond what the layout explains; nothing where it may be more."""
    above, here = stack.layers[0].share.part(direction).bytes, layer.share.part(direction).bytes
    likely = layer.expected
    most = None if likely is None else (likely.read if direction == "read" else likely.write)[1]
    everything = layer.share.total.bytes
    if above is None or here is None or most is None or not everything or layer.background:
        return ""
    excess = here - above * most
    if excess < EXCESS * everything:
        return ""
    return (
        f"{size(excess)}/s of the {WORDS[direction]} at the {layer.layer.role} did not come from "
        f"{stack.top.title}: a resync or check, or somebody else"
    )


def _told(stack: StackFigures) -> tuple[str, ...]:
    """Return the directions worth a sentence: reads that writes cause are told with the writes."""
    head = stack.layers[0].share
    if head.read.ios is None and head.write.ios is None:
        return ("total",)
    caused = stack.parity is not None and (stack.parity.extra_read_bytes_per_byte or 0.0) > ENDS
    return ("write",) if caused else ("write", "read")


def _becomes(stack: StackFigures, direction: str) -> str:
    """Return "writes: 1 becomes 4.00 at the members (2.00 reads + 2.00 writes), 2.1 at the disks …"."""
    done = stack.layers[0].share.part(direction).ios
    steps = [text for layer in stack.layers[1:] if (text := _step(layer, direction, done or 0.0))]
    if not done or not steps:
        return ""
    return f"{WORDS[direction]}: 1 becomes {', '.join(steps)}"


def _step(layer: LayerFigures, direction: str, done: float) -> str:
    arrivals = layer.share.part(direction).arrivals
    if arrivals is None or not done or layer.background:
        return ""
    caused = layer.caused if direction == "write" else None
    where = f"at the {layer.layer.role}"
    merged, completed = layer.coalescing[direction], layer.share.part(direction).ios
    if merged is not None and merged >= MERGED and completed is not None:
        after = (completed + (0.0 if caused is None else caused.ios or 0.0)) / done
        mark = " (estimate)" if layer.share.estimated else ""
        return f"{_short(after)} {where} after merging{mark}"
    here = arrivals / done
    if merged is None:
        where += ", before merging"
    if caused is None or caused.arrivals is None:
        return f"{here:.2f} {where}"
    reads = caused.arrivals / done
    return f"{here + reads:.2f} {where} ({reads:.2f} reads + {here:.2f} writes)"


def _short(value: float) -> str:
    """Return two digits that matter: 0.065, 2.1, 14, 120."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _parity(cost: Parity, title: str, layout: Layout) -> list[str]:
    if cost.reason:
        return [f"parity of {title}: cannot tell: {cost.reason}"]
    ideal = cost.ideal_bytes_per_byte or 0.0
    sentences = [
        (
            f"parity of {title}: {_cost(cost)} disk bytes a written byte "
            f"({number(cost.write_amplification, 2)} written + "
            f"{number(cost.extra_read_bytes_per_byte, 2)} read); full stripes of "
            f"{size(layout.stripe)} would cost {ideal:.2f}{_saving(cost)}"
        ),
        (
            f"full stripes: {_share(cost)} of the bytes written; a row update carried "
            f"{number(cost.pages_per_row, 2)} of {layout.data} pages"
        ),
    ]
    if cost.cache_hit is not None and cost.cache_hit > ENDS:
        sentences.append(
            f"the stripe cache spared {percent(cost.cache_hit)} of the reads those writes needed"
        )
    if (cost.surplus_read_bytes_per_byte or 0.0) > SURPLUS:
        sentences.append(
            f"{percent(cost.surplus_read_bytes_per_byte)} of the bytes written were read besides "
            "what those rows needed: stripes that filled up late, or a check that came and went"
        )
    return sentences


def _cost(cost: Parity) -> str:
    most, least = number(cost.cost_bytes_per_byte, 2), number(cost.least_cost_bytes_per_byte, 2)
    return most if most == least else f"{least} to {most}"


def _saving(cost: Parity) -> str:
    paid, ideal = cost.cost_bytes_per_byte, cost.ideal_bytes_per_byte
    if not paid or ideal is None or paid - ideal < ENDS * paid:
        return ""
    return f", {percent((paid - ideal) / paid)} less"


def _pages(stack: StackFigures) -> str:
    """Return what 4 KiB requests at the members of a parity array mean, where they show."""
    members = next(
        (f for f in stack.layers[1:] if f.expected and f.expected.write != (1.0, 1.0)), None
    )
    if members is None or stack.layers[0].layer == stack.layers[-1].layer:
        return ""
    above, here = stack.layers[0].share.total, members.share.total
    if not here.size or not above.size or here.size > PAGE * MERGED or above.size <= PAGE * MERGED:
        return ""
    below = stack.layers[-1].share.total.size
    disks = f"; the disks got {size(below)}" if below else ""
    return (
        f"the {size(here.size)} requests at the {members.layer.role} prove nothing: md cuts all that "
        f"passes its stripe cache into pages ({size(above.size)} came to the volume{disks})"
    )


def _share(cost: Parity) -> str:
    low, high = cost.full_stripe_low or 0.0, cost.full_stripe_high or 0.0
    if high <= ENDS:
        return "none"
    if low >= 1 - ENDS:
        return "all"
    if ratio(high - low, high) and high - low > ENDS:
        return f"between {low * 100:.0f} and {high * 100:.0f} %"
    return percent(high)
