"""
What precedes each line of a paste: a comment mark, the time and host of a log, the file that grep names, a host.

It is known from a heading, whose beginning is certain, and removed from the lines around it that have the same,
but for numbers, days and months. A time stays before figures, whose report may have none of its own. Ansible's
lists of lines are unfolded.
"""

import json
import re
from collections import Counter
from collections.abc import Callable

from stackmap.sources.printed.hosts import only_one_host
from stackmap.text.headings import time_before

MAX_PREFIX = 160
MAX_HOSTS = 1000
# Words that a heading begins with, and headings by the words that follow. Those before figures are named.
_WORDS = ("Linux ", "avg-cpu:", "Device", " DEV ", "NAME", "Personalities :", "LV ", "PV ", "VG ")
_HEADING = re.compile(
    r"(?P<figures>Linux \d\S* \([^()\s]{1,64}\)\s|avg-cpu: +%user|Device:? +(?:tps|[rwd]\S{0,8}/s)"
    r"|\d\d:\d\d:\d\d(?: [AP]M)? +DEV +tps)"
    r"|NAME +(?:[A-Z:%-]+ +)*(?:[A-Z:%-]+)\s*$|Personalities :|[LPV][VG] +(?:[LPV]|#|Attr|Fmt)"
)
_OF_SAR = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)? +DEV ")
_VARYING = re.compile(
    r"(\d+|[ \t]+|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
)
_TIME = re.compile(
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
)
# What has no time before it: an empty line, a row of sar (its averages, too), the time of iostat -t.
NO_TIME = re.compile(
    r"\s*$|\d\d[:時时시/.]|20\d|(?!Device|avg-cpu)[^\W\d][^\s:：]{1,20}( [^\s:：]{1,20})?\s?[:：]\s"
)
_HOST = re.compile(r"(?P<host>[A-Za-z][\w-]{0,63}(?:\.(?!txt|log|out)[\w-]+)*) ?[:|] ?")
# A text in JSON, and lists of its lines as Ansible prints them: in JSON, and in YAML.
_JSON_TEXT = re.compile(r'"[\w.]{1,60}": ?("(?:[^"\\\n]|\\.){80,}")')
_JSON_LINES = re.compile(
    r'^[^\n]{0,200}"(?:[\w.]{0,60}_lines|msg)": \[\s*\n((?:[ \t]*"(?:[^"\\\n]|\\.)*",?[ \t\r]*\n)+)',
    re.MULTILINE,
)
_YAML_LINES = re.compile(
    r"^[ \t]*(?:[\w.]{0,60}_lines|msg):[ \t]*\n((?:[ \t]*- ?[^\n]*\n)+)", re.MULTILINE
)


