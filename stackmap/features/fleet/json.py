"""The object of ``fleet -J``."""

from __future__ import annotations

from stackmap.features.fleet.volumes import Fleet, Trouble, Volume

SCHEMA = "stackmap.fleet/1"


def fleet_json(fleet: Fleet, time: str) -> dict[str, object]:
    """Return *fleet* as one object; *time*: the end of the window."""
    return {
        "schema": SCHEMA,
        "window": fleet.window,
        "time": time,
        "hosts": fleet.hosts,
        "volumes_total": fleet.total,
        "write_bytes": fleet.sum_of("write_bytes"),
        "wasted_bytes": fleet.sum_of("wasted_bytes"),
        "wasted_requests": fleet.sum_of("wasted_requests"),
        "partial": list(fleet.partial),
        "notes": list(fleet.notes),
        "health": [_trouble(each) for each in fleet.health],
        "volumes": [_volume(volume) for volume in fleet.volumes],
    }


def _trouble(trouble: Trouble) -> dict[str, object]:
    return {
        "host": trouble.host,
        "what": trouble.what,
        "device": trouble.device or None,
        "name": trouble.name or None,
        "value": trouble.value,
    }


def _volume(volume: Volume) -> dict[str, object]:
    slowest = volume.slowest
    return {
        "host": volume.key.host,
        "job": volume.key.job,
        "top": volume.key.top,
        "name": volume.key.name,
        "level": volume.level,
        "members": volume.members,
        "state": volume.state,
        "iops": volume.iops,
        "read_bytes": volume.read_bytes,
        "write_bytes": volume.write_bytes,
        "reads": volume.reads,
        "writes": volume.writes,
        "cost_bytes_per_byte": volume.cost,
        "disk_bytes_per_byte": volume.disk_bytes_per_byte,
        "ideal_bytes_per_byte": volume.ideal,
        "wasted_bytes": volume.wasted_bytes,
        "wasted_requests": volume.wasted_requests,
        "slowest_member": None if slowest is None else slowest._asdict(),
        "raid10_saves_bytes": volume.raid10_saves,
        "raid10_saves_requests": volume.raid10_saves_requests,
    }
