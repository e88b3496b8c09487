"""Words in the headings of iostat's and sar's tables, shared by their reader and by annotate."""

from __future__ import annotations

IOSTAT_DEVICE = frozenset({"Device", "Device:"})
SAR_DEVICE = "DEV"
MAX_PREFIX_WORDS = 4  # before a name: sar's time ("00시 47분 25초"), quote marks of a mail
MAX_HEADING_WORDS = 100  # in a heading with the text before it
QUOTE_MARKS = frozenset({">", ">>", ">>>", "|", "#", "//", "*"})
