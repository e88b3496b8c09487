"""
A measured load as fio's options: one section for the reads, one for the writes.

Three things that fio does are worked around (seen with 3.33). With sizes that
vary, ``rate_iops`` is taken as so many requests of the *smallest* size, unless
they come at random (``rate_process=poisson``). A size is rounded down to a
multiple of the smallest, unless ``bs_unaligned``. And its map of random blocks
cuts a request short where the next block was used, so the map is off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.analysis.fiojob.load import JobLoad, Stream
from stackmap.analysis.fiojob.sizes import SizeSource

VARIABLE = "${TARGET}"  # fio takes it from the environment, and stops where it is not there
MAX_RUNTIME = 3600  # seconds a job runs, however long was measured
UNKNOWN_DEPTH = 16
MIN_RANDOM_DEPTH = 4  # in flight: requests that come at random come several at once
NEARLY = 10  # per cent; a stream was told as 93 of 100, by counters that are no nearer
COARSE = 25.0  # requests a second; fio's rate_iops is whole, so of fewer too much would be lost

SOURCE_TEXT = {
    SizeSource.ONE: "all of one size: every interval's bytes are its requests times that",
    SizeSource.TWO: "of two sizes: every interval's bytes are so many of the one and so many of the other",
    SizeSource.MEANS: "the means of the intervals: counters hold no size of a single request, so sizes "
    "that were mixed within an interval are its mean here",
    SizeSource.GIVEN: "as they were given, not measured",
}


@dataclass(frozen=True)
class Section:
    """A section of a job file: what is said of it, and its options in their order."""

    name: str
    comments: tuple[str, ...]
    options: Mapping[str, str]
    stream: Stream


@dataclass(frozen=True)
class Job:
    """
    A job file.

    ``target``: what it runs on, "" where the user is to say; ``notes``: what
    is to be known of that. ``writes``: whether it destroys what is there. ``every``: writes between two flushes,
    None where there are none, or nothing tells.
    """

    load: JobLoad
    target: str
    runtime: int
    every: int | None
    options: Mapping[str, str]
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.load.stream("write") is not None


def job_of(
    load: JobLoad, target: str = "", runtime: int | None = None, notes: tuple[str, ...] = ()
) -> Job:
    """
    Return the job that makes *load* again on *target*, a path; for *runtime* seconds, or as long.

    *notes*: what is to be known of the target before anything is written there.
    """
    lasted = round(load.seconds) if load.seconds else 60
    seconds = runtime or max(1, min(MAX_RUNTIME, lasted))
    every = _every(load)
    options = {
        "ioengine": "libaio",
        "direct": "1",
        "filename": target.replace(":", r"\:") or VARIABLE,
        "time_based": "1",
        "runtime": str(seconds),
        "norandommap": "1",
        "allow_mounted_write": "0",
    }
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", load.device.title)
    sections = tuple(_section(name, stream, load, every) for stream in load.streams)
    source = notes if load.stream("write") is not None else ()
    return Job(load, target, seconds, every, options, sections, source)


def _section(name: str, stream: Stream, load: JobLoad, every: int | None) -> Section:
    percents = stream.sizes.percents()
    mixed = len(percents) > 1
    options = {
        **_order(stream),
        **_sizes(percents),
        **_rate(stream, mixed=mixed),
        "iodepth": str(depth(stream, mixed=mixed)),
    }
    comments = [
        f"{stream.rate:.2f} {stream.direction}s/s of {stream.mean / 1024:.2f} KiB on average",
        f"sizes: {SOURCE_TEXT[stream.sizes.source]}",
    ]
    if stream.sizes.source is SizeSource.GIVEN:
        comments[-1] += f"; their mean is {stream.sizes.mean / 1024:.2f} KiB"
    elif load.cuts in stream.sizes.requests:
        comments.append(
            f"sizes: the device cuts at {(load.cuts or 0) // 1024} KiB before it counts: requests "
            "of that size may be pieces of larger ones"
        )
    comments.append(f"{_called(stream)}: a guess; {stream.access.evidence}")
    if stream.queue is None:
        comments.append("iodepth: not known, there is no time in what was measured")
    if stream.direction == "write":
        comments.append(_flushing(load, every))
        if every:
            options["fdatasync"] = str(every)
    return Section(f"{name}-{stream.direction}", tuple(comments), options, stream)


def random_percent(stream: Stream) -> int:
    """Return how many of a hundred requests go anywhere; all or none where it is nearly so."""
    percent = round(100 * (1 - stream.access.sequential))
    return percent if NEARLY < percent < 100 - NEARLY else 100 * (percent > NEARLY)


def _order(stream: Stream) -> dict[str, str]:
    percent = random_percent(stream)
    if percent in (0, 100):
        return {"rw": f"{'rand' if percent else ''}{stream.direction}"}
    # What is left follows on the one before (fio's percentage_random).
    return {"rw": f"rand{stream.direction}", "percentage_random": str(percent)}


def _called(stream: Stream) -> str:
    percent = random_percent(stream)
    return {0: "sequential", 100: "random"}.get(percent, f"{percent} % at random")


def _sizes(percents: Mapping[int, int]) -> dict[str, str]:
    if len(percents) == 1:
        return {"bs": str(*percents)}
    return {
        "bssplit": ":".join(f"{size}/{percent}" for size, percent in percents.items()),
        "bs_unaligned": "1",
        "blockalign": str(math.gcd(*percents)),
    }


def _rate(stream: Stream, *, mixed: bool) -> dict[str, str]:
    """Return the rate; of few requests as bytes, which may be of parts of one."""
    if stream.rate < COARSE:
        return {"rate": str(max(1, round(stream.rate * stream.sizes.mean)))}
    rate = {"rate_iops": str(round(stream.rate))}
    return {**rate, "rate_process": "poisson"} if mixed else rate


def depth(stream: Stream, *, mixed: bool) -> int:
    """Return how many requests may be in flight: a limit, for the rate is set."""
    if stream.queue is None:
        return UNKNOWN_DEPTH
    return max(MIN_RANDOM_DEPTH if mixed else 1, math.ceil(stream.queue))


def _every(load: JobLoad) -> int | None:
    """Return how many writes go between two flushes."""
    written = load.stream("write")
    if not load.flushes or written is None or load.flushes * MAX_RUNTIME < 1:
        return None
    return max(1, round(written.rate / load.flushes))


def _flushing(load: JobLoad, every: int | None) -> str:
    if load.flushes is None:
        return f"flushes: not known, {load.flushes_reason}; none are made here"
    if every is None:
        return "flushes: none"
    return f"flushes: {load.flushes:.2f} a second, one after {every} writes"
