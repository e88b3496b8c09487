"""Any lines, as rows whose heading was not pasted."""

from harness import fuzz

from stackmap.sources.statistics import headless


def target(raw: bytes) -> None:
    lines = raw.decode("latin-1").split("\n")
    headless.intervals([line for line in lines if headless.is_row(line)])


fuzz(target)
