"""LVM's and md's own metadata, added to the devices as facts."""

from __future__ import annotations

from collections.abc import Callable

from stackmap.errors import SourceError
from stackmap.host import Host, Json
from stackmap.model.device import Device

# Fact by libblockdev's field.
VOLUME_FACTS = {"segtype": "segment type", "tags": "tags", "origin": "origin", "pool_lv": "pool"}
ARRAY_FACTS = {"name": "array name", "spare_devices": "spares", "failed_devices": "failed"}

Records = list[dict[str, "Json"]]


def with_metadata(host: Host, devices: list[Device]) -> tuple[list[Device], list[str]]:
    """Return *devices* with their metadata as facts, and the refusals as sentences."""
    refused: list[str] = []
    volumes = _by_key(_ask(host.volumes, "LVM's metadata", refused), ("vg_name", "lv_name"))
    arrays = _by_key(_ask(host.arrays, "md's metadata", refused), ("device",))
    return [_with_facts(device, volumes, arrays) for device in devices], refused


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
