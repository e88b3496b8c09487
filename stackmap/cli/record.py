"""``stackmap record``: topology and counters into a capture."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import click

from stackmap.cli.options import INTERVAL_RANGE, is_number, with_additions
from stackmap.cli.output import CLEAR, missing, tell
from stackmap.cli.session import Session
from stackmap.commands import additions as added_by_features
from stackmap.discover import discover, machine
from stackmap.discover.rediscovery import Rediscovery
from stackmap.errors import NO_ANSWER, CaptureError, OutputRefused, SourceError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture import CapturedHost
from stackmap.host.capture_format import TRACE
from stackmap.host.file_tree import MANIFEST
from stackmap.host.intercepting import UnprivilegedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.segments import Limits
from stackmap.host.timeline import TimeWindow
from stackmap.measurement.capture_part import length
from stackmap.measurement.machines import listen
from stackmap.model.differences import another_machine
from stackmap.model.topology import Topology
from stackmap.model.units import parse_size
from stackmap.render.text import safe
from stackmap.sampling.snapshots import Snapshot, only_counted
from stackmap.sampling.watch import Watch
from stackmap.sources import cgroup, diskstats, ebs, health, limits

EVERY = 600.0  # seconds after which awake disks are asked for their health again
LIMITS_EVERY = 60.0  # and those of Amazon for the time over their limits
LINGER = 10.0  # seconds that the last sample waits for a topology that is being read
# Seconds, at most a quarter of an interval, that LVM and md get after the first sample.
FIRST_WAIT = 0.5
UNREAD = "devices changed shortly before the end; their new state is not recorded"


class Measuring(Protocol):
    """What a feature measures beside a recording."""

    def look(self) -> None:
        """Take a look after each sample; say on stderr what ended early."""

    def keep(self, host: RecordingHost) -> None:
        """Add to the capture what was measured, after the last sample."""


HealthQuestion = Callable[..., object]  # asks a host about ``devices``
# Begins before OUT exists, so that a refusal leaves nothing.
Addition = Callable[["Session"], AbstractContextManager[Measuring]]


@click.command()
@click.argument("out", type=click.Path())
@click.argument("interval", metavar="[INTERVAL", type=INTERVAL_RANGE, default=1.0)
@click.argument("count", metavar="[COUNT]]", type=click.IntRange(min=1), required=False)
@click.option(
    "--append", is_flag=True, help="Continue the recording OUT of this machine, if it exists."
)
@click.option("--max-size", metavar="SIZE", help="Remove the oldest samples beyond SIZE: 500M, 2G.")
@click.option("--max-age", metavar="LENGTH", help="Remove samples older than LENGTH: 12h, 14d.")
@click.option("--no-health", is_flag=True, help="Do not open disks to record their health.")
@with_additions("record")
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
    no_health: bool,
    additions: tuple[Addition, ...] = (),
) -> None:
    """
    Record topology and counters into a capture.

    Takes COUNT intervals of INTERVAL seconds (default 1), or runs until
    interrupted. OUT is a new directory; stackmap --from OUT reads it. As root,
    disks that are awake are asked for their health every ten minutes, unless
    --no-health is given.
    """
    if is_number(out):
        raise click.UsageError(f"{missing('OUT')} {out} is a number; write ./{out} if it is meant")
    limits = Limits(
        None if max_size is None else parse_size(max_size),
        None if max_age is None else length(max_age),
    )
    if append and os.path.exists(out + MANIFEST):
        _refuse_another_machine(session.host, out)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as systemd stops a service
    times: list[float] = []
    try:
        with contextlib.ExitStack() as stack:
            measuring = [stack.enter_context(begin(session)) for begin in additions]
            machine = session.hurried()
            host = stack.enter_context(RecordingHost(machine, out, limits, append=append))
            with contextlib.suppress(KeyboardInterrupt):
                ask = None if no_health else _health_question(session)
                for time in samples(host, interval, count, health_of=ask):
                    times = [*times[:1], time]
                    _progress(out, times, host.frames)
                    for one in measuring:
                        one.look()
            for one in measuring:
                one.keep(host)
            if not session.live:
                _keep_trace(session.capture, host)
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


def _health_question(session: Session) -> HealthQuestion | None:
    """Return the question for the health of disks: to the disks, as root on this machine; to the capture, if it has any."""
    if session.live:
        return health.read if os.geteuid() == 0 else None
    has_any = health.recorded(session.host, discover(session.host))
    return health.recorded if has_any else None


def _keep_trace(capture: CapturedHost, host: RecordingHost) -> None:
    """Add the trace of *capture*, which is rewritten."""
    with contextlib.suppress(SourceMissing):
        host.add(TRACE, capture.read(TRACE))


def samples(
    host: RecordingHost,
    interval: float,
    count: int | None,
    health_of: HealthQuestion | None = None,
) -> Iterator[float]:
    """
    Ask for everything, then repeatedly for the counters; yield the time of each sample.

    *health_of*: asks disks for their health, which opens them; None: they are not asked.
    """
    listen(host)
    all_of = _Everything(health_of)
    watch = Watch(host, all_of.read(host), all_of.read, update=all_of.update)
    tell_all(reason for reason in watch.topology.unknown if NO_ANSWER in reason)
    host.read(diskstats.PATH)  # for readers of the files
    caps = limits.CapMeter(host, watch.topology)
    before: Snapshot | None = None
    told: dict[str, None] = {}
    number = 0
    try:
        for moment in watch.snapshots(
            interval, None if count is None else count + 1, linger=LINGER
        ):
            all_of.ask_beside(host, watch.topology, moment.sample.time, is_last=number == count)
            usual = min(FIRST_WAIT, interval / 4) if not number else 0.0
            host.take_beside(LINGER if number == count else usual)
            number += 1
            late = dict.fromkeys(host.late())
            tell_all(late.keys() - told.keys())
            told = late
            with contextlib.suppress(SourceError):  # for --since-boot; a capture may lack it
                host.read(diskstats.UPTIME)
            if before is not None and not only_counted(before, moment):
                host.mark()
            host.set_outdated(watch.is_behind)
            caps.count(None)
            before = moment
            yield moment.sample.time
    finally:
        if watch.is_behind:
            _clear()
            tell(UNREAD)


class _Everything:
    """All that any command asks."""

    def __init__(self, health_of: HealthQuestion | None) -> None:
        self._known = Rediscovery(geometry=True)
        self._health_of = health_of
        # For each question that takes long: the state in which it was asked. It is asked again in another state.
        self._asked_at: dict[str, object] = {}
        self._begun: float | None = None

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
        return topology

    def ask_beside(
        self, host: RecordingHost, topology: Topology, time: float, *, is_last: bool
    ) -> None:
        """
        Ask LVM and md again if their metadata may have changed, and disks from time to time.

        Their tools read disks, which may hang.
        """
        self._begun = time if self._begun is None else self._begun
        changes, spent = self._known.metadata_changes, time - self._begun
        slow: dict[str, tuple[Callable[[Host], object], object]] = {
            "LVM's metadata": (lambda host: host.metadata("volumes"), changes),
            "md's metadata": (lambda host: host.metadata("arrays"), changes),
            "LVM's report": (partial(_feature_questions, topology=topology), changes),
        }
        if self._health_of is not None:
            ask_health = partial(self._health_of, devices=[*topology])
            slow["health of disks"] = ask_health, (changes, spent // EVERY)
            ask_limits = partial(ebs.read, devices=[*topology])
            slow["limits of disks"] = ask_limits, (changes, spent // LIMITS_EVERY, is_last)
        for what, (question, state) in slow.items():
            if self._asked_at.get(what) != state and host.ask_beside(what, question):
                self._asked_at[what] = state


def _feature_questions(host: Host, topology: Topology) -> None:
    for ask in added_by_features("questions"):
        ask(host, topology)


def tell_all(sentences: Iterable[str]) -> None:
    """Print each of *sentences* on stderr, above the line of progress."""
    for sentence in sorted(sentences):
        tell(sentence)


def _progress(out: str, times: list[float], samples: int) -> None:
    if sys.stderr.isatty():
        spent = times[-1] - times[0]
        line = f"{CLEAR}{safe(out)}: {samples + 1} samples, {spent:.0f} s"
        click.echo(line, err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo(CLEAR, err=True, nl=False)
