"""Lines as people paste them, and tables with empty cells: what every reader of a command's output needs."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stackmap.model.units import KIB, SECTOR

# Terminal escapes: CSI … letter, OSC … BEL, and a lone ESC with its letter.
ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
QUOTES = re.compile(r"^\s{0,16}>(?:\s?>)* ?")  # of a mail or of Markdown
# Tags and fences that trackers put around a text, and HTML's.
TAGS = re.compile(r"</?(?:pre|code|br|p|tt|div|span|blockquote)\b[^<>\n]{0,200}>", re.IGNORECASE)
NMON = re.compile(r'BBBP,\d+,[^,"]*(?:,"(.*)")?')  # a line of a command's output in a file of nmon
FENCE = re.compile(
    r"\s*(?:```\w*|~~~|\{(?:noformat|code)[^{}]{0,40}\}|\[/?code\]|\{\{\{|\}\}\})\s*$"
)
# A command that was typed: "[root@host ~]# lsblk", "user@host:~$ cat /proc/mdstat", of SUSE "host:~ # lsblk", "# pvs";
# lvdisplay prints "# open  1".
PROMPT = re.compile(
    r"^\s{0,8}(?:(?:\([\w.-]{1,32}\) |\[?\d\d:\d\d(?::\d\d)?\]? )?\[?[\w.-]{1,32}@(?P<host>[\w.-]{1,64})[^#$%>]{0,80}[#$%>]"
    r"|(?P<alone>[A-Za-z][\w.-]{0,63}):[~/][^\s#$%>:]{0,80} ?[#$]|(?:bash|sh)-\d\.\d+[#$]|[#$%])"
    r"\s*(?P<command>(?:[A-Z_]{2,20}=\S*\s+)*(?!open\s+\d)[a-z/.].*)$"
)
# Lines of a tree after a wrong decoding: as Windows-1252, as Latin-1, and with each byte lost.
MOJIBAKE = {
    "â”œ": "├",
    "â”€": "─",
    "â””": "└",
    "â”‚": "│",
    "â\x94\x9c": "├",
    "â\x94\x80": "─",
    "â\x94\x94": "└",
    "â\x94\x82": "│",
    "\ufffd\ufffd\ufffd": "─",
}
# A tree before a name with "?" for each character of it, or for each byte.
_LOST_TREE = re.compile(r"[ ?]{0,60}?(\?\?(?:\?{4})?)(?=[A-Za-z/])")
# Before each line of a log: "Nov 14 03:00:11", "2024-11-14T03:00:11+0100".
LOGGED_TIME = r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?)"
_LOGGED = re.compile(rf"{LOGGED_TIME} ")
MAX_WORDS = 100  # of a row that is read
UNITS = "BKMGTPE"
_SIZE = re.compile(r"<?(\d{1,20})([.,]\d{1,4})?\s?([bBsSkKmMgGtTpPeE]?)(?:i?[bB])?")


def clean(line: str) -> str:
    """
    Return *line* without colours, quote marks, entities and tags.

    >>> clean("> > sda&nbsp;   8:0    0   1G  0 disk<br>")
    'sda    8:0    0   1G  0 disk'
    """
    if "\x1b" in line:
        line = ESCAPES.sub("", line)
    if line.startswith("BBBP,") and (quoted := NMON.fullmatch(line.rstrip())):
        line = quoted[1] or ""
    if "&" in line:
        line = html.unescape(html.unescape(line))  # a quoted page may escape twice
    if "<" in line:
        line = TAGS.sub("", line)
    if line.lstrip()[:1] == ">":
        line = QUOTES.sub("", line)
    if line.lstrip()[:1] == "?" and (lost := _LOST_TREE.match(line)):
        art = lost[0].replace("???", "?") if len(lost[1]) > 2 else lost[0]
        line = f"{art[:-2].replace('?', '│')}├─{line[lost.end() :]}"
    if "â”" in line or "â\x94" in line or "\ufffd" in line:
        for wrong, drawn in MOJIBAKE.items():
            line = line.replace(wrong, drawn)
    if logged := _LOGGED.match(line):
        line = line[logged.end() :]
    line = line.replace("\xa0", " ").expandtabs().rstrip()
    return "" if FENCE.match(line) else line


def size_of(text: str) -> str:
    """
    Return a size in bytes, after "~" if it was rounded; "" if *text* is none.

    >>> size_of("10737418240"), size_of("931.5G"), size_of("<7.28t"), size_of("100,00m"), size_of("disk")
    ('10737418240', '~1000190509056', '~8004444650209', '~104857600', '')
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        return ""
    digits, decimals, unit = match.groups()
    if unit in ("s", "S"):
        return str(int(digits) * SECTOR)
    if not decimals and unit.upper() in ("", "B"):
        return digits
    power = UNITS.index(unit.upper()) if unit else 0
    return f"~{int(float(digits + (decimals or '').replace(',', '.')) * KIB**power)}"


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of JSON; none if *value* is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def tree_of(text: str, key: str) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield the objects under *key* of JSON, those under "children" too, each with its parent."""
    todo: list[tuple[dict[str, Any], dict[str, Any] | None]]
    todo = [(item, None) for item in objects(json.loads(text).get(key))]
    while todo:
        item, parent = todo.pop()
        yield item, parent
        todo += [(child, item) for child in objects(item.get("children"))]


class PlacedWord(NamedTuple):
    """A word and its place in its line."""

    text: str
    start: int
    end: int


def words_of(line: str) -> list[PlacedWord]:
    """Return the words of *line* with their places."""
    words = re.finditer(r"\S+", line[: 1 << 14])
    return [
        PlacedWord(m[0], m.start(), m.end()) for m, _ in zip(words, range(MAX_WORDS), strict=False)
    ]


def cells(
    heading: Sequence[PlacedWord], line: str, forms: Mapping[str, re.Pattern[str]]
) -> dict[str, str] | None:
    """
    Return the cells of a row by heading, without empty ones; None if a cell has another form than *forms*.

    Words stand under their headings, left or right aligned. Where a paste lost its spaces, the forms tell
    which column a word is of; a row that fits in several ways then is none.
    """
    words = words_of(line)
    if not words or len(words) > 4 * len(heading):
        return None
    placed = _by_place(heading, words)
    if placed is not None and fits(placed, forms):
        return placed
    if len(words) == len(heading):
        ordered = {h.text: w.text for h, w in zip(heading, words, strict=True)}
        return ordered if fits(ordered, forms) else None
    ways = list(_by_form([h.text for h in heading], [w.text for w in words], forms))
    return ways[0] if len(ways) == 1 else None


def _by_place(heading: Sequence[PlacedWord], words: Sequence[PlacedWord]) -> dict[str, str] | None:
    """Return the words by the heading that each overlaps or is next to; None if a place is not clear."""
    row: dict[str, str] = {}
    last, end = -1, -1
    for word in words:
        over = [i for i, h in enumerate(heading) if word.start < h.end and h.start < word.end]
        if not over and word.start == end + 1:  # a further word of a long cell
            over = [last]
        end = word.end
        if not over:
            gaps = [max(h.start - word.end, word.start - h.end) for h in heading]
            over = [gaps.index(min(gaps))]
        at = over[0]
        if len(over) > 1 or at < last:
            return None
        name = heading[at].text
        row[name] = f"{row[name]} {word.text}" if name in row else word.text
        last = at
    return row


def fits(row: Mapping[str, str], forms: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether each cell has the form of its column."""
    return all(name not in forms or forms[name].fullmatch(cell) for name, cell in row.items())


def _by_form(
    heading: Sequence[str], words: Sequence[str], forms: Mapping[str, re.Pattern[str]]
) -> Iterator[dict[str, str]]:
    """Yield the ways, two at most, to give the *words* to columns in order, each to one of its own form."""
    ways: list[tuple[int, dict[str, str]]] = [(0, {})]
    for word in words:
        further = []
        for begin, row in ways:
            for at in range(begin, len(heading)):
                form = forms.get(heading[at])
                if form is not None and form.fullmatch(word):
                    further.append((at + 1, {**row, heading[at]: word}))
                if at == 0:
                    break  # the first column is the name, never empty
        ways = further[:64]
    yield from (row for _, row in ways[:2])
