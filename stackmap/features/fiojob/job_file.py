"""A fio job as a job file and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from stackmap.document.wording import plural
from stackmap.features.fiojob.job import VARIABLE, Job, Section, random_percent
from stackmap.render.text import safe

SCHEMA = "stackmap.fiojob/1"
WIDTH = 96


def fiojob_text(job: Job) -> str:
    """Return the job file; its comments explain the load and the options."""
    parts = [
        "\n".join(_comments(_head(job))),
        "\n".join(["[global]", *_options(job.options)]),
        *(
            "\n".join([f"[{each.name}]", *_comments(each.comments), *_options(each.options)])
            for each in job.sections
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _head(job: Job) -> Iterator[str]:
    load = job.load
    lasted = f"{load.seconds:.1f} s" if load.seconds else "unknown duration"
    yield f"The load of {load.device.title} ({load.device.name}): {plural(load.count, 'interval')}, {lasted}."
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


def _options(options: Mapping[str, str]) -> Iterator[str]:
    return (f"{key}={value}" for key, value in options.items())


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
        "fdatasync": job.every,
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
