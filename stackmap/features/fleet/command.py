"""``stackmap fleet``: every volume of every host, from Prometheus; with HOST, the layers and findings of that host."""

import gc
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import click

from stackmap.cli import options as opt
from stackmap.cli.output import MARKDOWN, chosen_form, print_blocks, tell
from stackmap.cli.progress import waiting
from stackmap.cli.session import SOME_MISSING, Session, tell_unknown
from stackmap.commands import additions
from stackmap.document.interval import end_time
from stackmap.document.wording import duration
from stackmap.errors import NameNotFound
from stackmap.features.fleet import document
from stackmap.features.fleet.host_source import HostSearch, PrometheusHost, Window
from stackmap.features.fleet.http import Prometheus
from stackmap.features.fleet.http_config import HttpConfig, read_http_config
from stackmap.features.fleet.promql import CLUSTER, LEVEL, MODEL, PARTS, Expressions
from stackmap.features.fleet.reader import FleetReader, Question
from stackmap.features.fleet.recordings import Recordings, read_recordings
from stackmap.features.fleet.volumes import SORTS, Fleet, fleet_json
from stackmap.measurement.capture_part import instant, length
from stackmap.model.interval import Interval

URL = "STACKMAP_PROMETHEUS_URL"
WINDOW = "1h"
LIMIT = 50  # volumes in a table
PAGE_LIMIT = 500  # in a page
SHORTEST = 300  # seconds: the range of the recorded rates
LABEL = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
ALIASES = {"host": "instance"}
OLD = 900  # seconds: the rules' topologyStaleSeconds
AGED = "its topology is {age} old: does stackmap-textfile.timer run there?"
REPEATED = "several series have its job and instance, so figures may be mixed: choose one of replicas or of clusters with --match, remove the older of two textfiles"


