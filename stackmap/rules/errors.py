"""Has the kernel counted errors of a device? Each count has a rule: what it means, and what to do about it."""

from __future__ import annotations

from functools import partial

from stackmap.model.raid import RAID_LEVELS
from stackmap.rules.context import Context
from stackmap.rules.rule import Figure, Found, Limits, Outcome, Rule, Severity, observe

DURING = "[, {grown} of them during this measurement]."
LONG_AGO = "Those before the measurement may be old: the kernel keeps no time. See `journalctl -k`."

_rule = partial(Rule, outcome=Outcome.STATE, is_state=True, caveat=LONG_AGO)


def _counted(
    context: Context, key: str, *, old: Severity | None = None, only_new: bool = False
) -> Found:
    """
    Yield each device whose count *key* is above 0.

    *old*: the severity where nothing was added during the measurement, None for the rule's; *only_new*: only
    where something was.
    """
    for device in context.topology:
        count, change = context.status(device).counts.get(key, 0), context.changes.get(device.name)
        grown = None if change is None else change.grown.get(key)
        if count <= 0 or (only_new and not grown):
            continue
        figures: dict[str, Figure] = {
            "count": (float(count), "count"),
            "grown": (None if not grown else float(grown), "count"),
        }
        severity = None if grown else old
        arrays = [edge.above for edge in context.topology.above(device.name)]
        words = {"kernel_name": device.name, "array": arrays[0] if arrays else device.name}
        yield observe(device.name, figures, words, weight=count, severity=severity)


@_rule(
    "SM321",
    Severity.WARNING,
    title="Commands to {device} timed out",
    sentence="Command timeouts of {device} since it was attached: {count}" + DURING,
    advice="Check its cable and `smartctl -a /dev/{kernel_name}`. Each timeout stops the disk for up to the seconds "
    "in /sys/block/{kernel_name}/device/timeout.",
    source="Linux drivers/scsi/scsi_error.c, scsi_timeout: iotmo_cnt",
)
def command_timeouts(context: Context, _: Limits) -> Found:
    """Yield SCSI disks with command timeouts; a remark if none is new."""
    yield from _counted(context, "timeouts", old=Severity.INFO)


@_rule(
    "SM322",
    Severity.INFO,
    title="Commands to {device} failed",
    sentence="Commands to {device} that ended with an error during this measurement: {grown}. "
    "Since it was attached: {count}.",
    caveat="The kernel counts commands that a disk does not support, and each query of smartctl or smartd, too.",
    advice="See the kernel log: `journalctl -k -g {kernel_name}`.",
    source="Linux drivers/scsi/scsi_lib.c, scsi_complete: ioerr_cnt",
)
def failed_commands(context: Context, _: Limits) -> Found:
    """Yield SCSI disks of which commands failed during the measurement."""
    yield from _counted(context, "command_errors", only_new=True)


@_rule(
    "SM323",
    Severity.WARNING,
    title="The SATA link of {device} is slowed down",
    sentence="The kernel holds the SATA link of {device} below the speed of its port, which it does after errors on "
    "the link.",
    caveat="The kernel parameter libata.force does the same on purpose.",
    advice="Check or replace the cable, then reboot. The kernel log has the errors: `journalctl -k -g ata`.",
    source="Linux drivers/ata/libata-eh.c, sata_down_spd_limit",
)
def slowed_link(context: Context, _: Limits) -> Found:
    """Yield SATA disks whose link the kernel slowed down."""
    yield from _counted(context, "link_lowered")


@_rule(
    "SM324",
    Severity.WARNING,
    title="md corrected read errors of {device}",
    sentence="Sectors of {device} whose read errors md corrected since the array was assembled: {count}"
    + DURING,
    advice="Check `smartctl -a` of this disk (pending, reallocated). Let md read all of the array: `echo check > "
    "/sys/block/{array}/md/sync_action`.",
    source="md(4), scrubbing; Linux admin-guide/md.rst, errors; drivers/md/raid1.c, corrected_errors",
)
def corrected_reads(context: Context, _: Limits) -> Found:
    """Yield members with read errors that md corrected."""
    yield from _counted(context, "corrected_sectors")


