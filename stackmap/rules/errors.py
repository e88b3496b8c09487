"""
Has the kernel counted errors of a device, or does a disk or LVM say that it fails, wears out, or is too hot?

Each of the kernel's counts has a rule. Only ``check`` on this machine asks disks for their health; LVM's answer is
also in captures.
"""

from collections.abc import Callable
from functools import partial

from stackmap.model.device import Device
from stackmap.model.lv_health import lv_health
from stackmap.model.raid import RAID_LEVELS
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, check, observe

DURING = "[, {grown} of them during this measurement]."
LONG_AGO = "Those before the measurement may be old: the kernel keeps no time. See `journalctl -k`."

_rule = partial(Rule, outcome=Outcome.STATE, is_state=True, caveat=LONG_AGO)


def _counted(
    key: str,
    *,
    only_new: bool = False,
    severity: Callable[[Device, bool], Severity | None] = lambda _, __: None,
) -> Callable[[Context, Limits], Observations]:
    """
    Return the condition that the count *key* of a device is above 0; *only_new*: and grew during the measurement.

    *severity*: of a device and whether its count grew; None for the rule's.
    """

    def find(context: Context, _: Limits) -> Observations:
        for device in context.devices:
            count = context.counts(device).get(key, 0)
            change = context.changes.get(device.name)
            grown = change.grown.get(key) if change is not None else None
            if count <= 0 or (only_new and not grown):
                continue
            figures = {
                "count": (float(count), "count"),
                "grown": (float(grown) if grown else None, "count"),
            }
            arrays = [edge.above for edge in context.topology.above(device.name)]
            # sysfs has the counts of a btrfs on each of its devices.
            equal = sum(context.counts(other).get(key) == count for other in context.topology)
            words = {
                "kernel_name": device.name,
                "array": arrays[0] if arrays else device.name,
                "devices": str(equal) if equal > 1 else "",
            }
            grave = severity(device, bool(grown))
            yield observe(device.name, figures, words, weight=count, severity=grave)

    return find


def _info_if_path_works(path: Device, is_new: bool) -> Severity | None:
    return None if is_new or path.state == "failed" else Severity.INFO


def _info_on_mirror(array: Device, _: bool) -> Severity | None:
    mirror = array.layout is not None and RAID_LEVELS[array.layout.level].parity == 0
    return Severity.INFO if mirror else None


