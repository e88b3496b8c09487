"""The objects of iostat, iostat --per-layer, blame, explain and check as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from stackmap.document.blame import BlameReport, source_name, users
from stackmap.document.episodes import episodes_json, first_line
from stackmap.document.rule_words import filled, has_to_wait, heading, what_to_do_first, words_of
from stackmap.document.sentences import sentences
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.amplification import LAYER_METRICS, LayerFigures, StackFigures
from stackmap.ledger.blame import Blame, Loader, Target
from stackmap.ledger.parity import Parity
from stackmap.ledger.unknown_targets import UnknownTarget
from stackmap.ledger.wear import DAY, DiskWear
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.device import Device
from stackmap.model.health import Health
from stackmap.model.interval import Interval
from stackmap.model.load import DIRECTIONS
from stackmap.model.topology import Topology
from stackmap.render.json import interval_json, layout_json, range_json, reason_json
from stackmap.render.text import safe
from stackmap.rules.decision import Decision, Judged
from stackmap.rules.rule import Finding, Severity
from stackmap.rules.unjudged import Unjudged


def layers_json(stacks: Iterable[StackFigures], interval: Interval) -> dict[str, object]:
    """Return *stacks* as one object."""
    return {
        "schema": "stackmap.layers/1",
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
        "causes": {str(cause): size for cause, size in stack.cost.causes.items()},
        "estimated": stack.cost.estimated,
        "disk_requests_per_write": stack.cost.all_requests_per_write,
        "unknown_targets": [_unknown_target(target) for target in stack.unknown_targets],
        "wear": [_wear(stack, disk) for disk in stack.wear],
        "findings": sentences(stack),
    }


def _wear(stack: StackFigures, disk: DiskWear) -> dict[str, object]:
    return {
        "device": disk.disk,
        "label": stack.ledger.topology[disk.disk].title,
        "bytes_per_day": disk.bytes * DAY,
        "bytes_per_day_range": [disk.low * DAY, disk.high * DAY],
        "causes": {str(cause): size * DAY for cause, size in disk.causes.items()},
        "used": disk.rest.used,
        "bytes_left": [disk.rest.low, disk.rest.high],
        "rated": disk.rest.rated,
        "years": list(disk.years),
        "all_bytes_per_day": disk.all_bytes and disk.all_bytes * DAY,
        "all_years": disk.all_years and list(disk.all_years),
    }


def _unknown_target(target: UnknownTarget) -> dict[str, object]:
    return {
        "device": target.device.name,
        "label": target.device.title,
        "target": target.device.target,
        "below": target.below.name,
        "passes_on": target.passes_on,
        "requests_per_request": target.requests,
        "bytes_per_byte": target.bytes,
        "estimated": True,
    }


def layouts_json(devices: Iterable[Device]) -> list[dict[str, object]]:
    """Return the layouts of *devices*, with the device of each."""
    return [
        {"of": device.title, "device": device.name, "layout": layout_json(device.layout)}
        for device in devices
    ]


def _layer(figures: LayerFigures) -> dict[str, object]:
    metrics, likely = _metrics(figures), figures.expected
    return {
        "role": figures.layer.role,
        "devices": list(figures.layer.devices),
        "metadata": list(figures.layer.metadata),
        **{d: metrics[d] for d in DIRECTIONS},
        "metadata_io": {
            d: {"iops": flow.ios, "arrivals": flow.arrivals, "bytes": flow.bytes}
            for d in DIRECTIONS
            for flow in [figures.metadata[d]]
        },
        "aqu": figures.aqu,
        "amplification": metrics["amplification"],
        "expected": likely
        and {
            "bytes": {"read": list(likely.read), "write": list(likely.write)},
            "why": likely.why,
        },
        "coalescing": metrics["coalescing"],
        "closure": metrics["closure"],
        "doubt": figures.diagnosis or None,
        "estimated": figures.share.estimated,
        **reason_json(figures.share.reason or figures.background),
    }


def _metrics(figures: LayerFigures) -> dict[str, Any]:
    """Return each of ``LAYER_METRICS`` in each direction, under its path; merges and ranges beside them."""
    metrics: dict[str, Any] = {}
    for direction in DIRECTIONS:
        for metric in LAYER_METRICS:
            *path, key = metric.path.format(direction).split(".")
            place = metrics
            for part in path:
                place = place.setdefault(part, {})
            place[key] = metric.value(figures, direction)
        metrics[direction]["merged"] = figures.own[direction].merges
        metrics[direction]["range"] = range_json(figures.share.part(direction))
    return metrics


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
        **reason_json(cost.reason),
    }


def blame_json(report: BlameReport) -> dict[str, object]:
    """Return the sources of each disk's load and the disks of each volume as one object."""
    topology, groups = report.topology, report.groups
    return {
        "schema": "stackmap.blame/1",
        **interval_json(report.interval),
        "corrections": list(report.interval.corrections),
        "devices": [_disk(topology, blamed, groups) for blamed in report.blamed],
        "groups": [
            {
                "group": group.group,
                "number": group.number,
                "iops": group.ios,
                "bytes": group.bytes,
                "waited": group.waited,
            }
            for group in groups
        ],
        "process_io": [
            {
                "pid": int(process.pid),
                "name": process.name,
                "group": process.group or None,
                "read": process.read,
                "written": process.written,
            }
            for process in report.processes
        ],
        "volumes": [
            {
                "device": top,
                "label": topology[top].title,
                "loads": [_target(target) for target in targets],
            }
            for top, targets in report.loading
        ],
    }


