"""Machines for the rules about what layers do to I/O: parity, metadata, caches, copies, splitting and merging."""

from __future__ import annotations

from collections.abc import Mapping

from tests.machine import mapped
from tests.rules.rule_cases import LIGHT, case, least, most, turns
from tests.rules.scripted import ALL_DISKS, KIB, SECONDS, Did, Scripted, disk, disks, md, volume

LIGHT_QUEUE = {"light_queue": turns(1.0, "info", "warning")}
IDEAL = 4 / 3  # disk bytes per byte of full stripes, on RAID5 of four


def _light(did: Did, rate: float, queue: float) -> Did:
    """The bytes of *did* in *rate* requests per second, with *queue* in flight."""
    size = (did.reads * did.read_size + did.writes * did.write_size) / rate
    if not did.writes:
        return Did(reads=rate, read_size=size, read_ms=1, queue=queue)
    return Did(writes=rate, write_size=size, write_ms=1, queue=queue)


@case("partial-stripe", {"cost": 1.1}, cost=least(1.25), bytes=least(65536), **LIGHT_QUEUE)
def partial_stripe(cost=2.0, bytes=1e7, light_queue=2.0):
    """RAID5: 1.5 bytes written below per byte, and the rest of *cost* × 1.33 is read."""
    wrote, read = bytes * 1.5 / 4, bytes * (cost * IDEAL - 1.5) / 4
    member = Did(writes=wrote / 4096, reads=read / 4096, write_ms=1, read_ms=1, queue=light_queue)
    parts = [
        {
            "md0": Did(writes=bytes / 65536, write_size=65536, write_ms=5),
            **dict.fromkeys(ALL_DISKS, member),
        }
    ]
    return Scripted(disks(), md("raid5"), parts=parts)


@case("stripe-cache", {"rows": 4096}, rows=most(256), read=least(0.2))
def stripe_cache(rows=256, read=1.0):
    """RAID5: every row holds two of three pages, and *read* bytes are read per byte written."""
    written = 1e6
    wrote = written * 1.5 / 4 / 4096
    member = Did(writes=wrote, reads=written * read / 4 / 4096, write_ms=1, read_ms=1)
    parts = [
        {
            "md0": Did(writes=written / 8192, write_size=8192, write_ms=5),
            **dict.fromkeys(ALL_DISKS, member),
        }
    ]
    return Scripted(disks(), md("raid5", stripe_cache_size=round(rows)), parts=parts)


@case("write-cost", {"cost": 1.1}, cost=least(1.25), bytes=least(65536), **LIGHT_QUEUE)
def write_cost(cost=2.0, bytes=1e7, light_queue=2.0):
    """RAID5 with a journal, for which the cost of parity is unknown."""
    member = Did(writes=bytes * cost * IDEAL / 4 / 4096, write_ms=1, queue=light_queue)
    journal = {
        f"/sys/block/md0/md/dev-sde/{key}": f"{text}\n"
        for key, text in (("slot", "none"), ("state", "journal"), ("offset", 0))
    }
    return Scripted(
        disks((*ALL_DISKS, "sde")),
        md("raid5", consistency_policy="journal"),
        journal,
        {"/sys/block/md0/slaves/sde": ""},
        parts=[
            {
                "md0": Did(writes=bytes / 65536, write_size=65536, write_ms=5),
                **dict.fromkeys(ALL_DISKS, member),
                "sde": Did(writes=bytes / 65536, write_size=65536, write_ms=1, queue=light_queue),
            }
        ],
    )


@case("unasked-reads", {"share": 0.01}, share=least(0.05), bytes=least(102400), requests=least(10),
      intervals=least(0.5, low=0.45, high=0.55))  # fmt: skip
def unasked_reads(share=0.5, bytes=None, requests=None, intervals=1.0):
    """
    RAID1 whose members are read more than the array, by *bytes* or by so many requests of 1 MiB.

    Outside a share of the 20 *intervals*, only the array reads them.
    """
    total, size = 1e8, 65536.0
    if bytes is not None:
        total, share, size = 204800.0, bytes / 204800, 4096.0
    if requests is not None:
        total, size = 10.0 * KIB * KIB, float(KIB * KIB)
        share = requests * size / SECONDS / total
    asked = total * (1 - share)
    member = Did(reads=total / 2 / size, read_size=size, read_ms=1)
    array = Did(reads=asked / size, read_size=size, read_ms=1)
    number, own = round(20 * intervals), array._replace(reads=array.reads / 2)
    parts = [{"md0": array, "sda": member, "sdb": member}] * number
    parts += [{"md0": array, "sda": own, "sdb": own}] * (20 - number)
    return Scripted(
        disks(), md("raid1", ("sda", "sdb")), parts=parts if intervals < 1 else parts[:1]
    )