ERRORS: tuple[Rule, ...] = (
    _rule(
        "SM325",
        Severity.CRITICAL,
        name="bad-blocks",
        detects="members with sectors in md's bad block list.",
        find=_counted("bad_sectors"),
        title="{device} has bad blocks in its array",
        sentence="Sectors of {device} in md's list of bad blocks: {count}"
        + DURING
        + " Their data has no redundancy, or is lost where "
        "another member lists the same place.",
        caveat="A list has at most one page in sysfs, so there may be more.",
        advice="Replace it: `mdadm /dev/{array} --add NEW`, then `mdadm /dev/{array} --replace /dev/{kernel_name} "
        "--with NEW`.",
        source="md(4), bad block list; Linux admin-guide/md.rst, bad_blocks",
    ),
    _rule(
        "SM327",
        Severity.CRITICAL,
        name="wrong-checksums",
        detects="dm-integrity devices that found wrong checksums.",
        find=_counted("checksum_errors"),
        title="{device} read data with wrong checksums",
        sentence="Sectors with a wrong checksum that dm-integrity read on {device} since it was activated: {count}"
        + DURING,
        caveat="A sector that is read twice counts twice. A device that was not formatted completely looks the same.",
        advice="Replace the disk below. Where {device} is a member of RAID, the array corrects these reads: check it.",
        source="Linux admin-guide/device-mapper/dm-integrity.rst, status: number of integrity mismatches",
    ),
    _rule(
        "SM330",
        Severity.CRITICAL,
        name="btrfs-corruptions",
        detects="devices of a btrfs with corrupted blocks.",
        find=_counted("btrfs_corruptions"),
        title="btrfs on {device} found corrupted blocks",
        sentence="Blocks of the btrfs on {device} with a wrong checksum or generation[, on its {devices} devices together]: {count}"
        + DURING,
        advice="Run `btrfs scrub start MOUNT-POINT`; it repairs blocks that have a second copy, and names the others.",
        source="btrfs-device(8), DEVICE STATS",
    ),
    _rule(
        "SM321",
        Severity.WARNING,
        name="command-timeouts",
        detects="SCSI disks with command timeouts; a remark if none is new.",
        find=_counted("timeouts", severity=lambda _, is_new: None if is_new else Severity.INFO),
        title="Commands to {device} timed out",
        sentence="Command timeouts of {device} since it was attached: {count}" + DURING,
        advice="Check its cable and `smartctl -a /dev/{kernel_name}`. Each timeout stops the disk for up to the seconds "
        "in /sys/block/{kernel_name}/device/timeout.",
        source="Linux drivers/scsi/scsi_error.c, scsi_timeout: iotmo_cnt",
    ),
    _rule(
        "SM324",
        Severity.WARNING,
        name="corrected-reads",
        detects="members with read errors that md corrected.",
        find=_counted("corrected_sectors"),
        title="md corrected read errors of {device}",
        sentence="Sectors of {device} whose read errors md corrected since the array was assembled: {count}"
        + DURING,
        advice="Check `smartctl -a` of this disk (pending, reallocated). Let md read all of the array: `echo check > "
        "/sys/block/{array}/md/sync_action`.",
        source="md(4), scrubbing; Linux admin-guide/md.rst, errors; drivers/md/raid1.c, corrected_errors",
    ),
    _rule(
        "SM328",
        Severity.WARNING,
        name="path-failures",
        detects="paths that multipath stopped using; a remark if no failure is new and the path works.",
        find=_counted("path_failures", severity=_info_if_path_works),
        title="The path {device} failed",
        sentence="Failures of the path {device} since the multipath table was loaded: {count}"
        + DURING,
        advice="Check the cable, port and switch of this path: `multipath -ll` shows its host and target.",
        source="Linux drivers/md/dm-mpath.c, fail_path: fail_count",
    ),
    _rule(
        "SM329",
        Severity.WARNING,
        name="btrfs-errors",
        detects="devices of a btrfs with I/O errors.",
        find=_counted("btrfs_io_errors"),
        title="btrfs on {device} counted I/O errors",
        sentence="Read, write and flush errors of the btrfs on {device}[, on its {devices} devices together]: {count}"
        + DURING,
        advice="`btrfs device stats MOUNT-POINT` shows them by device; `-z` resets them after a repair.",
        source="btrfs-device(8), DEVICE STATS",
    ),
    _rule(
        "SM326",
        Severity.WARNING,
        name="mismatches",
        detects="arrays whose last check found differences; a remark on mirrors, which may differ where nothing is stored.",
        find=_counted("mismatched_sectors", severity=_info_on_mirror),
        title="Members of {device} do not match",
        sentence="The last check or resync of {device} found {count} sectors that differ between its members.",
        caveat="On a mirror, swap and files that change while they are written may differ without harm.",
        advice="Find the wrong copy before a repair: md cannot tell which is right. Compare with a backup, and check "
        "the disks with `smartctl -a`.",
        source="md(4), mismatch_cnt; lvmraid(7), RAID mismatches",
    ),
    _rule(
        "SM323",
        Severity.WARNING,
        name="slowed-link",
        detects="SATA disks whose link the kernel slowed down.",
        find=_counted("link_lowered"),
        title="The SATA link of {device} is slowed down",
        sentence="The kernel holds the SATA link of {device} below the speed of its port, which it does after errors on "
        "the link.",
        caveat="The kernel parameter libata.force does the same on purpose.",
        advice="Check or replace the cable, then reboot. The kernel log has the errors: `journalctl -k -g ata`.",
        source="Linux drivers/ata/libata-eh.c, sata_down_spd_limit",
    ),
    _rule(
        "SM322",
        Severity.INFO,
        name="failed-commands",
        detects="SCSI disks of which commands failed during the measurement.",
        find=_counted("command_errors", only_new=True),
        title="Commands to {device} failed",
        sentence="Commands to {device} that ended with an error during this measurement: {grown}. "
        "Since it was attached: {count}.",
        caveat="The kernel counts commands that a disk does not support, and each query of smartctl or smartd, too.",
        advice="See the kernel log: `journalctl -k -g {kernel_name}`.",
        source="Linux drivers/scsi/scsi_lib.c, scsi_complete: ioerr_cnt",
    ),
)


