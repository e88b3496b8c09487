"""What the headings of iostat's and sar's tables look like, for those who read them and who print them again."""

from __future__ import annotations

IOSTAT_DEVICE = frozenset({"Device", "Device:"})  # before iostat's names
SAR_DEVICE = "DEV"  # before sar's
MAX_PREFIX_WORDS = (
    4  # words before a name: sar's time ("00시 47분 25초"), the marks of a quoted mail
)
MAX_HEADING_WORDS = 100  # of a heading, and of what a line may have before it
QUOTE_MARKS = frozenset({">", ">>", ">>>", "|", "#", "//", "*"})
