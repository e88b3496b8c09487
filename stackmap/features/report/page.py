"""The report as a page: its sections in order, and those that show what other documents have."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap import __version__
from stackmap.document import blocks as doc
from stackmap.document.findings import finding_card, open_question
from stackmap.document.iostat import cell, names
from stackmap.document.layers import layers_table
from stackmap.document.sentences import sentences
from stackmap.document.wording import sentence
from stackmap.features.report import load_over_time, methods, proposals, request_sizes, summary
from stackmap.features.report.figures import Report
from stackmap.features.report.proposal import Proposal
from stackmap.features.report.stack_summary import description
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.layer_metrics import COLUMNS
from stackmap.model.load import Load
from stackmap.model.metrics import METRICS

DRAWINGS_INTRO = (
    "Tops are on the left, disks on the right. A solid line carries data; a dashed line carries "
    "metadata, a journal or a cache. LVM's sub-LVs share one box. A red box is not healthy or has "
    "a finding."
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
    report: Report, proposed: tuple[Proposal, ...], data: tuple[doc.Block, ...]
) -> doc.Page:
    """Return the page; *data* is the machine-readable part of its last section."""
    sections = (
        summary.section(report, proposed),
        doc.Section("stack", "The stack", tuple(_drawings(report))),
        doc.Section("ratios", "What each layer does to the I/O", tuple(_layers(report))),
        doc.Section("findings", "Findings", tuple(_findings(report))),
        load_over_time.section(report),
        request_sizes.section(report),
        proposals.projection_section(report, proposed),
        proposals.plan_section(report, proposed),
        methods.section(report),
        doc.Section(
            "numbers",
            "Raw numbers",
            (doc.Paragraph(NUMBERS_INTRO), _devices(report), *data),
            printed=False,
        ),
    )
    machine = report.topology.machine
    first, *others = report.stacks
    host = f" on {machine.host}" if machine.host else ""
    more = f" and {len(others)} more" if others else ""
    system = f"Linux {machine.kernel}. " if machine.kernel else ""
    made = f"{system}Made by stackmap {__version__}, which only reads."
    title = f"Storage report: {first.top.full_title}{more}{host}"
    return doc.Page(title, (methods.when(report), made), sections)


def _drawings(report: Report) -> Iterator[doc.Block]:
    """Yield one drawing per stack; devices with a grave finding are marked."""
    yield doc.Paragraph(DRAWINGS_INTRO)
    suspects = frozenset(each.device for each in report.findings if each.is_grave)
    for stack in report.stacks:
        part = report.topology.subset(report.topology.with_all_below(stack.top.name))
        title = description(report.topology, stack)
        yield doc.Stack(part, title, suspects)


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
    """Yield what could not be judged and one card per finding, the worst first."""
    yield doc.Paragraph(FINDINGS_INTRO if report.findings else NO_FINDINGS)
    yield from (open_question(report.topology, each) for each in report.open_questions)
    for number, each in enumerate(report.findings):
        yield finding_card(report.topology, each, number)


def _devices(report: Report) -> doc.Table:
    """Return each device's figures, from all its users."""
    tops = {stack.top.name for stack in report.stacks}
    part = report.topology.subset(
        name for top in tops for name in report.topology.with_all_below(top)
    )
    metrics = [metric for metric in METRICS if not metric.extended]
    shown = [each for each in part.rows() if each[0].name in report.interval.loads]
    rows: tuple[doc.Row, ...] = tuple(
        (
            name,
            device.kind,
            *(cell(metric, report.interval.loads.get(device.name, Load())) for metric in metrics),
        )
        for (device, _), name in zip(shown, names(shown), strict=True)
    )
    return doc.Table(
        "devices",
        doc.plain_columns(("Device", "Kind", *(metric.heading for metric in metrics)), 2),
        (doc.Rows(rows),),
        caption="The total load of each device, from all its users; columns as in iostat -x, in KiB",
    )