SMART = "`smartctl -x /dev/{kernel_name}`"
_check = partial(check, outcome=Outcome.STATE)


@_check(
    "SM341",
    Severity.CRITICAL,
    title="{device} says that it fails",
    sentence="its own judgement is that it fails or is about to",
    expected="passed, without a critical warning",
    reason="the disk may stop or lose data at any time",
    advice=f"copy its data first, then replace it; {SMART} shows why",
    source="NVM Express base specification, SMART log: critical warning; ATA ACS, SMART RETURN STATUS",
)
def failing_disk(context: Context, _: Limits) -> Observations:
    """Yield disks that judge themselves as failing."""
    for name, health in context.health.items():
        if health.failing is not None:
            good = None if health.failing else Severity.GOOD
            yield observe(name, words={"kernel_name": name}, severity=good)


@_check(
    "SM342",
    Severity.WARNING,
    title="{device} has used {used} of its life",
    sentence="{used} of its rated life is used[, {spare} of its spare blocks are left]",
    expected="below {least}",
    reason="beyond its rated life a flash disk may keep data for a shorter time, or become read-only",
    advice=f"plan its replacement; {SMART} shows what was written",
    slows=False,
    source="NVM Express base specification, SMART log: percentage used",
    thresholds={
        "warning": (0.8, "share", "{} used"),
        "critical": (1.0, "share", "critical from {}"),
    },
)
def worn_out(context: Context, limits: Limits) -> Observations:
    """Yield flash disks near or beyond the end of their rated life."""
    for name, health in context.health.items():
        if health.used is None:
            continue
        figures = {
            "used": (health.used, "share"),
            "spare": (health.spare, "share"),
            "least": (limits["warning"], "share"),
        }
        severity = Severity.GOOD if health.used < limits["warning"] else None
        severity = Severity.CRITICAL if health.used >= limits["critical"] else severity
        yield observe(name, figures, {"kernel_name": name}, weight=health.used, severity=severity)


@_check(
    "SM343",
    Severity.WARNING,
    title="{device} has unreadable sectors",
    sentence="uncorrected errors: {errors}; sectors waiting for a rewrite: {pending}[; reallocated: {reallocated}]",
    expected="none",
    reason="a read of these places fails, or takes seconds of retries",
    advice=f"scrub the array or restore the files; replace the disk if the count grows. {SMART}",
    source="NVM Express base specification, media and data integrity errors; ATA attributes 197 and 198",
)
def unreadable_sectors(context: Context, _: Limits) -> Observations:
    """Yield disks that could not correct errors, or have sectors that wait for a rewrite."""
    for name, health in context.health.items():
        counts = health.media_errors, health.pending
        if counts == (None, None):
            continue
        errors, pending = (0 if count is None else count for count in counts)
        figures = {
            "errors": (errors, "count"),
            "pending": (pending, "count"),
            "reallocated": (health.reallocated, "count"),
        }
        good = None if errors or pending else Severity.GOOD
        yield observe(name, figures, {"kernel_name": name}, weight=errors + pending, severity=good)


@_check(
    "SM344",
    Severity.INFO,
    title="{device} was too hot for {hot}",
    sentence="it was above its warning temperature for {hot} in all",
    expected="below {least}",
    reason="a hot NVMe disk slows itself down",
    advice=f"check its cooling; {SMART} shows the temperature now",
    source="NVM Express base specification, SMART log: warning and critical composite temperature time",
    thresholds={"hot": (600, "s", "{} in all")},
)
def overheated(context: Context, limits: Limits) -> Observations:
    """Yield disks that were above their warning temperature for long."""
    return _for_long(context, limits, "hot")