@case("small-chunk", {"chunk": 65536}, chunk=most(32768, low=28672, high=36864),
      full=least(0.98, low=0.96, high=0.99), requests=least(500))  # fmt: skip
def small_chunk(chunk=16384, full=1.0, requests=5000):
    """RAID0 whose requests all have the size of a chunk."""
    did = Did(writes=requests / SECONDS, write_size=chunk * full, write_ms=1)
    parts = [{"md0": did, **dict.fromkeys(ALL_DISKS, did._replace(writes=did.writes / 4))}]
    return Scripted(disks(), md("raid0", chunk=chunk), parts=parts)


@case("md-bound", {"cpu": 0.5}, cpu=least(0.9), queue=least(4), disk_queue=most(1))
def md_bound(cpu=0.99, queue=8.0, disk_queue=0.5):
    """A RAID5 whose thread uses most of a CPU while its disks are idle."""

    def stat(seconds: float) -> Mapping[str, str]:
        ticks = round(100 * cpu * seconds)
        return {
            "/proc/123/stat": f"123 (md0_raid5) S 2 0 0 0 -1 2129984 0 0 0 0 0 {ticks} 0 0 20 0 1 0\n"
        }

    host = Scripted(
        disks(),
        md("raid5"),
        parts=[
            {
                "md0": Did(writes=1000, write_ms=queue),
                **dict.fromkeys(ALL_DISKS, Did(writes=1000, write_ms=disk_queue)),
            }
        ],
        changes=[stat(0), stat(SECONDS)],
    )
    host.commands = {**host.commands, "ps": "    123 md0_raid5\n"}
    return host


# A linear LV on one disk


def _linear(top: Did, below: Did, other: Did | None = None) -> Scripted:
    lines = ["vg-lv: 0 65536 linear 8:0 2048", "vg-other: 0 65536 linear 8:0 67584"]
    return Scripted(
        disk("sda"), volume(0, "vg-lv", "sda", size=65536), volume(1, "vg-other", "sda", size=65536),
        targets=lines,
        statuses=["vg-lv: 0 65536 linear \nvg-other: 0 65536 linear \n"],
        parts=[{"dm-0": top, "sda": below, "dm-1": other or Did()}],
    )  # fmt: skip


@case(
    "not-merged",
    {"merged": 3.0},
    large=least(65536),
    small=most(16384),
    merged=most(1.5),
    requests=least(200),
    others=most(0.1),
)
def not_merged(large=131072, small=8192, merged=1.0, requests=1000, others=0.0):
    """
    Requests of 128 KiB that the disk serves in pieces; *merged* pieces are one request.

    *others*: the share of another volume's small requests in what the disk serves.
    """
    rate = requests / SECONDS
    served = rate * large / small / (1 - others)
    below = Did(writes=served, write_size=small, write_ms=1, merged=(merged - 1) * served)
    top = Did(writes=rate, write_size=large, write_ms=2)
    other = Did(writes=served * others, write_size=small, write_ms=1)
    return Scripted(
        disk("sda"),
        *(volume(number, f"vg-v{number}", "sda") for number in range(2)),
        targets=[f"vg-v{number}: 0 65536 linear 8:0 {number * 65536}" for number in range(2)],
        statuses=["".join(f"vg-v{number}: 0 65536 linear \n" for number in range(2))],
        parts=[{"dm-0": top, "dm-1": other, "sda": below}],
    )


@case("merged", {"merged": 1.2}, merged=least(2.0), share=least(0.5), requests=least(100))
def merged(merged=4.0, share=1.0, requests=10000):
    """Single pages that the disk merges; *share* of its bytes are of this LV."""
    rate = requests / SECONDS
    below = Did(
        writes=rate / merged,
        write_size=4096 * merged / share,
        write_ms=1,
        merged=rate - rate / merged,
    )
    top = Did(writes=rate, write_ms=1)
    return _linear(
        top,
        below,
        top._replace(writes=1.0, write_size=rate * 4096 * (1 / share - 1)) if share < 1 else None,
    )


