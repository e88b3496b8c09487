"""Families of metrics as text for node_exporter's textfile collector: no timestamps, no ``# EOF``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.features.export.families import Family
from stackmap.features.export.openmetrics import escaped, labels

FIRST = "# Written by stackmap export --textfile; it replaces only files with this line.\n"


def textfile(families: Iterable[Family]) -> Iterator[str]:
    """Yield the text, one family at a time."""
    yield FIRST
    for name, type_, help_, samples in families:
        yield f"# HELP {name} {escaped(help_)}\n# TYPE {name} {type_}\n"
        yield "".join(
            f"{name}{labels(names) if names else ''} {value:.17g}\n" for names, value in samples
        )
