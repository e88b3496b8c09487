"""Any bytes among copies of /proc/diskstats."""

from harness import fuzz

from stackmap.text import intervals

COPY = b"   8       0 sda 2 3 5 7 11 13 17 19 0 23 29\n"

fuzz(lambda raw: list(intervals([COPY, raw, COPY], "fuzz")))
