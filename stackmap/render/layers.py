"""The figures of a stack, layer by layer: as a table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.model.interval import Interval
from stackmap.model.load import Flow
from stackmap.render.table import table
from stackmap.render.text import safe
from stackmap.render.units import kib, number, rate
from stackmap.render.words import findings

if TYPE_CHECKING:
    from stackmap.analysis.parity import Parity
    from stackmap.model.raid import Layout

SCHEMA = "stackmap.layers/1"
HEADINGS = (
    "", "LAYER", "DEV", "r|w/s", "KiB/s", "KiB", "await",
    "xIOPS", "xBYTES", "SHRINK", "COALESCE", "CLOSURE",
)  # fmt: skip


def layers_table(stack: StackFigures, interval: Interval, *, heading: bool = True) -> str:
    """Return the table of one stack with its finding below, and what was done to the counters above."""
    top = stack.top
    name = top.title if top.title == top.name else f"{top.title} ({top.name})"
    title = "  ".join(filter(None, (safe(name), _layout(top.layout), span(interval))))
    known = [d for d in ("read", "write") if stack.layers[0].share.flow(d).ios is not None]
    rows = [row for d in known or ["total"] for row in _rows(stack, d)]
    if not rows:
        return f"{title}\nno I/O in this interval\n"
    lines = [title] if heading else []
    lines.append(table(HEADINGS, rows, words=2, heading=heading))
    lines += [safe(sentence) for sentence in findings(stack)]
    return "\n".join(lines) + "\n"


def layers_json(
    stacks: Iterable[StackFigures], interval: Interval, corrections: Sequence[str]
) -> dict[str, object]:
    """Return the object of ``iostat --per-layer -J``."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "stacks": [_stack(stack) for stack in stacks],
        "corrections": list(corrections),
    }


def interval_json(interval: Interval) -> dict[str, object]:
    """Return what every object about an interval says of it."""
    return {
        "time": _time(interval),
        "seconds": interval.seconds,
        "since_boot": interval.since_boot,
        "events": list(interval.events),
        "notes": list(interval.notes),
    }


def _rows(stack: StackFigures, direction: str) -> list[tuple[str, ...]]:
    """Return a row a layer, with one below it for its metadata; none where nothing moved."""
    if not any(f.own[direction].ios or f.own[direction].bytes for f in stack.layers):
        return []
    label = direction
    rows = []
    for figures in stack.layers:
        rows.append((label, *_row(figures, direction)))
        label = ""
        if figures.layer.metadata and figures.metadata[direction].ios:
            rows.append(("", *_metadata_row(figures, direction)))
    return rows


def _row(figures: LayerFigures, direction: str) -> tuple[str, ...]:
    flow, own = figures.share.flow(direction), figures.own[direction]
    mark = "~" if figures.share.estimated and flow.merges and own.merges else ""
    return (
        figures.layer.role,
        str(len(figures.layer.devices)),
        mark + rate(flow.ios),
        kib(flow.bytes),
        kib(flow.size),
        number(own.await_ms, 2),
        *(
            number(ratios[direction], digits)
            for ratios, digits in (
                (figures.iops_amplification, 2),
                (figures.byte_amplification, 3),
                (figures.shrink, 2),
                (figures.coalescing, 2),
                (figures.closure, 3),
            )
        ),
    )


def _metadata_row(figures: LayerFigures, direction: str) -> tuple[str, ...]:
    flow = figures.metadata[direction]
    return (
        "  metadata",
        str(len(figures.layer.metadata)),
        rate(flow.ios),
        kib(flow.bytes),
        kib(flow.size),
        number(flow.await_ms, 2),
        *[""] * 5,
    )


def _layout(layout: Layout | None) -> str:
    if layout is None:
        return ""
    return f"{layout}, {kib(layout.chunk, 0)} KiB chunk" if layout.chunk else str(layout)


def span(interval: Interval) -> str:
    """Return what a reader must know of the interval, "" where there is nothing."""
    parts = [interval.stamp] if interval.stamp else []
    if interval.since_boot:
        parts.append("averages since boot, not a current rate")
    if interval.seconds:
        parts.append(f"{interval.seconds:.1f} s")
    return ", ".join(parts)


def _time(interval: Interval) -> str | None:
    if interval.time is None:
        return interval.stamp or None
    return datetime.fromtimestamp(interval.time, UTC).isoformat().replace("+00:00", "Z")


def _stack(stack: StackFigures) -> dict[str, object]:
    top = stack.top
    return {
        "top": top.title,
        "device": top.name,
        "layout": layout_json(top.layout),
        "layers": [_layer(figures) for figures in stack.layers],
        "parity": _parity_json(stack.parity),
        "findings": findings(stack),
    }


def layout_json(layout: Layout | None) -> dict[str, object] | None:
    """Return a layout under the contract's keys."""
    if layout is None:
        return None
    keys = ("level", "members", "data", "parity", "copies", "chunk")
    return {key: getattr(layout, key) for key in keys}


def _layer(figures: LayerFigures) -> dict[str, object]:
    return {
        "role": figures.layer.role,
        "devices": list(figures.layer.devices),
        "metadata": list(figures.layer.metadata),
        **{d: _flow(figures, d) for d in ("read", "write", "total")},
        "metadata_io": {d: _plain(figures.metadata[d]) for d in ("read", "write", "total")},
        "aqu": figures.aqu,
        "amplification": {
            "iops": dict(figures.iops_amplification),
            "bytes": dict(figures.byte_amplification),
            "shrink": dict(figures.shrink),
        },
        "coalescing": dict(figures.coalescing),
        "closure": dict(figures.closure),
        "estimated": figures.share.estimated,
        "reason": figures.share.reason or None,
    }


def _flow(figures: LayerFigures, direction: str) -> dict[str, object]:
    flow, own = figures.share.flow(direction), figures.own[direction]
    return {
        "iops": flow.ios,
        "arrivals": flow.arrivals,
        "bytes": flow.bytes,
        "size": flow.size,
        "await": own.await_ms,
        "merged": own.merges,
    }


def _plain(flow: Flow) -> dict[str, object]:
    return {"iops": flow.ios, "arrivals": flow.arrivals, "bytes": flow.bytes}


def _parity_json(cost: Parity | None) -> Mapping[str, object] | None:
    if cost is None:
        return None
    figures = asdict(cost)
    low, high = figures.pop("full_stripe_low"), figures.pop("full_stripe_high")
    writes, reads = figures.pop("one_page_by_writes"), figures.pop("one_page_by_reads")
    return {
        **figures,
        "full_stripe": {"low": low, "high": high},
        "one_page_share": {"by_writes": writes, "by_reads": reads},
        "reason": cost.reason or None,
    }
