"""Build the shipped rules from the mixin: ``./run mixin``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import _jsonnet  # ty: of the package jsonnet
import yaml

HERE = Path(__file__).parent
RULES = HERE.parent / "prometheus" / "stackmap.rules.yml"
HEADER = """\
# Recording rules and alerts over node_exporter's counters and `stackmap export --textfile`.
# Built from packaging/mixin, which says why each is as it is; to change them, change its config.libsonnet
# and run: ./run mixin
"""
KEYS = ("name", "interval", "record", "alert", "expr", "for", "labels", "annotations", "rules")
GROUPS = (
    "(import 'mixin.libsonnet') + {groups:: $.prometheusRules.groups + $.prometheusAlerts.groups}"
)


def evaluated(expression: str) -> Any:
    """Return the value of a jsonnet expression that may import the files of the mixin."""
    text = _jsonnet.evaluate_snippet("mixin", expression, jpathdir=[str(HERE)])
    return json.loads(text)


def rules() -> str:
    """Return the rules and alerts as YAML."""
    groups = [
        {**_ordered(group), "rules": [_ordered(rule) for rule in group["rules"]]}
        for group in evaluated(f"({GROUPS}).groups")
    ]
    return HEADER + yaml.dump({"groups": groups}, Dumper=_Dumper, sort_keys=False, width=1000)


def _ordered(values: dict[str, Any]) -> dict[str, Any]:
    """Return *values* in the order of Prometheus' documentation; jsonnet sorts keys."""
    texts = {key: each.strip() if key == "expr" else each for key, each in values.items()}
    return {key: texts[key] for key in KEYS if key in texts}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


if __name__ == "__main__":
    RULES.write_text(rules())
