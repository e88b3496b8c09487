"""
A measured load as a job for fio: its options, the job file with comments, and the JSON.

Reads and writes have a section each. Three properties of fio (seen with 3.33) need a workaround. With
several sizes, ``rate_iops`` means requests of the *smallest* size, unless ``rate_process=poisson``. Sizes
are rounded down to multiples of the smallest, unless ``bs_unaligned``. And the map of random blocks
truncates a request before a block that was used, so the map is off.
"""

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stackmap.document.wording import plural
from stackmap.features.fiojob.load import JobLoad, Stream
from stackmap.features.fiojob.sizes import SizeSource
from stackmap.model.operand import AbsolutePath
from stackmap.render.text import safe

VARIABLE = "${TARGET}"  # fio takes it from the environment, and stops if it is not set
MAX_RUNTIME = 3600  # seconds a job runs at most
UNKNOWN_DEPTH = 16
MIN_RANDOM_DEPTH = 4  # in flight: requests at random instants come several at once
NEARLY = 10  # per cent: counters showed a sequential stream as 93 %
COARSE = 25.0  # requests per second: fio's rate_iops is a whole number, too coarse below this

SOURCE_TEXT = {
    SizeSource.ONE: "one size: in every interval, bytes = requests × size",
    SizeSource.TWO: "two sizes: in every interval, bytes are a whole number of requests of each",
    SizeSource.PIECES: "probably; md cuts requests at full stripes before it counts them, and the pieces fit this size",
    SizeSource.MEANS: "means of intervals: counters do not show single requests, so different sizes "
    "within an interval appear as their mean",
    SizeSource.GIVEN: "as given by the user, not measured",
}
SCHEMA = "stackmap.fiojob/1"
WIDTH = 96


@dataclass(frozen=True)
class Section:
    """A section of a job file: comments, and options in order."""

    name: str
    comments: tuple[str, ...]
    options: Mapping[str, str]
    stream: Stream


