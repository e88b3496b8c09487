"""
What the fuzz targets share: a parser reads any bytes and raises nothing but ``StackmapError``.

By hand, with atheris installed: ``python tests/fuzz/fuzz_iostat.py tests/fuzz/corpus``,
and whatever libFuzzer takes (``-max_total_time=600``). New finds go to the
first folder named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["stackmap"]):
    from stackmap import text as statistics  # noqa: F401
    from stackmap.errors import StackmapError
    from stackmap.text import repairs  # noqa: F401
    from stackmap.text.annotate import Annotator  # noqa: F401

# A second for a text of this size would be a hang: no parser needs a millisecond.
LIMITS = ["-max_len=8192", "-timeout=5", "-rss_limit_mb=1024"]


def fuzz(target: Callable[[bytes], object]) -> None:
    """Run *target* until it fails, or as long as the command line says."""

    def run(raw: bytes) -> None:
        with suppress(StackmapError):
            target(raw)

    atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[1:]], run)
    atheris.Fuzz()
