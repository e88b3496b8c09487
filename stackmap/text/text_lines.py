"""
Lines of a text in any encoding: pasted, piped, compressed, coloured.

``Lines`` removes what never belongs to a figure (colours, NULs of sysstat 11.5.7, compression), without
interpreting lines. The functions below it recognise the lines around the tables: banners, restarts, and other
marks of a new report; ``printed_time`` recognises times.
"""

import codecs
import html
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from stackmap.errors import InputError
from stackmap.host.sar_file import SADF, is_sar_file
from stackmap.model.topology import Machine
from stackmap.sources.printed.columns import ESCAPES, LOGGED_TIME, TAGS, clean
from stackmap.sources.printed.hosts import HostNames, may_name_host, with_results
from stackmap.text.columns import is_number
from stackmap.text.line_prefixes import NO_TIME, LinePrefixes, unfolded
from stackmap.text.printed_time import CLOCK

MAX_LINE = 1 << 20  # longer lines are cut: no table has one
MAX_UNUSED = 128 << 20  # bytes in a row without a report: an endless input ends
GZIP = b"\x1f\x8b"
TAR = slice(257, 262), b"ustar"  # a tar's magic in its first header, tar(5)
BYTE_ORDER_MARKS = codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE

_MARKDOWN_ROW = re.compile(r"^\|[^\n]*\|[ \t\r]*$", re.MULTILINE)
MANY_BLANKS = b"\n" * 64
# What a log or a chat puts before each line: "Nov 14 03:00:11 kvm7 iostat[2211]: ", "[14:02] <tom> ".
_LOGGED = re.compile(
    rf"^({LOGGED_TIME} )\S{{1,64}} [\w./@-]{{1,64}}\[\d{{1,10}}\]: ?(?=(.{{0,50}}))", re.MULTILINE
)
_CHAT = re.compile(r"^\[?\d\d?:\d\d(?::\d\d)?\]? ?<[ @+]?[\w|`^-]{1,32}> ?", re.MULTILINE)
# The number that `cat -n` or `grep -n` prints before a line, perhaps after a file's name; /proc/drbd and dmsetup have other ones.
_FILE = r"(?:[\w./-]{1,100}\.(?:log|txt|out):)?"
_TIME = r"\d\d:\d\d:\d\d\s|\d\d[/.]\d\d[/.]\d\d|\d{4}-\d\d-\d\d"
NUMBERED = re.compile(
    rf"^(?:{_FILE}\d{{1,6}}:(?! ?cs:| \d)(?=\D|$|{_TIME})|(?=[ \d]{{6}}\t) {{0,5}}\d{{1,6}}\t)",
    re.MULTILINE,
)
_NUMBER = re.compile(rf"^{_FILE}(\d{{1,6}}):(?! ?cs:|\d\d:\d\d(?!:))", re.MULTILINE)
MIN_NUMBERED = 3  # lines with rising numbers
_HAS_NUMBERS = re.compile(rf"\n(?: {{0,5}}\d{{1,6}}\t|{_FILE}\d{{1,6}}:(?:\D|{_TIME}))")
# The right border of a window of tmux or screen.
_BORDER = re.compile(r" [│┃][ \t\r]*$", re.MULTILINE)
BLANKS = re.compile(rb"(?:\r?\n){3,}+")  # possessive: one that may step back holds each place


