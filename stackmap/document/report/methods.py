"""The section on how all this is known: what was measured, put right, estimated, left out, not proved."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.corrections import RULES
from stackmap.analysis.parity import Parity
from stackmap.analysis.report import Report
from stackmap.document.blocks import Listing, Part, Section, Terms
from stackmap.document.report.names import plural, sentence
from stackmap.render.intervals import instant

ENDS = 0.02  # a range no wider is a figure
SHORT = 3600.0  # seconds; less says nothing of the busy hour
SOURCE = (
    "The figures come from the kernel's own counters of each block device (requests, merges, bytes and "
    "milliseconds), taken at the beginning and the end of each interval. Nothing was written to any "
    "device, and no setting was changed."
)
PASTED = (
    "The figures come from a text of statistics (iostat, sar or a copy of /proc/diskstats), to the digits "
    "it has; what it does not print is unknown here."
)
UNITS = (
    "KiB, MiB and GiB are powers of 1024 bytes; rates are per second; waits are in milliseconds. "
    "A - is what cannot be known, never 0; ~ marks an estimate."
)
BUSY = "How busy a device was is used for no verdict: a device that is 100 % busy may be far from its limit."


WORDS = (
    ("request", "one read or write, whatever its size; IOPS are requests a second"),
    ("member", "one of the parts that an array or a RAID volume spreads its data over"),
    ("chunk, stripe", "a chunk is what one member gets before the next; one on each is a stripe"),
    ("parity", "what is written beside the data so that a lost member can be worked out again"),
    ("merge", "requests next to each other become one, before a disk gets them"),
    (
        "bitmap",
        "where an array keeps which parts may be out of step; writes dirty it, and cost more",
    ),
    (
        "LV, VG, PV",
        "LVM's volumes, the group they are made in, and the disks that group is made of",
    ),
    ("top", "a device that nothing else stands on: what is used, a file system, a VM"),
)


def section(report: Report) -> Section:
    """Return lists, each on one question."""
    parts = (
        ("How it was measured", _measured(report)),
        ("What was left out", _left_out(report)),
        ("What was corrected", _corrected(report)),
        ("What is an estimate", _estimates(report)),
        ("What was not proved", _doubts(report)),
        ("What is not known", report.topology.unknown),
    )
    lists = ((title, tuple(items)) for title, items in parts)
    blocks = tuple(Part(title, (Listing(items),)) for title, items in lists if items)
    return Section("methods", "Methods and caveats", (*blocks, Part("Words", (Terms(WORDS),))))


def when(report: Report) -> str:
    """Return when it was measured and how long."""
    period = report.period
    start, end = instant(period.start), instant(period.end)
    long = "" if period.seconds is None else f", {duration(period.seconds)} in all"
    intervals = f"{plural(period.count, 'interval')}{long}"
    if report.interval.since_boot:
        return f"Averages since boot{f' until {end}' if end else ''}{long}: no current rate."
    if start is not None and end is not None:
        return f"Measured from {start} to {end}: {intervals}."
    if period.first:
        span = period.first if period.first == period.last else f"{period.first} to {period.last}"
        return f"Reports stamped {span} (the text's own time, its zone not told): {intervals}."
    return f"Measured at no known time: {intervals}."


def is_short(report: Report) -> bool:
    """Whether so little was measured that it says nothing of other hours."""
    return report.period.seconds is not None and report.period.seconds < SHORT


def duration(seconds: float) -> str:
    """
    Return a duration.

    >>> duration(10.0), duration(9000.0), duration(200000.0)
    ('10 s', '2 h 30 min', '2 d 7 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _measured(report: Report) -> Iterator[str]:
    yield when(report)
    yield SOURCE if report.period.seconds is not None else PASTED
    if is_short(report):
        yield (
            f"{duration(report.period.seconds or 0.0)} is short: it says nothing of other hours, and a change that "
            "costs money should rest on a day with its busiest hour (stackmap record)."
        )
    each = report.course[0].count
    if each > 1:
        yield (
            f"{plural(report.period.count, 'interval')} were averaged in {len(report.course)} stretches of "
            f"{each}: what asks how things went over time (the charts, rules about what lasts, the "
            "percentiles of a projection) looks at these, and what asks for the most at each interval."
        )
    yield UNITS
    yield BUSY
    yield from report.interval.notes


def _left_out(report: Report) -> Iterator[str]:
    yield from report.left_out
    if report.idle:
        names = ", ".join(device.full_title for device in report.idle)
        yield f"Nothing was read from or written to these, so they have no section: {names}."


def _corrected(report: Report) -> Iterator[str]:
    reasons = {rule.name: rule.why for rule in RULES}
    for what in report.corrections:
        rule, _, name = what.partition(": ")
        device = report.topology[name].full_title if name in report.topology else name
        yield f"{device}: {rule}. {sentence(reasons[rule])}"


def _estimates(report: Report) -> Iterator[str]:
    for stack in report.stacks:
        name = stack.top.full_title
        divided = [f.layer.role for f in stack.layers if f.share.divided]
        if divided:
            yield (
                f"{name}: requests after merging at the {' and the '.join(divided)}, which serve others "
                "too; they are divided in proportion to what each sent."
            )
        loose = [f.layer.role for f in stack.layers if any(p.loose for p in f.share.parts.values())]
        if loose:
            yield (
                f"{name}: what belongs to it at the {' and the '.join(loose)} is known within a range, whose "
                "ends the JSON under Raw numbers has."
            )
        if stack.parity is not None and _is_range(stack.parity):
            yield (
                f"{name}: the share of writes that filled their stripe is a range, for counters do not fix "
                "it; what parity cost is exact."
            )


def _is_range(cost: Parity) -> bool:
    low, high = cost.full_stripe_low, cost.full_stripe_high
    return low is not None and high is not None and high - low > ENDS


def _doubts(report: Report) -> Iterator[str]:
    """Yield what speaks against the figures; what speaks against a finding stands with it."""
    for stack in report.stacks:
        for figures in stack.layers:
            where = f"{stack.top.full_title}, {figures.layer.role}"
            if figures.share.reason:
                yield f"{where}: not divided: {figures.share.reason}."
            if figures.background:
                yield f"{where}: not rated: {figures.background}."
            if figures.doubt:
                yield f"{where}: the account does not close: {figures.doubt}."
        if stack.parity is not None and stack.parity.reason:
            yield f"{stack.top.full_title}: what parity cost cannot be told: {stack.parity.reason}."
    if report.findings:
        yield (
            "A finding is what the counters suggest. That a change will help follows from the measured "
            "load, and only for as long as the load stays as it was."
        )
