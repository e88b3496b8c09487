"""
The report as a page: its sections in order, those that show what other documents have, raw numbers and methods.

The raw numbers are CSV and JSON. The section on methods says what was measured, corrected, estimated, left out and not
proved.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from stackmap import __version__
from stackmap.document import blocks as doc
from stackmap.document.episodes import episode_blocks
from stackmap.document.findings import finding_card, open_question
from stackmap.document.interval import instant
from stackmap.document.iostat import cell, names
from stackmap.document.layers import layers_table
from stackmap.document.pictured_load import pictured
from stackmap.document.sentences import sentences
from stackmap.document.table_options import WORDS
from stackmap.document.wording import duration, known_directions, plural, sentence
from stackmap.features.report.decision import decision_section
from stackmap.features.report.explain_write import write_section
from stackmap.features.report.figures import Report
from stackmap.features.report.load_over_time import load_section, sizes_section
from stackmap.features.report.proposals import Proposal, plan_section, projection_section
from stackmap.features.report.summary import description
from stackmap.features.whatif.json import whatif_json
from stackmap.ledger.amplification import COLUMNS, LAYER_METRICS, StackFigures
from stackmap.ledger.corrections import RULES
from stackmap.ledger.time_series import FIGURES
from stackmap.model.load import METRICS
from stackmap.render.csv import Plain, csv_line
from stackmap.render.figures_json import layers_json

DRAWINGS_INTRO = (
    "Tops are on the left, disks on the right. A dashed line carries metadata, a journal or a cache. At "
    "the end of a line stand the requests and bytes that it carries, before merging; thicker lines carry "
    "more. A box ends with what its devices completed, for all users. LVM's sub-LVs share one box. A red "
    "box is not healthy or has a finding."
)
LAYERS_INTRO = (
    "One row per layer, from the top down. Each row counts only what belongs to this stack, on shared "
    "disks too. Reads that writes cause (for parity) count as reads of the layers below."
)
MEANINGS = (
    *((metric.title, metric.help) for metric in COLUMNS),
    ("~", "an estimate"),
    ("-", "unknown; it is not 0"),
)
NOT_RATIOS = frozenset(range(1, 5))  # rates, size and await: the columns that a phone leaves out
ON_A_PHONE = ("reads", "writes", "read_await", "write_await")  # of the raw numbers of devices
NO_FINDINGS = (
    "No rule found a problem in the measured interval. This does not prove that all is well: the "
    "rules see only what happened in that time."
)
FINDINGS_INTRO = (
    "Each finding comes from a rule with a threshold. Run `stackmap explain --rules` to list them. "
    "Read the caveat (But) before you act."
)
NUMBERS_INTRO = (
    "Figures with all digits, for a spreadsheet or a script. The JSON is that of `stackmap iostat "
    "--per-layer --json` for the same intervals; stackmap-iostat(8) explains its keys."
)


def page_of(
    report: Report,
    proposed: tuple[Proposal, ...],
    others: tuple[Proposal, ...] = (),
    written: int | None = None,
) -> doc.Page:
    """Return the page; *others*: as in the decision. *written*: the bytes of the example of a write, None for none."""
    tops = [stack.top.name for stack in report.stacks]
    examples = () if written is None else (write_section(report.topology, tops, written),)
    sections = (
        decision_section(report, proposed, others),
        doc.Section("stack", "The stack", tuple(_drawings(report))),
        *examples,
        doc.Section("ratios", "What each layer does to the I/O", tuple(_layers(report))),
        doc.Section("findings", "Findings", tuple(_findings(report))),
        load_section(report),
        sizes_section(report),
        projection_section(report, proposed),
        plan_section(report, proposed),
        methods_section(report),
        doc.Section(
            "numbers",
            "Raw numbers",
            (doc.Paragraph(NUMBERS_INTRO), _devices(report), *_data(report, proposed)),
            printed=False,
        ),
    )
    machine = report.topology.machine
    first, *rest = report.stacks
    host = f" on {machine.host}" if machine.host else ""
    more = f" and {len(rest)} more" if rest else ""
    system = f"Linux {machine.kernel}. " if machine.kernel else ""
    made = f"{system}Made by stackmap {__version__}, which only reads."
    title = f"Storage report: {first.top.full_title}{more}{host}"
    return doc.Page(title, (when(report), made), sections)


def _drawings(report: Report) -> Iterator[doc.Block]:
    """Yield one drawing per stack; devices with a grave finding are marked."""
    yield doc.Paragraph(DRAWINGS_INTRO)
    suspects = frozenset(finding.device for finding in report.findings if finding.is_grave)
    for stack in report.stacks:
        part = report.topology.subset(report.topology.with_all_below(stack.top.name))
        title = description(report.topology, stack)
        yield doc.Stack(part, title, suspects, pictured(stack.ledger))


def _layers(report: Report) -> Iterator[doc.Block]:
    """Yield an explanation of the columns, and the table of each stack with its sentences."""
    yield doc.Paragraph(LAYERS_INTRO)
    yield doc.Folded("How to read the table", (doc.Terms(MEANINGS),), printed=False)
    yield from doc.side_by_side(
        [doc.Part(stack.top.full_title, tuple(_stack(stack))) for stack in report.stacks]
    )


def _stack(stack: StackFigures) -> Iterator[doc.Block]:
    table = layers_table(stack)
    if table is None:
        yield doc.Paragraph("No reads or writes in this interval.")
        return
    columns = (c._replace(minor=n in NOT_RATIOS) for n, c in enumerate(table.columns))
    yield table._replace(columns=tuple(columns))
    yield doc.Listing(tuple(map(sentence, sentences(stack))))


def _findings(report: Report) -> Iterator[doc.Block]:
    """Yield the open questions and one card per finding, the worst first."""
    yield doc.Paragraph(FINDINGS_INTRO if report.findings else NO_FINDINGS)
    if report.judged.times:
        for block in episode_blocks(report.topology, report.judged.times):
            if isinstance(block, doc.Headline):  # the section has one
                yield doc.Paragraph(f"{block.parts[0]}.")
            else:
                yield block
    yield from (
        open_question(report.topology, question) for question in report.judged.open_questions
    )
    for number, finding in enumerate(report.judged.findings):
        yield finding_card(report.topology, finding, number)


def _devices(report: Report) -> doc.Table:
    """Return each device's figures, from all its users."""
    tops = {stack.top.name for stack in report.stacks}
    part = report.topology.subset(
        name for top in tops for name in report.topology.with_all_below(top)
    )
    metrics = [metric for metric in METRICS if not metric.extended]
    shown = [row for row in part.rows() if row[0].name in report.interval.loads]
    rows: tuple[doc.Row, ...] = tuple(
        (
            name,
            device.kind,
            *(cell(metric, report.interval.load(device.name)) for metric in metrics),
        )
        for (device, _), name in zip(shown, names(shown), strict=True)
    )
    columns = doc.plain_columns(("Device", "Kind", *(metric.heading for metric in metrics)), 2)
    kept = (True, False, *(metric.key in ON_A_PHONE for metric in metrics))
    return doc.Table(
        "devices",
        tuple(c._replace(minor=not stays) for c, stays in zip(columns, kept, strict=True)),
        (doc.Rows(rows),),
        caption="The total load of each device, from all its users; columns as in iostat -x, in KiB",
    )


