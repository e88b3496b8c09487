"""Which counters did stackmap correct, and which cannot be used?"""

from __future__ import annotations

from stackmap.ledger.corrections import RULES as CORRECTIONS
from stackmap.rules.context import Context
from stackmap.rules.rule import Found, Limits, Rule, Severity, observe

STUCK = "stuck-in-flight"


@Rule(
    "SM801",
    Severity.INFO,
    sentence="The in-flight counter of {device} is stuck: always busy, nothing completed. Its queue "
    "depth and utilisation are meaningless.",
    caveat="A hanging device looks the same: check the kernel log.",
    advice="Recreate the device, or reboot, to reset the counter.",
    source="stackmap-kernel(7), Corrections; Linux drivers/md/md.c",
)
def stuck_counter(context: Context, _: Limits) -> Found:
    """Yield devices whose in-flight counter never drops."""
    for name in _corrected_devices(context).get(STUCK, ()):
        yield observe(name)


@Rule(
    "SM802",
    Severity.INFO,
    sentence="stackmap corrected the kernel's counters of {devices} ({rule}): {why}.",
    caveat="Other tools show the counters uncorrected, so their figures differ.",
    advice="Nothing to do.",
    source="stackmap-kernel(7), Corrections; Linux admin-guide/iostats.rst",
)
def counters_corrected(context: Context, _: Limits) -> Found:
    """Yield each other correction of the kernel's counters, with all its devices."""
    why = {rule.name: rule.why for rule in CORRECTIONS}
    for rule, names in _corrected_devices(context).items():
        if rule != STUCK:
            titles = ", ".join(context.topology[name].title for name in names)
            words = {"devices": titles, "why": why.get(rule, rule), "rule": rule}
            yield observe(names[0], words=words)


def _corrected_devices(context: Context) -> dict[str, list[str]]:
    """Return the devices of each correction, by its name; corrections read "rule: device"."""
    devices: dict[str, list[str]] = {}
    for each in context.corrections:
        rule, _, name = each.partition(": ")
        if name in context.topology:
            devices.setdefault(rule, []).append(name)
    return devices
