"""What the figures of a stack mean, in sentences: what a request costs at each layer and at the disks, and why."""

from collections.abc import Mapping
from math import ceil, floor

from stackmap.document.wording import REQUEST, REQUESTS, number, percent, size
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.ledger.causes import Cause
from stackmap.ledger.parity import Parity
from stackmap.ledger.unknown_targets import UnknownTarget
from stackmap.ledger.wear import DAY, Years, shortest
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE, Layout

NEGLIGIBLE = 0.02  # a share this close to 0 or 1 needs no sentence
SHOWN = 0.005  # a figure that rounds to 0.00 is left out
MERGED = 1.05  # coalescing from which merging is mentioned
LONG = 100  # years; beyond, the figure says nothing
TITLES = {
    Cause.PARITY_READ: "parity reads",
    Cause.DEGRADED: "reads for missing members or parity",
    Cause.INTEGRITY: "checksums and their journal",
    Cause.COPY_ON_WRITE: "copy-on-write",
}
WRITTEN = frozenset({Cause.DATA, Cause.PARITY})
DATA_AND_PARITY = WRITTEN | {Cause.PARITY_READ}


def costs(stack: StackFigures) -> list[str]:
    """Return the cost of a request at each layer, of all requests at the disks, and of parity."""
    parts = [_cost_per_request(stack, direction) for direction in _directions(stack)]
    parts.append(_at_disks(stack))
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        parts.append(_parity(stack, stack.parity, stack.raid.title, stack.raid.layout))
    return [sentence for sentence in parts if sentence]


