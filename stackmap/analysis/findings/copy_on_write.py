"""Caches that miss, snapshots that copy out, thin chunks that are touched first: work a write or read sets off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.device import Kind, Role
from stackmap.model.load import sum_flows


def misses(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield caches of whose reads most go to the slow device."""
    for device in context.measured:
        roles = {edge.role: edge.below for edge in context.topology.below(device.name)}
        if Role.CACHE not in roles or Role.ORIGIN not in roles:
            continue
        slow, asked = context.load(roles[Role.ORIGIN]).read, context.load(device.name).read
        if not asked.bytes or slow.bytes is None:
            continue
        missed = min(1.0, slow.bytes / asked.bytes)
        if missed >= limits["missed"] and context.enough(asked.ios, limits["requests"]):
            yield Seen(
                device.name,
                context.evidence(
                    device.name,
                    missed=(missed, "share"),
                    asked=(asked.bytes, "bytes/s"),
                    took=(asked.await_ms, "ms"),
                )
                | context.evidence(roles[Role.ORIGIN], slow=(slow.bytes, "bytes/s")),
                {"origin": context.topology[roles[Role.ORIGIN]].title},
                weight=missed,
            )


def copies_out(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield snapshots that are written for what is written to their origin."""
    for device in context.topology:
        roles = {edge.role: edge.below for edge in context.topology.below(device.name)}
        if Role.COW not in roles or Role.ORIGIN not in roles or device.state == "merging":
            continue
        copied = context.load(roles[Role.COW]).write
        origins = [e.above for e in context.topology.above(roles[Role.ORIGIN])]
        written = sum_flows(context.load(n).write for n in origins if n in context.loads).bytes
        if not copied.bytes or not written or not context.enough(copied.ios, limits["requests"]):
            continue
        if copied.bytes >= limits["share"] * written:
            evidence = context.evidence(
                roles[Role.COW], copied=(copied.bytes, "bytes/s"), copies=(copied.ios, "requests/s")
            )
            both = {"written": (written, "bytes/s"), "ratio": (copied.bytes / written, "times")}
            yield Seen(
                device.name,
                evidence | context.evidence(device.name, **both),
                weight=copied.bytes / written,
            )


def first_touch(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield pools whose data is written far more than all their thin volumes were."""
    for device in context.topology:
        if device.target != "thin-pool":
            continue
        data = [e.below for e in context.topology.below(device.name) if e.role is Role.DATA]
        volumes = [
            e.above
            for e in context.topology.above(device.name)
            if context.topology[e.above].kind is Kind.THIN
            or context.topology[e.above].target == "thin"
        ]
        if not data or not context.loads.keys() >= {*data, *volumes}:
            continue
        asked = sum_flows(context.load(name).write for name in volumes)
        done = context.load(data[0]).write.bytes
        if not asked.bytes or done is None or not context.enough(asked.ios, limits["requests"]):
            continue
        if done >= limits["more"] * asked.bytes:
            evidence = context.evidence(
                device.name,
                written=(asked.bytes, "bytes/s"),
                done=(done, "bytes/s"),
                ratio=(done / asked.bytes, "times"),
                size=(asked.size, "bytes"),
            )
            words = {"chunk": device.facts.get("block", "")}
            yield Seen(device.name, evidence, words, weight=done / asked.bytes)


MISSES = Rule(
    "SM503",
    "cache-misses",
    Severity.WARNING,
    says="{missed} of what {device} was read, {slow} of {asked}, came from the slow {origin}, not from "
    "the cache: a read takes {took}.",
    against="A cache that is new, or has just been enlarged, misses until it is warm.",
    advice="See cache used in stackmap tree: one that is full and still misses is too small for the "
    "load; reads in sequence are not cached on purpose.",
    source="Linux admin-guide/device-mapper/cache.rst; measured on 6.1: what a hit and a miss read "
    "below a dm-cache",
    find=misses,
    limits={"missed": 0.7, "requests": 100},
    units={"missed": "share", "requests": "count"},
)
COPIES_OUT = Rule(
    "SM504",
    "snapshot-copies",
    Severity.WARNING,
    says="{device} is a snapshot, and its origin is being written {written}: {copied} went into the "
    "snapshot to keep the old data, {ratio} bytes for each written.",
    against="Each chunk is copied once: it stops when all that is written to has been copied.",
    advice="Remove the snapshot when it is no longer needed (lvremove), or take thin snapshots.",
    source="Linux admin-guide/device-mapper/snapshot.rst; measured on 6.1: a first write to a "
    "chunk reads it, writes it and its metadata elsewhere",
    find=copies_out,
    limits={"share": 0.5, "requests": 50},
    units={"share": "times", "requests": "count"},
)
FIRST_TOUCH = Rule(
    "SM505",
    "thin-first-touch",
    Severity.WARNING,
    says="The thin volumes of {device} were written {written} in requests of {size}, its disks {done}: "
    "{ratio} times as much. New chunks are zeroed, or chunks of a snapshot copied, before they are used.",
    against="Each chunk pays once: a volume that has been written all over no longer does.",
    advice="Write a new volume once in large requests, make chunks smaller, or turn zeroing off where "
    "nobody may read what was there (lvchange --zero n).",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst, skip_block_zeroing; measured on "
    "6.1: 16 x 4 KiB into new 64 KiB chunks write 17 times as much",
    find=first_touch,
    limits={"more": 1.5, "requests": 50},
    units={"more": "times", "requests": "count"},
)
RULES = (MISSES, COPIES_OUT, FIRST_TOUCH)
