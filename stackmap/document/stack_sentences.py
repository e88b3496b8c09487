"""What the figures of a stack mean, in sentences."""

from __future__ import annotations

from stackmap.document.cost_sentences import MERGED, NEGLIGIBLE, costs
from stackmap.document.units import number, percent, size
from stackmap.document.wording import REQUESTS
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.ledger.parity import Parity
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE, Layout

SURPLUS = 0.05  # of the bytes written; a smaller surplus is skew between samples
EXCESS = 0.05  # of all bytes at the layer; a smaller excess is skew


def sentences(stack: StackFigures) -> list[str]:
    """Return what a write and a read cost at each layer, why, and what is unknown."""
    found = costs(stack)
    if stack.parity is None or stack.parity.reason:
        found.append(_expectation(stack))
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        found += _row_updates(stack.parity, stack.raid.layout)
        found.append(_pages(stack))
    found += [
        _excess(stack, layer, direction)
        for direction in ("read", "write")
        for layer in stack.layers[1:2]
    ]
    doubts = {f"not divided: {f.share.reason}": None for f in stack.layers if f.share.reason}
    doubts |= {f"no ratios: {f.background}": None for f in stack.layers if f.background}
    doubts |= {
        f"accounted is not 1 for {REQUESTS[direction]} at the {f.layer.word}: {why}": None
        for f in stack.layers
        for direction, why in f.diagnoses.items()
        if why and f.share.part(direction).arrivals != 0
    }
    return [sentence for sentence in found if sentence] + list(doubts)


def _expectation(stack: StackFigures) -> str:
    """Return the bytes per byte written that the layouts imply; "" if that is 1 or nothing is written."""
    if stack.layers[0].share.write.ios == 0:
        degraded = (layer.expected for layer in stack.layers[1:] if layer.expected)
        why = next((e.why for e in degraded if e.why.startswith("degraded")), "")
        return f"expected: {why}" if why else ""
    for layer in stack.layers[1:]:
        expected = layer.expected
        if expected is not None and expected.write != (1.0, 1.0):
            low, high = expected.write
            ends = f"{low:.2f}" if high == low else f"{low:.2f} or more"
            if high is not None and high != low:
                ends = f"{low:.2f} to {high:.2f}"
            why = f" ({expected.why})" if expected.why else ""
            return f"expected: {ends} bytes at the {layer.layer.word} per byte written{why}"
    return ""


def _excess(stack: StackFigures, layer: LayerFigures, direction: str) -> str:
    """Return the bytes below the top that its layout does not explain; "" if it may explain all."""
    top = stack.layers[0].share.part(direction).bytes
    below = layer.share.part(direction).bytes
    expected = layer.expected
    high = None if expected is None else getattr(expected, direction)[1]
    everything = layer.share.total.bytes
    if top is None or below is None or high is None or not everything or layer.background:
        return ""
    if direction == "write" and stack.raid is not None and _below_a_page(stack):
        return ""  # md writes whole pages
    excess = below - top * high
    if excess < EXCESS * everything:
        return ""
    return (
        f"{size(excess)}/s of the {REQUESTS[direction]} at the {layer.layer.word} did not come from "
        f"{stack.top.title}: a resync or check, or another user of the {layer.layer.word}"
    )


def _row_updates(cost: Parity, layout: Layout) -> list[str]:
    """Return how full the written stripes were, and the reads that this caused or avoided."""
    if cost.reason or cost.pages_per_row is None:
        return []
    found = [
        f"full-stripe writes: {_full_stripe_share(cost)} of bytes written",
        (
            f"on average, a row update wrote {number(cost.pages_per_row, 2)} of "
            f"{layout.data} data pages"
        ),
    ]
    if cost.cache_hit is not None and cost.cache_hit > NEGLIGIBLE:
        found.append(f"md's stripe cache avoided {percent(cost.cache_hit)} of the parity reads")
    if (cost.surplus_read_bytes_per_byte or 0.0) > SURPLUS:
        found.append(
            f"reads beyond those for parity: {percent(cost.surplus_read_bytes_per_byte)} of bytes "
            "written: stripes that filled up late, or a check during the interval"
        )
    return found


def _below_a_page(stack: StackFigures) -> bool:
    """Whether the mean write to the top is smaller than a page."""
    mean = stack.layers[0].share.write.size
    return mean is not None and mean < PAGE


def _pages(stack: StackFigures) -> str:
    """Return why the members of a parity array get 4 KiB requests, where they do."""
    members = next(
        (f for f in stack.layers[1:] if f.expected and f.expected.write != (1.0, 1.0)), None
    )
    if members is None or stack.layers[0].layer == stack.layers[-1].layer:
        return ""
    top, below = stack.layers[0].share.total.size, members.share.total.size
    if stack.layers[0].share.write.ios == 0:
        return ""
    if not below or not top or below > PAGE * MERGED or top <= PAGE * MERGED:
        return ""
    last = stack.layers[-1].share.total.size
    disks = f", {size(last)} at the disks" if last else ""
    return (
        f"4 KiB requests at the {members.layer.word} are normal: md splits writes into 4 KiB pages "
        f"(mean sizes: {size(top)} at the top, {size(below)} at the {members.layer.word}{disks})"
    )


def _full_stripe_share(cost: Parity) -> str:
    low, high = cost.full_stripe_low or 0.0, cost.full_stripe_high or 0.0
    if high <= NEGLIGIBLE:
        return "0 %"
    if low >= 1 - NEGLIGIBLE:
        return "100 %"
    if ratio(high - low, high) and high - low > NEGLIGIBLE:
        return f"{low * 100:.0f} to {high * 100:.0f} %"
    return percent(high)
