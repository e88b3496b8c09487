"""Work beside the data: bitmaps and other metadata, and flushes that wait for the medium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.device import Role


def metadata(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices whose writes cost about as many writes to their metadata."""
    for device in context.measured:
        beside = [e.below for e in context.topology.below(device.name) if e.role is Role.METADATA]
        if not beside or not context.loads.keys() >= set(beside):
            continue
        # Every member of a RAID has the same bitmap: the busiest tells how often it is written.
        busiest = max(beside, key=lambda name: context.load(name).write.ios or 0.0)
        own, writes = context.load(device.name).write, context.load(busiest).write
        if not own.ios or writes.ios is None or not context.enough(own.ios, limits["requests"]):
            continue
        if writes.ios < limits["share"] * own.ios:
            continue
        evidence = context.evidence(
            device.name,
            writes=(own.ios, "requests/s"),
            size=(own.size, "bytes"),
            ratio=(writes.ios / own.ios, "times"),
        ) | context.evidence(
            busiest, metadata_rate=(writes.ios, "requests/s"), took=(writes.await_ms, "ms")
        )
        words = {"metadata": context.topology[busiest].title}
        yield Seen(device.name, evidence, words, weight=writes.ios / own.ios)


def flushes(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that spend much of their time making sure that writes are on the medium."""
    for device in context.disks:
        flush, write = context.load(device.name).flush, context.load(device.name).write
        took = flush.await_ms
        if took is None or not flush.ios or not context.enough(flush.ios, limits["requests"]):
            continue
        share = flush.ios * took / 1000
        if share >= limits["share"] and took >= limits["ms"]:
            evidence = context.evidence(
                device.name,
                flushes=(flush.ios, "requests/s"),
                took=(took, "ms"),
                share=(share, "share"),
                writes=(write.ios, "requests/s"),
            )
            yield Seen(device.name, evidence, weight=share)


METADATA = Rule(
    "SM501",
    "metadata-writes",
    Severity.WARNING,
    says="{device} was written {writes} of {size}, and its metadata ({metadata}) {metadata_rate}: {ratio} "
    "for each write, each of which waits {took} for it.",
    against="A burst into places not written lately does this once, not for long.",
    advice="Of a RAID: a bitmap with larger regions (lvchange --regionsize, mdadm --bitmap-chunk), or "
    "on other disks. Of a thin pool: fewer flushes, or its metadata on flash.",
    source="Linux drivers/md/md-bitmap.c; measured on 6.1: each bitmap write is synchronous, on "
    "every member, with flushes",
    find=metadata,
    limits={"share": 0.5, "requests": 50},
    units={"share": "times", "requests": "count"},
)
FLUSH_BOUND = Rule(
    "SM502",
    "flush-bound",
    Severity.WARNING,
    says="{device} does {flushes} flushes, {took} each: {share} of its time goes into making sure that "
    "{writes} writes are on the medium.",
    against="Flushes wait for what was written before them: a long one may be a slow write.",
    advice="Fewer and larger commits (fsync) above, or a disk that keeps its cache without power: its "
    "flushes take no time.",
    source="Linux admin-guide/iostats.rst, fields 16 and 17: every flush is counted with the time "
    "it waited",
    find=flushes,
    limits={"share": 0.3, "ms": 2.0, "requests": 50},
    units={"share": "share", "ms": "ms", "requests": "count"},
)
RULES = (METADATA, FLUSH_BOUND)
