"""``stackmap fleet HOST``: the layers and findings of a host, from its stored counters."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import click

from stackmap.cli.output import tell
from stackmap.cli.session import SOME_MISSING, tell_unknown
from stackmap.errors import NameNotFound
from stackmap.features.fleet.host_source import PrometheusHost, Window, find_host

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.features.fleet.http import Prometheus


REPEATED = "several series have its job and instance (replicas, or clusters with the same names); figures may be mixed"


def open_hosts(
    session: Session,
    server: Prometheus,
    hosts: tuple[str, ...],
    job: str,
    window: Window,
    show: partial[None] | None,
) -> None:
    """Print the layers and findings of each host; None for *show* means JSON."""
    failures: list[NameNotFound] = []
    for host in hosts:
        try:
            found = PrometheusHost(server, *find_host(server, host, job, window.end), window)
            _open_one(found, show)
            if found.repeated:
                tell(f"{found.name}: {REPEATED}")
                session.status = SOME_MISSING
        except NameNotFound as error:
            failures.append(error)
    if len(failures) == len(hosts):
        raise failures[0]
    for failure in failures:
        tell(str(failure))
        session.status = SOME_MISSING
    for warning in server.warnings:
        tell(f"the server warns: {warning}")
        session.status = SOME_MISSING


def _open_one(host: PrometheusHost, show: partial[None] | None) -> None:
    from stackmap.cli.explain import judged_together
    from stackmap.document import blocks as doc
    from stackmap.document.findings import explain_document
    from stackmap.document.layers import layers_document
    from stackmap.ledger.amplification import LayerReport
    from stackmap.ledger.averages import average
    from stackmap.measurement.selection import IntervalSelection
    from stackmap.render.figures_json import explain_json, layers_json

    topology = host.topology()
    intervals = list(host.select_steady(IntervalSelection(which="all")))
    if host.rebooted:
        tell(f"{host.name} was rebooted in the window; its figures begin after that")
    whole = next(average(intervals))
    report = LayerReport(topology, whole, (), skip_idle=True)
    judged = judged_together(topology, intervals, None, (), topology)
    tell_unknown(topology)
    if show is None:
        found = {
            "schema": "stackmap.fleet-host/1",
            "host": host.name,
            "layers": layers_json(report.stacks, report.interval),
            "explain": explain_json(*judged),
        }
        click.echo(json.dumps(found))
        return
    show([
        doc.Headline((host.name,)),
        *(
            block._replace(about=(("host", host.name), *block.about)) if isinstance(block, doc.Table) else block
            for block in layers_document(report.stacks, report.interval, time=True)
        ),
        *explain_document(*judged),
    ])  # fmt: skip