@dataclass(frozen=True)
class Job:
    """
    A job file.

    ``target``: a path, None if the user must set it; ``notes``: warnings about it.
    """

    load: JobLoad
    target: AbsolutePath | None
    runtime: int
    options: Mapping[str, str]
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether it writes, and so overwrites the target."""
        return self.load.stream("write") is not None


def job_of(
    load: JobLoad,
    target: AbsolutePath | None = None,
    runtime: int | None = None,
    notes: tuple[str, ...] = (),
) -> Job:
    """
    Return the job that repeats *load* on the path *target*, for *runtime* seconds or the measured time.

    *notes*: warnings about a target that is written to.
    """
    lasted = round(load.seconds) if load.seconds else 60
    seconds = runtime or max(1, min(MAX_RUNTIME, lasted))
    options = {
        "ioengine": "libaio",
        "direct": "1",
        "filename": VARIABLE if target is None else target.replace(":", r"\:"),
        "time_based": "1",
        "runtime": str(seconds),
        "norandommap": "1",
        "allow_mounted_write": "0",
    }
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", load.device.title)
    sections = tuple(_section(name, stream, load) for stream in load.streams)
    source = notes if load.stream("write") is not None else ()
    return Job(load, target, seconds, options, sections, source)


def _section(name: str, stream: Stream, load: JobLoad) -> Section:
    percents = stream.sizes.percents()
    mixed = len(percents) > 1
    options = {
        **_order(stream),
        **_sizes(percents),
        **_rate(stream, mixed=mixed),
        "iodepth": str(depth(stream, mixed=mixed)),
    }
    comments = [
        f"{stream.rate:.2f} {stream.direction}s/s, mean size {stream.mean / 1024:.2f} KiB",
        f"sizes: {SOURCE_TEXT[stream.sizes.source]}",
    ]
    if stream.sizes.source is SizeSource.GIVEN:
        comments[-1] += f"; their mean is {stream.sizes.mean / 1024:.2f} KiB"
    elif load.split_size in stream.sizes.requests:
        comments.append(
            f"sizes: the device splits requests at {(load.split_size or 0) // 1024} KiB before it counts them; those "
            "of that size may be pieces of larger ones"
        )
    percent = random_percent(stream)
    order = {0: "sequential", 100: "random"}.get(percent, f"{percent} % random")
    comments.append(f"{order}: probably; {stream.access.evidence}")
    if stream.queue is None:
        comments.append("iodepth: a default; the input has no latencies")
    if stream.direction == "write":
        comments.append(_flushing(load))
        if every := writes_per_flush(load):
            options["fdatasync"] = str(every)
    return Section(f"{name}-{stream.direction}", tuple(comments), options, stream)


def random_percent(stream: Stream) -> int:
    """Return the per cent of random requests; 0 or 100 if it is close to that."""
    percent = round(100 * (1 - stream.access.sequential))
    return percent if NEARLY < percent < 100 - NEARLY else 100 * (percent > NEARLY)


def _order(stream: Stream) -> dict[str, str]:
    percent = random_percent(stream)
    if percent in (0, 100):
        return {"rw": f"{'rand' if percent else ''}{stream.direction}"}
    # The rest is sequential (fio's percentage_random).
    return {"rw": f"rand{stream.direction}", "percentage_random": str(percent)}


def _sizes(percents: Mapping[int, int]) -> dict[str, str]:
    if len(percents) == 1:
        return {"bs": str(*percents)}
    return {
        "bssplit": ":".join(f"{size}/{percent}" for size, percent in percents.items()),
        "bs_unaligned": "1",
        "blockalign": str(math.gcd(*percents)),
    }


def _rate(stream: Stream, *, mixed: bool) -> dict[str, str]:
    """Return the rate limit; in bytes for a low rate, which need not be whole requests."""
    if stream.rate < COARSE:
        return {"rate": str(max(1, round(stream.rate * stream.sizes.mean)))}
    rate = {"rate_iops": str(round(stream.rate))}
    return {**rate, "rate_process": "poisson"} if mixed else rate


def depth(stream: Stream, *, mixed: bool) -> int:
    """Return the most requests in flight; the rate limit decides how many are."""
    if stream.queue is None:
        return UNKNOWN_DEPTH
    return max(MIN_RANDOM_DEPTH if mixed else 1, math.ceil(stream.queue))


def writes_per_flush(load: JobLoad) -> int | None:
    """Return the writes between two flushes; None if there are none, or if that is not known."""
    written = load.stream("write")
    if not load.flushes or written is None or load.flushes * MAX_RUNTIME < 1:
        return None
    return max(1, round(written.rate / load.flushes))


def _flushing(load: JobLoad) -> str:
    if load.flushes is None:
        return f"flushes: not known, {load.flushes_reason}; this job makes none"
    every = writes_per_flush(load)
    if every is None:
        return "flushes: none"
    return f"flushes: {load.flushes:.2f} per second, one after {every} writes"


def fiojob_text(job: Job) -> str:
    """Return the job file; its comments explain the load and the options."""
    parts = ["\n".join(_comments(_head(job))), _part("global", (), job.options)]
    parts += [_part(section.name, section.comments, section.options) for section in job.sections]
    return "\n\n".join(parts) + "\n"


def _part(name: str, comments: Iterable[str], options: Mapping[str, str]) -> str:
    lines = (f"{key}={value}" for key, value in options.items())
    return "\n".join([f"[{name}]", *_comments(comments), *lines])


def _head(job: Job) -> Iterator[str]:
    load = job.load
    lasted = f"{load.seconds:.1f} s" if load.seconds else "unknown duration"
    yield f"The load of {load.device.full_title}: {plural(load.count, 'interval')}, {lasted}."
    if job.writes:
        yield "DESTRUCTIVE: this job overwrites its target. Use an empty test volume."
    yield from job.notes
    if not job.target:
        yield f"Set the target ({VARIABLE}): TARGET=/dev/… fio FILE. Without it fio stops."
    yield (
        "Reads and writes are separate jobs at their measured rates. In a mixed job (rwmixread) "
        "each would wait for the other."
    )
    yield (
        "Not included: positions on the device, changes of the rate over time, and latency, which "
        "the test measures."
    )
    yield from (f"corrected: {what}" for what in load.corrections)


def _comments(sentences: Iterable[str]) -> Iterator[str]:
    """Yield comment lines; no untrusted name can end a comment and begin an option."""
    for sentence in sentences:
        for line in textwrap.wrap(safe(sentence), WIDTH, break_on_hyphens=False):
            yield f"# {line}"


def fiojob_json(job: Job) -> dict[str, object]:
    """Return the object of ``fiojob -J``."""
    load = job.load
    return {
        "schema": SCHEMA,
        "name": load.device.title,
        "device": load.device.name,
        "intervals": load.count,
        "seconds": load.seconds,
        "target": job.target,
        "destructive": job.writes,
        "notes": list(job.notes),
        "runtime": job.runtime,
        "streams": [_stream_json(section) for section in job.sections],
        "flushes": load.flushes,
        "fdatasync": writes_per_flush(load),
        "cuts": load.split_size,
        "corrections": list(load.corrections),
        "job": fiojob_text(job),
    }


def _stream_json(section: Section) -> dict[str, object]:
    stream = section.stream
    return {
        "direction": stream.direction,
        "iops": stream.rate,
        "size": stream.mean,
        "sizes": [
            {"size": size, "percent": percent} for size, percent in stream.sizes.percents().items()
        ],
        "sizes_are": str(stream.sizes.source),
        "queue": stream.queue,
        "sequential": random_percent(stream) == 0,
        "follows": stream.access.sequential,
        "why": stream.access.evidence,
        "options": dict(section.options),
    }
