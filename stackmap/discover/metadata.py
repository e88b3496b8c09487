"""LVM's and md's own metadata, added to the devices as facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.host import Host, Json
from stackmap.model.device import Device, Kind
from stackmap.sources.lvm_names import PREFIX

if TYPE_CHECKING:
    from stackmap.discover import TopologyParts

# Fact by libblockdev's field.
VOLUME_FACTS = {"segtype": "segment type", "tags": "tags", "origin": "origin", "pool_lv": "pool"}
ARRAY_FACTS = {"name": "array name", "spare_devices": "spares", "failed_devices": "failed"}

Records = list[dict[str, "Json"]]


def with_metadata(host: Host, parts: TopologyParts) -> TopologyParts:
    """Return *parts* with the devices' metadata as facts, and the refusals as sentences."""
    refused: list[str] = []
    volumes = _by_key(_ask(host.volumes, "LVM's metadata", refused), ("vg_name", "lv_name"))
    arrays = _by_key(_ask(host.arrays, "md's metadata", refused), ("device",))
    devices = [_with_facts(device, volumes, arrays) for device in parts.devices]
    return parts._replace(devices=devices, unknown=[*parts.unknown, *refused])


def has_metadata(device: Device) -> bool:
    """Whether LVM or md describes the device, or keeps its metadata there."""
    return (
        device.kind is Kind.ARRAY
        or device.uuid.startswith(PREFIX)
        or not {"pv", "md"}.isdisjoint([use.kind for use in device.uses])
    )


def _ask(ask: Callable[[], Records], what: str, refused: list[str]) -> Records:
    try:
        return ask()
    except SourceError as error:
        refused.append(f"{what}: {error}")
        return []


def _by_key(records: Records, keys: tuple[str, ...]) -> dict[str, dict[str, Json]]:
    """Return *records* by the values of *keys*: ``vg/lv`` or ``md0``."""
    return {
        "/".join(str(record.get(key, "")) for key in keys).removeprefix("/dev/"): record
        for record in records
    }


def _with_facts(
    device: Device, volumes: dict[str, dict[str, Json]], arrays: dict[str, dict[str, Json]]
) -> Device:
    for records, names, key in (
        (volumes, VOLUME_FACTS, device.label),
        (arrays, ARRAY_FACTS, device.name),
    ):
        record = records.get(key, {})
        found = {fact: _text(record[field]) for field, fact in names.items() if record.get(field)}
        if found:
            device = device._replace(facts={**device.facts, **found})
    return device


def _text(value: Json) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