def _for_long(context: Context, limits: Limits, what: str) -> Observations:
    """Yield disks whose seconds of *what*, a field of their health, reach the threshold of that name; good below."""
    for name, health in context.health.items():
        seconds, least = getattr(health, what), limits[what]
        if seconds is not None:
            figures = {what: (seconds, "s"), "least": (least, "s")}
            good = None if seconds >= least else Severity.GOOD
            yield observe(name, figures, {"kernel_name": name}, weight=seconds, severity=good)


@check(
    "SM347",
    Severity.INFO,
    outcome=Outcome.THROTTLED,
    title="Heat slowed {device} down for {throttled}",
    sentence="it slowed itself down because of heat for {throttled} in all",
    expected="below {least}",
    reason="a disk that is too hot serves fewer requests, so await grows while the disk is well",
    advice="check its cooling; `nvme smart-log /dev/{kernel_name}` shows whether the time grows",
    source="NVM Express base specification, SMART log: total time for thermal management temperature 1 and 2",
    thresholds={"throttled": (60, "s", "{} in all")},
)
def slowed_by_heat(context: Context, limits: Limits) -> Observations:
    """Yield disks that slowed themselves down because of heat."""
    return _for_long(context, limits, "throttled")


@_check(
    "SM345",
    Severity.CRITICAL,
    title="LVM says that {device} is unhealthy",
    sentence="LVM's own health of {device}: {health}",
    good_sentence="LVM's own health of {device}: healthy",
    expected="no letter of health in lv_attr",
    reason="LVM does not activate or repair such an LV by itself, and its data may lack redundancy",
    advice="run `lvs -a -o +devices,lv_health_status {device}`, then {repair}",
    source="lvs(8), NOTES: lv_attr, volume health; lvmraid(7)",
    superseded_by=("SM301",),
)
def unhealthy_volume(context: Context, _: Limits) -> Observations:
    """Yield LVs that LVM itself calls unhealthy: partial, failed, full, mismatched, or in need of a refresh."""
    for device in context.devices:
        attributes = context.lv_attributes.get(device.label)
        if attributes is None:
            continue
        health = lv_health(attributes)
        if health is None:
            yield observe(device.name, words={"health": "", "repair": ""}, severity=Severity.GOOD)
        else:
            words = {"health": health.words, "repair": health.repair}
            yield observe(
                device.name, words=words, severity=None if health.is_lost else Severity.WARNING
            )


@check(
    "SM346",
    Severity.INFO,
    outcome=Outcome.THROTTLED,
    title="{device} exceeded its limits for {longest}",
    sentence="seconds over a limit since it was attached:[ IOPS of the volume {volume_iops},][ its throughput "
    "{volume_bytes},] IOPS of the instance {instance_iops}, its throughput {instance_bytes}",
    expected="below {least} over any limit",
    reason="Amazon delays requests beyond a limit, so await grows while the disk is well",
    advice="raise the limit that was exceeded: the volume's IOPS or throughput, or the instance's size",
    source="Amazon EBS user guide, detailed performance statistics: NVMe log page 0xD0",
    thresholds={"longest": (60, "s", "{} over a limit")},
)
def exceeded_limits(context: Context, limits: Limits) -> Observations:
    """Yield disks of Amazon that count time over their limits."""
    for name, page in context.exceeded.items():
        figures = {
            "longest": (page.longest, "s"),
            "volume_iops": (page.volume_iops, "s"),
            "volume_bytes": (page.volume_bytes, "s"),
            "instance_iops": (page.instance_iops, "s"),
            "instance_bytes": (page.instance_bytes, "s"),
            "least": (limits["longest"], "s"),
        }
        good = None if page.longest >= limits["longest"] else Severity.GOOD
        yield observe(name, figures, weight=page.longest, severity=good)


HEALTH: tuple[Rule, ...] = (
    failing_disk,
    unhealthy_volume,
    unreadable_sectors,
    worn_out,
    overheated,
    slowed_by_heat,
    exceeded_limits,
)
