"""A rule's words: its template and evidence → a sentence, its thresholds → text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stackmap.document.wording import UNKNOWN, duration, number, percent, rate, size
from stackmap.errors import OperandRefused
from stackmap.model.command_line import NO_COMMAND, quoted
from stackmap.model.operand import (
    BlockDevicePath,
    DeviceTitle,
    FilePath,
    KernelName,
    LvPath,
    Number,
    Word,
)
from stackmap.model.topology import Topology
from stackmap.rules.rule import Observation

if TYPE_CHECKING:
    from stackmap.rules.rule import Rule

UNITS: dict[str, Callable[[float], str]] = {
    "ms": lambda value: f"{number(value, 0 if value >= 100 else 1 if value >= 1 else 2)} ms",
    "bytes": size,
    "bytes/s": lambda value: f"{size(value)}/s",
    "requests/s": lambda value: f"{rate(value)} requests/s",
    "requests": lambda value: number(value, 1 if value < 100 else 0),
    "share": percent,
    "times": lambda value: number(value, 2 if value < 10 else 1),
    "s": duration,
    "count": lambda value: f"{value:g}",
}

# How a table of evidence shows a key that JSON keeps; others with spaces for "_".
LABELS = {
    "took": "await",
    "others": "median of its peers",
    "others_bytes": "median bytes of its peers",
    "slow": "slow intervals",
    "judged": "intervals judged",
    "asked": "read from the array",
    "unasked": "read without a cause",
    "explained": "explained reads",
    "usual": "usual at most",
}
# Keys that mean something else in one rule.
WRITE_COST = {
    "cost": "disk bytes per byte written",
    "ideal": "the same with full stripes",
    "extra": "more than with full stripes",
    "extra_read": "bytes read per byte written",
    "pages": "data pages per row update",
    "done": "moved at the members",
}
RULE_LABELS = {
    "SM101": WRITE_COST,
    "SM112": WRITE_COST,
    "SM401": {
        "before": "await before",
        "before_queue": "queue before",
        "before_rate": "rate before",
    },
    "SM104": {"disk_size": "mean size at the disks", "disk_rate": "rate at the disks"},
    "SM201": {"needed": "needed per request", "service": "service time"},
    "SM303": {"members": "read from the members"},
    "SM503": {"slow": "read from the origin", "asked": "read from the volume"},
}


def label(key: str, rule: str = "") -> str:
    """
    Return how a table of evidence shows *key* of a rule.

    >>> label("took"), label("disk_rate"), label("slow", "SM503")
    ('await', 'disk rate', 'read from the origin')
    """
    of_rule = RULE_LABELS.get(rule, {}).get(key)
    return of_rule or LABELS.get(key) or key.replace("_", " ")


def shown(value: float, unit: str) -> str:
    """
    Return *value* with its unit.

    >>> shown(434.31, "ms"), shown(65536, "bytes/s"), shown(1.25, "times")
    ('434 ms', '64 KiB/s', '1.25')
    """
    return UNITS[unit](value)


def figure(value: float, unit: str) -> str:
    """
    Return *value* with its unit or ×.

    >>> figure(1.25, "times")
    '1.25×'
    """
    return f"{shown(value, unit)}×" if unit == "times" else shown(value, unit)


# The types of the words that commands may have.
OPERANDS: Mapping[str, type[Word]] = {
    "device": DeviceTitle,
    "disk": DeviceTitle,
    "lv": LvPath,
    "kernel_name": KernelName,
    "wanted": Number,
    "capture": FilePath,
    "below": BlockDevicePath,
    "array": KernelName,
}
BACKTICK = r"\x60"  # for "`", which ends a command in a sentence
PLACE = re.compile(r"\{(\w+)\}")
OPTIONAL = re.compile(r"\[([^]]*\{(\w+)\}[^]]*)\]")


class Words(dict[str, str]):
    """The names that a template may use; "-" for an unknown one."""

    def __missing__(self, key: str) -> str:
        return UNKNOWN


def words_of(topology: Topology, observed: Observation) -> Mapping[str, str]:
    """Return the names that the templates of a rule may use."""
    words = Words(device=topology[observed.device].title if observed.device else "")
    words.update(observed.words)
    for name, figure in observed.evidence.items():
        words[name] = shown(figure.value, figure.unit)
    return words


def filled(template: str, words: Mapping[str, str]) -> str:
    """
    Return *template* with *words* in it, quoted for a shell in its commands (in backticks).

    A part in square brackets is left out if its word is unknown.

    >>> filled("{used} used. [Full in {days}.]", {"used": "80 %"})
    '80 % used.'
    >>> filled("{device}: run `lvs {device}`.", {"device": "vg/a;b"})
    "vg/a;b: run `lvs 'vg/a;b'`."
    """
    template = OPTIONAL.sub(lambda part: part[1] if part[2] in words else "", template)
    shown = Words({name: word.replace("`", BACKTICK) for name, word in words.items()})
    parts = template.split("`")
    return "`".join(
        _command(part, words) if number % 2 else part.format_map(shown)
        for number, part in enumerate(parts)
    ).rstrip()


def _command(template: str, words: Mapping[str, str]) -> str:
    """Return a command with its operands; the reason in place of one with a name that is none of its type."""
    try:
        operands = {
            name: quoted((OPERANDS[name](words[name]),)) for name in PLACE.findall(template)
        }
    except OperandRefused:
        return NO_COMMAND
    if any("`" in each for each in operands.values()):
        return NO_COMMAND
    if operands.get("device", "").startswith(("-", "'-")):
        operands["device"] = f"-- {operands['device']}"
    return template.format_map(operands)


def title(topology: Topology, name: str) -> str:
    """Return a device's title, with its kernel name where that differs."""
    return topology[name].full_title if name in topology else name


