"""The object of ``iostat -J``."""

from __future__ import annotations

from collections.abc import Sequence

from stackmap.ledger.totals import Total
from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import METRICS, Load
from stackmap.render.json import interval_json

SCHEMA = "stackmap.iostat/1"


def iostat_json(
    rows: Sequence[tuple[Device, int]],
    interval: Interval,
    sums: Sequence[Total] = (),
) -> dict[str, object]:
    """Return the figures of each device as one object; values in the units of ``METRICS``."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "corrections": list(interval.corrections),
        "devices": [
            {
                "name": device.name,
                "label": device.title,
                "kind": str(device.kind),
                **_values(interval.loads.get(device.name, Load())),
            }
            for device, _ in rows
        ],
        "totals": {
            total.cut: {"devices": list(total.devices), **_values(total.load)} for total in sums
        },
    }


def _values(load: Load) -> dict[str, float | None]:
    return {metric.key: metric.value(load) for metric in METRICS}
