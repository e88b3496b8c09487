"""What a read and a write cost at each layer, and everything they cost at the disks, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.document.units import number, percent, size
from stackmap.document.wording import REQUEST
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.ledger.parity import Parity
from stackmap.ledger.rows import Cause
from stackmap.model.raid import Layout

NEGLIGIBLE = 0.02  # a share this close to 0 or 1 needs no sentence
SHOWN = 0.005  # a figure that rounds to 0.00 is left out
MERGED = 1.05  # coalescing from which merging is mentioned
TITLES = {
    Cause.PARITY_READ: "parity reads",
    Cause.DEGRADED: "reads for missing members or parity",
    Cause.INTEGRITY: "checksums and their journal",
    Cause.COPY_ON_WRITE: "copy-on-write",
}
WRITTEN = frozenset({Cause.DATA, Cause.PARITY})
DATA_AND_PARITY = WRITTEN | {Cause.PARITY_READ}


def costs(stack: StackFigures) -> list[str]:
    """Return what a request causes at each layer, what all of it costs at the disks, and parity's part."""
    found = [_cost_per_request(stack, direction) for direction in _directions(stack)]
    found.append(_at_disks(stack))
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        found.append(_parity(stack, stack.parity, stack.raid.title, stack.raid.layout))
    return [sentence for sentence in found if sentence]


def at_disks(stack: StackFigures) -> tuple[str, float | None, str]:
    """
    Return what the disks moved: "byte written" or "byte read", bytes per such byte, and the causes.

    Per byte written without the data that was read. None where it is unknown, or
    background work runs; the causes are "" where there is nothing but data.
    """
    cost, head = stack.cost, stack.layers[0].share
    if any(layer.background for layer in stack.layers):
        return "byte written", None, ""
    if cost.written_causes:
        return "byte written", cost.bytes_per_byte_written, _causes(cost.written_causes)
    known = "byte read" if head.write.bytes == 0 else "byte read or written"
    return known, cost.bytes_per_byte, _causes(cost.causes)


def _causes(causes: Mapping[Cause, float | None]) -> str:
    """Return the parts that can be seen: "data 1.00, parity 1.00, bitmap 0.25"; "" for data alone."""
    seen = {cause: each for cause, each in causes.items() if each is None or each >= SHOWN}
    if not seen.keys() - {Cause.DATA}:
        return ""
    return ", ".join(
        f"{TITLES.get(cause, cause)} {number(each, 2)}" for cause, each in seen.items()
    )


def _at_disks(stack: StackFigures) -> str:
    """Return everything the disks did per byte at the top; "" where that is the data alone, or unknown."""
    per, moved, causes = at_disks(stack)
    if moved is None or not causes:
        return ""
    cost = stack.cost
    low, high = cost.low, cost.high
    if per == "byte written":
        low, high = cost.written_low, cost.written_high
    mark = ", an estimate" if cost.estimated else ""
    if low is not None and high is not None:
        mark = f", an estimate between {low:.2f} and {high:.2f}"
    return f"disk bytes per {per}: {moved:.2f}{mark} ({causes})"


def _directions(stack: StackFigures) -> tuple[str, ...]:
    """Return the directions worth a sentence; that on writes includes the reads they cause."""
    top = stack.layers[0].share
    if top.read.ios is None and top.write.ios is None:
        return ("total",)
    caused = stack.cost.written_causes.get(Cause.PARITY_READ) or 0.0
    if stack.parity is not None:
        caused = stack.parity.extra_read_bytes_per_byte or caused
    return ("write",) if caused > NEGLIGIBLE else ("write", "read")


def _cost_per_request(stack: StackFigures, direction: str) -> str:
    """Return "one write causes 4.00 requests at the members (2.00 reads + 2.00 writes), …"."""
    done = stack.layers[0].share.part(direction).ios
    if not done:
        return ""
    last = stack.layers[-1]
    steps = (
        _last_step(stack, layer, direction, done)
        if layer is last
        else _step(layer, direction, done)
        for layer in stack.layers[1:]
    )
    known = list(filter(None, steps))
    if len(known) > 1 and all(each.startswith("1.00 at ") and "(" not in each for each in known):
        known = ["1.00 at each layer"]
    text = ", ".join(known).replace(" at ", " requests at ", 1)
    return f"one {REQUEST[direction]} causes {text}" if text else ""


def _last_step(stack: StackFigures, disks: LayerFigures, direction: str, done: float) -> str:
    """Return the requests at the disks, metadata included."""
    requests, everything = stack.cost.requests_per_write, stack.cost.all_requests_per_write
    known = DATA_AND_PARITY if disks.parity_reads is not None else WRITTEN
    beside = {cause: n for cause, n in requests.items() if cause not in known and n}
    if direction != "write" or everything is None or disks.background or not beside:
        return _step(disks, direction, done)
    parts = [
        f"{TITLES.get(cause, cause)} {n:.2f}"
        for cause, n in beside.items()
        if n >= NEGLIGIBLE * everything
    ]
    merged = (disks.coalescing[direction] or 1.0) >= MERGED
    mark = " (estimate)" if merged or disks.share.estimated else ""
    which = f", of which {', '.join(parts)}" if parts else ""
    return f"{everything:.2f} at the {_one(disks)} after merging{mark}{which}"


def _one(layer: LayerFigures) -> str:
    """Return the word for a layer, in the singular for one device."""
    word: str = layer.layer.word
    return word.removesuffix("s") if len(layer.layer.devices) == 1 else word


def _step(layer: LayerFigures, direction: str, done: float) -> str:
    arrivals = layer.share.part(direction).arrivals
    if arrivals is None or layer.background:
        return ""
    caused = layer.parity_reads if direction == "write" else None
    where = f"at the {_one(layer)}"
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


def _parity(stack: StackFigures, cost: Parity, title: str, layout: Layout) -> str:
    """Return what data and parity cost, unless that is all the disks do, and with full stripes."""
    if cost.reason:
        return f"parity cost of {title} is unknown: {cost.reason}"
    paid = (
        f"data and parity of {title} alone: {_cost(cost)} disk bytes per byte written "
        f"({number(cost.write_amplification, 2)} written + "
        f"{number(cost.extra_read_bytes_per_byte, 2)} read)"
    )
    if cost.pages_per_row is None:
        return f"{paid}; its rows are unknown while a member is missing"
    ideal = (
        f"full-stripe writes of {size(layout.stripe)} would cost "
        f"{cost.ideal_bytes_per_byte or 0.0:.2f}{_saving(cost)}"
    )
    per, moved, _ = at_disks(stack)
    whole = per == "byte written" and stack.cost.written_causes.keys() <= DATA_AND_PARITY
    same = moved is not None and number(moved, 2) == _cost(cost)
    return ideal if whole and same else f"{paid}; {ideal}"


def _cost(cost: Parity) -> str:
    high, low = number(cost.cost_bytes_per_byte, 2), number(cost.least_cost_bytes_per_byte, 2)
    return high if high == low else f"{low} to {high}"


def _saving(cost: Parity) -> str:
    paid, ideal = cost.cost_bytes_per_byte, cost.ideal_bytes_per_byte
    if not paid or ideal is None or paid - ideal < NEGLIGIBLE * paid:
        return ""
    return f", {percent((paid - ideal) / paid)} less"
