"""The section on methods: what was measured, corrected, estimated, left out and not proved."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.document.blocks import Folded, Listing, Part, Section, Terms
from stackmap.document.interval import instant
from stackmap.document.table_options import WORDS
from stackmap.document.wording import duration, plural, sentence
from stackmap.features.report.figures import Report
from stackmap.ledger.corrections import RULES

ENDS = 0.02  # a narrower range is shown as one figure
SHORT = 3600.0  # seconds; a shorter measurement may miss the busiest hour
SOURCE = (
    "The figures are differences of the kernel's counters per block device: requests, merges, bytes "
    "and milliseconds. stackmap wrote to no device and changed no setting."
)
PASTED = (
    "The figures come from a text of statistics (iostat, sar or a copy of /proc/diskstats), with the "
    "digits printed there. Figures that the text does not have are unknown."
)
UNITS = (
    "KiB, MiB and GiB are powers of 1024 bytes; rates are per second; await is in milliseconds. "
    "A dash means unknown, never 0; ~ marks an estimate."
)
BUSY = "Utilisation is no sign of overload: a device that is busy 100 % of the time may be far from its limit."

# Words that the legend of a table need not explain.
MORE_WORDS = {
    "request": "One read or write of any size; IOPS are requests per second.",
    "await": "Mean time of a request, queueing included.",
    "parity": "Redundant data from which md rebuilds a failed member.",
    "merge": "Adjacent requests become one before they reach the disk.",
    "LV, VG, PV": "LVM's logical volume, volume group and physical volume.",
}


def section(report: Report) -> Section:
    """Return one list per question."""
    parts = (
        ("How it was measured", _measured(report)),
        ("What was left out", _left_out(report)),
        ("What was corrected", _corrected(report)),
        ("What is estimated", _estimates(report)),
        ("What was not proved", _caveats(report)),
        ("What is unknown", report.topology.unknown),
    )
    lists = ((title, tuple(items)) for title, items in parts)
    blocks = (Part(title, (Listing(items),)) for title, items in lists if items)
    words = Folded("Words", (Terms(tuple((MORE_WORDS | WORDS).items())),), printed=False)
    return Section("methods", "Methods and caveats", (*blocks, words))


def when(report: Report) -> str:
    """Return when and how long it was measured."""
    period = report.period
    start, end = instant(period.start), instant(period.end)
    long = "" if period.seconds is None else f", {duration(period.seconds)}"
    intervals = f"{plural(period.count, 'interval')}{long}"
    if report.interval.since_boot:
        return f"Averages since boot{f' until {end}' if end else ''}{long}: not a current rate."
    if start is not None and end is not None:
        return f"Measured from {start} to {end}: {intervals}."
    if period.first:
        span = period.first if period.first == period.last else f"{period.first} to {period.last}"
        return f"Reports of {span} (the text's own time, unknown time zone): {intervals}."
    return f"Measured at an unknown time: {intervals}."


def is_short(report: Report) -> bool:
    """Whether the measurement is too short to represent other hours."""
    return report.period.seconds is not None and report.period.seconds < SHORT


def _measured(report: Report) -> Iterator[str]:
    yield when(report)
    yield SOURCE if report.period.seconds is not None else PASTED
    if is_short(report):
        yield (
            f"{duration(report.period.seconds or 0.0)} may not represent other hours. Before a costly "
            "change, record a day with the busiest hour: `stackmap record`."
        )
    each = report.course[0].count
    if each > 1:
        yield (
            f"{plural(report.period.count, 'interval')} were averaged in {len(report.course)} groups "
            f"of {each}. Charts, percentiles and rules about time use the groups; peaks use the "
            "intervals."
        )
    yield UNITS
    yield BUSY
    yield from report.interval.notes


def _left_out(report: Report) -> Iterator[str]:
    yield from report.left_out
    if report.idle:
        names = ", ".join(device.full_title for device in report.idle)
        yield f"Idle devices have no section: {names}."


def _corrected(report: Report) -> Iterator[str]:
    reasons = {rule.name: rule.why for rule in RULES}
    for what in report.interval.corrections:
        rule, _, name = what.partition(": ")
        device = report.topology[name].full_title if name in report.topology else name
        yield f"{device}: {rule}. {sentence(reasons[rule])}"


def _estimates(report: Report) -> Iterator[str]:
    for stack in report.stacks:
        name = stack.top.full_title
        shared = [f.layer.word for f in stack.layers if f.share.divided]
        if shared:
            yield (
                f"{name}: the {' and the '.join(shared)} have other users. Completed requests there "
                "are divided in proportion to what each user sent."
            )
        loose = [
            f.layer.word for f in stack.layers if any(p.is_range for p in f.share.parts.values())
        ]
        if loose:
            yield (
                f"{name}: its part at the {' and the '.join(loose)} is known within a range. The JSON "
                "under Raw numbers has its ends."
            )
        parity = stack.parity
        low = high = None
        if parity is not None:
            low, high = parity.full_stripe_low, parity.full_stripe_high
        if low is not None and high is not None and high - low > ENDS:
            yield (
                f"{name}: counters give only a range for the share of full-stripe writes. The cost of "
                "parity is exact."
            )


def _caveats(report: Report) -> Iterator[str]:
    """Yield what weakens the figures; caveats of findings are in their cards."""
    for stack in report.stacks:
        for figures in stack.layers:
            where = f"{stack.top.full_title}, {figures.layer.word}"
            if figures.share.reason:
                yield f"{where}: not divided: {figures.share.reason}."
            if figures.background:
                yield f"{where}: no ratios: {figures.background}."
            if figures.diagnosis:
                yield f"{where}: requests not accounted for: {figures.diagnosis}."
        if stack.parity is not None and stack.parity.reason:
            yield f"{stack.top.full_title}: unknown cost of parity: {stack.parity.reason}."
    if report.findings:
        yield (
            "A finding is what the counters suggest. A change helps only as long as the load stays "
            "as measured."
        )
