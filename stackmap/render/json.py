"""The objects of ``tree``, ``tree --diff`` and ``iostat`` as JSON, and parts that several JSON objects share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stackmap.document.describe import WRITE_MOSTLY
from stackmap.document.interval import end_time
from stackmap.ledger.device_state import write_mostly
from stackmap.model.device import Device
from stackmap.model.health import errors
from stackmap.model.load import METRICS, TOGETHER, Load
from stackmap.model.raid import Layout
from stackmap.model.reason import code_of
from stackmap.model.topology import Topology

if TYPE_CHECKING:
    from stackmap.ledger.amounts import Traffic
    from stackmap.ledger.layers import Total
    from stackmap.model.differences import Differences
    from stackmap.model.interval import Interval

SCHEMA = "stackmap.tree/1"


def tree_json(topology: Topology) -> dict[str, object]:
    """Return the object of ``tree -J``: each device once, top down."""
    return {
        "schema": SCHEMA,
        "host": topology.machine.host,
        "kernel": topology.machine.kernel,
        "devices": [_device(topology, device) for device in topology],
        "unknown": list(topology.unknown),
    }


def differences_json(differences: Differences) -> dict[str, object]:
    """Return the object of ``tree --diff -J``."""
    return {
        "schema": "stackmap.diff/1",
        "gone": [_named(device) for device in differences.gone],
        "appeared": [_named(device) for device in differences.appeared],
        "changed": [
            _named(device) | {"changes": [change._asdict() for change in changes]}
            for device, changes in differences.changed
        ],
    }


def _named(device: Device) -> dict[str, object]:
    return {"name": device.name, "label": device.title, "kind": str(device.kind)}


def iostat_json(
    rows: Sequence[tuple[Device, int]],
    interval: Interval,
    sums: Sequence[Total] = (),
) -> dict[str, object]:
    """Return the figures of each device as one object; values in the units of ``METRICS``."""
    return {
        "schema": "stackmap.iostat/1",
        **interval_json(interval),
        "corrections": list(interval.corrections),
        "devices": [
            {
                "name": device.name,
                "label": device.title,
                "kind": str(device.kind),
                **_values(interval.load(device.name)),
            }
            for device, _ in rows
        ],
        "totals": {
            total.cut: {"devices": list(total.devices), **_values(total.load)} for total in sums
        },
    }


def _values(load: Load) -> dict[str, float | None]:
    return {metric.key: metric.value(load) for metric in (*METRICS, *TOGETHER)}


def layout_json(layout: Layout | None) -> dict[str, object] | None:
    """Return the keys of a layout, the same in every command."""
    return None if layout is None else layout.json_fields()


def _device(topology: Topology, device: Device) -> dict[str, object]:
    state, progress = _progress(device.state)
    mostly = write_mostly(topology, device)
    below = dict.fromkeys(
        (edge.below, WRITE_MOSTLY if edge.below in mostly else str(edge.role))
        for edge in topology.below(device.name)
    )
    sources = {edge.below: edge.source for edge in topology.below(device.name)}
    return {
        "name": device.name,
        "label": device.title,
        "kind": str(device.kind),
        "target": device.target or None,
        "dev": device.number,
        "size": device.size,
        "layout": layout_json(device.layout),
        "state": state,
        "progress": progress,
        "errors": errors(device.counts),
        "mounts": list(device.mounts),
        "uses": [{"how": u.kind, "who": u.name, "source": u.source} for u in device.uses],
        "below": [
            {"name": name, "role": role} | ({"source": known} if (known := sources[name]) else {})
            for name, role in below
        ],
        "uuid": device.uuid or None,
        "model": device.model or None,
        "serial": device.serial or None,
        "wwn": device.wwn or None,
        "rotational": device.rotational,
        "read_only": device.read_only,
        "facts": dict(device.facts),
    }


def _progress(state: str | None) -> tuple[str | None, float | None]:
    """
    Return a state without its progress, and the progress 0…1; None for none.

    >>> _progress("degraded, check 12.5 %")
    ('degraded, check', 0.125)
    """
    words, _, figure = (state or "").removesuffix(" %").rpartition(" ")
    if state is None or not state.endswith(" %"):
        return state, None
    return words, round(float(figure) / 100, 3)


def reason_json(reason: str) -> dict[str, str | None]:
    """Return the keys of a reason why figures are unknown; null for ""."""
    return {"reason": reason or None, "reason_code": code_of(reason)}


def interval_json(interval: Interval) -> dict[str, object]:
    """Return the keys that describe *interval*."""
    return {
        "time": end_time(interval),
        "seconds": interval.seconds,
        "since_boot": interval.since_boot,
        "summary": interval.summary,
        "events": list(interval.events),
        "notes": list(interval.notes),
    }


def range_json(part: Traffic) -> dict[str, list[float | None]] | None:
    """Return the lower and upper ends of an estimate; None for an exact figure."""
    if not part.is_range:
        return None
    low, high = part.bounds
    return {"arrivals": [low.arrivals, high.arrivals], "bytes": [low.bytes, high.bytes]}
