"""``stackmap record``: topology and counters into a capture."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

import click

from stackmap.cli.options import INTERVAL_RANGE
from stackmap.cli.output import CLEAR, tell
from stackmap.discover import discover, machine
from stackmap.discover.rediscovery import Rediscovery
from stackmap.errors import CaptureError, OutputRefused, SourceError, SourceMissing
from stackmap.features.plan.inputs import ask
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_paths import TRACE
from stackmap.host.file_tree import MANIFEST
from stackmap.host.recorder import UnprivilegedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.retention import Limits
from stackmap.host.timeline import TimeWindow
from stackmap.measurement.capture_part import length
from stackmap.measurement.machines import listen
from stackmap.model.same_machine import another_machine
from stackmap.model.units import parse_size
from stackmap.render.text import safe
from stackmap.sampling.snapshots import Snapshot, counted_on
from stackmap.sampling.watch import Watch
from stackmap.sources import cgroup, diskstats, limits, uptime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackmap.cli.session import Session
    from stackmap.features.trace.measure import Tracer
    from stackmap.host import Host
    from stackmap.model.topology import Topology

LINGER = 10.0  # seconds that the last sample waits for a topology that is being read
MAX_INTERVAL = 60.0  # seconds of a trace between two looks at its overhead
MAX_OVERHEAD = 0.05  # a share of CPU time above which the trace ends; the recording goes on
UNREAD = "devices changed shortly before the end; their new state is not recorded"


@click.command()
@click.argument("out", type=click.Path())
@click.argument("interval", metavar="[INTERVAL", type=INTERVAL_RANGE, default=1.0)
@click.argument("count", metavar="[COUNT]]", type=click.IntRange(min=1), required=False)
@click.option(
    "--append", is_flag=True, help="Continue the recording OUT of this machine, if it exists."
)
@click.option("--max-size", metavar="SIZE", help="Remove the oldest samples beyond SIZE: 500M, 2G.")
@click.option("--max-age", metavar="LENGTH", help="Remove samples older than LENGTH: 12h, 14d.")
@click.option("--trace", "with_trace", is_flag=True, help="Add latencies and rows; see trace.")
@click.pass_obj
def command(
    session: Session,
    out: str,
    interval: float,
    count: int | None,
    max_size: str | None,
    max_age: str | None,
    *,
    append: bool,
    with_trace: bool,
) -> None:
    """
    Record topology and counters into a capture.

    Takes COUNT intervals of INTERVAL seconds (default 1), or runs until
    interrupted. OUT is a new directory; stackmap --from OUT reads it.
    """
    if with_trace and interval > MAX_INTERVAL:
        raise click.UsageError(
            f"--trace needs an INTERVAL of at most {MAX_INTERVAL:g} s: its overhead is checked once per INTERVAL"
        )
    limits = Limits(
        None if max_size is None else parse_size(max_size),
        None if max_age is None else length(max_age),
    )
    if append and os.path.exists(out + MANIFEST):
        _refuse_another_machine(session.host, out)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as systemd stops a service
    times: list[float] = []
    try:
        with (
            _tracing(session) if with_trace else contextlib.nullcontext() as tracer,
            RecordingHost(session.host, out, limits, append=append) as host,
            _kept(session, tracer, host),
            contextlib.suppress(KeyboardInterrupt),
        ):
            for time in samples(host, interval, count):
                times = [*times[:1], time]
                _progress(out, times, host.frames)
                if tracer is not None and tracer.stop_above(MAX_OVERHEAD):
                    tell(tracer.record.notes[-1])
    except CaptureError as error:
        _clear()
        kept = f"; {host.frames} samples are saved" if times and host.frames else ""
        raise CaptureError(f"{error}{kept}") from error
    _clear()
    spent = times[-1] - times[0] if times else 0.0
    click.echo(f"{safe(out)}: {max(0, host.frames - 1)} intervals, {spent:.1f} s", err=True)


def _refuse_another_machine(host: Host, out: str) -> None:
    """Refuse to continue a recording whose last sample is of another machine."""
    recorded = CapturedHost(out, tell)
    if span := recorded.span():
        recorded.select(TimeWindow(since=span[1]))
    boot = machine(host).boot
    if boot and boot == machine(recorded).boot:
        return  # the usual case, without reading all devices
    if reason := another_machine(discover(host), discover(recorded)):
        raise OutputRefused(f"{out}: of another machine: {reason}; give a new directory")


@contextlib.contextmanager
def _tracing(session: Session) -> Iterator[Tracer]:
    """Trace while the context is entered: before OUT exists, so that a refusal leaves nothing."""
    from stackmap.features.trace.measure import Tracer

    live = session.tracing_host
    tracer = Tracer(live, discover(live), [])
    with tracer.running():
        yield tracer


@contextlib.contextmanager
def _kept(session: Session, tracer: Tracer | None, host: RecordingHost) -> Iterator[None]:
    """Add what *tracer* counted to the capture when the context ends, or the trace in a capture that is rewritten."""
    yield
    if tracer is not None:
        host.add(TRACE, tracer.result().to_json())
    elif not session.live:
        with contextlib.suppress(SourceMissing):
            host.add(TRACE, session.capture.read(TRACE))


def samples(host: RecordingHost, interval: float, count: int | None) -> Iterator[float]:
    """Ask for everything, then repeatedly for the counters; yield the time of each sample."""
    listen(host)
    all_of = _Everything()
    watch = Watch(host, all_of.read(host), all_of.read, update=all_of.update)
    host.read(diskstats.PATH)  # for readers of the files
    before: Snapshot | None = None
    try:
        for moment in watch.snapshots(
            interval, None if count is None else count + 1, linger=LINGER
        ):
            with contextlib.suppress(SourceError):  # for --since-boot; a capture may lack it
                host.read(uptime.PATH)
            if before is not None and not counted_on(before, moment):
                host.mark()
            host.say_outdated(watch.is_behind)
            before = moment
            yield moment.sample.time
    finally:
        if watch.is_behind:
            _clear()
            tell(UNREAD)


class _Everything:
    """All that any command asks."""

    def __init__(self) -> None:
        self._known = Rediscovery(metadata=True, geometry=True)

    def read(self, host: Host) -> Topology:
        """Ask all of it; also what is asked without root, for those who read the files."""
        topology = self._known.whole(host)
        discover(UnprivilegedHost(self._known.remembering(host)))
        return self._asked(host, topology)

    def update(self, host: Host, names: frozenset[str]) -> Topology:
        """Ask again where only the devices *names* had uevents."""
        return self._asked(host, self._known.update(host, names))

    def _asked(self, host: Host, topology: Topology) -> Topology:
        tuple(limits.read(host, topology))  # for explain
        cgroup.read(host)  # for blame
        ask(self._known.remembering(host), topology)  # for plan
        return topology


def _progress(out: str, times: list[float], samples: int) -> None:
    if sys.stderr.isatty():
        spent = times[-1] - times[0]
        line = f"{CLEAR}{safe(out)}: {samples + 1} samples, {spent:.0f} s"
        click.echo(line, err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo(CLEAR, err=True, nl=False)
