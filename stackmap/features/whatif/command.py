"""``stackmap whatif``: the measured load on another layout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import (
    csv_option,
    json_option,
    layout_option,
    legend_option,
    measuring_one,
    no_heading_option,
)
from stackmap.cli.output import print_blocks
from stackmap.document.decision import before_converting
from stackmap.features.whatif.document import MEANINGS, document
from stackmap.features.whatif.json import whatif_json
from stackmap.features.whatif.project import project
from stackmap.features.whatif.volume_context import volume_context
from stackmap.measurement.capture_part import MINUTES_OF_A_DAY
from stackmap.model.layout_request import parse
from stackmap.render.figures_json import decision_json
from stackmap.rules.decision import judge
from stackmap.sources.limits import CapMeter

if TYPE_CHECKING:
    from stackmap.cli.options import MeasuringOptions
    from stackmap.cli.session import Session

COUNT = 10  # intervals of a second on a live machine


@click.command(options_metavar="--to LAYOUT [OPTIONS]")
@measuring_one
@layout_option
@json_option
@csv_option
@no_heading_option
@legend_option(lambda: {"Columns and rows": MEANINGS})
@click.pass_obj
def command(
    session: Session,
    /,
    options: MeasuringOptions,
    layout: str,
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Project the measured load on another layout.

    Measures ten seconds, or COUNT times INTERVAL; a capture or FILE is read
    completely. Prints requests, bytes and load per disk. The present layout
    compares the model with the measurement.
    """
    request = parse(layout)
    measured = session.measure(options, each=COUNT, resolution=MINUTES_OF_A_DAY, geometry=True)
    topology = measured.topology
    caps = CapMeter(measured.source.host, topology)
    intervals = measured.repeatable()
    judged = judge(topology, tuple(caps.over(intervals())), caps.limits)
    # Several volumes on one array mean that array.
    devices = dict.fromkeys(volume_context(topology, name).device.name for name in measured.devices)
    for number, name in enumerate(devices):
        projection = project(topology, intervals(), name, request)
        if as_json:
            decision = {"decision": decision_json(topology, judged.decide(name))}
            click.echo(json.dumps(whatif_json(projection) | decision))
            continue
        gap = "\n" if number else ""
        first = before_converting(topology, judged.decide(name))
        print_blocks(document(projection, first), heading=not no_heading, before=gap)
