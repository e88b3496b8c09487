"""
What a disk says of itself: wear, errors and heat, by libblockdev's plugins (3.x), nvme-cli or smartctl.

These questions open the disk, so on this machine only ``check``, ``record`` and ``--wear`` ask them, and
``--no-health`` of the first two leaves them out. QUESTIONS has all of them. Each runs in a process of its own, which is given up after
``DEFAULT_TIMEOUT`` of ``host/live.py``. A disk that sleeps is not asked: the kernel's runtime suspend is
looked up first, and libblockdev's child and smartctl ask a SATA disk for its power mode, which does not wake it.

All print log page 02h of NVMe, by other names; its data unit is 512,000 bytes. Of ATA's attributes only
5, 197 and 198 are read, and only where their names say what the numbers usually mean: some SSDs count read GiB in 198.
Attributes of wear (173, 177, 202, 231, 233) and of what was written (241, 246) have meanings and units of the vendor's;
the ATA standard has both in its device statistics. Of SSDs and SAS disks smartctl is asked first: it alone prints the
share of life that is used; of NVMe nvme-cli, which alone prints for how long heat slowed the disk down.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from stackmap.errors import NO_ANSWER, CaptureError, SourceError, SourceMissing
from stackmap.host import Host
from stackmap.host.capture_format import loaded_json
from stackmap.model.device import Device, Kind
from stackmap.model.health import Health
from stackmap.sources.sysfs import NVME_PATH, ROOT, attribute, link

# The words before the path of the disk. ``standby,0``: a sleeping disk is no error, and prints no attributes.
SMARTCTL = ("smartctl", "--json=c", "--nocheck=standby,0", "--info", "--health", "--attributes")
QUESTIONS = {
    "nvme_get_smart_log": ("libblockdev", "nvme_get_smart_log"),
    "smart_ata_get_info": ("libblockdev", "smart_ata_get_info"),
    "smart_scsi_get_info": ("libblockdev", "smart_scsi_get_info"),
    "nvme": ("nvme", "smart-log", "--output-format=json"),
    "smartctl": SMARTCTL,
    # Errors and what was written, of SAS; the share of life that is used, of ATA by its device statistics, page 7;
    # what was written, of ATA.
    "smartctl_logs": (*SMARTCTL, "--log=error", "--log=ssd", "--log=devstat,1"),
}
SOURCE = "NVMe log page 0x02"
AT_ONCE = 8  # disks that are asked at the same time
MOST_SILENT = 2  # disks that do not answer in time: together 10 s
ASLEEP = "asleep, and not woken"
GIVEN_UP = "not asked, because other disks do not answer"
NO_FIGURES = "the disk printed no health"
LIBRARY = "libblockdev"
USB = "/usb"  # in the place of a device
ATA_VENDOR = "ATA"  # of each disk behind libata, also on a SAS controller
# ATA's attributes, and what their names have in common in smartmontools' drivedb and in libblockdev's.
REALLOCATED, PENDING, UNCORRECTABLE = 5, 197, 198
NAMES = {
    REALLOCATED: re.compile(r"realloc|retired-block"),
    PENDING: re.compile(r"current-pending|^pending-sector"),
    UNCORRECTABLE: re.compile(r"uncor|-uerr-|-unc-"),
}
MOST_SECTORS = 1 << 32  # a larger raw value is several numbers in one
# smartctl's text of a raw value: "0 (0 2)" has three numbers in it.
_COUNT = re.compile(r"([0-9]+)(?:[ /].*)?")
# Page and offset in ATA's device statistics (ACS): sectors that hosts wrote, and the share of life that is used.
SECTORS_WRITTEN, LIFE_USED = (1, 24), (7, 8)

DATA_UNIT = 512_000  # bytes
TOO_WARM = 1 << 1  # the bit of NVMe's critical warning for the temperature now: no failure
KELVIN = 273
LEAST_LIFE = 20  # times the size of a disk can be written at least; flash of four bits per cell lasts for 100 and more
MOST_PERCENT = 255  # all of these shares are one byte
COUNT_LIMIT = 1 << 128  # the largest counts of NVMe have 128 bits
MINUTE, HOUR = 60, 3600
GIGABYTE = 10**9
Figures = Mapping[str, Any]


def read(host: Host, devices: Iterable[Device]) -> dict[str, Health]:
    """Return the health of each disk of *devices* that can have one, by kernel name."""
    asked = [device for device in devices if _tools(host, device)]
    health: dict[str, Health] = {}
    missing: dict[str, str] = {}  # tools that are not installed, and how that was said
    silent = 0
    # The first alone: it shows which tools there are.
    for place in (0, *range(1, len(asked), AT_ONCE)):
        batch = asked[place : place + AT_ONCE] if place else asked[:1]
        asleep = {device.name for device in batch if _is_suspended(host, device)}
        for device in batch if silent < MOST_SILENT else ():
            tool = next((tool for tool in _tools(host, device) if tool not in missing), None)
            if tool and device.name not in asleep:
                host.start(*_question(tool, device))
        for device in batch:
            if device.name in asleep:
                health[device.name] = Health(unknown=ASLEEP)
            elif silent >= MOST_SILENT:
                health[device.name] = Health(unknown=GIVEN_UP)
            else:
                health[device.name] = _ask(host, device, missing)
                silent += NO_ANSWER in health[device.name].unknown
    return health


def recorded(host: Host, devices: Iterable[Device]) -> dict[str, Health]:
    """Return the health of the disks of *devices* whose answers are in a capture."""
    answers = {device.name: _ask(host, device, {}) for device in devices if _tools(host, device)}
    return {name: health for name, health in answers.items() if not health.unknown}


def of_nvme(devices: Iterable[Device]) -> tuple[Device, ...]:
    """Return the disks of NVMe among *devices*: they count for how long heat slowed them down."""
    return tuple(device for device in devices if device.name.startswith("nvme"))


def _tools(host: Host, device: Device) -> tuple[str, ...]:
    """Return the tools that can ask *device*, the first choice first; () for what is no disk of its own."""
    if device.kind is not Kind.DISK or NVME_PATH.fullmatch(device.name):
        return ()
    if device.name.startswith("nvme"):
        return ("nvme", "nvme_get_smart_log", "smartctl")
    if not device.name.startswith("sd"):
        return ()
    # Some USB bridges do not survive a question for a log.
    smartctl = "smartctl" if USB in link(host, f"{ROOT}/{device.name}") else "smartctl_logs"
    if attribute(host, f"{ROOT}/{device.name}/device/vendor") != ATA_VENDOR:
        return (smartctl, "smart_scsi_get_info")
    is_ssd = device.rotational is False
    return (smartctl, "smart_ata_get_info") if is_ssd else ("smart_ata_get_info", "smartctl")


def _question(tool: str, device: Device) -> tuple[str, ...]:
    return (*QUESTIONS[tool], f"/dev/{device.name}")


def _is_suspended(host: Host, device: Device) -> bool:
    status = attribute(host, f"{ROOT}/{device.name}/device/power/runtime_status")
    return status in ("suspended", "suspending")


def _ask(host: Host, device: Device, missing: dict[str, str]) -> Health:
    """Return the health of *device* by the first tool that answers; enter those that are not installed in *missing*."""
    tools = _tools(host, device)
    refused = ""
    for tool in tools:
        try:
            if tool not in missing:
                health = parse(host.run(*_question(tool, device)))
                # A SAS disk that does not save its counters loses them without power, and others start again after
                # an update: so few bytes cannot have used so much of the disk's life.
                used, written, size = health.used or 0.0, health.written, device.size
                if written is None or size is None or written >= used * LEAST_LIFE * size:
                    return health
                return health._replace(written=None)
        except SourceMissing as error:  # the next tool may be installed
            missing[tool] = str(error)
        except CaptureError as error:  # an answer that takes too much memory
            return Health(unknown=str(error))
        except SourceError as error:
            refused = refused or str(error)
            # smartctl knows bridges and controllers that the library does not.
            if QUESTIONS[tool][0] != LIBRARY:
                break
            # It may be the library that is slow: no other disk waits for it.
            if NO_ANSWER in refused:
                missing[tool] = refused
    return Health(
        unknown=refused or next(missing[tool] for tool in tools if QUESTIONS[tool][0] != LIBRARY)
    )


@lru_cache(maxsize=256)  # a recording has one answer for many samples
def parse(text: str) -> Health:
    """Return the health that libblockdev, nvme-cli or smartctl reported as JSON."""
    try:
        printed = loaded_json(text, "the health of a disk")
    except ValueError:
        return Health(unknown="an answer that is not JSON")
    if not isinstance(printed, dict):
        return Health(unknown=NO_FIGURES)
    if printed.get("asleep"):
        return Health(unknown=ASLEEP)
    if "critical_temp_time" in printed:
        return _library_nvme(printed)
    if "overall_status_passed" in printed:
        return _library_smart(printed)
    page = _part(printed, "nvme_smart_health_information_log")
    if "percent_used" in printed or page:
        return _nvme(page or printed, kelvin=not page)
    health = _ata(printed) if "ata_smart_attributes" in printed else _scsi(printed)
    passed = _part(printed, "smart_status").get("passed")
    hours = _number(_part(printed, "power_on_time").get("hours"))
    health = health._replace(
        failing=None if not isinstance(passed, bool) else not passed,
        power_on=None if hours is None else hours * HOUR,
        temperature=_number(_part(printed, "temperature").get("current")),
    )
    if health != Health():
        return health
    messages = [
        str(message.get("string", "")) for message in _list(_part(printed, "smartctl"), "messages")
    ]
    is_asleep = any("STANDBY" in message or "SLEEP" in message for message in messages)
    return Health(unknown=ASLEEP if is_asleep else NO_FIGURES)


def _nvme(page: Figures, *, kelvin: bool) -> Health:
    """Return the health of log page 02h; nvme-cli prints *kelvin* and names of its own."""
    warning = page.get("critical_warning")
    warning = warning.get("value") if isinstance(warning, dict) else warning
    bits = _number(warning)
    hot = [_number(page.get(name)) for name in ("warning_temp_time", "critical_comp_time")]
    slowed = [_number(page.get(name)) for name in ("thm_temp1_total_time", "thm_temp2_total_time")]
    units, hours = _number(page.get("data_units_written")), _number(page.get("power_on_hours"))
    degrees = _number(page.get("temperature"))
    return Health(
        failing=None if bits is None else bits & ~TOO_WARM != 0,
        used=_share(page, "percent_used", "percentage_used"),
        spare=_share(page, "avail_spare", "available_spare", most=100),
        media_errors=_number(page.get("media_errors")),
        hot=None if None in hot else MINUTE * sum(count or 0 for count in hot),
        throttled=None if None in slowed else sum(count or 0 for count in slowed),
        written=None if units is None else units * DATA_UNIT,
        power_on=None if hours is None else hours * HOUR,
        # 0 K: the controller measures none, as Linux's own target.
        temperature=None
        if degrees is None or (kelvin and not degrees)
        else degrees - KELVIN * kelvin,
    )


def _library_nvme(log: Figures) -> Health:
    """Return the health of libblockdev's structure, in which 0 written is unknown and -273 °C is none."""
    names = {"critical_temp_time": "critical_comp_time"}
    health = _nvme({names.get(name, name): log[name] for name in log}, kelvin=False)
    degrees = log.get("temperature")
    return health._replace(
        written=_number(log.get("total_data_written")) or None,
        temperature=degrees if type(degrees) is int and -KELVIN < degrees < COUNT_LIMIT else None,
    )


