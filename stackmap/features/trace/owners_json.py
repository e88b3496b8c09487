"""The keys that a trace adds to the object of ``blame -J``."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.features.trace.owner_figures import Owner
from stackmap.features.trace.owners_document import owner_name
from stackmap.model.owner_io import Sum


def owners_json(found: Iterable[Owner], dropped: int) -> dict[str, object]:
    """Return the keys that a trace adds: the I/O of control groups and of processes per device."""
    listed = list(found)
    return {
        "cgroups": [
            {"cgroup": each.group.path or None, "owner": owner_name(each), **_owner(each)}
            for each in listed
            if each.group is not None
        ],
        "processes": [
            {"command": each.name, "pid": each.number, **_owner(each)}
            for each in listed
            if each.group is None
        ],
        "lost": {"hits": dropped},
    }


def _owner(found: Owner) -> dict[str, object]:
    parts = ((name, found.parts.get(name, Sum())) for name in ("read", "write"))
    return {
        "device": found.device,
        **{
            name: {
                "requests": part.requests,
                "bytes": part.bytes,
                "size": part.size,
                "latency_us": None if part.milliseconds is None else part.milliseconds * 1000,
            }
            for name, part in parts
        },
    }