class Lines:
    """
    The lines of a text; the last one can be pushed back.

    *warn* takes a line if compressed data ends early. ``unused``: bytes since the last report;
    ``InputError`` if they are more than ``MAX_UNUSED``. *divided*: the lines end before those of another
    host; ``next_host`` goes on with these. ``host``: of the lines, by their prompt; "" if unknown.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        warn: Callable[[str], None] | None = None,
        *,
        divided: bool = False,
    ) -> None:
        told = warn or (lambda _: None)
        opened = _opened(chunks, told)
        self._texts = map(LinePrefixes(told).lines, _texts(self._counted(opened)))
        self._lines: list[str] = []  # of the last text
        self._next = 0  # the index of the next one
        self._blank = -1  # and of a blank one, their number if none follows
        self._before = 0  # lines in the texts before it
        self.unused = 0
        self.host = ""
        self._hosts = HostNames() if divided else None
        self._at_next_host = False

    @property
    def number(self) -> int:
        """The number of the last line."""
        return self._before + self._next

    def __iter__(self) -> Iterator[str]:
        while True:
            while self._next < len(self._lines):
                line = self._lines[self._next]
                if self._hosts and may_name_host(line) and self._is_of_next_host(line):
                    return
                self._next += 1
                yield line
            text = next(self._texts, None)
            if text is None:
                break
            self._before += len(self._lines)
            self._lines, self._next, self._blank = text.removesuffix("\n").split("\n"), 0, -1

    def next_host(self) -> bool:
        """Go on with the lines of another host; return False at the end of the text."""
        goes_on, self._at_next_host = self._at_next_host, False
        if goes_on and self._hosts is not None:
            self.host = self._hosts.own(self._hosts.name)
        return goes_on

    def _is_of_next_host(self, line: str) -> bool:
        """Whether a prompt in *line* begins the lines of another host; a banner is for the reader of its table."""
        hosts = self._hosts
        if hosts is None or not hosts.take(clean(line)):
            return False
        is_banner = "Linux" in line and run_of(line) is not None
        self._at_next_host = not is_banner and hosts.own(hosts.name) != self.host
        if not self._at_next_host:
            self.host = hosts.own(hosts.name)
        return self._at_next_host

    def push_back(self) -> None:
        """Return the last line again next time."""
        self._next -= 1
        if not self._lines[self._next]:
            self._blank = self._next

    def following(self) -> list[str]:
        """Return the lines from the next one to a blank one, without taking them; none if the blank one has not come yet."""
        if self._blank < self._next:  # looked for once: a text may have none
            try:
                self._blank = self._lines.index("", self._next)
            except ValueError:
                self._blank = len(self._lines)
        return [] if self._blank == len(self._lines) else self._lines[self._next : self._blank]

    def skip(self, count: int) -> None:
        """Take *count* lines of those that ``following`` returned."""
        self._next += count

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.unused += len(chunk)
            if self.unused > MAX_UNUSED:
                raise InputError(
                    f"refused: {MAX_UNUSED >> 20} MiB in a row are no device statistics"
                )
            yield chunk


def _opened(chunks: Iterable[bytes], warn: Callable[[str], None]) -> Iterator[bytes]:
    """Yield the chunks of a text, decompressed and without its byte order mark; ``InputError`` if it is none."""
    start, rest = _start_of(chunks)
    if start.startswith(GZIP):
        start, rest = _start_of(_gunzip(start, rest, warn))
    place, magic = TAR
    if is_sar_file(start):
        raise InputError(f"a binary file of sar: give the output of {SADF}")
    if start[place] == magic:
        raise InputError("a tar, not a text: use --from if it is a capture")
    mark = next(filter(start.startswith, BYTE_ORDER_MARKS), b"")
    yield start.removeprefix(mark)
    yield from rest


def _start_of(chunks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, enough for any mark if there are as many, and the chunks after them."""
    start, rest = b"", iter(chunks)
    for chunk in rest:
        start += chunk
        if len(start) >= len(codecs.BOM_UTF8):
            break
    return start, rest


def _gunzip(start: bytes, chunks: Iterator[bytes], warn: Callable[[str], None]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    packed, any_came = start, False
    try:
        while packed:
            came = unpacker.decompress(packed, MAX_LINE)
            any_came = any_came or bool(came)
            yield came
            packed = unpacker.unconsumed_tail
            if unpacker.eof and unpacker.unused_data.startswith(GZIP):  # one file after another
                packed = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=31)
            packed = packed or next(chunks, b"")
    except zlib.error as error:
        if not any_came:
            raise InputError(f"not a gzip file, or damaged: {error}") from error
        warn("damaged gzip file: read up to the damage")
        return
    if not unpacker.eof:
        warn("truncated gzip file: read up to its end")


