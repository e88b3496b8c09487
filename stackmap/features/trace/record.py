"""
A trace as the kernel printed it: texts, kept as one JSON object.

``record --trace`` keeps it in a capture, so that a replay and a test parse what the kernel printed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from stackmap.errors import CaptureError, InputError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture_paths import TRACE
from stackmap.sources.trace_histogram import LIMIT

FORMAT = 1


@dataclass(slots=True)
class TraceRecord:
    """
    What the kernel printed during a trace, and the CPU time of the trace.

    ``texts``: histograms by event. ``slices``: those of latency at instants during the trace, each without the
    entries that are as in the one before. ``dm_stats``: by device number.
    ``counters``: /proc/diskstats before and after, at ``times``. ``dm_major``: the major number of dm devices.
    ``hits``: how often probes fired; without probes, the requests. ``missed``: hits that the kernel skipped.
    ``cost``: mean CPU time per hit, in seconds. ``peak``, ``added``: as in ``Trace``.
    """

    times: tuple[float, float] = (0.0, 0.0)
    cpus: int = 1
    cost: float | None = None
    hits: int = 0
    missed: int = 0
    peak: float | None = None
    added: tuple[float, float] | None = None
    dm_major: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    slices: list[str] = field(default_factory=list)
    dm_stats: dict[str, str] = field(default_factory=dict)
    counters: tuple[str, str] = ("", "")
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The length of the trace."""
        return max(self.times[1] - self.times[0], 0.001)

    @property
    def overhead(self) -> float | None:
        """The share of all CPU time that the probes took; None if the cost of a hit is unknown."""
        if self.cost is None:
            return None
        return self.hits * self.cost / self.seconds / self.cpus

    def to_json(self) -> str:
        """Return the record as text."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> TraceRecord:
        """Return what ``to_json`` wrote; ``CaptureError`` for anything else."""
        try:
            found = json.loads(text)
            if found.pop("format") != FORMAT:
                raise CaptureError(f"{TRACE}: of another version of stackmap")
            record = cls(**found)
            record.times = (float(record.times[0]), float(record.times[1]))
            if record.added is not None:
                record.added = (float(record.added[0]), float(record.added[1]))
            record.counters = (str(record.counters[0]), str(record.counters[1]))
            record._require_types()
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise CaptureError(f"{TRACE}: damaged: {error}") from error
        return record

    def _require_types(self) -> None:
        """Raise ``ValueError`` for a value that no trace has."""
        whole = (self.cpus, self.hits, self.missed, self.dm_major)
        texts = (*self.texts.items(), *self.dm_stats.items(), self.slices, self.sources, self.notes)
        known = (each for each in (self.cost, self.peak) if each is not None)
        shares = (*self.times, *known, *(self.added or ()))
        if not (
            all(type(number) is int and 0 <= number < LIMIT for number in whole)
            and self.cpus
            and all(0 <= number < LIMIT for number in shares)
            and all(isinstance(each, (list, tuple)) for each in texts)
            and all(isinstance(text, str) for each in texts for text in each)
        ):
            raise ValueError("a value of the wrong kind")


def from_capture(host: Host) -> TraceRecord:
    """Return the trace in a capture; ``InputError`` if it has none."""
    try:
        text = host.read(TRACE)
    except SourceMissing as error:
        raise InputError(
            "the capture has no trace; record one with `stackmap record --trace`"
        ) from error
    return TraceRecord.from_json(text)
