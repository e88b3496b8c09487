"""Any lines, as rows whose heading was not pasted."""

from harness import fuzz

from stackmap.text import missing_header


def target(raw: bytes) -> None:
    lines = raw.decode("latin-1").split("\n")
    missing_header.intervals([line for line in lines if missing_header.is_row(line)])


fuzz(target)