@_rule(
    "SM325",
    Severity.CRITICAL,
    title="{device} has bad blocks in its array",
    sentence="Sectors of {device} in md's list of bad blocks: {count}"
    + DURING
    + " Their data has no redundancy, or is lost where "
    "another member lists the same place.",
    caveat="A list has at most one page in sysfs, so there may be more.",
    advice="Replace it: `mdadm /dev/{array} --add NEW`, then `mdadm /dev/{array} --replace /dev/{kernel_name} "
    "--with NEW`.",
    source="md(4), bad block list; Linux admin-guide/md.rst, bad_blocks",
)
def bad_blocks(context: Context, _: Limits) -> Found:
    """Yield members with sectors in md's bad block list."""
    yield from _counted(context, "bad_sectors")


@_rule(
    "SM326",
    Severity.WARNING,
    title="Members of {device} do not match",
    sentence="The last check or resync of {device} found {count} sectors that differ between its members.",
    caveat="On a mirror, swap and files that change while they are written may differ without harm.",
    advice="Find the wrong copy before a repair: md cannot tell which is right. Compare with a backup, and check "
    "the disks with `smartctl -a`.",
    source="md(4), mismatch_cnt; lvmraid(7), RAID mismatches",
)
def mismatches(context: Context, _: Limits) -> Found:
    """Yield arrays whose last check found differences; a remark on mirrors, which may differ where nothing is stored."""
    for found in _counted(context, "mismatched_sectors"):
        layout = context.topology[found.device].layout
        mirror = layout is not None and RAID_LEVELS[layout.level].parity == 0
        yield found._replace(severity=Severity.INFO) if mirror else found


@_rule(
    "SM327",
    Severity.CRITICAL,
    title="{device} read data with wrong checksums",
    sentence="Sectors with a wrong checksum that dm-integrity read on {device} since it was activated: {count}"
    + DURING,
    caveat="A sector that is read twice counts twice. A device that was not formatted completely looks the same.",
    advice="Replace the disk below. Where {device} is a member of RAID, the array corrects these reads: check it.",
    source="Linux admin-guide/device-mapper/dm-integrity.rst, status: number of integrity mismatches",
)
def wrong_checksums(context: Context, _: Limits) -> Found:
    """Yield dm-integrity devices that found wrong checksums."""
    yield from _counted(context, "checksum_errors")


@_rule(
    "SM328",
    Severity.WARNING,
    title="The path {device} failed",
    sentence="Failures of the path {device} since the multipath table was loaded: {count}" + DURING,
    advice="Check the cable, port and switch of this path: `multipath -ll` shows its host and target.",
    source="Linux drivers/md/dm-mpath.c, fail_path: fail_count",
)
def path_failures(context: Context, _: Limits) -> Found:
    """Yield paths that multipath stopped using; a remark if no failure is new and the path works."""
    for found in _counted(context, "path_failures", old=Severity.INFO):
        failed = context.topology[found.device].state == "failed"
        yield found._replace(severity=None) if failed else found


@_rule(
    "SM329",
    Severity.WARNING,
    title="btrfs on {device} counted I/O errors",
    sentence="Read, write and flush errors of the btrfs on {device}, on all its devices together: {count}"
    + DURING,
    advice="`btrfs device stats MOUNT-POINT` shows them by device; `-z` resets them after a repair.",
    source="btrfs-device(8), DEVICE STATS",
)
def btrfs_errors(context: Context, _: Limits) -> Found:
    """Yield devices of a btrfs with I/O errors."""
    yield from _counted(context, "btrfs_io_errors")


@_rule(
    "SM330",
    Severity.CRITICAL,
    title="btrfs on {device} found corrupted blocks",
    sentence="Blocks of the btrfs on {device} with a wrong checksum or generation, on all its devices: {count}"
    + DURING,
    advice="Run `btrfs scrub start MOUNT-POINT`; it repairs blocks that have a second copy, and names the others.",
    source="btrfs-device(8), DEVICE STATS",
)
def btrfs_corruptions(context: Context, _: Limits) -> Found:
    """Yield devices of a btrfs with corrupted blocks."""
    yield from _counted(context, "btrfs_corruptions")


ERRORS: tuple[Rule, ...] = (
    bad_blocks,
    wrong_checksums,
    btrfs_corruptions,
    command_timeouts,
    corrected_reads,
    path_failures,
    btrfs_errors,
    mismatches,
    slowed_link,
    failed_commands,
)
