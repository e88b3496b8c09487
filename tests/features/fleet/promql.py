"""Expressions and rules, evaluated by promtool over series in its notation."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.features.fleet.servers import RULES, program

FIRING = 'ALERTS{{alertname="{}",alertstate="firing"}}'
SERIES = re.compile(r"[\w:]*\{(?P<labels>.*?)\} (?P<value>[-+\w.]+)")
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
    """Return the series of *alert* that fire at each of *minutes* where the shipped rules run."""
    asked = [(FIRING.format(alert), 60 * minute) for minute in minutes]
    return [_answers(text) for text in _printed(folder, series, asked, RULES)]


def _answers(text: str) -> list[Answer]:
    return [
        Answer(dict(LABEL.findall(each["labels"])), float(each["value"]))
        for each in SERIES.finditer(text)
    ]