def at_disks(stack: StackFigures) -> tuple[str, float | None, str]:
    """
    Return "byte written" or "byte read", the disks' bytes per such byte, and their causes.

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
    seen = {cause: amount for cause, amount in causes.items() if amount is None or amount >= SHOWN}
    if not seen.keys() - {Cause.DATA}:
        return ""
    return ", ".join(
        f"{TITLES.get(cause, cause)} {number(amount, 2)}" for cause, amount in seen.items()
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
    if len(known) > 1 and all(step.startswith("1.00 at ") and "(" not in step for step in known):
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
    requests = arrivals / done
    if coalescing is None:
        where += " (before merging)"
    if caused is None or caused.arrivals is None:
        return f"{requests:.2f} {where}"
    reads = caused.arrivals / done
    return f"{requests + reads:.2f} {where} ({reads:.2f} reads + {requests:.2f} writes)"


def _two_digits(value: float) -> str:
    """Return two significant digits: 0.065, 2.1, 14, 120."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _parity(stack: StackFigures, cost: Parity, title: str, layout: Layout) -> str:
    """Return the cost of data and parity, unless that is all the disks do, and with full stripes."""
    if cost.reason:
        return f"parity cost of {title} is unknown: {cost.reason}"
    paid = (
        f"data and parity of {title} cost {_cost(cost)} disk bytes per byte written "
        f"({number(cost.write_amplification, 2)} written + "
        f"{number(cost.extra_read_bytes_per_byte, 2)} read), without bitmap and journal"
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


SURPLUS = 0.05  # of the bytes written; a smaller surplus is skew between samples
EXCESS = 0.05  # of all bytes at the layer; a smaller excess is skew


def _wear(stack: StackFigures) -> list[str]:
    """Return how long the disk that lasts the shortest lasts at this rate; [] where no disk's life is known."""
    first = shortest(stack.wear)
    if first is None:
        return []
    causes = [
        f"{TITLES.get(cause, cause)} {size(written * DAY)}"
        for cause, written in first.causes.items()
    ]
    parts = f" ({', '.join(causes)})" if len(causes) > 1 else ""
    disk, rest = stack.ledger.topology[first.disk].title, first.rest
    if not rest.low:
        rated = (
            "its rating" if rest.used is None else f"its rated life ({percent(rest.used, 0)} used)"
        )
        return [
            f"disk life: {disk} is at the end of {rated}; {size(first.bytes * DAY)} per day{parts}"
        ]
    basis = "by its rating" if rest.rated else "by its own count of wear"
    share = "a new disk" if rest.used is None else f"{percent(1 - rest.used, 0)} of its life left"
    per_day = f"{size(first.bytes * DAY)} per day{parts}"
    lasts = f"disk life: {disk} lasts {year_range(first.years)} at this rate, {per_day}"
    lines = [f"{lasts}; {share}, {basis}"]
    if first.all_years is not None and (first.all_bytes or 0.0) > MERGED * first.high:
        lines.append(
            f"disk life: with all that write to it, {disk} lasts {year_range(first.all_years)}"
        )
    return lines


def year_range(years: Years) -> str:
    """
    Return years with two digits.

    >>> year_range(Years(3.11, 3.42)), year_range(Years(0.0, 0.04)), year_range(Years(512.0, 640.0))
    ('3.1 to 3.5 years', '0.0 to 0.1 years', 'more than 100 years')
    """
    if years.low > LONG:
        return f"more than {LONG} years"
    low, high = floor(years.low * 10) / 10, ceil(years.high * 10) / 10
    if low >= 10:
        return f"{floor(years.low)} to {ceil(years.high)} years"
    return f"{low:.1f} to {high:.1f} years"


def sentences(stack: StackFigures) -> list[str]:
    """Return the cost of a write and a read at each layer, its reasons, and what is unknown."""
    remarks = costs(stack)
    if stack.parity is None or stack.parity.reason:
        remarks.append(_expectation(stack))
    if stack.parity is not None and stack.raid is not None and stack.raid.layout is not None:
        remarks += _row_updates(stack.parity, stack.raid.layout)
        remarks.append(_pages(stack))
    remarks += [
        _excess(stack, layer, direction)
        for direction in ("read", "write")
        for layer in stack.layers[1:2]
    ]
    remarks.append(_counted_pieces(stack))
    doubts = {f"not divided: {f.share.reason}": None for f in stack.layers if f.share.reason}
    doubts |= {f"no ratios: {f.background}": None for f in stack.layers if f.background}
    doubts |= {
        f"accounted is not 1 for {REQUESTS[direction]} at the {f.layer.word}: {why}": None
        for f in stack.layers
        for direction, why in f.diagnoses.items()
        if why and f.share.part(direction).arrivals != 0
    }
    inferred = [_inferred(target) for target in stack.unknown_targets]
    remarks += _wear(stack)
    return [sentence for sentence in remarks if sentence] + inferred + list(doubts)


def _counted_pieces(stack: StackFigures) -> str:
    """Return how many writes may have been sent to an array that cuts them before it counts them; "" for another top."""
    write, boundary = stack.layers[0].share.write, stack.top.queue.boundary
    if not write.is_range or not boundary:
        return ""
    low, high = (bound.arrivals for bound in write.bounds)
    return (
        f"md cuts writes to {stack.top.title} at full stripes of {size(boundary)} and counts the pieces (Linux 7.1): "
        f"{number(low, 2)} to {number(high, 2)} writes/s were sent"
    )


def _inferred(target: UnknownTarget) -> str:
    """Return a sentence on a device with an unknown target, from its counters."""
    name, why = target.device.title, f"its target {target.device.target} is unknown"
    if target.passes_on:
        return f"{name} passes requests through (estimated from counters): {why}"
    more = f"{number(target.requests, 2)} requests per request and {number(target.bytes, 2)} bytes per byte"
    return (
        f"{name} makes requests of its own (estimated from counters): {why}, "
        f"and {more} arrive at {target.below.title}"
    )


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
    remarks = [
        f"full-stripe writes: {_full_stripe_share(cost)} of bytes written",
        (
            f"on average, each parity update covered {number(cost.pages_per_row, 2)} of "
            f"{layout.data} data pages ({layout.data} is a full stripe)"
        ),
    ]
    if cost.cache_hit is not None and cost.cache_hit > NEGLIGIBLE:
        remarks.append(f"md's stripe cache avoided {percent(cost.cache_hit)} of the parity reads")
    if (cost.surplus_read_bytes_per_byte or 0.0) > SURPLUS:
        remarks.append(
            f"reads beyond those for parity: {percent(cost.surplus_read_bytes_per_byte)} of bytes "
            "written: stripes that filled up late, or a check during the interval"
        )
    return remarks


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
