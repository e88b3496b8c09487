"""A comparison as JSON."""

from collections.abc import Iterable

from stackmap.features.compare.compare import Comparison, StackComparison
from stackmap.features.compare.comparison import FigureComparison
from stackmap.features.compare.document import METHOD, caveats, conclusions
from stackmap.features.compare.estimate import DRAWS, SEED, Estimate
from stackmap.features.compare.recording import Recording, StackRecord
from stackmap.model.reason import code_of
from stackmap.render.figures_json import layouts_json
from stackmap.render.json import layout_json

SCHEMA = "stackmap.compare/1"


def compare_json(comparison: Comparison) -> dict[str, object]:
    """Return the object of ``compare -J``."""
    return {
        "schema": SCHEMA,
        "method": {"name": METHOD, "draws": DRAWS, "seed": SEED, "level": 0.95},
        "before": _recording_json(comparison.before),
        "after": _recording_json(comparison.after),
        "apart": [{"top": top.title, "below_another": top.when} for top in comparison.unmatched],
        "stacks": [_stack_json(stack) for stack in comparison.stacks],
    }


def _recording_json(recording: Recording) -> dict[str, object]:
    return {
        "source": recording.source,
        "host": recording.topology.machine.host or None,
        "kernel": recording.topology.machine.kernel or None,
        "start": recording.start,
        "end": recording.end,
        "intervals": recording.count,
        "seconds": recording.seconds,
        "left_out": {"changed": recording.changed, "at_work": recording.at_work},
        "work": list(recording.work),
        "worked": recording.worked,
        "corrections": list(recording.corrections),
    }


def _stack_json(stack: StackComparison) -> dict[str, object]:
    batches = stack.before.recording.batch_size, stack.after.recording.batch_size
    return {
        "before": _side_json(stack.before),
        "after": _side_json(stack.after),
        "load": _figures_json(stack.load, batches),
        "ratios": _figures_json(stack.ratios, batches),
        "waits": _figures_json(stack.waits, batches),
        "comparable": stack.shared,
        "warnings": list(stack.warnings),
        "sentences": [*conclusions(stack), *caveats(stack)],
    }


def _side_json(side: StackRecord) -> dict[str, object]:
    top = side.top
    return {
        "top": top.title,
        "device": top.name,
        "size": top.size,
        "layout": layout_json((*side.raids, top)[0].layout),
        "layouts": layouts_json(side.raids),
        "layers": [
            {
                "layer": layer,
                "devices": list(side.devices.get(layer, ())),
                "reason": side.reasons.get(layer),
                "reason_code": code_of(side.reasons.get(layer)),
            }
            for layer in side.layers
        ],
    }


def _figures_json(
    figures: Iterable[FigureComparison], batches: tuple[int, int]
) -> list[dict[str, object]]:
    return [
        {
            "figure": compared.figure.key,
            "layer": compared.layer,
            "direction": compared.direction,
            "before": _estimate_json(compared.before, batches[0]),
            "after": _estimate_json(compared.after, batches[1]),
            "change": _change_json(compared),
            "reason": compared.reason or None,
            "reason_code": code_of(compared.reason),
        }
        for compared in figures
    ]


def _estimate_json(estimate: Estimate | None, batch: int) -> dict[str, object] | None:
    if estimate is None:
        return None
    known = estimate.spread or estimate.absolute
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "block": known.block * batch if known else None,
    }


def _change_json(compared: FigureComparison) -> dict[str, object] | None:
    if compared.change is None:
        return None
    return {
        "ratio": compared.change.ratio,
        "low": compared.change.low,
        "high": compared.change.high,
        "p": compared.change.chance,
        "significant": compared.significant if compared.change.chance is not None else None,
    }
