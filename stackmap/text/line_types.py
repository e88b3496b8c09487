"""Lines around the tables: banners, times, restarts, and other marks of a new report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from stackmap.model.machine import Machine
from stackmap.text.numbers import is_number

# "Linux 3.10.0-957.el7.x86_64 (host) 19/09/19 _x86_64_ (4 CPU)", once per run; \s: a paste has no-break spaces.
BANNER = re.compile(r"\bLinux\s(\S{1,200})\s\((\S{0,200})\)\s+\S*\d")

# A command line without the report since boot: "iostat -xy 5".
SKIPS_FIRST = re.compile(r"\biostat\b[^|;]{0,99}\s-[a-zA-Z]{0,20}y")

# Reports that the author left out: "[...]".
ELISION = re.compile(r"\s*(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?\s*$")

RESTART = "LINUX RESTART"
COMMENT = "COM"  # sadc -C
OSWATCHER = "zzz ***"
FENCE = "```"  # Markdown's, around an example

# A line with only a time: digits, separators, CJK units, AM and PM.
TIME = re.compile(
    r"(?:Time:\s*)?[\d年月日時时分秒년월일시분초:/.,+\-TZ \t]+(?:[AaPp]\.?[Mm]\.?)?\s*$"
)
CLOCK = re.compile(r"\d\d[:時时시]\s?\d\d")
EPOCH = re.compile(r"\s*(\d{9,11})\s*$")
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$")


def machine(line: str) -> Machine | None:
    """Return the machine in the first line of a run; None for other lines."""
    banner = BANNER.search(line)
    return None if banner is None else Machine(host=banner[2], kernel=banner[1])


def is_time(line: str) -> bool:
    """Whether the line is only a report's time."""
    if EPOCH.match(line):
        return True
    return CLOCK.search(line) is not None and TIME.match(line) is not None


def instant(stamp: str) -> float | None:
    """Return the seconds since the epoch; None if the time is ambiguous."""
    if EPOCH.match(stamp):
        return float(stamp)
    return utc(stamp) if ISO_TIME.match(stamp) else None


def utc(text: str) -> float | None:
    """Return the seconds since the epoch of an ISO time, in UTC if it has no zone; None if it is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.replace(tzinfo=time.tzinfo or UTC).timestamp()


def is_other_heading(words: Sequence[str]) -> bool:
    """Whether the words head another table: "avg-cpu: %user …", "12:00:01 CPU %usr …"."""
    if len(words) < 3 or is_number(words[-1]) or COMMENT in words or RESTART in " ".join(words):
        return False
    rates = sum(word.startswith("%") or word.endswith("/s") for word in words)
    return rates > 1 or CLOCK.match(words[0]) is not None
