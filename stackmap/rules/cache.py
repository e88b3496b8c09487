"""
Does a dm-cache serve the reads, and what do its own copies cost?

Its counters tell hits from misses. Reads of the origin are misses and promotions together, so
without the counters they only bound the misses.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load, plus, ratio
from stackmap.model.units import percent
from stackmap.rules.context import Context
from stackmap.rules.rule import LIGHT, Limits, Observations, Outcome, Rule, Severity, observe
from stackmap.rules.state import tool_names

PASSTHROUGH = "passthrough"
RATES = ("read_hits", "read_misses", "write_hits", "write_misses", "promotions", "demotions")
FULL = 0.95  # share of a cache's blocks; fewer may stay free while it demotes some
SOURCE = "Linux admin-guide/device-mapper/cache.rst, status"


class CacheUse(NamedTuple):
    """A cache in the interval: its parts by name, its rates per second (None: no two readings)."""

    device: Device
    fast: str
    slow: str
    load: Load
    rates: Mapping[str, float | None]

    @property
    def hit_ratio(self) -> float | None:
        """The share of reads that the cache served; None if unknown or nothing was read."""
        return ratio(self.rates["read_hits"], self.reads)

    @property
    def reads(self) -> float | None:
        """Reads of blocks per second, hits and misses; None if unknown."""
        return plus(self.rates["read_hits"], self.rates["read_misses"])

    @property
    def block(self) -> float:
        """The bytes of a cache block; 0 if unknown."""
        return float(self.device.fact_number("block") or 0)

    def figures(self) -> dict[str, tuple[float | None, str, str]]:
        """The rates as evidence."""
        name = self.device.name
        return {
            "hit_ratio": (self.hit_ratio, "share", name),
            **{key: (rate, "requests/s", name) for key, rate in self.rates.items()},
            "block": (self.block or None, "bytes", name),
        }


@Rule(
    "SM503",
    Severity.WARNING,
    title="{missed} of {device}'s reads miss its cache",
    sentence="{missed} of the reads of {device} miss its cache ({extent}); read await is {took}. Its "
    "origin {origin} reads {slow}, promotions included, for {asked} read.",
    caveat="A new or enlarged cache misses until it is warm.",
    advice="[{to_do}][If the cache is full (`lvs -o lv_name,data_percent {lv}`, as root), enlarge it.] Data that is read "
    "once gains nothing from a cache.",
    source=SOURCE,
    thresholds={"missed": (0.7, "share", "{} missed"), "requests": (100, "count"), **LIGHT},
    labels={"slow": "read from the origin", "asked": "read from the volume"},
)
def cache_misses(context: Context, limits: Limits) -> Observations:
    """Yield caches that miss most reads, by their counters or, without these, by bytes."""
    for use in _caches(context):
        read, slow = use.load.read, context.load(use.slow).read
        if not read.bytes or not context.enough(read.ios, limits["requests"]):
            continue
        counted = use.hit_ratio is not None
        missed = 1 - use.hit_ratio if use.hit_ratio is not None else _least_missed(context, use)
        if missed is None or missed < limits["missed"]:
            continue
        used, name = _used(context, use.device), use.device.name
        figures = {
            "missed": (missed, "share", name),
            "used": (used, "share", name),
            "asked": (read.bytes, "bytes/s", name),
            "took": (read.await_ms, "ms", name),
            "slow": (slow.bytes, "bytes/s", use.slow),
            **(use.figures() if counted else {}),
        }
        words = {
            "origin": context.topology[use.slow].title,
            "extent": "by its own counters" if counted else "at least, by bytes",
            **(tool_names(use.device) if used is None else {"to_do": _to_do(used)}),
        }
        yield observe(name, figures, words, weight=missed)


@Rule(
    "SM511",
    Severity.WARNING,
    title="The cache of {device} copies much",
    sentence="{device} copies {copied} between cache and origin for {moved} of I/O: {promoted} are "
    "promotions into the cache, about {written_back} are written back.",
    caveat="A new cache fills by promotions; it copies less when it is warm.",
    advice="If it stays so, enlarge the cache, or reduce its migration_threshold (`lvchange "
    "--cachesettings`).",
    source=SOURCE,
    thresholds={
        "copied": (2.0, "times", "copies {} the I/O"),
        "promotions": (10, "count", "{} blocks copied"),
        **LIGHT,
    },
    superseded_by=("SM503",),
)
def cache_copies(context: Context, limits: Limits) -> Observations:
    """Yield caches that copy far more than their volume reads and writes."""
    for use in _caches(context):
        moved, block = use.load.total.bytes, use.block
        promotions = use.rates["promotions"]
        if promotions is None or not moved or not block:
            continue
        back = _written_back(use, context.load(use.slow).write)
        copied = promotions * block + (back or 0.0)
        if copied < limits["copied"] * moved:
            continue
        name = use.device.name
        if context.enough(copied / block, limits["promotions"]):
            figures = {
                "copied": (copied, "bytes/s", name),
                "moved": (moved, "bytes/s", name),
                "promoted": (promotions * block, "bytes/s", name),
                "written_back": (back, "bytes/s", use.slow),
                **use.figures(),
            }
            yield observe(name, figures, weight=copied)


@Rule(
    "SM512",
    Severity.INFO,
    title="{share} of {device}'s cache is dirty",
    outcome=Outcome.STATE,
    sentence="{share} of the cache of {device} is dirty: {dirty} are not yet on the origin.",
    caveat="Without a redundant cache device, its loss is the loss of this data.",
    advice="Before removing or replacing the cache, allow time to write it back (`lvs -o "
    "cache_dirty_blocks`).",
    source=SOURCE,
    thresholds={"dirty": (0.75, "share", "{} dirty")},
    is_state=True,
)
def cache_dirty(context: Context, limits: Limits) -> Observations:
    """Yield caches that hold much data that their origin does not have."""
    for device in context.devices:
        counts, block = context.counts(device), device.fact_number("block")
        dirty, total = counts.get("dirty"), counts.get("total")
        if device.target != "cache" or dirty is None or not total or block is None:
            continue
        if dirty / total >= limits["dirty"]:
            figures = {
                "share": (dirty / total, "share"),
                "dirty": (dirty * float(block), "bytes"),
            }
            yield observe(device.name, figures, weight=dirty / total)


@Rule(
    "SM513",
    Severity.WARNING,
    title="The cache of {device} is bypassed",
    outcome=Outcome.STATE,
    sentence="The cache of {device} is in passthrough mode: its origin serves all reads and writes.",
    caveat="This mode is meant for the time after a restore of the origin.",
    advice="Set another mode: `lvchange --cachemode writethrough`.",
    source="Linux admin-guide/device-mapper/cache.rst, passthrough",
    is_state=True,
)
def cache_passthrough(context: Context, _: Limits) -> Observations:
    """Yield caches that cache nothing."""
    for device in context.devices:
        if device.target == "cache" and device.facts.get("mode") == PASSTHROUGH:
            yield observe(device.name)


@Rule(
    "SM514",
    Severity.GOOD,
    title="The cache of {device} works",
    sentence="The cache of {device} serves {hit_ratio} of its reads; promotions: {promotions}.",
    caveat="Its counters count requests, not bytes.",
    advice="",
    source=SOURCE,
    thresholds={"hits": (0.8, "share", "{} hits"), "requests": (100, "count")},
)
def cache_hits(context: Context, limits: Limits) -> Observations:
    """Yield caches that serve most reads."""
    for use in _caches(context):
        hits, enough = use.hit_ratio, context.enough(use.reads, limits["requests"])
        if hits is not None and hits >= limits["hits"] and enough:
            yield observe(use.device.name, use.figures(), weight=hits)


def _caches(context: Context) -> Iterator[CacheUse]:
    """Yield the measured caches that are in use, dm-cache and writecache."""
    for device in context.measured:
        slow = context.below(device.name, Role.ORIGIN)[-1:]
        fast = context.below(device.name, Role.CACHE)[-1:]
        if not slow or not fast or device.facts.get("mode") == PASSTHROUGH:
            continue
        change = context.changes.get(device.name)
        rates = {name: None if change is None else change.rate(name) for name in RATES}
        yield CacheUse(device, fast[0], slow[0], context.load(device.name), rates)


def _used(context: Context, device: Device) -> float | None:
    """Return the share of a cache's blocks that hold data; None if its status is not known."""
    counts = context.counts(device)
    total = counts.get("total")
    used = plus(total, -counts["free"]) if "free" in counts else counts.get("used")
    return ratio(used, total)


def _to_do(used: float) -> str:
    if used >= FULL:
        return "The cache is full: enlarge it."
    return f"The cache is {percent(used, 1)} full: measure again when it no longer fills."


def _least_missed(context: Context, use: CacheUse) -> float | None:
    """Return the least share of bytes that missed: a promotion reads the origin and writes the cache."""
    read, slow = use.load.read.bytes, context.load(use.slow).read.bytes
    promoted = context.load(use.fast).write.bytes
    if not read or slow is None or promoted is None:
        return None
    return min(1.0, max(0.0, slow - promoted) / read)


def _written_back(use: CacheUse, origin: Flow) -> float | None:
    """Estimate what was written back: the origin's writes that are no misses; None if unknown."""
    size = use.load.write.size or 0.0
    if use.device.facts.get("mode") != "writeback":
        return 0.0
    if origin.bytes is None or (missed := use.rates["write_misses"]) is None:
        return None
    return max(0.0, origin.bytes - missed * size)