# Caches


@case("cache-misses", {"missed": 0.1}, missed=least(0.7), requests=least(100), **LIGHT)
def cache_misses(missed=0.9, requests=10000, light_rate=100.0, light_queue=2.0):
    """Nine of ten reads miss."""
    rate = requests / SECONDS
    top = Did(reads=rate, read_ms=1)
    return _cache(
        top,
        {"read_hits": rate * (1 - missed), "read_misses": rate * missed},
        light_rate,
        light_queue,
    )


@case("cache-copies", {"copied": 0.5}, copied=least(2.0), promotions=least(10), **LIGHT)
def cache_copies(copied=4.0, promotions=1000, light_rate=100.0, light_queue=2.0):
    """Blocks of 64 KiB are promoted: *copied* times what the volume reads."""
    rate = promotions / SECONDS
    top = Did(reads=rate * 65536 / copied / 4096, read_ms=1)
    return _cache(top, {"promotions": rate}, light_rate, light_queue)


def _cache(top: Did, rates: Mapping[str, float], disk_rate: float, disk_queue: float) -> Scripted:
    names = ("read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions")

    def status(seconds: float) -> str:
        counted = " ".join(str(round(rates.get(name, 0.0) * seconds)) for name in names)
        return (
            "vg-meta: 0 8192 linear \nvg-fast: 0 65536 linear \nvg-slow: 0 65536 linear \n"
            f"vg-lv: 0 65536 cache 8 10/1024 128 900/1000 {counted} 0 1 writethrough 2 "
            "migration_threshold 2048 smq 0 rw -\n"
        )

    below = Did(reads=disk_rate, read_ms=1, queue=disk_queue)
    return Scripted(
        disks(("sda", "sdb")),
        volume(1, "vg-meta", "sda", size=8192), volume(2, "vg-fast", "sda", size=65536),
        volume(3, "vg-slow", "sdb", size=65536), volume(4, "vg-lv", "dm-1", "dm-2", "dm-3", size=65536),
        targets=[
            "vg-meta: 0 8192 linear 8:0 2048", "vg-fast: 0 65536 linear 8:0 16384",
            "vg-slow: 0 65536 linear 8:16 2048",
            "vg-lv: 0 65536 cache 254:1 254:2 254:3 128 1 writethrough smq 0",
        ],
        statuses=[status(0), status(SECONDS)],
        parts=[{"dm-4": top, "dm-2": below, "dm-3": below, "sda": below, "sdb": below}],
    )  # fmt: skip


# Copies that writes cause


@case("snapshot-copies", {"share": 0.1}, share=least(0.5), requests=least(50), **LIGHT)
def snapshot_copies(share=2.0, requests=1000, light_rate=100.0, light_queue=2.0):
    """An origin that is written, and the store of its snapshot, in chunks of 4 KiB."""
    copies = Did(writes=requests / SECONDS, write_ms=1)
    origin = copies._replace(writes=copies.writes / share)
    both = Did(writes=copies.writes + origin.writes, write_ms=1)
    return Scripted(
        disk("sda"),
        volume(1, "vg-lv-real", "sda", size=65536), volume(2, "vg-snap-cow", "sda", size=65536),
        volume(3, "vg-lv", "dm-1", size=65536), volume(4, "vg-snap", "dm-1", "dm-2", size=65536),
        targets=[
            "vg-lv-real: 0 65536 linear 8:0 2048", "vg-snap-cow: 0 65536 linear 8:0 67584",
            "vg-lv: 0 65536 snapshot-origin 254:1", "vg-snap: 0 65536 snapshot 254:1 254:2 P 8",
        ],
        statuses=[("vg-lv-real: 0 65536 linear \nvg-snap-cow: 0 65536 linear \n"
                  "vg-lv: 0 65536 snapshot-origin \nvg-snap: 0 65536 snapshot 16/65536 16\n")],
        parts=[{"dm-3": origin, "dm-1": origin, "dm-2": copies, "sda": _light(both, light_rate, light_queue)}],
    )  # fmt: skip


