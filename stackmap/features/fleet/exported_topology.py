"""The topology that a host exported (``features/export/families.py``), from its labels."""

from collections.abc import Iterable, Mapping

from stackmap.discover import sound_edges
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.raid import Layout, layout
from stackmap.model.topology import Edge, Machine, Topology

Labels = Mapping[str, str]

# Prometheus' names for labels of stackmap that the target has, too.
REPLACEABLE = frozenset({"exported_device", "exported_name", "exported_kind", "exported_level"})
REPLACED = "labels of the target of {host} replace those of stackmap ({labels}), so names are wrong: rename them in scrape_configs"
UNREAD = "{count} devices or edges of {host} have labels that this version does not know"


def topology(
    host: str,
    kernel: str,
    devices: Iterable[Labels],
    edges: Iterable[Labels],
    lengths: Mapping[tuple[str, str, str], float],
) -> Topology:
    """
    Return the topology of *host*; what another version exported differently is unknown.

    *lengths*: the bytes of each edge (above, below, role) where a device lies on several.
    """
    devices = tuple(devices)
    made = [_device(labels) for labels in devices]
    used = [_edge(labels, lengths) for labels in edges]
    strange = made.count(None) + used.count(None)
    sound, doubts = sound_edges(filter(None, used))
    unread = [UNREAD.format(count=strange, host=host)] if strange else []
    return Topology(
        filter(None, made),
        sound,
        machine=Machine(host, kernel),
        unknown=_replaced(host, devices) + unread + doubts,
    )


def _replaced(host: str, devices: Iterable[Labels]) -> list[str]:
    """Return the sentence on labels of the target that have replaced those of devices; [] without any."""
    labels = {name for device in devices for name in device if name in REPLACEABLE}
    return [REPLACED.format(host=host, labels=", ".join(sorted(labels)))] if labels else []


def _device(labels: Labels) -> Device | None:
    name, kind = labels.get("device"), labels.get("kind", "")
    if not name or kind not in set(Kind):
        return None
    return Device(
        name,
        Kind(kind),
        "",
        size=_number(labels, "size"),
        label="" if labels.get("name") == name else labels.get("name", ""),
        target=labels.get("target", ""),
        layout=_layout(labels),
        state=labels.get("state"),
        rotational=_flag(labels, "rotational"),
        merges=labels.get("merges") == "1",
        queue=Queue(iostats=_flag(labels, "iostats")),
    )


def _layout(labels: Labels) -> Layout | None:
    members = _number(labels, "members")
    if members is None:
        return None
    chunk, copies = _number(labels, "chunk"), _number(labels, "copies")
    return layout(labels.get("level", ""), members, chunk, copies, labels.get("variant", ""))


def edge_key(labels: Labels) -> tuple[str, str, str]:
    """Return the device above, the one below, and the role."""
    return labels.get("above", ""), labels.get("below", ""), labels.get("role", "")


def _edge(labels: Labels, lengths: Mapping[tuple[str, str, str], float]) -> Edge | None:
    above, below, role = edge_key(labels)
    if role not in set(Role):
        return None
    size = lengths.get((above, below, role))
    return Edge(above, below, Role(role), length=None if size is None else int(size))


def _flag(labels: Labels, key: str) -> bool | None:
    return None if key not in labels else labels[key] == "1"


def _number(labels: Labels, key: str) -> int | None:
    text = labels.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
