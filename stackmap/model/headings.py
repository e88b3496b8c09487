"""What the headings of iostat's and sar's tables look like, for those who read them and who print them again."""

from __future__ import annotations

DEVICE = frozenset({"Device", "Device:"})  # before iostat's names
DEV = "DEV"  # before sar's
MOST_BEFORE = 4  # words before a name: sar's time ("00시 47분 25초"), the marks of a quoted mail
MOST_WORDS = 100  # of a heading, and of what a line may have before it
QUOTES = frozenset({">", ">>", ">>>", "|", "#", "//", "*"})
