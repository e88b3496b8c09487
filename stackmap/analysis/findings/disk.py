"""Is it the disk, slow by itself, and not the load?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.expected_latency import medium, service, usual
from stackmap.analysis.findings.finding import Rule, Seen, Severity


def sick(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that need far longer for a request than its size and their medium explain."""
    for device in context.disks:
        load = context.load(device.name)
        took, size = service(load), load.total.size
        if took is None or size is None or not context.enough(load.total.ios, limits["requests"]):
            continue
        likely = usual(device, size)
        if took >= limits["slower"] * likely:
            yield Seen(
                device.name,
                context.evidence(
                    device.name,
                    service=(took, "ms"),
                    usual=(likely, "ms"),
                    size=(size, "bytes"),
                    **{"await": (load.total.await_ms, "ms")},
                    queue=(load.aqu, "requests"),
                    rate=(load.total.ios, "requests/s"),
                ),
                {"medium": medium(device).name},
                weight=took / likely,
            )


SICK = Rule(
    "SM201",
    "sick-disk",
    Severity.CRITICAL,
    says="{device} takes {service} for each request of {size}, where {usual} would be the most for "
    "{medium}. Only {queue} were in flight: it is the disk, not the load.",
    against="A disk that woke from standby, a USB bridge or cable, or a cap outside of this machine "
    "looks the same. An average hides whether all requests were slow or a few very slow.",
    advice="Look at the kernel log for errors and at smartctl -a (pending, reallocated, CRC); move "
    "the data off before anything else.",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue is the disk",
    find=sick,
    limits={"slower": 4.0, "requests": 10},
    units={"slower": "times", "requests": "count"},
)
RULES = (SICK,)
