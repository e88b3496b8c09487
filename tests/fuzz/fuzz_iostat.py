"""Any bytes below a heading of iostat, so that rows and what is between them are reached."""

from harness import fuzz

from stackmap.text import intervals

HEADING = b"Device:         rrqm/s   wrqm/s     r/s     w/s  await  %util\n"

fuzz(lambda raw: list(intervals([HEADING, raw], "fuzz")))
