"""What a plan is made from, asked of a host: ``plan`` asks it, ``report`` may, ``record`` keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.discover.find import find_one_name
from stackmap.errors import SourceError, SourceMissing
from stackmap.features.plan.plan_context import Mount, PlanContext, target
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Kind
from stackmap.sources import lvm_report, mdraid, mountinfo, swaps, udev

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackmap.host import Host
    from stackmap.model.device import Device
    from stackmap.model.layout_request import LayoutRequest
    from stackmap.model.topology import Topology
    from stackmap.model.volume_group import VolumeGroup

NO_LVM_REPORT = "the capture lacks LVM's report (lvm fullreport); record again as root"


def plan_context(
    host: Host, topology: Topology, name: str, wanted: LayoutRequest, onto: Iterable[str] = ()
) -> PlanContext:
    """Return what a plan for *name* is judged by; refused where no one device is meant."""
    device = target(topology, find_one_name(topology, name))
    groups, reason = _groups(host, topology)
    mounts = mountinfo.read(host)
    named = tuple(found for each in onto for found in find_one_name(topology, each))
    return PlanContext(
        topology,
        device,
        wanted,
        groups=groups,
        reason=reason,
        mounts={each.point: Mount(each.kind, each.flags, each.root) for each in mounts},
        priorities=swaps.priorities(host),
        component_sizes=_component_sizes(host, topology),
        onto=named,
        contents={name: _contents(host, topology[name]) for name in named},
    )


def ask(host: Host, topology: Topology) -> None:
    """Ask all that ``plan_context`` asks, of every device, so that a recorder keeps it."""
    _groups(host, topology)
    mountinfo.read(host)
    swaps.priorities(host)
    _component_sizes(host, topology)


def _contents(host: Host, device: Device) -> str | None:
    """Return what udev found on *device*; a capture has it for every device with nothing above it."""
    said = udev.properties(host, device.number)
    return udev.content(said, partition=device.kind is Kind.PARTITION)


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