FULLNESS = {
    "warning": "{} full",
    "critical": "critical from {}",
    "soon": "or full within {}",
    "trend": "growth over {}",
}
# By the name that a rule gives it, where several rules mean the same.
WORDS = {
    "busy": "busy {}",
    "bytes": "{} written",
    "cost": "{} full-stripe cost",
    "intervals": "{} intervals",
    "light_rate": "info below {}",
    "light_queue": "and queue depth {} on every disk",
    "mix_difference": "read shares within {}",
    "queue": "queue depth {}",
    "requests": "{} requests",
    "size_ratio": "sizes within {}",
    **FULLNESS,
}
PARITY = {"light_queue": "info below queue depth {} on every disk"}
RULE_WORDS = {
    "SM101": PARITY,
    "SM102": {"chunk": "chunk up to {}", "full": "mean size {} of it"},
    "SM103": {
        "large": "{} above",
        "small": "up to {} at the disks",
        "merged": "merging below {}",
        "others": "others' requests up to {}",
    },
    "SM104": {"merged": "merging {}", "share": "{} of disk bytes"},
    "SM111": {"size": "warning: writes {} the limit"},
    "SM112": PARITY,
    "SM201": {"slower": "{} the expected time"},
    "SM206": {"slower": "{} the expected time"},
    "SM202": {
        "avoided": "of copies with fewer requests: {} await and service time",
        "slower": "{} the median",
        "await": "{} longer",
        "rate_difference": "rates within {}",
        "slow_intervals": "in {} of intervals",
        "chance": "info below {} requests at twice the median",
        "cap_difference": "not capped: rates differ by {}",
        "saturated": "info if all are busy {}",
        "next_slowest": "info below {} the next slowest",
        "quiet_queue": "info if fast up to queue depth {}",
        "quiet_requests": "from {} requests",
        "lasting": "below {} slow intervals",
    },
    "SM203": {"ratio": "{} the median"},
    "SM204": {
        "slower": "{} the transfer time",
        "size": "size {}",
        "queue": "queue depth below {}",
    },
    "SM207": {"slower": "{} the other paths'", "longer": "and {} longer"},
    "SM208": {"share": "{} of the requests"},
    "SM209": {"apart": "shares {} apart"},
    "SM210": {"share": "{} of the requests"},
    "SM342": {"warning": "{} used", "critical": "critical from {}"},
    "SM344": {"hot": "{} in all"},
    "SM303": {
        "share": "excess {} of the members' I/O",
        "bytes": "and {}",
        "intervals": "in {} of intervals",
    },
    "SM305": {"stalled": "for {}"},
    "SM304": {"data_over_parity": "{} more data than parity members"},
    "SM401": {
        "slower": "{} the await",
        "await": "{} longer",
        "low_queue": "low queue up to {}",
        "high_queue": "high queue {}",
        "baseline_size_ratio": "baseline sizes within {}",
        "trickle": "lower rate {} of the higher",
        "intervals": "in {} of intervals",
        "least_busy": "queue depth while busy from {}",
    },
    "SM403": {
        "spread": "longest queue {} the shortest",
        "flat_share": "knee at {} of the highest rate",
        "beyond": "longest queue {} the knee's",
        "least_queue": "counted from queue depth {}",
        "least_rate": "and {}",
        "knee": "knee at queue depth {}",
        "queue": "longest queue {}",
        "trickle": "rate there {} of the knee's",
    },
    "SM404": {"spread": "mix within {}", "slower": "write await {} the read await"},
    "SM406": {
        "slower": "{} the expected time",
        "size": "requests below {}",
        "beyond": "any longer if reads in flight are {} what the driver gives to the disk",
    },
    "SM421": {"own": "{} longer", "times": "and {} the await below"},
    "SM422": {
        "share": "{} of requests or bytes",
        "own": "own share up to {}",
        "queue": "disk's queue depth {}",
    },
    "SM423": {"slower": "{} the expected time"},
    "SM506": {"flushes": "{} of flushes", "writes": "up to {} writes per flush"},
    "SM607": {"bytes": "read and written {}"},
    "SM702": {"spread": "rates within {}"},
    "SM411": {"cpu": "thread busy {}", "disk_queue": "disks' queue depth up to {}"},
    "SM501": {"share": "metadata writes {} the writes"},
    "SM502": {"share": "{} of the time", "await": "flush await {}"},
    "SM503": {"missed": "{} missed"},
    "SM504": {"share": "copies {} the writes"},
    "SM505": {"ratio": "{} the volumes' writes"},
    "SM511": {"copied": "copies {} the I/O", "promotions": "{} blocks copied"},
    "SM512": {"dirty": "{} dirty"},
    "SM514": {"hits": "{} hits"},
    "SM515": {"ratio": "more than {} the data"},
    "SM601": {"rows": "up to {} rows", "read": "reads {} the writes"},
    "SM603": {"share": "{} of the queue"},
    "SM604": {"size_difference": "sizes within {}"},
    "SM605": {"await": "write await {}"},
    "SM701": {"share_of_cap": "{} of the cap"},
    "SM803": {"excess": "{} more", "times": "{} the possible queue", "parts": "in {} of intervals"},
    "SM913": {"size": "info below {}"},
    "SM914": {"stripes": "{} stripes"},
}


def threshold(rule: Rule, name: str) -> str:
    """Return a threshold of *rule* in words with its unit: ``chunk up to 32 KiB``; ``KeyError`` without words."""
    words = RULE_WORDS.get(rule.id, {}).get(name) or WORDS[name]
    return words.format(figure(*rule.thresholds[name]))
