"""The figures of a report for programs: CSV and JSON, folded, each under a file name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from stackmap.document.blocks import Block, Code, Folded
from stackmap.document.interval import instant
from stackmap.document.wording import known_directions
from stackmap.features.report.figures import Report
from stackmap.features.report.proposals import Proposal
from stackmap.features.whatif.json import whatif_json
from stackmap.ledger.amplification import LAYER_METRICS, LayerFigures, StackFigures
from stackmap.ledger.time_series import FIGURES, Stretch
from stackmap.render.csv import Plain, csv_line
from stackmap.render.figures_json import layers_json

LAYERS = ("stack", "device", "layer", "devices", "direction", *(m.key for m in LAYER_METRICS))
SERIES = ("stack", "device", "start", "seconds", "intervals", "direction")


def report_data(report: Report, proposals: tuple[Proposal, ...]) -> tuple[Block, ...]:
    """Return the figures of layers, of the time series if there is one, and of the projections."""
    layers = layers_json(report.stacks, report.interval)
    parts = [("Each layer, CSV", "layers.csv", _layers(report))]
    if len(report.course) > 1:
        parts.append(("The load over time, CSV", "course.csv", _series(report)))
    parts.append(("Each layer, JSON", "layers.json", json.dumps(layers, indent=1)))
    parts += [
        (
            f"The projection on {each.wish}, JSON",
            f"whatif-{n}.json",
            json.dumps(whatif_json([each.projection]), indent=1),
        )
        for n, each in enumerate(proposals)
        if each.projection is not None
    ]
    return tuple(Folded(title, (Code(text, name),)) for title, name, text in parts)


def _layers(report: Report) -> str:
    rows = (
        _layer(stack, figures, direction)
        for stack in report.stacks
        for figures in stack.layers
        for direction in (*known_directions(stack.layers[0]), "total")
    )
    return _csv(LAYERS, dict.fromkeys(rows))


def _layer(stack: StackFigures, figures: LayerFigures, direction: str) -> tuple[Plain, ...]:
    return (
        stack.top.title,
        stack.top.name,
        figures.layer.role,
        " ".join(figures.layer.devices),
        direction,
        *(metric.value(figures, direction) for metric in LAYER_METRICS),
    )


def _series(report: Report) -> str:
    headings = [*SERIES]
    for figure in FIGURES:
        headings += [figure, f"{figure}_least", f"{figure}_most"]
    return _csv(headings, _series_rows(report))


def _series_rows(report: Report) -> Iterator[tuple[Plain, ...]]:
    for stack in report.stacks:
        for each in report.course:
            for direction in known_directions(stack.layers[0]):
                yield (
                    stack.top.title,
                    stack.top.name,
                    instant(each.start) or each.interval.stamp,
                    each.interval.seconds,
                    each.count,
                    direction,
                    *_means(each, stack.top.name, direction),
                )


def _means(each: Stretch, name: str, direction: str) -> Iterator[Plain]:
    for figure in FIGURES:
        yield each.mean(name, direction, figure)
        yield from each.extremes.get((name, direction, figure), (None, None))


def _csv(headings: Sequence[str], rows: Iterable[Sequence[Plain]]) -> str:
    return "".join(f"{csv_line(row)}\n" for row in (headings, *rows))
