"""The object of ``trace -J``: ``stackmap.trace/1``."""

from collections.abc import Iterable

from stackmap.features.trace.figures import (
    PERCENTILES,
    Distribution,
    Requests,
    RowUpdates,
    TracedLayer,
    TracedStack,
)
from stackmap.features.trace.record import BOTH, READ, WRITE, Trace
from stackmap.model.reason import code_of

SCHEMA = "stackmap.trace/1"
MICROSECOND = 1000


def trace_json(stacks: Iterable[TracedStack], trace: Trace) -> dict[str, object]:
    """Return the object; times in microseconds, sizes in bytes."""
    record = trace.record
    added = None if record.added is None else [seconds * 1e6 for seconds in record.added]
    return {
        "schema": SCHEMA,
        "seconds": trace.seconds,
        "overhead": record.overhead,
        "overhead_peak": record.peak,
        "overhead_us": added and dict(zip(("layer", "disk"), added, strict=True)),
        "lost": {"hits": record.missed, "events": trace.dropped},
        "sources": list(record.sources),
        "notes": list(record.notes),
        "stacks": [_stack(stack) for stack in stacks],
        "cgroups": None,  # blame --trace counts these
        "processes": None,
    }


def _stack(stack: TracedStack) -> dict[str, object]:
    return {
        "top": stack.top.title,
        "device": stack.top.name,
        "layers": [_layer(layer) for layer in stack.layers],
        "parity": None if stack.rows is None else _rows(stack.rows, stack),
        "over_time": {
            direction: [distribution_json(part, MICROSECOND) for part in parts]
            for direction, parts in stack.over_time.items()
        },
    }


def _layer(layer: TracedLayer) -> dict[str, object]:
    keys = {
        "role": layer.layer.role,
        "devices": list(layer.layer.devices),
        **_directions(layer.requests),
    }
    if len(layer.devices) > 1:
        keys["by_device"] = {name: _directions(parts) for name, parts in layer.devices.items()}
    return keys


def _directions(requests: dict[str, Requests]) -> dict[str, object]:
    keys: dict[str, object] = {way: _requests(requests.get(way)) for way in (READ, WRITE)}
    if BOTH in requests:
        keys[BOTH] = _requests(requests[BOTH])
    return keys


def _requests(requests: Requests | None) -> dict[str, object] | None:
    if requests is None:
        return None
    return {
        "count": requests.arrived,
        "latency_us": distribution_json(requests.latency, MICROSECOND),
        "queue_to_dispatch_us": distribution_json(requests.queued, MICROSECOND),
        "dispatch_to_complete_us": distribution_json(requests.served, MICROSECOND),
        "size_bytes": distribution_json(requests.size, 1),
        "dispatched_bytes": distribution_json(requests.dispatched, 1),
        "sequential": requests.sequential,
        "withheld": requests.withheld or None,
        "withheld_code": code_of(requests.withheld),
    }


def distribution_json(distribution: Distribution, unit: int) -> dict[str, object] | None:
    """Return percentiles and the histogram, in *unit*; a percentile in a wide bucket is null, its range beside it."""
    if not distribution.count:
        return None
    figures = {name: distribution.percentile(share) for name, share in PERCENTILES.items()}
    figures["max"] = distribution.max
    return {
        **{
            name: figure.middle / unit if figure is not None and figure.exact else None
            for name, figure in figures.items()
        },
        "ranges": {
            name: [figure.low / unit, figure.high / unit]
            for name, figure in figures.items()
            if figure is not None and not figure.exact
        },
        "histogram": [
            [low / unit, (high if high - low > 1 else low) / unit, n]
            for (low, high), n in distribution.counts.items()
        ],
    }


def _rows(rows: RowUpdates, stack: TracedStack) -> dict[str, object]:
    parity = stack.parity
    return {
        "device": rows.device.name,
        "rows": {
            "full": rows.full,
            "reconstruct": rows.reconstruct,
            "read_modify": rows.read_modify,
        },
        "by_pages": {str(pages): count for pages, count in rows.by_pages.items()},
        "full_stripe_share": rows.full_share,
        "self_check": rows.self_check,
        "counters": None
        if parity is None
        else {"low": parity.full_stripe_low, "high": parity.full_stripe_high},
        "reason": rows.reason or rows.doubt or None,
        "reason_code": code_of(rows.reason or rows.doubt),
    }