@case("thin-first-touch", {"ratio": 1.0}, ratio=least(1.5), requests=least(50), **LIGHT)
def thin_first_touch(ratio=4.0, requests=1000, light_rate=100.0, light_queue=2.0):
    """A thin pool that writes *ratio* times what its volume does."""
    own = Did(writes=requests / SECONDS, write_ms=1)
    data = own._replace(write_size=4096 * ratio)
    return Scripted(
        disk("sda"),
        volume(1, "vg-pool_tmeta", "sda", size=8192), volume(2, "vg-pool_tdata", "sda", size=65536),
        volume(3, "vg-pool-tpool", "dm-1", "dm-2", size=65536), volume(4, "vg-thin", "dm-3", size=65536),
        targets=[
            "vg-pool_tmeta: 0 8192 linear 8:0 2048", "vg-pool_tdata: 0 65536 linear 8:0 16384",
            "vg-pool-tpool: 0 65536 thin-pool 254:1 254:2 128 0", "vg-thin: 0 65536 thin 254:3 1",
        ],
        statuses=[("vg-pool-tpool: 0 65536 thin-pool 1 10/4096 10/16000 - rw discard_passdown "
                  "queue_if_no_space - 1024\nvg-thin: 0 65536 thin 1024 2047\n")],
        parts=[{"dm-4": own, "dm-3": own, "dm-2": data, "sda": _light(data, light_rate, light_queue)}],
    )  # fmt: skip


# An encrypted RAID1 of LVM: its bitmap is in the rmeta sub-LVs.


def _mirror(own: Did, bitmap: Did, disk_rate: float, disk_queue: float) -> Scripted:
    below = Did(writes=own.writes + bitmap.writes, write_size=(own.writes * own.write_size + bitmap.writes
                * bitmap.write_size) / (own.writes + bitmap.writes))  # fmt: skip
    sda = _light(below, disk_rate, disk_queue)
    return Scripted(
        disks(("sda", "sdb")),
        volume(1, "vg-lv_rmeta_0", "sda", size=8192), volume(2, "vg-lv_rimage_0", "sda", size=65536),
        volume(3, "vg-lv_rmeta_1", "sdb", size=8192), volume(4, "vg-lv_rimage_1", "sdb", size=65536),
        volume(5, "vg-lv", "dm-1", "dm-2", "dm-3", "dm-4", size=65536, queue__iostats="0"),
        mapped(6, "secret", "CRYPT-LUKS2-0-secret", 61440, ("dm-5",)),
        targets=[
            "vg-lv_rmeta_0: 0 8192 linear 8:0 2048", "vg-lv_rimage_0: 0 65536 linear 8:0 10240",
            "vg-lv_rmeta_1: 0 8192 linear 8:16 2048", "vg-lv_rimage_1: 0 65536 linear 8:16 10240",
            "vg-lv: 0 65536 raid raid1 3 0 region_size 1024 2 254:1 254:2 254:3 254:4",
            f"secret: 0 61440 crypt aes-xts-plain64 {'0' * 64} 0 254:5 4096",
        ],
        statuses=["vg-lv: 0 65536 raid raid1 2 AA 65536/65536 idle 0 0 -\nsecret: 0 61440 crypt \n"],
        parts=[{"dm-6": own, "dm-5": own, "dm-2": own, "dm-4": own, "dm-1": bitmap, "dm-3": bitmap,
                "sda": sda, "sdb": sda}],
    )  # fmt: skip


@case("metadata-writes", {"share": 0.1}, share=least(0.5), requests=least(50), **LIGHT)
def metadata_writes(share=0.8, requests=1000, light_rate=100.0, light_queue=2.0):
    """The bitmap is written *share* times per write."""
    own = Did(writes=requests / SECONDS, write_ms=1)
    return _mirror(own, own._replace(writes=own.writes * share), light_rate, light_queue)


@case("metadata-cost", {"ratio": 0.5}, ratio=least(1.0), requests=least(50), **LIGHT)
def metadata_cost(ratio=2.0, requests=1000, light_rate=100.0, light_queue=2.0):
    """The bitmap is written *ratio* times per write."""
    own = Did(writes=requests / SECONDS, write_ms=1)
    return _mirror(own, own._replace(writes=own.writes * ratio), light_rate, light_queue)
