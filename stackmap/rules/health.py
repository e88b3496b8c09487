"""Does a disk say that it fails, wears out, or is too hot? Only ``check`` on this machine asks disks."""

from __future__ import annotations

from stackmap.rules.context import Context
from stackmap.rules.rule import Figure, Found, Limits, Outcome, Rule, Severity, check, observe

SMART = "`smartctl -x /dev/{kernel_name}`"


@check(
    "SM341",
    Severity.CRITICAL,
    title="{device} says that it fails",
    outcome=Outcome.STATE,
    sentence="its own judgement is that it fails or is about to",
    expected="passed, without a critical warning",
    reason="the disk may stop or lose data at any time",
    advice=f"copy its data first, then replace it; {SMART} shows why",
    source="NVM Express base specification, SMART log: critical warning; ATA ACS, SMART RETURN STATUS",
)
def failing_disk(context: Context, _: Limits) -> Found:
    """Yield disks that judge themselves as failing."""
    for name, health in context.health.items():
        if health.failing is not None:
            good = None if health.failing else Severity.GOOD
            yield observe(name, words={"kernel_name": name}, severity=good)


@check(
    "SM342",
    Severity.WARNING,
    title="{device} has used {used} of its life",
    outcome=Outcome.STATE,
    sentence="{used} of its rated life is used[, {spare} of its spare blocks are left]",
    expected="below {least}",
    reason="beyond its rated life a flash disk may keep data for a shorter time, or become read-only",
    advice=f"plan its replacement; {SMART} shows what was written",
    source="NVM Express base specification, SMART log: percentage used",
    thresholds={
        "warning": (0.8, "share", "{} used"),
        "critical": (1.0, "share", "critical from {}"),
    },
)
def worn_out(context: Context, limits: Limits) -> Found:
    """Yield flash disks near or beyond the end of their rated life."""
    for name, health in context.health.items():
        if health.used is None:
            continue
        figures: dict[str, Figure] = {
            "used": (health.used, "share"),
            "spare": (health.spare, "share"),
            "least": (limits["warning"], "share"),
        }
        severity = Severity.GOOD if health.used < limits["warning"] else None
        severity = Severity.CRITICAL if health.used >= limits["critical"] else severity
        yield observe(name, figures, {"kernel_name": name}, weight=health.used, severity=severity)


@check(
    "SM343",
    Severity.WARNING,
    title="{device} has unreadable sectors",
    outcome=Outcome.STATE,
    sentence="uncorrected errors: {errors}; sectors waiting for a rewrite: {pending}",
    expected="none",
    reason="a read of these places fails, or takes seconds of retries",
    advice=f"scrub the array or restore the files; replace the disk if the count grows. {SMART}",
    source="NVM Express base specification, media and data integrity errors; ATA attributes 197 and 198",
)
def unreadable_sectors(context: Context, _: Limits) -> Found:
    """Yield disks that could not correct errors, or have sectors that wait for a rewrite."""
    for name, health in context.health.items():
        counts = health.media_errors, health.pending
        if counts == (None, None):
            continue
        errors, pending = (0 if each is None else each for each in counts)
        figures: dict[str, Figure] = {"errors": (errors, "count"), "pending": (pending, "count")}
        good = None if errors or pending else Severity.GOOD
        yield observe(name, figures, {"kernel_name": name}, weight=errors + pending, severity=good)


@check(
    "SM344",
    Severity.INFO,
    title="{device} was too hot for {hot}",
    outcome=Outcome.STATE,
    sentence="it was above its warning temperature for {hot} in all",
    expected="below {least}",
    reason="a hot NVMe disk slows itself down",
    advice=f"check its cooling; {SMART} shows the temperature now",
    source="NVM Express base specification, SMART log: warning and critical composite temperature time",
    thresholds={"hot": (600, "s", "{} in all")},
)
def overheated(context: Context, limits: Limits) -> Found:
    """Yield disks that were above their warning temperature for long."""
    for name, health in context.health.items():
        if health.hot is not None:
            figures: dict[str, Figure] = {"hot": (health.hot, "s"), "least": (limits["hot"], "s")}
            good = None if health.hot >= limits["hot"] else Severity.GOOD
            yield observe(name, figures, {"kernel_name": name}, weight=health.hot, severity=good)


HEALTH: tuple[Rule, ...] = (failing_disk, unreadable_sectors, worn_out, overheated)
