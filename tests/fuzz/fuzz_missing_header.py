"""Any lines, as rows whose heading was not pasted."""

from harness import fuzz

from stackmap.text import repairs


def target(raw: bytes) -> None:
    lines = raw.decode("latin-1").split("\n")
    repairs.intervals([line for line in lines if repairs.is_row(line)])


fuzz(target)
