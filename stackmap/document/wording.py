"""Numbers with their units, counts, lists and figures as they appear in tables and sentences; None → "-"."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackmap.document.blocks import Bar
    from stackmap.ledger.amplification import LayerFigures

UNKNOWN = "-"
SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
KIB = 1024


@lru_cache(maxsize=1024)  # thousands of volumes have few sizes
def size(value: float | None) -> str:
    """
    Return bytes in powers of 1024.

    >>> size(1536), size(629145600), size(None)
    ('1.5 KiB', '600 MiB', '-')
    """
    if value is None:
        return UNKNOWN
    for unit in SIZES:
        if abs(value) < KIB or unit == SIZES[-1]:
            break
        value /= KIB
    digits = 0 if unit == "B" or round(value, 1) == round(value) else 1
    return f"{value:.{digits}f} {unit}"


def number(value: float | None, digits: int = 1) -> str:
    """
    Return a number with *digits* decimals.

    >>> number(3.1416, 2), number(None)
    ('3.14', '-')
    """
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """
    Return a share 0…1 as a percentage; only nothing is 0 %, and only everything is 100 %.

    >>> percent(0.6883), percent(0.0), percent(1.0), percent(0.0002), percent(0.9999)
    ('68.8 %', '0 %', '100 %', '< 0.1 %', '> 99.9 %')
    """
    if share is None:
        return UNKNOWN
    least = 10.0**-digits / 100
    if 0 < share < least / 2:
        return f"< {least * 100:.{digits}f} %"
    if 1 - least / 2 < share < 1:
        return f"> {100 - least * 100:.{digits}f} %"
    return f"{share * 100:.{0 if share in (0.0, 1.0) else digits}f} %"


def change_percent(ratio: float, digits: int = 1) -> str:
    """
    Return after ÷ before as a signed percentage.

    >>> change_percent(0.304), change_percent(1.5, 0), change_percent(0.9999)
    ('-69.6 %', '+50 %', '0.0 %')
    """
    changed = round((ratio - 1) * 100, digits)
    return f"{changed:+.{digits}f} %" if changed else f"{0:.{digits}f} %"


def rate(value: float | None) -> str:
    """
    Return a rate or time in a sentence, with fewer decimals the larger it is.

    >>> rate(0.5), rate(431.25), rate(18841.6)
    ('0.50', '431.2', '18842')
    """
    if value is None:
        return UNKNOWN
    return f"{value:.{2 if value < 100 else 1 if value < 10000 else 0}f}"


def divided(divisor: float = 1, digits: int = 2) -> Callable[[float | None], str]:
    """
    Return a function that writes a number in units of *divisor*; a column has the same *digits* in each row.

    >>> divided(1024)(2048), divided(0.01, 1)(0.5), divided(1024)(None)
    ('2.00', '50.0', '-')
    """
    return lambda value: number(value and value / divisor, digits)


kib = divided(KIB, 1)  # bytes as a number of KiB


def duration(seconds: float) -> str:
    """
    Return *seconds* in the largest unit of which it has at least two.

    >>> duration(90), duration(11520), duration(10)
    ('90 s', '3.2 h', '10 s')
    """
    units = (("days", 86400), ("h", 3600), ("min", 60))
    unit, length = next((known for known in units if seconds >= 2 * known[1]), ("s", 1))
    value = seconds / length
    return f"{value:.{0 if round(value, 1) == round(value) or value >= 10 else 1}f} {unit}"


UNCHANGED = 0.005  # a relative change that rounds to 0 %
REQUESTS = {"read": "reads", "write": "writes", "total": "requests"}
REQUEST = {"read": "read", "write": "write", "total": "request"}


def known_directions(head: "LayerFigures") -> tuple[str, ...]:
    """Return ("read", "write"), or ("total",) where the counters do not separate them."""
    if head.share.read.ios is None and head.share.write.ios is None:
        return ("total",)
    return ("read", "write")


def await_directions(head: "LayerFigures") -> tuple[str, ...]:
    """Return the directions with a known await; ("total",) where only their common await is known."""
    split = tuple(d for d in known_directions(head) if head.own[d].await_ms is not None)
    combined = () if head.own["total"].await_ms is None else ("total",)
    return split or combined


def sentence(words: str) -> str:
    """
    Return *words* with a capital letter and a full stop.

    >>> sentence("reads 12 to 60"), sentence("")
    ('Reads 12 to 60.', '')
    """
    stop = "." if words and not words.endswith(".") else ""
    return f"{words[:1].upper()}{words[1:]}{stop}"


def paragraph(sentences: Iterable[str]) -> str:
    """Return *sentences* separated by spaces; empty ones are skipped."""
    return " ".join(filter(None, sentences))


def short(value: float) -> str:
    """
    Return a rate or a ratio with about three significant digits.

    >>> short(173.61), short(5.4183), short(0.0651), short(18841.6)
    ('174', '5.42', '0.07', '18842')
    """
    return number(value, 0 if value >= 100 else 1 if value >= 10 else 2)


def amount(value: float, unit: str) -> str:
    """
    Return a figure, with its unit for bytes per second only.

    >>> amount(173.61, "requests/s"), amount(1536, "bytes/s")
    ('174', '1.5 KiB/s')
    """
    return rate_of_bytes(value) if unit == "bytes/s" else short(value)


def with_band(unit: str, bar: "Bar") -> str:
    """Return a bar's figure, followed by its range if it has one."""
    if bar.low is None or bar.high is None:
        return amount(bar.value, unit)
    return f"{amount(bar.value, unit)} ({amount(bar.low, unit)} to {amount(bar.high, unit)})"


def rate_of_bytes(value: float | None) -> str:
    """Return bytes per second; "-" if unknown."""
    return UNKNOWN if value is None else f"{size(value)}/s"


def change(now: float, then: float, less: str = "less") -> str:
    """
    Return the relative change from *now* to *then*; *less* may be "fewer".

    >>> change(774.1, 356.0, "fewer"), change(100, 100.2), change(100, 250)
    ('54 % fewer', 'no change', '150 % more')
    """
    if not now:
        return "previously 0" if then else "no change"
    changed = abs(then / now - 1)
    if changed < UNCHANGED:
        return "no change"
    return f"{percent(changed, 0)} {'more' if then > now else less}"


def listed(words: Sequence[str]) -> str:
    """
    Return *words* as a list in a sentence.

    >>> listed(["sda", "sdb", "sdc"])
    'sda, sdb and sdc'
    """
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def plural(count: float, one: str) -> str:
    """
    Return a count with its noun.

    >>> plural(1, "interval"), plural(5, "interval"), plural(2_034_567, "volume")
    ('1 interval', '5 intervals', '2,034,567 volumes')
    """
    return f"{count:,.12g} {one if count == 1 else one + 's'}"