def _disk(topology: Topology, blame: Blame, groups: Sequence[CgroupLoad]) -> dict[str, object]:
    return {
        "device": blame.device,
        "label": topology[blame.device].title,
        "closure": blame.accounted,
        "loaders": [_loader(topology, blame, loader, groups) for loader in blame.loaders],
        "unseen": [source_name(topology, loader) for loader in blame.unseen],
    }


def _loader(
    topology: Topology, blame: Blame, loader: Loader, groups: Sequence[CgroupLoad]
) -> dict[str, object]:
    return {
        "name": source_name(topology, loader),
        "tops": list(loader.tops),
        "through": loader.through or None,
        "metadata": loader.metadata,
        "uses": users(topology, loader, groups, every=True),
        "request_share": blame.share(loader),
        "byte_share": blame.byte_share(loader),
        **{kind: _portion(part) for kind, part in loader.parts.items()},
        "estimated": loader.estimated,
    }


def _target(target: Target) -> dict[str, object]:
    return {
        "device": target.device,
        **_portion(target.part),
        "of_volume": target.of_volume,
        "of_device": target.of_device,
        "estimated": target.estimated,
    }


def _portion(part: Traffic) -> dict[str, object]:
    return {"arrivals": part.arrivals, "bytes": part.bytes, "range": range_json(part)}


def explain_json(judged: Judged) -> dict[str, object]:
    """Return the decision, the findings and what could not be judged as one object."""
    context, open_questions = judged.context, judged.open_questions
    topology = context.topology
    return {
        "schema": "stackmap.explain/1",
        **interval_json(context.interval),
        "pressure": None if context.stalled is None else context.stalled._asdict(),
        "decision": {
            **decision_json(topology, judged.decide(), open_questions),
            "first": safe(first_line(judged)),
        },
        "episodes": episodes_json(topology, judged.times) if judged.times else [],
        "episodes_found": judged.times.total if judged.times else None,
        "findings": [
            {
                **_finding(topology, finding),
                "outcome": str(finding.rule.outcome),
                "load": finding.rule.needs_load,
                "peers": list(finding.peers),
                "title": safe(heading(topology, finding)),
                **_texts(topology, finding, {"sentence": finding.rule.sentence}),
                "evidence": _evidence(finding),
                **_texts(
                    topology,
                    finding,
                    {"against": finding.rule.caveat, "advice": finding.rule.advice},
                ),
                "source": finding.rule.source,
            }
            for finding in judged.ordered
        ],
        "not_judged": [
            {
                "question": question.question.subject,
                "device": question.observed.device or None,
                "reason": safe(filled(question.question.reason, words)),
                "reason_code": question.code,
                "advice": question.question.advice,
            }
            for question in open_questions
            for words in [words_of(topology, question.observed)]
        ],
    }


def decision_json(
    topology: Topology, decision: Decision, open_questions: Sequence[Unjudged] = ()
) -> dict[str, object]:
    """Return the first step and its cause, then the other causes; ``waits``: whether one has to wait for it."""
    first, *then = decision.causes or (None,)
    return {
        "first": safe(what_to_do_first(topology, decision, open_questions)),
        "why": None if first is None else _cause(first),
        "then": [
            {**_cause(finding), "waits": has_to_wait(topology, decision, finding)}
            for finding in then
            if finding is not None
        ],
        "before_layout": [_cause(finding) for finding in decision.before_layout],
    }


def _cause(finding: Finding) -> dict[str, object]:
    outcome = str(finding.rule.outcome)
    return {"id": finding.rule.id, "device": finding.device or None, "outcome": outcome}


def check_json(
    topology: Topology, findings: Iterable[Finding], health: Mapping[str, Health]
) -> dict[str, object]:
    """Return the *findings* of ``check`` as one object, with the *health* of the disks that were asked."""
    return {
        "schema": "stackmap.check/1",
        "health": [
            {"device": name, **answer._asdict(), "unknown": safe(answer.unknown) or None}
            for name, answer in health.items()
        ],
        "checks": [
            {
                **_finding(topology, finding),
                **({"severity": "ok"} if finding.severity is Severity.GOOD else {}),
                **_texts(
                    topology, finding, {"is": finding.sentence, "should": finding.rule.expected}
                ),
                **_texts(
                    topology, finding, {"why": finding.rule.reason, "advice": finding.rule.advice}
                ),
                "evidence": _evidence(finding),
            }
            for finding in findings
        ],
    }


def _finding(topology: Topology, finding: Finding) -> dict[str, object]:
    device = finding.device
    return {
        "id": finding.rule.id,
        "name": finding.rule.name,
        "severity": str(finding.severity),
        "device": device or None,
        "label": topology[device].title if device in topology else device or None,
    }


def _texts(topology: Topology, finding: Finding, templates: dict[str, str]) -> dict[str, str]:
    words = words_of(topology, finding.observed)
    return {key: safe(filled(template, words)) for key, template in templates.items()}


def _evidence(finding: Finding) -> list[dict[str, object]]:
    return [
        {"name": name, "device": it.device, "value": it.value, "unit": it.unit}
        for name, it in finding.observed.evidence.items()
    ]
