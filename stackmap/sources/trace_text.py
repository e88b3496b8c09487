"""
What the kernel's tracing prints: block events, hist triggers, and the symbols that probes attach to.

Block tracepoints come from a tracefs instance (``trace_pipe``, ``trace``). A line has the thread, the CPU, four
flags, the time and the event: ``fio-812 [001] ..... 97.204511: block_bio_queue: 253,8 WS 2048 + 8 [fio]``. The
kernel changes fields between versions (6.12 adds a priority to requests): only the fields up to the size are
read. The text of hist triggers is that of Documentation/trace/histogram.rst; symbols are in /proc/kallsyms.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import ParseError

if TYPE_CHECKING:
    from stackmap.host import Host


class Step(StrEnum):
    """What happened: the tracepoint's name without ``block_``."""

    QUEUE = "bio_queue"
    REMAP = "bio_remap"
    BIO_DONE = "bio_complete"
    ISSUE = "rq_issue"
    COMPLETE = "rq_complete"
    RQ_REMAP = "rq_remap"


class BlockEvent(NamedTuple):
    """
    An event of a request on a device.

    ``time``: seconds of the trace clock. ``command``, ``pid``: the thread that ran, for ``QUEUE``
    the submitter. ``number``: major:minor. ``flags``: the kernel's letters ("WS").
    ``sector``, ``sectors``: 512 bytes each. ``source``: number and sector above, of a remap only.
    """

    time: float
    step: Step
    command: str
    pid: int
    number: str
    flags: str
    sector: int
    sectors: int
    source: tuple[str, int] | None = None

    @property
    def operation(self) -> str:
        """Read, write, discard, flush or other; what has no bytes is a flush."""
        if not self.sectors:
            return "flush"
        letters = self.flags[1:] if self.flags[:1] == "F" else self.flags
        return {"R": "read", "W": "write", "D": "discard", "F": "flush"}.get(letters[:1], "other")

    @property
    def is_waited_for(self) -> bool:
        """Whether the kernel marks it as one that a program waits for (REQ_SYNC)."""
        return "S" in self.flags


# A thread's name has at most 15 bytes and may contain anything, so no name can imitate a whole line.
_EVENT = re.compile(
    r"\s*(?P<command>.{1,16}?)-(?P<pid>\d+)\s+\[\d+\]\s+\S+\s+(?P<time>\d+\.\d+): block_(?P<step>\w+): "
    r"(?P<major>\d+),(?P<minor>\d+) (?P<flags>[A-Z]*) (?:\d* ?\([^)]*\) )?(?P<sector>\d+) \+ (?P<sectors>\d+)"
    r"(?: <- \((?P<above_major>\d+),(?P<above_minor>\d+)\) (?P<above_sector>\d+))?"
)
_SUBMITTER = re.compile(r" \[(?P<command>.*)\]$")
_STEPS = {str(step): step for step in Step}
NO_SECTOR = 2**64 - 1  # of an empty flush, (sector_t) -1


def parse_events(lines: Iterable[str]) -> Iterator[BlockEvent]:
    """Yield the events in *lines*, in their order; other lines are ignored."""
    for line in lines:
        match = _EVENT.match(line)
        step = _STEPS.get(match["step"]) if match else None
        if match is None or step is None:
            continue
        above = match["above_sector"]
        said = _SUBMITTER.search(line, match.end()) if step is Step.QUEUE else None
        sector = int(match["sector"])
        yield BlockEvent(
            float(match["time"]),
            step,
            said["command"] if said else match["command"],
            int(match["pid"]),
            f"{match['major']}:{match['minor']}",
            match["flags"],
            0 if sector == NO_SECTOR else sector,
            int(match["sectors"]),
            (f"{match['above_major']}:{match['above_minor']}", int(above)) if above else None,
        )


_ENTRY = re.compile(r"\{ (.*) \} hitcount: +(\d+)(.*)")
_TOTAL = re.compile(r" +(Hits|Dropped): (\d+)")
_VALUE = re.compile(r"(\w+): +(\d+)")
START = "# event histogram"
TRIGGER = "# trigger info: "
PER_BIO = "hist:keys=bio"  # triggers whose entries are addresses, of no use afterwards
LIMIT = 2**64  # above all numbers of the kernel
MINOR_BITS = 20  # of a dev_t


