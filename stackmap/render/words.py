"""What the figures of a stack say, in sentences."""

from __future__ import annotations

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.parity import Parity
from stackmap.model.load import ratio
from stackmap.model.raid import Layout
from stackmap.render.units import number, percent, size

ENDS = 0.02  # a share this near to 0 or 1 is called none or all
WORDS = {"read": "reads", "write": "writes", "total": "requests"}
SURPLUS = 0.05  # of what was written; less is skew
MERGED = 1.05  # less coalescing than this is none worth a word


def findings(stack: StackFigures) -> list[str]:
    """Return the sentences below the table of *stack*: what becomes of a write and a read, and why."""
    sentences = [_becomes(stack, direction) for direction in _told(stack)]
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        sentences += _parity(stack.parity, stack.raid.title, stack.raid.layout)
    reasons = dict.fromkeys(f.share.reason for f in stack.layers if f.share.reason)
    return [sentence for sentence in sentences if sentence] + [f"not divided: {r}" for r in reasons]


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
    steps = [
        text for layer in stack.layers[1:] if (text := _step(stack, layer, direction, done or 0.0))
    ]
    if not done or not steps:
        return ""
    return f"{WORDS[direction]}: 1 becomes {', '.join(steps)}"


def _step(stack: StackFigures, layer: LayerFigures, direction: str, done: float) -> str:
    arrivals = layer.share.part(direction).arrivals
    if arrivals is None or not done:
        return ""
    here = arrivals / done
    reads = _caused_reads(stack, layer, done) if direction == "write" else None
    where = f"at the {layer.layer.role}"
    merged = layer.coalescing[direction]
    completed = layer.share.part(direction).ios
    if merged is not None and merged >= MERGED and completed is not None:
        after = completed / done + (_caused_completions(layer, done, reads) or 0.0)
        mark = " (estimate)" if layer.share.estimated else ""
        return f"{after:.2g} {where} after merging{mark}"
    if reads is None:
        return f"{here:.2f} {where}"
    return f"{here + reads:.2f} {where} ({reads:.2f} reads + {here:.2f} writes)"


def _caused_reads(stack: StackFigures, layer: LayerFigures, done: float) -> float | None:
    """
    Return the reads at *layer* that a write caused; None where there is no parity.

    The volume's own reads are taken to pass one to one, as they do unless the
    array is degraded or misaligned (KERNEL 2.5).
    """
    if stack.parity is None or stack.parity.reason:
        return None
    own, below = stack.layers[0].share.read.ios, layer.share.read.arrivals
    if own is None or below is None:
        return None
    return max(0.0, below - own) / done


def _caused_completions(layer: LayerFigures, done: float, reads: float | None) -> float | None:
    """Return the same after merging: the caused reads' part of the reads completed there."""
    flow = layer.share.read
    if reads is None or flow.ios is None or not flow.arrivals:
        return None
    return flow.ios * (reads * done / flow.arrivals) / done


def _parity(cost: Parity, title: str, layout: Layout) -> list[str]:
    if cost.reason:
        return [f"parity of {title}: cannot tell: {cost.reason}"]
    ideal = cost.ideal_bytes_per_byte or 0.0
    sentences = [
        (
            f"parity of {title}: {number(cost.cost_bytes_per_byte, 2)} disk bytes a written byte "
            f"({number(cost.write_amplification, 2)} written + "
            f"{number(cost.extra_read_bytes_per_byte, 2)} read); full stripes of "
            f"{size(layout.stripe)} would cost {ideal:.2f}"
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


def _share(cost: Parity) -> str:
    low, high = cost.full_stripe_low or 0.0, cost.full_stripe_high or 0.0
    if high <= ENDS:
        return "none"
    if low >= 1 - ENDS:
        return "all"
    if ratio(high - low, high) and high - low > ENDS:
        return f"between {low * 100:.0f} and {high * 100:.0f} %"
    return percent(high)