def _check_window(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and length(text) < SHORTEST:
        raise click.BadParameter(f"at least {SHORTEST // 60} minutes, not {text}")
    return text


def _check_columns(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    known = [column.key for column in document.COLUMNS]
    chosen = tuple(filter(None, text.split(",")))
    for key in chosen:
        if key not in known:
            raise click.BadParameter(f"no column '{key}'; columns: {', '.join(known)}")
    return chosen or document.DEFAULT


def _check_label(_: click.Context, __: click.Parameter, text: str) -> str:
    if text and not LABEL.fullmatch(text):
        raise click.BadParameter(f"{text!r} is no name of a label")
    return ALIASES.get(text, text)


def _check_matches(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Return each label with its pattern as a regular expression."""
    pairs = []
    for text in texts:
        label, equals, pattern = text.partition("=")
        if not (label and equals and pattern):
            raise click.BadParameter(f"{text!r} is not LABEL=PATTERN, such as rack=r1*")
        pairs.append((_check_label(context, parameter, label), _of_pattern(pattern)))
    return tuple(pairs)


@click.command()
@click.argument("hosts", nargs=-1, metavar="[HOST...]")
@click.option("--url", metavar="URL", help=f"Address of Prometheus [default: ${URL}].")
@click.option(
    "--recordings",
    "place",
    metavar="DIR",
    help="Read DIR/ of export --parquet (or s3://...) instead.",
)
@click.option(
    "--window",
    callback=_check_window,
    metavar="LENGTH",
    help="Average over this time, as 7d [default: 1h; recordings: all].",
)
@click.option("--at", metavar="TIME", help="End of the window [default: now].")
@click.option(
    "--sort",
    type=click.Choice([*SORTS]),
    default="wasted",
    show_default=True,
    help="Show the highest figures first.",
)
@click.option(
    "-o",
    "columns",
    metavar="LIST",
    default="",
    callback=_check_columns,
    help="Show these columns, comma-separated.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Volumes shown; 0: all [default: {LIMIT}; in a page {PAGE_LIMIT}; in JSON all].",
)
@click.option(
    "--host", "pattern", default="", metavar="PATTERN", help="Only hosts (instances) like 'db*'."
)
@click.option("--job", default="", metavar="NAME", help="Only this job of Prometheus.")
@click.option("--level", default="", metavar="LEVEL", help="Only volumes of this RAID level.")
@click.option(
    "--match",
    "matches",
    multiple=True,
    callback=_check_matches,
    metavar="LABEL=PATTERN",
    help="Only hosts with this label of Prometheus; repeatable.",
)
@click.option(
    "--by",
    default="",
    callback=_check_label,
    metavar="LABEL",
    help="Sums by label: cluster, rack, level, model (of disks).",
)
@click.option(
    "--cluster-label",
    "cluster",
    default=CLUSTER,
    show_default=True,
    callback=_check_label,
    metavar="LABEL",
    help="Label that separates equal names of hosts.",
)
@click.option("--report", "page", metavar="FILE", help="Write a page, FILE.html or FILE.md.")
@opt.force_option
@click.option(
    "--http-config",
    "http_config",
    metavar="FILE",
    help="Credentials and TLS, in promtool's format.",
)
@click.option(
    "--no-x509-strict",
    "x509_lax",
    is_flag=True,
    help="Accept certificates that violate RFC 5280.",
)
@click.option(
    "--timeout",
    type=opt.FiniteRange(min=1, max=opt.DAY),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="Seconds per query.",
)
@opt.json_option
@opt.csv_option
@opt.markdown_option
@opt.no_heading_option
@click.pass_obj
def command(
    session: Session,
    /,
    hosts: tuple[str, ...],
    url: str | None,
    place: str | None,
    window: str | None,
    at: str | None,
    sort: str,
    columns: tuple[str, ...],
    limit: int | None,
    pattern: str,
    job: str,
    level: str,
    matches: tuple[tuple[str, str], ...],
    by: str,
    cluster: str,
    page: str | None,
    force: bool,
    http_config: str | None,
    x509_lax: bool,
    timeout: float,
    as_json: bool,
    no_heading: bool,
) -> None:
    """
    Show what RAID costs on the volumes of all hosts.

    Prometheus has the counters (node_exporter) and the stacks (stackmap export
    --textfile). HOST opens one host: its layers and its findings.
    """  # fmt: skip
    show = partial(print_blocks, heading=not no_heading)
    if limit is None:
        limit = PAGE_LIMIT if page is not None else 0 if as_json else LIMIT
    if place is not None:
        if hosts or url or job or matches or http_config:
            raise click.UsageError(
                "--recordings cannot be combined with HOST, --url, --job, --match or --http-config"
            )
        if by not in ("", LEVEL, MODEL):
            raise click.UsageError("--recordings has --by level and --by model")
        if sort == "wear":
            raise click.UsageError("--recordings has no wear of disks to sort by")
        asked = Recordings(
            place,
            None if window is None else length(window),
            _end(at),
            sort,
            limit,
            pattern,
            level,
            by,
        )
        write = None if page is None else _page_writer(page, force=force)
        _tell(
            session,
            waiting("reading", partial(read_recordings, asked)),
            write,
            columns,
            None if as_json else show,
        )
        return
    url = url or os.environ.get(URL)
    if not url:
        raise click.UsageError(f"missing --url URL: which Prometheus? (or set {URL})")
    if not session.live:
        raise click.UsageError("fleet reads Prometheus, not --from")
    window = window or WINDOW
    end = _end(at) or time.time()
    config = HttpConfig() if http_config is None else read_http_config(http_config)
    server = Prometheus(url, config._replace(x509_strict=not x509_lax), timeout)
    if hosts:
        if page or pattern or level or by:
            raise click.UsageError("HOST cannot be combined with --host, --level, --by or --report")
        part = Window(end, length(window))
        of_job = (("job", re.escape(job)),) if job else ()
        search = HostSearch(server, (*of_job, *matches), cluster, end)
        _open_hosts(session, search, hosts, part, None if as_json else show)
        return
    if by and page:
        raise click.UsageError("--by cannot be combined with --report")
    scope = Expressions(
        length(window), _expression(pattern), job, level, matches=matches, cluster=cluster
    )
    shown = document.PAGE_COLUMNS if page is not None else columns
    parts = PARTS if as_json and page is None else document.needed_parts(shown, sort)
    question = Question(window, end, sort, limit, scope, page is not None, by, parts)
    write = None if page is None else _page_writer(page, force=force)
    with _without_collector():
        fleet = waiting("asking", FleetReader(server, question).read)
        _tell(session, fleet, write, columns, None if as_json else show)


def _end(at: str | None) -> float | None:
    """Return the end of the window; None if it is not given."""
    now = time.time()
    return None if at is None else instant(at, (now, now), now, later=False)


def _tell(
    session: Session,
    fleet: Fleet,
    write: Callable[[Fleet], None] | None,
    columns: tuple[str, ...],
    show: partial[None] | None,
) -> None:
    """Write the page, or print *fleet*; None for *show* means JSON."""
    if fleet.partial:
        session.status = SOME_MISSING
    if write is not None:
        write(fleet)
    elif show is None:
        click.echo(json.dumps(fleet_json(fleet, end_time(Interval({}, time=fleet.time)) or "")))
    else:
        show(document.fleet_document(fleet, columns))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector: answers have no cycles, and the search for them takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _expression(pattern: str) -> str:
    """Return a shell pattern as a regular expression; a name without a port means any port."""
    if not pattern:
        return ""
    expression = _of_pattern(pattern)
    return expression if ":" in pattern else f"{expression}(:[0-9]+)?"


def _of_pattern(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def _page_writer(path: str, *, force: bool) -> Callable[[Fleet], None]:
    """Return the function that writes the page to *path*; an impossible one is refused before the server is asked."""
    from stackmap.features.report.command import drawn, is_markdown, write_page
    from stackmap.host.directory import OutputFile

    markdown = is_markdown(path, markdown=chosen_form() == MARKDOWN)
    file = None if path == "-" else OutputFile(path, force=force)
    return lambda fleet: write_page(file, drawn(document.fleet_page(fleet), markdown=markdown))


def _open_hosts(
    session: Session,
    search: HostSearch,
    hosts: tuple[str, ...],
    window: Window,
    show: partial[None] | None,
) -> None:
    """Print the layers and findings of each host; None for *show* means JSON."""
    failures: list[NameNotFound] = []
    for host in hosts:
        try:
            source = PrometheusHost(search.server, *search.find(host), window)
            _open_one(source, show)
            old = AGED.format(age=duration(source.age)) if source.age > OLD else ""
            for doubt in filter(None, (source.repeated and REPEATED, old)):
                tell(f"{source.name}: {doubt}")
                session.status = SOME_MISSING
        except NameNotFound as error:
            failures.append(error)
    if len(failures) == len(hosts):
        raise failures[0]
    for failure in failures:
        tell(str(failure))
        session.status = SOME_MISSING
    for warning in search.server.warnings:
        tell(f"the server warns: {warning}")
        session.status = SOME_MISSING


def _open_one(host: PrometheusHost, show: partial[None] | None) -> None:
    from stackmap.document import blocks as doc
    from stackmap.document.findings import explain_document
    from stackmap.document.interval import instant as when
    from stackmap.document.layers import layers_document
    from stackmap.ledger.amplification import LayerReport
    from stackmap.ledger.averages import average
    from stackmap.ledger.corrections import corrected
    from stackmap.ledger.time_series import IntervalSeries
    from stackmap.measurement.source import IntervalSelection
    from stackmap.render.figures_json import explain_json, layers_json
    from stackmap.rules.decision import judge_over_time

    topology = host.topology()
    intervals = list(host.select_steady(IntervalSelection(which="all")))
    if host.rebooted:
        tell(f"{host.name} was rebooted in the window; its figures begin after that")
    whole = next(average(intervals))
    report = LayerReport(topology, whole, (), skip_idle=True, lives=host.lives)
    judged = judge_over_time(topology, IntervalSeries(intervals))
    tell_unknown(topology)
    if show is None:
        answer = {
            "schema": "stackmap.fleet-host/1",
            "host": host.name,
            "layers": layers_json(report.stacks, report.interval),
            "explain": explain_json(judged),
        }
        click.echo(json.dumps(answer))
        return
    right = [corrected(topology, interval) for interval in intervals]
    tops = [stack.top.name for stack in report.stacks]
    show([
        doc.Headline((host.name, when(report.interval.time) or "")),
        *(
            block._replace(about=(("host", host.name), *block.about)) if isinstance(block, doc.Table) else block
            for block in layers_document(report.stacks, report.interval)
        ),
        *explain_document(judged),
        *(block for blocks in additions("headroom") for block in blocks(topology, right, tops)),
    ])  # fmt: skip