class Entry(NamedTuple):
    """A combination of keys, how often it occurred, and the sums of its values."""

    keys: Mapping[str, str]
    hits: int
    sums: Mapping[str, int]

    def number(self, key: str) -> int:
        """Return a key that is a number, as the kernel writes it: decimal or hexadecimal; else ``ParseError``."""
        return integer(self.text(key), 0)

    def text(self, key: str) -> str:
        """Return a key; ``ParseError`` if the entry has none of that name."""
        if key not in self.keys:
            raise ParseError(f"histogram: an entry has no {key}")
        return self.keys[key]

    def bucket(self, key: str) -> tuple[int, int]:
        """Return the lowest number of a key in buckets, and the first above it: "~ 100-149"."""
        low, _, high = self.text(key).lstrip("~ ").partition("-")
        return integer(low), integer(high or low) + 1


class Histogram(NamedTuple):
    """What a *trigger* counted; ``dropped``: hits that its map had no room for."""

    trigger: str
    entries: tuple[Entry, ...]
    hits: int
    dropped: int


def integer(text: str, base: int = 10) -> int:
    """Return the number in *text*; ``ParseError`` if it is none of the kernel's."""
    try:
        number = int(text, base)
    except ValueError as error:
        raise ParseError(f"trace: not a number: {text[:40]!r}") from error
    if abs(number) >= LIMIT:
        raise ParseError(f"trace: number too large: {text[:40]!r}")
    return number


def parse_histograms(text: str) -> list[Histogram]:
    """Return the histogram of each trigger of an event, the oldest trigger first; ``ParseError`` for other numbers."""
    return [_histogram(block) for block in text.split(START)[1:]]


def _histogram(block: str) -> Histogram:
    entries = []
    totals = {"Hits": 0, "Dropped": 0}
    trigger = ""
    for line in block.splitlines():
        if match := _ENTRY.match(line):
            pairs = (part.partition(":") for part in match[1].split(", "))
            keys = {name.strip(): value.strip() for name, _, value in pairs}
            sums = {name: integer(value) for name, value in _VALUE.findall(match[3])}
            entries.append(Entry(keys, integer(match[2]), sums))
        elif line.startswith(TRIGGER):
            trigger = line.removeprefix(TRIGGER)
        elif match := _TOTAL.match(line):
            totals[match[1]] = integer(match[2])
    return Histogram(trigger, tuple(entries), totals["Hits"], totals["Dropped"])


def without_addresses(text: str) -> str:
    """Return the text of histograms without entries whose key is the address of a bio."""
    kept, per_bio = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith(TRIGGER):
            per_bio = line.startswith(TRIGGER + PER_BIO)
        if not (per_bio and line.startswith("{")):
            kept.append(line)
    return "".join(kept)


def without_lines(text: str, known: frozenset[str]) -> str:
    r"""
    Return the text of histograms without the entries among the lines *known*: their counts are unchanged.

    >>> without_lines("# event histogram\n{ lat: 1 } hitcount: 2\n{ lat: 2 } hitcount: 7\n", frozenset({"{ lat: 1 } hitcount: 2"}))
    '# event histogram\n{ lat: 2 } hitcount: 7\n'
    """
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith("{") or line.rstrip("\n") not in known
    )


def number_of(device: int) -> str:
    """
    Return the kernel's dev_t as "major:minor".

    >>> number_of(266338304)
    '254:0'
    """
    return f"{device >> MINOR_BITS}:{device & ((1 << MINOR_BITS) - 1)}"


def device_of(number: str) -> int:
    """
    Return "major:minor" as the kernel's dev_t.

    >>> device_of("254:0")
    266338304
    """
    major, minor = map(int, number.split(":"))
    return major << MINOR_BITS | minor


KALLSYMS = "/proc/kallsyms"
CODE = frozenset("tTwW")


def read_symbols(host: "Host", names: Iterable[str]) -> dict[str, int]:
    """Return the addresses of the functions *names* that exist; all are 0 without root."""
    return parse_symbols(host.read(KALLSYMS), names)


def parse_symbols(text: str, names: Iterable[str]) -> dict[str, int]:
    r"""
    Return the addresses of the functions *names*; a static function that occurs twice is left out.

    >>> parse_symbols("ffff8000 t bio_endio\nffff9000 t bio_endio.cold\n", ["bio_endio", "none"])
    {'bio_endio': 4294934528}
    """
    addresses_of = {}
    for name in names:
        lines = [line for end in "\n\t" for line in _lines_with(text, f" {name}{end}")]
        words = [line.split(" ", 2) for line in lines]
        addresses = [address for address, kind, _ in words if kind in CODE]
        if len(addresses) == 1:
            addresses_of[name] = int(addresses[0], 16)
    return addresses_of


def _lines_with(text: str, part: str) -> Iterator[str]:
    """Yield the lines of *text* with *part*, which is much faster than to divide 10 MB into lines."""
    at = text.find(part)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        yield text[start : at + len(part)]
        at = text.find(part, at + len(part) - 1)
