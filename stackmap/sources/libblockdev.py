"""
What LVM and mdadm know of LVs and arrays beyond the kernel, as libblockdev reports it.

That is lv_attr, tags, LVs that are not active, and mdadm's counts of disks. Optional: where an answer is missing,
device-mapper and sysfs say what they know. lvm reads all disks, so a live machine is asked by ``check`` and
``record`` only, never before a sample.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host, Json
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Topology
from stackmap.sources.lvm_names import PREFIX

Record = Mapping[str, Json]
STATE = 4  # the place of the state in lv_attr; "-": not active
HIDDEN = "private"  # among the roles of a sub-LV
EXTERNAL = "external"  # md's word for metadata whose format mdadm knows (imsm, ddf)


class Volume(NamedTuple):
    """An LV in LVM's metadata: ``attributes`` is lv_attr; ``tags`` is None where libblockdev has none (2.x)."""

    attributes: str
    is_hidden: bool
    tags: tuple[str, ...] | None


class Reported(NamedTuple):
    """``volumes`` by label (``vg/lv``); ``arrays``: mdadm's details; ``unknown``: refusals, as sentences."""

    volumes: Mapping[str, Volume] = {}
    arrays: Sequence[Record] = ()
    unknown: tuple[str, ...] = ()


def read(host: Host, topology: Topology) -> Reported:
    """Return LVM's and md's metadata from libblockdev; it is asked only where *topology* has either."""
    volumes: Mapping[str, Volume] = {}
    arrays: Sequence[Record] = ()
    unknown = []
    pvs = (use.kind == "pv" for device in topology for use in device.uses)
    if any(device.uuid.startswith(PREFIX) for device in topology) or any(pvs):
        try:
            volumes = parse_volumes(host.metadata("volumes"))
        except SourceError as error:
            unknown.append(f"LVM's metadata: {error}")
    if any(device.kind is Kind.ARRAY for device in topology):
        try:
            arrays = host.metadata("arrays")
        except SourceError as error:
            unknown.append(f"md's metadata: {error}")
    unknown += [
        f"md's metadata of {record.get('device')}: {record['refused']}"
        for record in arrays
        if "refused" in record
    ]
    return Reported(volumes, arrays, tuple(unknown))


def parse_volumes(records: Iterable[Record]) -> dict[str, Volume]:
    """Return the LVs and sub-LVs of *records* by label, without damaged ones."""
    volumes = {}
    for record in records:
        vg, lv, attributes = (record.get(key) for key in ("vg_name", "lv_name", "attr"))
        if not isinstance(vg, str) or not isinstance(lv, str) or not isinstance(attributes, str):
            continue
        tags = record.get("tags")
        volumes[f"{vg}/{lv}"] = Volume(
            attributes,
            HIDDEN in str(record.get("roles")),
            tuple(map(str, tags)) if isinstance(tags, list) else None,
        )
    return volumes


def visible(reported: Reported) -> dict[str, str]:
    """Return lv_attr by label, without sub-LVs: lv_attr of their LV has their health."""
    return {
        label: volume.attributes
        for label, volume in reported.volumes.items()
        if not volume.is_hidden
    }


def inactive(reported: Reported) -> list[str]:
    """Return the labels of LVs that exist in LVM's metadata only."""
    return [
        label for label, attributes in visible(reported).items() if attributes[STATE:][:1] == "-"
    ]


def contradictions(topology: Topology, arrays: Iterable[Record]) -> Iterator[str]:
    """Yield a sentence on each figure in which mdadm and sysfs differ."""
    for record in arrays:
        name = str(record.get("device")).removeprefix("/dev/")
        array = topology.devices.get(name)
        if array is None or array.facts.get("metadata", EXTERNAL).startswith(EXTERNAL):
            continue
        failed, spare = _counts(topology, name)
        shown = {"metadata": array.facts["metadata"], "failed_devices": failed}
        if spare is not None:
            shown["spare_devices"] = spare
        for key, value in shown.items():
            told = record.get(key)
            if told is not None and str(told) != str(value):
                what = key.replace("_", " ")
                yield f"{what} of {array.title}: {value} in sysfs, {told} by mdadm; it may have changed in between"


def _counts(topology: Topology, name: str) -> tuple[int, int | None]:
    """
    Return the failed and the spare devices of array *name*, as md counts them (md.c, get_array_info).

    A member that recovers is a spare there. A replacement is one until it is in sync, which its state does not
    say: None.
    """
    roles = [edge.role for edge in topology.below(name)]
    recovering = sum(
        edge.role is Role.DATA and topology[edge.below].state == "recovering"
        for edge in topology.below(name)
    )
    spare = None if Role.REPLACEMENT in roles else roles.count(Role.SPARE) + recovering
    return roles.count(Role.FAILED), spare
