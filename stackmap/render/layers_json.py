"""The object of ``iostat --per-layer -J``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from stackmap.document.stack_sentences import sentences
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.ledger.layer_metrics import LAYER_METRICS
from stackmap.model.dm_targets import Expected
from stackmap.model.interval import Interval
from stackmap.model.load import DIRECTIONS
from stackmap.render.json import interval_json, layout_json, range_json

if TYPE_CHECKING:
    from stackmap.ledger.parity import Parity
    from stackmap.model.device import Device

SCHEMA = "stackmap.layers/1"


def layers_json(stacks: Iterable[StackFigures], interval: Interval) -> dict[str, object]:
    """Return *stacks* as one object."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "stacks": [_stack(stack) for stack in stacks],
        "corrections": list(interval.corrections),
    }


def _stack(stack: StackFigures) -> dict[str, object]:
    top = stack.top
    return {
        "top": top.title,
        "device": top.name,
        "layout": layout_json(top.layout),
        "layouts": layouts_json(stack.spreading),
        "layers": [_layer(figures) for figures in stack.layers],
        "parity": _parity_json(stack.parity, stack.requests_per_write),
        "disk_bytes_per_byte": stack.cost.bytes_per_byte,
        "disk_bytes_per_byte_range": (
            None if stack.cost.low is None else [stack.cost.low, stack.cost.high]
        ),
        "disk_bytes_per_byte_written": stack.cost.bytes_per_byte_written,
        "causes": {str(cause): each for cause, each in stack.cost.causes.items()},
        "estimated": stack.cost.estimated,
        "disk_requests_per_write": stack.cost.all_requests_per_write,
        "findings": sentences(stack),
    }


def layouts_json(devices: Iterable[Device]) -> list[dict[str, object]]:
    """Return the layouts of *devices*, with the device of each."""
    return [
        {"of": device.title, "device": device.name, "layout": layout_json(device.layout)}
        for device in devices
    ]


def _layer(figures: LayerFigures) -> dict[str, object]:
    found = _metrics(figures)
    return {
        "role": figures.layer.role,
        "devices": list(figures.layer.devices),
        "metadata": list(figures.layer.metadata),
        **{d: found[d] for d in DIRECTIONS},
        "metadata_io": {
            d: {"iops": flow.ios, "arrivals": flow.arrivals, "bytes": flow.bytes}
            for d in DIRECTIONS
            for flow in [figures.metadata[d]]
        },
        "aqu": figures.aqu,
        "amplification": found["amplification"],
        "expected": _expected(figures.expected),
        "coalescing": found["coalescing"],
        "closure": found["closure"],
        "doubt": figures.diagnosis or None,
        "estimated": figures.share.estimated,
        "reason": figures.share.reason or figures.background or None,
    }


def _metrics(figures: LayerFigures) -> dict[str, Any]:
    """Return each of ``LAYER_METRICS`` in each direction, under its path; merges and ranges beside them."""
    found: dict[str, Any] = {}
    for direction in DIRECTIONS:
        for metric in LAYER_METRICS:
            *path, key = metric.path.format(direction).split(".")
            place = found
            for each in path:
                place = place.setdefault(each, {})
            place[key] = metric.value(figures, direction)
        found[direction]["merged"] = figures.own[direction].merges
        found[direction]["range"] = range_json(figures.share.part(direction))
    return found


def _expected(likely: Expected | None) -> dict[str, object] | None:
    if likely is None:
        return None
    return {"bytes": {"read": list(likely.read), "write": list(likely.write)}, "why": likely.why}


def _parity_json(cost: Parity | None, requests: float | None) -> Mapping[str, object] | None:
    if cost is None:
        return None
    figures = asdict(cost)
    low, high = figures.pop("full_stripe_low"), figures.pop("full_stripe_high")
    writes, reads = figures.pop("one_page_by_writes"), figures.pop("one_page_by_reads")
    return {
        **figures,
        "cost_requests_per_request": requests,
        "full_stripe": {"low": low, "high": high},
        "one_page_share": {"by_writes": writes, "by_reads": reads},
        "reason": cost.reason or None,
    }
