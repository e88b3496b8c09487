"""Any bytes as the file of ``--input``."""

from harness import fuzz

from stackmap.text import intervals

fuzz(lambda raw: list(intervals([raw[:97], raw[97:]], "fuzz")))