def _library_smart(info: Figures) -> Health:
    """Return the health of libblockdev's structures of ATA or SCSI disks: minutes, and Kelvin or 0."""
    passed, minutes = info["overall_status_passed"], _number(info.get("power_on_time"))
    # It is False, too, where the disk did not say.
    if passed is False and info.get("smart_enabled") is False:
        passed = None
    kelvin = _number(info.get("temperature"))
    raw = {
        number: _number(entry.get("value_raw"))
        for entry in _list(info, "attributes")
        if (number := _attribute(entry, "well_known_name")) is not None
    }
    errors = [_number(info.get(f"{way}_errors_uncorrected")) for way in ("read", "write")]
    grown = _number(info.get("scsi_grown_defect_list"))
    health = _of_attributes(raw)
    return health._replace(
        failing=None if not isinstance(passed, bool) else not passed,
        media_errors=health.media_errors if None in errors else sum(count or 0 for count in errors),
        reallocated=grown if health.reallocated is None else health.reallocated,
        written=_number(info.get("write_processed_bytes")) or None,
        power_on=minutes * MINUTE if minutes else None,
        temperature=kelvin - KELVIN if kelvin else None,
    )


def _ata(printed: Figures) -> Health:
    raw = {
        number: _printed_count(_part(entry, "raw"))
        for entry in _list(_part(printed, "ata_smart_attributes"), "table")
        if (number := _attribute(entry, "name")) is not None
    }
    statistics = {
        (_number(page.get("number")), _number(entry.get("offset"))): _number(entry.get("value"))
        for page in _list(_part(printed, "ata_device_statistics"), "pages")
        for entry in _list(page, "table")
        if _part(entry, "flags").get("valid")
    }
    percent, sectors = statistics.get(LIFE_USED), statistics.get(SECTORS_WRITTEN)
    size = _number(printed.get("logical_block_size"))
    return _of_attributes(raw)._replace(
        used=None if percent is None or percent > MOST_PERCENT else percent / 100,
        written=None if sectors is None or size is None else sectors * size,
    )


