"""Which counters cannot be believed, so that nothing above is judged by them?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.corrections import RULES as CORRECTIONS
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity

STUCK = "stuck-in-flight"


def stuck(context: Context, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices whose count of requests in flight never comes down."""
    for name, rule in _corrected(context):
        if rule == STUCK:
            yield Seen(name, {})


def corrected(context: Context, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield what else was put right, once a rule."""
    why = {rule.name: rule.why for rule in CORRECTIONS}
    devices: dict[str, list[str]] = {}
    for name, rule in _corrected(context):
        devices.setdefault(rule, []).append(name)
    for rule, names in devices.items():
        if rule != STUCK:
            titles = ", ".join(context.topology[name].title for name in names)
            yield Seen(names[0], {}, {"devices": titles, "why": why.get(rule, rule), "rule": rule})


def _corrected(context: Context) -> Iterator[tuple[str, str]]:
    """Yield device and rule of each correction ("rule: device")."""
    for each in context.corrections:
        rule, _, name = each.partition(": ")
        if name in context.topology:
            yield name, rule


STUCK_RULE = Rule(
    "SM801",
    "stuck-counter",
    Severity.INFO,
    says="{device} says that it is busy all the time and completed nothing: its count of requests in "
    "flight is stuck. Neither its queue nor its busy% mean anything.",
    against="A device that hangs looks the same: see the kernel log.",
    advice="It goes away when the device is made anew, at the next boot at the latest.",
    source="Linux drivers/md/md.c: md in 4.0 and others lost count (md: fix md io stats accounting "
    "broken)",
    find=stuck,
)
CORRECTED = Rule(
    "SM802",
    "counters-corrected",
    Severity.INFO,
    says="The kernel miscounts {devices}, and it was put right here ({rule}): {why}.",
    against="Other tools show the figures as they are counted: theirs will differ.",
    advice="Nothing to do.",
    source="Linux admin-guide/iostats.rst; measured on 6.1 and 6.12: what /proc/diskstats counts "
    "at each layer",
    find=corrected,
)
RULES = (STUCK_RULE, CORRECTED)