def _texts(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield whole lines together, as many as have come."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            parts.append(chunk[:cut])
            yield _text(b"".join(parts))
            parts, held = [], 0
        if cut < len(chunk):
            parts.append(chunk[cut:])
            held += len(chunk) - cut
        if held > MAX_LINE:
            whole = b"".join(parts)
            cut = whole.rfind(b" ") + 1 or len(whole)
            yield _text(whole[:cut])
            parts, held = [whole[cut:]], len(whole) - cut
    if held:
        yield _text(b"".join(parts))


def _text(raw: bytes) -> str:
    """Decode whole lines, and remove what no table contains."""
    if MANY_BLANKS in raw or MANY_BLANKS.replace(b"\n", b"\r\n") in raw:
        raw = BLANKS.sub(b"\n\n", raw)
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        # Line by line, so that the result does not depend on how many came together.
        text = "\n".join(map(_line, raw.split(b"\n")))
    text = text.replace("\uff1a", ":")  # the full-width colon that Chinese input methods write
    if "]: " in text or "]:\n" in text:
        text = _LOGGED.sub(lambda log: "" if NO_TIME.match(log[2]) else log[1], text)
    if "> " in text:
        text = _CHAT.sub("", text)
    if _HAS_NUMBERS.search(text) or NUMBERED.match(text):
        # Where each line has a number, a figure may follow it.
        numbers = [int(number) for number in _NUMBER.findall(text)]
        counted = len(numbers) > MIN_NUMBERED and all(a < b for a, b in pairwise(numbers))
        every = counted and len(numbers) == len(text.rstrip("\n").split("\n"))
        text = (_NUMBER if every else NUMBERED).sub("", text)
    if text.startswith("|") or "\n|" in text:
        text = _MARKDOWN_ROW.sub(lambda row: row[0].replace("|", " "), text)
    if "│" in text or "┃" in text:
        text = _BORDER.sub("", text)
    if "&" in text:
        text = html.unescape(html.unescape(text))  # a quoted page may escape twice
    if "<" in text:  # what a page of a tracker has around a text; sadf's XML has other tags
        text = TAGS.sub("", text)
    text = with_results(unfolded(text))
    return ESCAPES.sub("", text) if "\x1b" in text else text


def _line(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


# "Linux 3.10.0-957.el7.x86_64 (host) 19/09/19 _x86_64_ (4 CPU)", once per run; \s: a paste has no-break spaces.
BANNER = re.compile(
    r"\bLinux\s(\S{1,200})\s\((\S{0,200})\)\s+(\S[^\t\n]{0,40}?(?=\s+_[\w-]+_)|\S*\d)"
)

# A command line without the report since boot: "iostat -xy 5".
SKIPS_FIRST = re.compile(r"\biostat\b(?=[^|;]{0,99}\s\d)[^|;]{0,99}\s-[a-zA-Z]{0,20}y")

# Reports that the author left out: "[...]".
ELISION = re.compile(r"\s*(?:\[\s*)?(?:\.{3,}|…)(?:\s*\])?\s*$")

RESTART = "LINUX RESTART"
COMMENT = "COM"  # sadc -C
OSWATCHER = "zzz ***"
NOT_AVAILABLE = "N/A"  # the figures of pmrep's first row
FENCE = "```"  # Markdown's, around an example


def run_of(line: str) -> tuple[Machine, str] | None:
    """Return the machine and the date in the first line of a run; None for other lines."""
    banner = BANNER.search(line)
    return None if banner is None else (Machine(host=banner[2], kernel=banner[1]), banner[3])


def is_other_heading(words: Sequence[str]) -> bool:
    """Whether the words head another table: "avg-cpu: %user …", "12:00:01 CPU %usr …"."""
    if (
        len(words) < 3
        or is_number(words[-1])
        or words[-1] == NOT_AVAILABLE
        or COMMENT in words
        or RESTART in " ".join(words)
    ):
        return False
    rates = sum(word.startswith("%") or word.endswith("/s") for word in words)
    return rates > 1 or CLOCK.match(words[0]) is not None
