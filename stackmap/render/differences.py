"""The changes between two captures, as lines and as JSON."""

from __future__ import annotations

from stackmap.document import describe
from stackmap.document.units import size
from stackmap.model.device import Device
from stackmap.model.machine import Change, Differences
from stackmap.render.text import safe

SCHEMA = "stackmap.diff/1"
NOTHING = "nothing changed\n"


def render_differences(found: Differences) -> str:
    """Return a line per device removed (-) or added (+) and per change (~)."""
    lines = [f"- {_device(device)}" for device in found.gone]
    lines += [f"+ {_device(device)}" for device in found.appeared]
    lines += [
        f"~ {device.title}: {_change(change)}"
        for device, changes in found.changed
        for change in changes
    ]
    return "".join(f"{safe(line)}\n" for line in lines) or NOTHING


def differences_json(found: Differences) -> dict[str, object]:
    """Return the object of ``tree --diff -J``."""
    return {
        "schema": SCHEMA,
        "gone": [_named(device) for device in found.gone],
        "appeared": [_named(device) for device in found.appeared],
        "changed": [
            _named(device) | {"changes": [change._asdict() for change in changes]}
            for device, changes in found.changed
        ],
    }


def _named(device: Device) -> dict[str, object]:
    return {"name": device.name, "label": device.title, "kind": str(device.kind)}


def _device(device: Device) -> str:
    return f"{device.title}: {describe.what(device)}, {size(device.size)}"


def _change(change: Change) -> str:
    before, after = change.before or "-", change.after or "-"
    if change.what in ("size", "chunk"):
        before, after = (size(int(text)) if text.isdecimal() else text for text in (before, after))
    return f"{change.what} {before} → {after}"
