"""What tells the LV, the PVs and the array of a plan apart from those of other hosts."""

from __future__ import annotations

import hashlib

from stackmap.errors import PlanRefused
from stackmap.features.plan.plan_context import PlanContext
from stackmap.model.device import Device
from stackmap.model.operand import LvPath, Number, Uuid, Word

# Where LVM has the hyphens of a UUID.
_PARTS = ((0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32))


def array_uuid(context: PlanContext) -> Uuid:
    """Return the UUID of the target, as mdadm prints it; refused if it is not known."""
    digits = context.target.uuid.replace(":", "").replace("-", "").lower()
    if not digits:
        raise PlanRefused(
            f"the UUID of {context.target.title} is not known: the input has neither md/uuid nor "
            "udev's MD_UUID"
        )
    return _of_array(digits)


def new_array_uuid(context: PlanContext) -> Uuid:
    """Return the UUID that a plan gives a new array, so that its guard knows that array again."""
    onto = (context.topology[name] for name in context.onto)
    parts = (array_uuid(context), *(f"{device.name} {device.size}" for device in onto))
    return _of_array(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32])


def _of_array(digits: str) -> Uuid:
    return Uuid(":".join(digits[start : start + 8] for start in range(0, len(digits), 8)))


def lv_identity(context: PlanContext, lv: LvPath) -> tuple[Word, ...]:
    """Return the UUIDs of the VG and of *lv*, and its bytes; refused if they are not known."""
    volume = context.group.volumes.get(lv.name)
    both = next((found for d in context.topology if d.label == lv and (found := lvm_uuids(d))), ())
    if not both or volume is None:
        raise PlanRefused(f"the UUID of {lv} is not known: the input lacks its device-mapper uuid")
    return (*both, Number(volume.extents * context.group.extent))


def lvm_uuids(device: Device) -> tuple[Uuid, ...]:
    """
    Return the UUIDs of the VG and the LV in the dm uuid of *device*; () if it has none.

    >>> from stackmap.model.device import Kind
    >>> lvm_uuids(Device("dm-0", Kind.VOLUME, "", uuid="LVM-" + "v" * 32 + "l" * 32))[0]
    'vvvvvv-vvvv-vvvv-vvvv-vvvv-vvvv-vvvvvv'
    """
    both = device.uuid.removeprefix("LVM-")[:64]
    if len(both) < 64 or both == device.uuid[:64] or not both.isalnum():
        return ()
    return _of_lvm(both[:32]), _of_lvm(both[32:])


def size_of(device: Device) -> Number:
    """Return the bytes of *device*; refused if they are not known."""
    if device.size is None:
        raise PlanRefused(f"the size of {device.title} is not known")
    return Number(device.size)


def _of_lvm(text: str) -> Uuid:
    return Uuid("-".join(text[start:end] for start, end in _PARTS))
