"""Is a disk slow by itself, whatever the load?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.expected_latency import expected_ms, medium, ms_per_request
from stackmap.analysis.findings.rule import Observation, Rule, Severity, observe


def sick(context: Context, limits: Mapping[str, float]) -> Iterator[Observation]:
    """Yield disks that need far more time per request than its size and the medium explain."""
    for device in context.disks:
        load = context.load(device.name)
        needed, size = ms_per_request(load), load.total.size
        enough = context.enough(load.total.ios, limits["requests"])
        if needed is None or size is None or not enough:
            continue
        expected = expected_ms(device, size)
        if needed >= limits["slower"] * expected:
            figures = {
                "service": (needed, "ms"),
                "usual": (expected, "ms"),
                "size": (size, "bytes"),
                "await": (load.total.await_ms, "ms"),
                "queue": (load.aqu, "requests"),
                "rate": (load.total.ios, "requests/s"),
            }
            words = {"medium": medium(device).name}
            yield observe(device.name, figures, words, weight=needed / expected)


SICK = Rule(
    "SM201",
    "sick-disk",
    Severity.CRITICAL,
    sick,
    sentence="{device} needs {service} per request of {size} (await ÷ queue depth). At most {usual} is "
    "expected of {medium}. Queue depth was only {queue}, so the disk is slow, not overloaded.",
    caveat="A disk that leaves standby, a USB bridge, a bad cable or a cap outside this machine looks "
    "the same. An average hides whether all requests were slow or only a few.",
    advice="Move the data off first. Then check the kernel log and `smartctl -a` (pending, "
    "reallocated, CRC).",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue",
    thresholds={"slower": (4.0, "times"), "requests": (10, "count")},
)
RULES = (SICK,)