LAYER_HEADINGS = (
    "stack",
    "device",
    "layer",
    "devices",
    "direction",
    *(m.key for m in LAYER_METRICS),
)
SERIES_HEADINGS = ("stack", "device", "start", "seconds", "intervals", "direction")


def _data(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[doc.Block]:
    """Yield the figures for programs, each folded and under a file name: layers, time series, projections."""
    layers = layers_json(report.stacks, report.interval)
    yield _file("Each layer, CSV", "layers.csv", _layers_csv(report))
    if len(report.course) > 1:
        yield _file("The load over time, CSV", "course.csv", _series(report))
    yield _file("Each layer, JSON", "layers.json", json.dumps(layers, indent=1))
    for n, proposal in enumerate(proposals):
        if proposal.projection is not None:
            text = json.dumps(whatif_json([proposal.projection]), indent=1)
            yield _file(f"The projection on {proposal.wish}, JSON", f"whatif-{n}.json", text)


def _file(title: str, name: str, text: str) -> doc.Folded:
    return doc.Folded(title, (doc.Code(text, name),))


def _layers_csv(report: Report) -> str:
    rows = (
        (
            stack.top.title,
            stack.top.name,
            figures.layer.role,
            " ".join(figures.layer.devices),
            direction,
            *(metric.value(figures, direction) for metric in LAYER_METRICS),
        )
        for stack in report.stacks
        for figures in stack.layers
        for direction in (*known_directions(stack.layers[0]), "total")
    )
    return _csv(LAYER_HEADINGS, dict.fromkeys(rows))


def _series(report: Report) -> str:
    headings = [*SERIES_HEADINGS]
    for figure in FIGURES:
        headings += [figure, f"{figure}_least", f"{figure}_most"]
    rows = []
    for stack, stretch in product(report.stacks, report.course):
        time = instant(stretch.start) or stretch.interval.stamp
        for direction in known_directions(stack.layers[0]):
            row = [
                stack.top.title,
                stack.top.name,
                time,
                stretch.interval.seconds,
                stretch.count,
                direction,
            ]
            for figure in FIGURES:
                key = stack.top.name, direction, figure
                row += [stretch.mean(*key), *(stretch.ends(key) or (None, None))]
            rows.append(row)
    return _csv(headings, rows)


def _csv(headings: Sequence[str], rows: Iterable[Sequence[Plain]]) -> str:
    return "".join(f"{csv_line(row)}\n" for row in (headings, *rows))


ENDS = 0.02  # a narrower range is shown as one figure
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


def methods_section(report: Report) -> doc.Section:
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
    blocks = (doc.Part(title, (doc.Listing(items),)) for title, items in lists if items)
    words = doc.Folded("Words", (doc.Terms(tuple((MORE_WORDS | WORDS).items())),), printed=False)
    return doc.Section("methods", "Methods and caveats", (*blocks, words))


def when(report: Report) -> str:
    """Return the time and the length of the measurement."""
    period = report.kept.period
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


def _measured(report: Report) -> Iterator[str]:
    yield when(report)
    yield SOURCE if report.kept.period.seconds is not None else PASTED
    if report.kept.period.is_short:
        yield (
            f"{duration(report.kept.period.seconds or 0.0)} may not represent other hours. Before a costly "
            "change, record a day with the busiest hour: `stackmap record`."
        )
    per_group = report.course[0].count
    if per_group > 1:
        yield (
            f"{plural(report.kept.period.count, 'interval')} were averaged in {len(report.course)} groups "
            f"of {per_group}. Charts, percentiles and rules about time use the groups; peaks use the "
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
    """Yield the caveats of the figures; those of findings are in their cards."""
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
