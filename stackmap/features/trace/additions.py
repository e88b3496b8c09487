"""
What a trace adds to the commands of the core: ``record --trace``, ``blame --trace`` and ``iostat --prove``.

``record_trace``, ``blame_trace`` and ``iostat_prove`` are decorators of a command, see ``stackmap/commands.py``. A command is not slower for an option
that is not given: what traces is imported when it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from stackmap.cli.options import FiniteRange, MeasuringOptions
from stackmap.cli.output import print_blocks, tell
from stackmap.discover import discover
from stackmap.host.capture_format import TRACE

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.features.trace.measure import Tracer
    from stackmap.features.trace.owners import OwnerTrace
    from stackmap.host.recording import RecordingHost
    from stackmap.measurement.source import Measurement

Function = Callable[..., None]
MAX_INTERVAL = 60.0  # seconds of a trace between two looks at its overhead

max_overhead_option = click.option(
    "--max-overhead",
    type=FiniteRange(min=0, min_open=True, max=100),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Stop the trace above this share of CPU time.",
)


def iostat_prove(command: Function) -> Function:
    """Give ``iostat`` the option --prove."""

    @click.option("--prove", is_flag=True, help="With --why: check counters against dm-stats.")
    @wraps(command)
    def run(*, prove: bool, **more: Any) -> None:
        if prove and (more["as_json"] or more["form"] or not more["why"]):
            raise click.UsageError("--prove needs --why, and cannot be combined with JSON")
        if prove and more["options"].no_machine:
            raise click.UsageError("--prove measures: leave out --input and --since-boot")
        command(**_with(more, _prove_counters, wanted=prove))

    return run


def _with(arguments: dict[str, Any], addition: object, *, wanted: bool) -> dict[str, Any]:
    if not wanted:
        return arguments
    return {**arguments, "additions": (*arguments.get("additions", ()), addition)}


class _Beside:
    """A trace beside a recording; its probes end above the share *max_overhead* of CPU time."""

    def __init__(self, tracer: Tracer, max_overhead: float) -> None:
        self._tracer, self._max_overhead = tracer, max_overhead

    def look(self) -> None:
        if self._tracer.stop_above(self._max_overhead):
            tell(self._tracer.record.notes[-1])

    def keep(self, host: RecordingHost) -> None:
        host.add(TRACE, self._tracer.result().to_json())


@contextmanager
def _trace_beside(session: Session, max_overhead: float) -> Iterator[_Beside]:
    from stackmap.features.trace.measure import Tracer

    live = session.tracing_host
    tracer = Tracer(live, discover(live), [], arrivals=True)
    with tracer.running():
        yield _Beside(tracer, max_overhead)


def _trace_owners(session: Session, options: MeasuringOptions, max_overhead: float) -> OwnerTrace:
    if options.no_machine:
        raise click.UsageError("--trace needs this machine: leave out --input and --since-boot")
    from stackmap.features.trace.owners import OwnerTrace

    return OwnerTrace(session.tracing_host, max_overhead)


@contextmanager
def _prove_counters(session: Session, measured: Measurement) -> Iterator[None]:
    from stackmap.features.trace.dm_stats import proof_sentences, proving

    with proving(session.tracing_host, measured.topology, measured.devices) as proofs:
        yield
    print_blocks(proof_sentences(proofs))


def _with_trace(
    help_: str, begin: Callable[..., object], check: Callable[[dict[str, Any]], None] | None = None
) -> Callable[[Function], Function]:
    """Return the decorator that gives a command --trace and --max-overhead; *check* refuses other options beside them."""

    def decorator(command: Function) -> Function:
        @click.option("--trace", is_flag=True, help=help_)
        @max_overhead_option
        @wraps(command)
        def run(*, trace: bool, max_overhead: float, **more: Any) -> None:
            source = click.get_current_context().get_parameter_source("max_overhead")
            if source is ParameterSource.COMMANDLINE and not trace:
                raise click.UsageError("--max-overhead needs --trace")
            if trace and check is not None:
                check(more)
            addition = partial(begin, max_overhead=max_overhead / 100)
            command(**_with(more, addition, wanted=trace))

        return run

    return decorator


def _require_looks(arguments: dict[str, Any]) -> None:
    if arguments["interval"] > MAX_INTERVAL:
        raise click.UsageError(
            f"--trace needs an INTERVAL of at most {MAX_INTERVAL:g} s: its overhead is checked once per INTERVAL"
        )


record_trace = _with_trace("Add latencies and rows; see trace.", _trace_beside, _require_looks)
blame_trace = _with_trace("Trace services and processes too.", _trace_owners)
