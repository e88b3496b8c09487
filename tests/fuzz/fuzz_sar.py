"""Any bytes below a heading of sar."""

from harness import fuzz

from stackmap.text import intervals

HEADING = b"07:10:01          DEV       tps  rd_sec/s  wr_sec/s     await     %util\n"

fuzz(lambda raw: list(intervals([HEADING, raw], "fuzz")))
