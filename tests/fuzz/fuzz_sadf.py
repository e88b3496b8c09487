"""Any bytes after the beginnings of sadf's CSV, tabs and XML: the first byte chooses."""

from harness import fuzz

from stackmap.text import intervals

BEGINNINGS = (
    b"# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await\n",
    b"lab\t10\t1795247143\tsda\ttps\t2.00\n",
    b'<sysstat>\n<timestamp date="2026-11-21" time="07:45:50" tz="UTC" interval="10">\n',
)

fuzz(lambda raw: list(intervals([BEGINNINGS[sum(raw[:1]) % 3], raw[1:]], "fuzz")))