def _attribute(entry: Figures, name: str) -> int | None:
    """Return the number of an attribute of ``NAMES``; None for another one, and if its *name* says that it counts something else."""
    number, said = _number(entry.get("id")), entry.get(name, "")
    if number not in NAMES or not isinstance(said, str):
        return None
    # Recordings of earlier versions have no names.
    is_usual = not said or NAMES[number].search(said.lower().replace("_", "-"))
    return number if is_usual else None


def _of_attributes(raw: Mapping[int, int | None]) -> Health:
    counts = {n: count for n, count in raw.items() if count is not None and count < MOST_SECTORS}
    return Health(
        reallocated=counts.get(REALLOCATED),
        pending=counts.get(PENDING),
        media_errors=counts.get(UNCORRECTABLE),
    )


def _printed_count(raw: Figures) -> int | None:
    """Return the count in a raw value; smartctl's text has it first, its number has all that the vendor packed."""
    text = raw.get("string")
    if not isinstance(text, str):
        return _number(raw.get("value"))
    match = _COUNT.fullmatch(text)
    return _number(match[1]) if match else None


def _scsi(printed: Figures) -> Health:
    counters = _part(printed, "scsi_error_counter_log")
    logs = [_part(counters, name) for name in ("read", "write", "verify") if name in counters]
    errors = [_number(log.get("total_uncorrected_errors")) for log in logs]
    try:
        processed = round(float(_part(counters, "write")["gigabytes_processed"]) * GIGABYTE)
    except (KeyError, TypeError, ValueError, OverflowError):
        processed = None
    return Health(
        used=_share(printed, "scsi_percentage_used_endurance_indicator"),
        media_errors=None if not errors or None in errors else sum(count or 0 for count in errors),
        reallocated=_number(printed.get("scsi_grown_defect_list")),
        written=_number(processed),
    )


def _part(printed: Figures, name: str) -> Figures:
    part = printed.get(name)
    return part if isinstance(part, dict) else {}


def _list(printed: Figures, name: str) -> Iterator[Figures]:
    part = printed.get(name)
    yield from (
        (figures for figures in part if isinstance(figures, dict)) if isinstance(part, list) else ()
    )


def _number(value: object) -> int | None:
    """Return a count that is a number, or a text of one: nvme-cli prints 128 bits as a text; None otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < COUNT_LIMIT else None


def _share(printed: Figures, *names: str, most: int = MOST_PERCENT) -> float | None:
    percents = (_number(printed.get(name)) for name in names)
    return next((p / 100 for p in percents if p is not None and p <= most), None)
