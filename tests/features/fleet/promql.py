"""Expressions and rules, evaluated by promtool over series in its notation."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.features.fleet.servers import RULES, program

FIRING = 'ALERTS{{alertname="{}",alertstate="firing"}}'
SERIES = re.compile(r"[\w:]*\{(?P<labels>.*?)\} (?P<value>[-+\w.]+)")
NAME = re.compile(r"[\w:]+")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Answer(NamedTuple):
    """One series of an answer."""

    labels: dict[str, str]
    value: float


def printed(
    folder: Path, series: Mapping[str, str], *expressions: str, at: float, rules: Path | None = None
) -> list[str]:
    """Return what promtool prints of each of *expressions*, *at* seconds after its epoch: labels and value."""
    return _printed(folder, series, [(each, at) for each in expressions], rules)


def _printed(
    folder: Path, series: Mapping[str, str], asked: list[tuple[str, float]], rules: Path | None
) -> list[str]:
    tests = [
        {"expr": each, "eval_time": f"{at}s", "exp_samples": [{"labels": "{}", "value": -1}]}
        for each, at in asked
    ]
    case = {
        "interval": "1m",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": tests,
    }
    file = folder / "case.yml"
    files = [str(rules)] if rules else []
    file.write_text(json.dumps({"rule_files": files, "evaluation_interval": "1m", "tests": [case]}))
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    found = [line.strip()[4:].strip() for line in said.splitlines() if line.strip()[:4] == "got:"]
    assert len(found) == len(asked), said
    return found


def ruled(
    folder: Path, series: Mapping[str, str], *expressions: str, at: float
) -> list[list[Answer]]:
    """Return the answers to *expressions* where the shipped rules run; one failed rule fails the test."""
    texts = printed(folder, series, *expressions, at=at, rules=RULES)
    return [_answers(text) for text in texts]


def firing(
    folder: Path, series: Mapping[str, str], alert: str, minutes: Sequence[float]
) -> list[list[Answer]]:
    """Return the series of *alert* that fire at each of *minutes* where the shipped rules run that it needs."""
    asked = [(FIRING.format(alert), 60 * minute) for minute in minutes]
    rules = folder / "rules.yml"
    rules.write_text(json.dumps({"groups": _needed(alert)}))
    return [_answers(text) for text in _printed(folder, series, asked, rules)]


@cache
def _shipped() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"]
    return groups


def _needed(alert: str) -> list[dict[str, Any]]:
    """Return the groups with *alert* and the series that it is made of: promtool evaluates all rules each minute."""
    words, known = {alert}, 0
    while known < len(words):
        known = len(words)
        for rule in (rule for group in _shipped() for rule in group["rules"]):
            if _name(rule) in words:
                words.update(NAME.findall(rule["expr"]))
    return [
        {**group, "rules": [rule for rule in group["rules"] if _name(rule) in words]}
        for group in _shipped()
    ]


def _name(rule: Mapping[str, str]) -> str:
    return rule.get("record") or rule["alert"]


def _answers(text: str) -> list[Answer]:
    return [
        Answer(dict(LABEL.findall(each["labels"])), float(each["value"]))
        for each in SERIES.finditer(text)
    ]