class LinePrefixes:
    """Removes what precedes each line; of the lines of several hosts, those of the first stay, and *warn* takes a note."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._hosts: dict[str, None] = {}  # that precede lines: "node1: "
        self._noted = False

    def lines(self, text: str) -> str:
        """Return *text*, whole lines, without prefixes; lines of another host are empty."""
        if not (self._hosts or any(_is_preceded(text, word) for word in _WORDS)):
            return text
        lines = text.split("\n")
        headings = [
            (number, before)
            for number, line in enumerate(lines)
            if (before := before_heading(line))
        ]
        done = 0
        for number, before in headings:
            if number >= done and not _HOST.fullmatch(before):
                done = _remove(before, lines, number, done)
        self._learn_hosts(
            [match["host"] for _, before in headings if (match := _HOST.fullmatch(before))], lines
        )
        if self._hosts:
            lines = [*map(self._of_first_host, lines)]
        return "\n".join(lines)

    def _learn_hosts(self, hosts: list[str], lines: list[str]) -> None:
        """Learn those of *hosts* that precede more than a heading."""
        new = [host for host in hosts if host not in self._hosts]
        if not new:
            return
        preceded = Counter(match["host"] for line in lines if (match := _HOST.match(line)))
        for host in new:
            if preceded[host] > 1 and len(self._hosts) < MAX_HOSTS:
                self._hosts[host] = None
        if len(self._hosts) > 1 and not self._noted:
            self._noted = True
            self._warn(only_one_host(*list(self._hosts)[:2]))

    def _of_first_host(self, line: str) -> str:
        match = _HOST.match(line)
        if match is None or match["host"] not in self._hosts:
            return line
        return line[match.end() :] if match["host"] == next(iter(self._hosts)) else ""


def _remove(before: str, lines: list[str], number: int, done: int) -> int:
    """Remove *before* from the lines around the one with *number*, after the first *done*; return how many are done."""
    pattern = prefix_pattern(before)
    begin, end = number, number + 1
    while begin > done and (not lines[begin - 1].strip() or pattern.match(lines[begin - 1])):
        begin -= 1
    while end < len(lines) and (not lines[end].strip() or pattern.match(lines[end])):
        end += 1
    if sum(bool(line.strip()) for line in lines[begin:end]) < 2:
        return done
    of_figures = False
    for place in range(begin, end):
        match = pattern.match(lines[place])
        rest = lines[place] if match is None else lines[place][match.end() :]
        if heading := _HEADING.match(rest.lstrip()):
            of_figures = heading["figures"] is not None
        time = _time_in(match[0]) if match and of_figures and not NO_TIME.match(rest) else ""
        lines[place] = f"{time} {rest}" if time else rest
    return end


def _time_in(prefix: str) -> str:
    """Return the time in *prefix*, "" without one."""
    time = time_before(prefix.split())
    match = _TIME.search(prefix)
    return time or (match[0] if match else "")


def _is_preceded(text: str, word: str) -> bool:
    """Whether *word* is in *text* after something else than blanks on its line."""
    place = text.find(word)
    while place >= 0:
        start = text.rfind("\n", 0, place) + 1
        if start < place and before_heading(text[start : place + 1000].partition("\n")[0]):
            return True
        place = text.find(word, place + 1)
    return False


def before_heading(line: str) -> str:
    """Return the text before the heading in *line*, "" without one or at the start of the line."""
    for word in _WORDS:
        place = line.find(word, 0, MAX_PREFIX)
        if place < 0:
            continue
        if word == " DEV ":
            of_sar = _OF_SAR.search(line)
            place = of_sar.start() if of_sar else 0
        before = line[:place]
        if before.strip() and _HEADING.match(line, place):
            return before
    return ""


def prefix_pattern(before: str) -> re.Pattern[str]:
    """Return a pattern for the prefix *before* on other lines, with one blank after it."""
    core = before.strip(" \t")
    parts = (core,) if _HOST.fullmatch(before) else _VARYING.split(core)
    told = "".join(
        r"\d+" if part[0].isdecimal()
        else r"[ \t]+" if part.isspace()
        else "[A-Z][a-z]{2}" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
        if part
    )  # fmt: skip
    blank = r"(?:[ \t]|$)" if before[-1:].isspace() else ""
    return re.compile(rf"[ \t]*{told}{blank}")


def unfolded(text: str) -> str:
    """Return *text* with the texts in JSON as they were, and with the lines that Ansible prints as lists."""
    if "\\n" in text:
        text = _JSON_TEXT.sub(lambda match: _json_text(match, is_twice='_lines": [' in text), text)
    if "_lines" not in text and "msg" not in text:
        return text
    text = _JSON_LINES.sub(lambda match: _joined(match[1], _json_line), text)
    return _YAML_LINES.sub(lambda match: _joined(match[1], _yaml_line), text)


def _joined(lines: str, read: Callable[[str], str]) -> str:
    return "".join(f"{read(line.strip())}\n" for line in lines.split("\n")[:-1])


def _json_text(match: re.Match[str], *, is_twice: bool) -> str:
    if "\\n" not in match[1]:
        return match[0]
    return "" if is_twice else f"\n{_json_line(match[1])}\n"


def _json_line(item: str) -> str:
    try:
        told = str(json.loads(item.removesuffix(",")))
        return told.encode(errors="replace").decode()  # half a surrogate pair is no character
    except ValueError:
        return item


def _yaml_line(item: str) -> str:
    text = item.removeprefix("-").removeprefix(" ")
    if text[:1] == '"':
        return _json_line(text)
    quoted = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1].replace("''", "'") if quoted else text
