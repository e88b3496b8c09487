"""Grounds for plans, drawn by hand: LVs and arrays on as many disks as a law needs."""

from __future__ import annotations

from dataclasses import replace

from stackmap.features.plan.plan import PlanContext
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.layout_request import parse
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.model.volume_group import LogicalVolume, PhysicalVolume, VolumeGroup
from stackmap.sources.mountinfo import Mount

MIB = 1024**2
EXTENT = 4 * MIB
CHUNK = 65536


ARRAY_UUID = "0a0b0c0d:01020304:05060708:090a0b0c"


def dm_uuid(name: str) -> str:
    """The uuid of an LV of the VG."""
    return f"LVM-{'v' * 32}{(name * 32).replace('_', '0')[:32]}"


def disk_names(count: int) -> list[str]:
    return [f"sd{chr(97 + place)}" for place in range(count)]


def disks(count: int, size: int = 1024 * MIB) -> list[Device]:
    return [
        Device(name, Kind.DISK, f"8:{16 * place}", size=size, state="active", rotational=True)
        for place, name in enumerate(disk_names(count))
    ]


def mount(kind: str, flags: str, root: str = "/") -> Mount:
    """A mount, of which a plan reads only these."""
    return Mount("", "", kind, "", {}, root, flags)


def lv_context(
    segtype: str,
    members: int,
    wanted: str,
    *,
    extents: int = 24,
    count: int = 8,
    free: int = 200,
    attributes: str = "rwi-aor---",
    state: str | None = "active",
    uses: tuple[Use, ...] = (),
    more: tuple[list[Device], list[Edge]] = ((), ()),
    name: str = "lv",
    **given: object,
) -> PlanContext:
    """A LV vg/lv of a type over the first disks of a VG of *count*, each with *free* extents."""
    level = segtype.partition("_")[0]
    plain = level in ("linear", "striped", "raid0")
    how = None if level == "linear" else layout(level, members, CHUNK if level != "raid1" else None)
    top = Device(
        "dm-9", Kind.VOLUME, "254:9", size=extents * EXTENT, label=f"vg/{name}", state=state,
        dm_name=f"vg-{name}", target="raid" if how and not plain else level, uuid=dm_uuid(name),
        layout=how, uses=uses,
    )  # fmt: skip
    devices, edges = [*disks(count), top, *more[0]], [*more[1]]
    data = how.data if how and level != "raid1" else 1
    image = extents // data
    volumes = {}
    for place, under in enumerate(disk_names(members)):
        if plain:
            edges.append(Edge("dm-9", under, Role.DATA))
            continue
        part = Device(f"dm-{place}", Kind.MEMBER, f"254:{place}", label=f"vg/{name}_rimage_{place}",
                      uuid="LVM-y", target="linear", state="active")  # fmt: skip
        devices.append(part)
        edges += [Edge("dm-9", part.name, Role.DATA), Edge(part.name, under, Role.DATA)]
        volumes[f"{name}_rimage_{place}"] = LogicalVolume(
            f"{name}_rimage_{place}", ("linear",), image, on={f"/dev/{under}": image}
        )
    on = {f"/dev/{under}": image for under in disk_names(members)} if plain else {}
    volumes[name] = LogicalVolume(name, (segtype,), extents, attributes, on=on)
    pvs = tuple(PhysicalVolume(f"/dev/{d}", d, 255, free) for d in disk_names(count))
    group = VolumeGroup("vg", EXTENT, "wz--n-", shared=False, pvs=pvs, volumes=volumes)
    return PlanContext(
        Topology(devices, edges), top, parse(wanted), groups={"vg": group}, **given
    )  # fmt: skip


def pool_context(wanted, segtype="linear", members=1):
    """A thin pool: its data an LV of its own kind, its metadata one extent on sda."""
    context = lv_context(segtype, members, wanted, name="pool_tdata")
    tdata = context.target._replace(kind=Kind.MEMBER)
    meta = Device("dm-11", Kind.MEMBER, "", size=EXTENT, label="vg/pool_tmeta", state="active",
                  uuid=dm_uuid("pool_tmeta") + "-tmeta")  # fmt: skip
    pool = Device(
        "dm-10", Kind.THIN_POOL, "", label="vg/pool-tpool", target="thin-pool", state="active"
    )
    devices = [d for d in context.topology.devices.values() if d.name != "dm-9"]
    edges = [*context.topology.edges, Edge("dm-10", "dm-9", Role.DATA)]
    tmeta = LogicalVolume("pool_tmeta", ("linear",), 1, "ewi-ao----", on={"/dev/sda": 1})
    group = replace(context.group, volumes={**context.group.volumes, "pool_tmeta": tmeta})
    return replace(context, topology=Topology([*devices, tdata, meta, pool], edges), target=tdata,
                   groups={"vg": group})  # fmt: skip


def cached_context(wanted, segtype, pool):
    """A LV vg/lv, RAID5 on four disks, under a cache of this segment type."""
    ending = {"cache": "_corig", "writecache": "_wcorig"}[segtype]
    context = lv_context("raid5", 4, wanted, name=f"lv{ending}")
    origin = context.target._replace(kind=Kind.MEMBER)
    top = Device("dm-10", Kind.CACHE, "", label="vg/lv", target=segtype, state="active",
                 uuid=dm_uuid("lv"), facts={"mode": "writeback"})  # fmt: skip
    devices = [d for d in context.topology.devices.values() if d.name != "dm-9"]
    topology = Topology(
        [*devices, origin, top], [*context.topology.edges, Edge("dm-10", "dm-9", Role.ORIGIN)]
    )
    visible = LogicalVolume("lv", (segtype,), 24, "Cwi-aoC---", pool=pool)
    group = replace(context.group, volumes={**context.group.volumes, "lv": visible})
    return replace(context, topology=topology, target=origin, groups={"vg": group})


def md_context(
    level: str,
    members: int,
    wanted: str,
    *,
    count: int = 8,
    state: str = "active",
    uses: tuple[Use, ...] = (),
    **given: object,
) -> PlanContext:
    """An array md0 of a level over the first disks of *count*."""
    how = layout(level, members, CHUNK if level != "raid1" else None,
                 variant={"raid5": "ls", "raid6": "ls", "raid10": "near"}.get(level, ""))  # fmt: skip
    top = Device("md0", Kind.ARRAY, "9:0", size=how.data * 64 * MIB, state=state, layout=how,
                 uuid=ARRAY_UUID, facts={"metadata": "1.2"}, uses=uses)  # fmt: skip
    edges = [Edge("md0", name, Role.DATA) for name in disk_names(members)]
    return PlanContext(
        Topology([*disks(count), top], edges), top, parse(wanted), groups={},
        component_sizes={"md0": 64 * MIB}, **given,
    )  # fmt: skip
