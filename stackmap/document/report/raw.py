"""The section of raw numbers, to copy: each device, each layer, the course; as a table, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.time_series import FIGURES, Stretch
from stackmap.analysis.whatif.projection import Projection
from stackmap.document.blocks import Block, Code, Folded, Paragraph, Rows, Section, Table
from stackmap.document.report.names import known_directions
from stackmap.model.load import Load
from stackmap.model.metrics import METRICS
from stackmap.render.csv import Cell, csv
from stackmap.render.intervals import instant
from stackmap.render.iostat import cell, names
from stackmap.render.layers_json import layers_json
from stackmap.render.text import safe
from stackmap.render.whatif_json import whatif_json

LAYERS = (
    "stack", "device", "layer", "devices", "direction", "requests_per_s", "arrivals_per_s",
    "bytes_per_s", "mean_bytes", "await_ms", "iops_amplification", "byte_amplification", "shrink",
    "coalescing", "closure",
)  # fmt: skip
COURSE = ("stack", "device", "start", "seconds", "intervals", "direction")
INTRO = (
    "All digits, for a spreadsheet or a script. The JSON is what stackmap iostat --per-layer --json "
    "prints of the same intervals; stackmap-iostat(8) explains each key."
)


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return the figures of each device as a table, the rest folded."""
    blocks: list[Block] = [Paragraph(INTRO), _devices(report)]
    blocks.append(Folded("Each layer, CSV", (Code(_layers(report), "layers.csv"),)))
    if len(report.course) > 1:
        blocks.append(Folded("The load over time, CSV", (Code(_course(report), "course.csv"),)))
    blocks.append(Folded("Each layer, JSON", (Code(_json(report), "layers.json"),)))
    blocks += [
        Folded(
            f"The projection on {each.wish}, JSON",
            (Code(_projection(each.projection), f"whatif-{n}.json"),),
        )
        for n, each in enumerate(proposals)
        if each.projection is not None
    ]
    return Section("numbers", "Raw numbers", tuple(blocks))


def _projection(projection: Projection) -> str:
    return json.dumps(whatif_json(projection), indent=1)


def _devices(report: Report) -> Table:
    tops = {stack.top.name for stack in report.stacks}
    part = report.topology.subset(
        name for top in tops for name in report.topology.with_all_below(top)
    )
    metrics = [metric for metric in METRICS if not metric.extended]
    shown = [each for each in part.rows() if each[0].name in report.interval.loads]
    rows = tuple(
        (
            name,
            device.kind,
            *(cell(metric, report.interval.loads.get(device.name, Load())) for metric in metrics),
        )
        for (device, _), name in zip(shown, names(shown), strict=True)
    )
    return Table(
        "devices",
        ("Device", "Kind", *(metric.heading for metric in metrics)),
        (Rows(rows),),
        words=2,
        caption="Each device, all that was done there by whomever; columns as iostat -x has them, in KiB",
    )


def _layers(report: Report) -> str:
    rows = [
        row
        for stack in report.stacks
        for figures in stack.layers
        for direction in (*known_directions(stack.layers[0]), "total")
        if (row := _layer(stack, figures, direction))
    ]
    return csv(LAYERS, dict.fromkeys(rows))


def _layer(stack: StackFigures, figures: LayerFigures, direction: str) -> tuple[Cell, ...]:
    flow = figures.share.part(direction)
    return (
        safe(stack.top.title),
        safe(stack.top.name),
        figures.layer.role,
        safe(" ".join(figures.layer.devices)),
        direction,
        flow.ios,
        flow.arrivals,
        flow.bytes,
        flow.size,
        figures.own[direction].await_ms,
        figures.iops_amplification.get(direction),
        figures.byte_amplification.get(direction),
        figures.shrink.get(direction),
        figures.coalescing.get(direction),
        figures.closure.get(direction),
    )


def _course(report: Report) -> str:
    headings = [*COURSE]
    for figure in FIGURES:
        headings += [figure, f"{figure}_least", f"{figure}_most"]
    return csv(headings, _course_rows(report))


def _course_rows(report: Report) -> Iterator[tuple[Cell, ...]]:
    for stack in report.stacks:
        for each in report.course:
            for direction in known_directions(stack.layers[0]):
                yield (
                    safe(stack.top.title),
                    safe(stack.top.name),
                    instant(each.start) or each.interval.stamp,
                    each.interval.seconds,
                    each.count,
                    direction,
                    *_means(each, stack.top.name, direction),
                )


def _means(each: Stretch, name: str, direction: str) -> Iterator[Cell]:
    for figure in FIGURES:
        yield each.mean(name, direction, figure)
        yield from each.extremes.get((name, direction, figure), (None, None))


def _json(report: Report) -> str:
    found = layers_json(report.topology, report.stacks, report.interval, report.corrections)
    return json.dumps(found, indent=1)
