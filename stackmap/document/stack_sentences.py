"""What the figures of a stack mean, in sentences."""

from __future__ import annotations

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.parity import Parity
from stackmap.document.units import number, percent, size
from stackmap.document.wording import REQUESTS
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE, Layout

NEGLIGIBLE = 0.02  # a share this close to 0 or 1 needs no sentence
SURPLUS = 0.05  # of the bytes written; a smaller surplus is skew between samples
EXCESS = 0.05  # of all bytes at the layer; a smaller excess is skew
MERGED = 1.05  # coalescing from which merging is mentioned
SINGULAR = {"read": "read", "write": "write", "total": "request"}
PLURAL = {"read": "reads", "write": "writes"}


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
        f"accounted is not 1 for {REQUESTS[f.unbalanced]} at the {f.layer.role}: {f.diagnosis}": None
        for f in stack.layers
        if f.diagnosis
    }
    return [sentence for sentence in found if sentence] + list(doubts)


def costs(stack: StackFigures) -> list[str]:
    """Return what a request causes at each layer, and what parity costs per byte written."""
    found = [_cost_per_request(stack, direction) for direction in _directions(stack)]
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        found.append(_parity(stack.parity, stack.raid.title, stack.raid.layout))
    return [sentence for sentence in found if sentence]


def _expectation(stack: StackFigures) -> str:
    """Return the bytes per byte written that the layouts imply; "" if that is 1 or nothing is written."""
    if stack.layers[0].share.write.ios == 0:
        return ""
    for layer in stack.layers[1:]:
        expected = layer.expected
        if expected is not None and expected.write != (1.0, 1.0):
            low, high = expected.write
            ends = f"{low:.2f}" if high == low else f"{low:.2f} or more"
            if high is not None and high != low:
                ends = f"{low:.2f} to {high:.2f}"
            why = f" ({expected.why})" if expected.why else ""
            return f"expected: {ends} bytes at the {layer.layer.role} per byte written{why}"
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
    excess = below - top * high
    if excess < EXCESS * everything:
        return ""
    return (
        f"{size(excess)}/s of the {PLURAL[direction]} at the {layer.layer.role} did not come from "
        f"{stack.top.title}: a resync or check, or another user of the {layer.layer.role}"
    )


def _directions(stack: StackFigures) -> tuple[str, ...]:
    """Return the directions worth a sentence; that on writes includes the reads they cause."""
    top = stack.layers[0].share
    if top.read.ios is None and top.write.ios is None:
        return ("total",)
    caused = (
        stack.parity is not None and (stack.parity.extra_read_bytes_per_byte or 0.0) > NEGLIGIBLE
    )
    return ("write",) if caused else ("write", "read")


def _cost_per_request(stack: StackFigures, direction: str) -> str:
    """Return "one write causes 4.00 requests at the members (2.00 reads + 2.00 writes), …"."""
    done = stack.layers[0].share.part(direction).ios
    if not done:
        return ""
    steps = [text for layer in stack.layers[1:] if (text := _step(layer, direction, done))]
    return f"one {SINGULAR[direction]} causes {', '.join(steps)}" if steps else ""


def _step(layer: LayerFigures, direction: str, done: float) -> str:
    arrivals = layer.share.part(direction).arrivals
    if arrivals is None or layer.background:
        return ""
    caused = layer.parity_reads if direction == "write" else None
    where = f"requests at the {layer.layer.role}"
    coalescing, completed = layer.coalescing[direction], layer.share.part(direction).ios
    if coalescing is not None and coalescing >= MERGED and completed is not None:
        after = (completed + (0.0 if caused is None else caused.ios or 0.0)) / done
        mark = " (estimate)" if layer.share.estimated else ""
        return f"{_two_digits(after)} {where} after merging{mark}"
    each = arrivals / done
    if coalescing is None:
        where += " (before merging)"
    if caused is None or caused.arrivals is None:
        return f"{each:.2f} {where}"
    reads = caused.arrivals / done
    return f"{each + reads:.2f} {where} ({reads:.2f} reads + {each:.2f} writes)"


def _two_digits(value: float) -> str:
    """Return two significant digits: 0.065, 2.1, 14, 120."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _parity(cost: Parity, title: str, layout: Layout) -> str:
    if cost.reason:
        return f"parity cost of {title} is unknown: {cost.reason}"
    return (
        f"parity of {title}: {_cost(cost)} disk bytes per byte written "
        f"({number(cost.write_amplification, 2)} written + "
        f"{number(cost.extra_read_bytes_per_byte, 2)} read); full-stripe writes of "
        f"{size(layout.stripe)} would cost {cost.ideal_bytes_per_byte or 0.0:.2f}{_saving(cost)}"
    )


def _row_updates(cost: Parity, layout: Layout) -> list[str]:
    """Return how full the written stripes were, and the reads that this caused or avoided."""
    if cost.reason:
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


def _cost(cost: Parity) -> str:
    high, low = number(cost.cost_bytes_per_byte, 2), number(cost.least_cost_bytes_per_byte, 2)
    return high if high == low else f"{low} to {high}"


def _saving(cost: Parity) -> str:
    paid, ideal = cost.cost_bytes_per_byte, cost.ideal_bytes_per_byte
    if not paid or ideal is None or paid - ideal < NEGLIGIBLE * paid:
        return ""
    return f", {percent((paid - ideal) / paid)} less"


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
        f"4 KiB requests at the {members.layer.role} are normal: md splits writes into 4 KiB pages "
        f"(mean sizes: {size(top)} at the top, {size(below)} at the {members.layer.role}{disks})"
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
