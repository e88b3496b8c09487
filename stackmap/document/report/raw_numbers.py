"""The last section: each device's figures, and all figures as CSV and JSON."""

from __future__ import annotations

from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Paragraph, Rows, Section, Table
from stackmap.document.iostat import cell, names
from stackmap.model.load import Load
from stackmap.model.metrics import METRICS

INTRO = (
    "Figures with all digits, for a spreadsheet or a script. The JSON is that of `stackmap iostat "
    "--per-layer --json` for the same intervals; stackmap-iostat(8) explains its keys."
)


def section(report: Report, data: tuple[Block, ...]) -> Section:
    """Return the table of devices, followed by *data*."""
    blocks = (Paragraph(INTRO), _devices(report), *data)
    return Section("numbers", "Raw numbers", blocks, printed=False)


def _devices(report: Report) -> Table:
    tops = {stack.top.name for stack in report.stacks}
    part = report.topology.subset(
        name for top in tops for name in report.topology.with_all_below(top)
    )
    metrics = [metric for metric in METRICS if not metric.extended]
    shown = [each for each in part.rows() if each[0].name in report.interval.loads]
    rows = tuple(
        (
            name,
            device.kind,
            *(cell(metric, report.interval.loads.get(device.name, Load())) for metric in metrics),
        )
        for (device, _), name in zip(shown, names(shown), strict=True)
    )
    return Table(
        "devices",
        ("Device", "Kind", *(metric.heading for metric in metrics)),
        (Rows(rows),),
        words=2,
        caption="The total load of each device, from all its users; columns as in iostat -x, in KiB",
    )
