"""What is not projected: a part of what has the layout, and a layout that its maker does not have."""

from __future__ import annotations

from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.errors import LayoutError
from stackmap.model.device import Device, Kind, Role
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology


def require_whole_volume(topology: Topology, context: VolumeContext) -> None:
    """Refuse a member or a path: its load is what the device above it makes of its own."""
    if context.present is not None:
        return
    device = context.device
    for edge in topology.above(device.name):
        above = topology[edge.above]
        word = _part(device, above, edge.role)
        if word:
            raise LayoutError(
                f"{device.title}: a {word} of {above.title}, which makes its load and has the layout: "
                f"name {above.title}"
            )


def _part(device: Device, above: Device, role: Role) -> str:
    if role is Role.PATH:
        return "path"
    return "member" if above.kind is Kind.ARRAY or device.kind is Kind.MEMBER else ""


def require_supported(context: VolumeContext, layout: Layout) -> None:
    """Refuse what LVM has not; where the maker is not known, md may make it."""
    missing = unsupported_by_lvm(layout) if context.manager == "lvm" else ""
    if missing:
        raise LayoutError(missing)
