"""What a plan is made from, asked of a host: ``plan`` asks it, ``report`` may, ``record`` keeps it."""

import os
import time
from collections.abc import Iterable, Mapping

from stackmap.discover.find import find_one_name
from stackmap.document.interval import is_instant
from stackmap.errors import SourceError, SourceMissing
from stackmap.features.plan.plan import Origin, PlanContext, target
from stackmap.host import Host
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Device, Kind
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.topology import Topology
from stackmap.model.volume_group import VolumeGroup
from stackmap.rules.decision import Judged
from stackmap.sources import lvm_report, mdraid, mountinfo, sysfs

DAY = 86_400  # seconds after which the input of a plan is old
PV_TYPE = "LVM2_member"
NO_LVM_REPORT = "the capture lacks LVM's report (lvm fullreport); record again as root"


def plan_context(
    host: Host,
    topology: Topology,
    name: str,
    wanted: LayoutRequest,
    onto: Iterable[str] = (),
    judged: Judged | None = None,
) -> PlanContext:
    """Return the context of a plan for *name*; refused unless *name* means one device. *judged*: the samples."""
    device = target(topology, find_one_name(topology, name))
    groups, reason = _groups(host, topology)
    named = tuple(device_name for given in onto for device_name in find_one_name(topology, given))
    return PlanContext(
        topology,
        device,
        wanted,
        groups=groups,
        reason=reason,
        mounts={mount.point: mount for mount in mountinfo.read(host)},
        priorities=mountinfo.swap_priorities(host),
        component_sizes=_component_sizes(host, topology),
        onto=named,
        contents={name: _contents(host, topology[name]) for name in named},
        pv_uuids=_pv_uuids(host, topology, groups or {}),
        origin=_origin(host, topology),
        judged=judged,
    )


def ask(host: Host, topology: Topology) -> None:
    """Ask all that ``plan_context`` asks, of every device, so that a recorder keeps it."""
    groups, _ = _groups(host, topology)
    _pv_uuids(host, topology, groups or {})
    _machine_id(host)
    mountinfo.read(host)
    mountinfo.swap_priorities(host)
    _component_sizes(host, topology)


def _origin(host: Host, topology: Topology) -> Origin:
    """Return where and when the input was read."""
    machine_id, name, now = _machine_id(host), topology.machine.host, time.time()
    if not isinstance(host, CapturedHost):
        return Origin(name, float(int(now)), machine_id=machine_id)
    span, since = host.span(), host.window.since
    begun = None if span is None else max(span[0], since or span[0])
    begun = float(int(begun)) if begun is not None and is_instant(begun) else None
    source = os.path.basename(os.path.abspath(host.path))
    return Origin(name, begun, source, begun is None or begun < now - DAY, machine_id)


def _machine_id(host: Host) -> str:
    try:
        return host.machine_id()
    except SourceError:
        return ""


def _pv_uuids(host: Host, topology: Topology, groups: Mapping[str, VolumeGroup]) -> dict[str, str]:
    """Return the UUID of each PV that udev reports, by path."""
    pvs = [pv for group in groups.values() for pv in group.pvs if pv.device in topology]
    records = {pv.path: sysfs.udev_properties(host, topology[pv.device].number) for pv in pvs}
    return {
        path: record["ID_FS_UUID"]
        for path, record in records.items()
        if record.get("ID_FS_TYPE") == PV_TYPE and "ID_FS_UUID" in record
    }


def _contents(host: Host, device: Device) -> str | None:
    """Return udev's record of the contents of *device*; a capture has it for every device with nothing above it."""
    said = sysfs.udev_properties(host, device.number)
    return sysfs.udev_content(said, partition=device.kind is Kind.PARTITION)


def _component_sizes(host: Host, topology: Topology) -> dict[str, int | None]:
    """Return the bytes that each array uses of each member."""
    arrays = (device.name for device in topology if device.kind is Kind.ARRAY)
    return {name: mdraid.component_size(host, name) for name in arrays}


def _groups(host: Host, topology: Topology) -> tuple[dict[str, VolumeGroup] | None, str]:
    """Return LVM's VGs; None and why, where it did not tell."""
    numbers = {device.number: device.name for device in topology}
    try:
        return lvm_report.read(host, numbers), ""
    except SourceMissing as error:
        return None, NO_LVM_REPORT if isinstance(host, CapturedHost) else str(error)
    except SourceError as error:
        return None, str(error)
