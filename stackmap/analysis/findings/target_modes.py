"""Did the kernel stop changing a target's metadata?"""

from __future__ import annotations

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rule import Found, Limits, Rule, Severity, observe


@Rule(
    "SM314",
    Severity.CRITICAL,
    sentence="The metadata of {device} is read-only: its {target} accepts no new blocks.",
    caveat="A target that was activated read-only on purpose looks the same.",
    advice="See `dmesg` for the cause: an I/O error, or full metadata. Then run `lvconvert --repair`.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst and cache.rst, metadata mode",
    is_state=True,
)
def metadata_read_only(context: Context, _: Limits) -> Found:
    """Yield thin pools and caches that the kernel switched to read-only."""
    for device in context.topology:
        if device.target in ("thin-pool", "cache") and context.status(device).state == "read-only":
            yield observe(device.name, words={"target": device.target})
