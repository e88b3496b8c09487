"""Any bytes after the beginning of sysstat's JSON."""

from harness import fuzz

from stackmap.text import intervals

BEGINNING = b'{"sysstat": {"hosts": [{"statistics": [\n'

fuzz(lambda raw: list(intervals([BEGINNING, raw], "fuzz")))
