"""Machines for the rules that judge a state or a setup; most need no load."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests import ebs_pages
from tests.machine import block, mapped
from tests.rules.rule_cases import case, least, most, turns
from tests.rules.scripted import (
    ALL_DISKS,
    GIB_SECTORS,
    SECTOR,
    Did,
    Scripted,
    disk,
    disks,
    md,
    partition,
    volume,
)

FULL = {
    "warning": least(0.8, low=0.76, high=0.84),
    "critical": turns(0.95, "warning", "critical", low=0.93, high=0.97),
    "soon": most(86400, warning=0.5, trend=1000),
    "trend": least(600, warning=0.5, soon=50000),
}


def _filling(total: int, used: float, soon: float | None, seconds: float) -> tuple[int, int]:
    """What is used before and after *seconds*, so that it is full *soon* seconds later."""
    last = round(total * used)
    return (last if soon is None else last - round((total - last) / soon * seconds)), last


def _space(
    target: str, table: str, status: str, total: int, warning, critical, soon, trend
) -> Scripted:
    share = warning if critical is None else critical
    seconds = trend or 10.0
    used = _filling(total, share, soon, seconds)
    lower = "".join(
        f"vg-{name}: 0 65536 linear 8:0 {2048 + 65536 * number}\n"
        for number, name in ((1, "meta"), (2, "data"))
    )
    lines = [*lower.splitlines(), f"vg-dev: 0 {GIB_SECTORS} {target} {table}"]
    told = "".join(f"vg-{name}: 0 65536 linear \n" for name in ("meta", "data"))
    return Scripted(
        disk("sda"), volume(1, "vg-meta", "sda", size=65536), volume(2, "vg-data", "sda", size=65536),
        volume(3, "vg-dev", "dm-1", "dm-2"),
        targets=lines,
        statuses=[f"{told}vg-dev: 0 {GIB_SECTORS} {target} {status.format(n)}\n" for n in used],
        parts=[{"sda": Did(writes=10)}],
        seconds=seconds,
    )  # fmt: skip


VDO = "V2 /dev/dm-1 1310720 4096 32768 16380 on auto pool"


@case("thin-pool-data", {"warning": 0.5}, **FULL)
def thin_pool_data(warning=0.85, critical=None, soon=None, trend=None):
    """The data of a pool of 16 million blocks of 64 KiB."""
    status = "1 10/4096 {}/16000000 - rw discard_passdown queue_if_no_space - 1024"
    return _space(
        "thin-pool", "254:1 254:2 128 0", status, 16_000_000, warning, critical, soon, trend
    )


@case("thin-pool-metadata", {"warning": 0.5}, **FULL)
def thin_pool_metadata(warning=0.85, critical=None, soon=None, trend=None):
    """The metadata of the same pool."""
    status = "1 {}/4000000 10/16000000 - rw discard_passdown queue_if_no_space - 1024"
    return _space(
        "thin-pool", "254:1 254:2 128 0", status, 4_000_000, warning, critical, soon, trend
    )


@case("vdo-pool-data", {"warning": 0.5}, **FULL)
def vdo_pool_data(warning=0.85, critical=None, soon=None, trend=None):
    """A VDO pool of 64 million blocks of 4 KiB."""
    status = "/dev/dm-1 normal - online online {} 64000000"
    return _space("vdo", VDO, status, 64_000_000, warning, critical, soon, trend)


@case("vdo-read-only", {"mode": "normal"})
def vdo_read_only(mode="read-only"):
    """A VDO pool that lost its metadata."""
    status = f"/dev/dm-1 {mode} - online online {{}} 16000"
    return _space("vdo", VDO, status, 16_000, 0.1, None, None, None)


@case("snapshot-space", {"warning": 0.5}, **FULL)
def snapshot_space(warning=0.85, critical=None, soon=None, trend=None):
    """A snapshot with room for 64 million sectors."""
    status = "{}/64000000 16"
    return _space("snapshot", "254:1 254:2 P 8", status, 64_000_000, warning, critical, soon, trend)


@case("metadata-read-only", {"mode": "rw"})
def metadata_read_only(mode="ro"):
    """A pool that the kernel switched to read-only."""
    status = f"1 10/4096 {{}}/16000 - {mode} discard_passdown queue_if_no_space - 1024"
    return _space("thin-pool", "254:1 254:2 128 0", status, 16_000, 0.1, None, None, None)


@case("broken", {"degraded": 0})
def broken(degraded=1):
    """A RAID1 without one of its members."""
    return Scripted(disks(), md("raid1", ("sda", "sdb"), degraded=degraded))


@case("reserved-places", {"whole": 1})
def reserved_places(places=8, whole=0):
    """A NAS of three disks with bays for eight: its system is on a mirror, its data on a RAID5 beside it."""
    names = ("sda", "sdb", "sdc")
    parts = [partition(name, n, 2048 * n) for name in names for n in (1, 2)]
    return Scripted(
        disks(names), *parts,
        md("raid1", [f"{name}1" for name in names], raid_disks=places, degraded=places - 3),
        md("raid5", [f"{name}2" for name in names], name="md1", degraded=whole),
    )  # fmt: skip


@case("passing-state", {"degraded": 1})
def passing_state(degraded=0):
    """A RAID1 that lacked a member when the measurement began, and has it at the end."""
    later = {"/sys/block/md0/md/degraded": f"{degraded}\n"}
    return Scripted(
        disks(), md("raid1", ("sda", "sdb"), degraded=1), parts=[{"sda": Did(reads=10)}],
        changes=[{}, later],
    )  # fmt: skip


@case("became-read-only", {"state": "clean"})
def became_read_only(state="readonly"):
    """A RAID1 that is made read-only while stackmap measures."""
    later = {"/sys/block/md0/md/array_state": f"{state}\n"}
    return Scripted(
        disks(), md("raid1", ("sda", "sdb")), parts=[{"sda": Did(reads=10)}], changes=[{}, later],
    )  # fmt: skip


@case("suspended", {"state": 0})
def suspended(state=1):
    """A volume whose table is being changed, or was not resumed."""
    return Scripted(
        disk("sda"),
        volume(0, "vg-lv", "sda") | {"/sys/block/dm-0/dm/suspended": f"{state}\n"},
        targets=["vg-lv: 0 65536 linear 8:0 0"],
    )


@case("background-work", {"action": "idle"})
def background_work(action="check"):
    """A RAID1 that is checked."""
    return Scripted(disks(), md("raid1", ("sda", "sdb"), sync_action=action))


def _cache(
    mode: str = "writeback", dirty: int = 100, hits: float = 0.0, misses: float = 0.0
) -> Scripted:
    def status(seconds: float) -> str:
        read = f"{round(hits * seconds)} {round(misses * seconds)}"
        return (
            "vg-meta: 0 8192 linear \nvg-fast: 0 65536 linear \nvg-slow: 0 65536 linear \n"
            f"vg-lv: 0 65536 cache 8 10/1024 128 900/1000 {read} 0 0 0 0 {dirty} 1 {mode} 2 "
            "migration_threshold 2048 smq 0 rw -\n"
        )

    return Scripted(
        disks(("sda", "sdb")),
        volume(1, "vg-meta", "sda", size=8192), volume(2, "vg-fast", "sda", size=65536),
        volume(3, "vg-slow", "sdb", size=65536), volume(4, "vg-lv", "dm-1", "dm-2", "dm-3", size=65536),
        targets=[
            "vg-meta: 0 8192 linear 8:0 2048", "vg-fast: 0 65536 linear 8:0 16384",
            "vg-slow: 0 65536 linear 8:16 2048",
            f"vg-lv: 0 65536 cache 254:1 254:2 254:3 128 1 {mode} smq 0",
        ],
        statuses=[status(0), status(10)],
        parts=[{"dm-4": Did(reads=hits + misses, read_ms=1), "sda": Did(reads=10, read_ms=1)}],
    )  # fmt: skip


@case("cache-passthrough", {"mode": "writethrough"})
def cache_passthrough(mode="passthrough"):
    """A cache that is not used."""
    return _cache(mode)


@case("cache-dirty", {"dirty": 0.1}, dirty=least(0.75))
def cache_dirty(dirty=0.9):
    """900 of 1,000 blocks are not on the origin."""
    return _cache(dirty=round(1000 * dirty))


@case("cache-hits", {"hits": 0.1}, hits=least(0.8), requests=least(100))
def cache_hits(hits=0.9, requests=1000):
    """Nine of ten reads are hits."""
    return _cache(hits=hits * requests / 10, misses=(1 - hits) * requests / 10)


@case("never-synced", {"sync": ""}, data_over_parity=least(3, low=2, high=3))
def never_synced(sync="nosync ", data_over_parity=3):
    """A RAID5 LV that was created with --nosync."""
    members = data_over_parity + 2
    names = [f"sd{chr(97 + place)}" for place in range(members)]
    parts = range(members)
    return Scripted(
        disks(names),
        *(volume(place, f"vg-lv_rimage_{place}", names[place], size=65536) for place in parts),
        *(volume(20 + place, f"vg-lv_rmeta_{place}", names[place], size=8192) for place in parts),
        volume(50, "vg-lv", *(f"dm-{n}" for n in (*parts, *(20 + p for p in parts))), size=65536),
        targets=[
            *(f"vg-lv_rimage_{place}: 0 65536 linear 8:{16 * place} 10240" for place in parts),
            *(f"vg-lv_rmeta_{place}: 0 8192 linear 8:{16 * place} 2048" for place in parts),
            f"vg-lv: 0 65536 raid raid5_ls {3 if sync else 2} 128 {sync}region_size 1024 "
            f"{members} " + " ".join(f"254:{20 + place} 254:{place}" for place in parts),
        ],
        statuses=[f"vg-lv: 0 65536 raid raid5_ls {members} {'A' * members} 16384/16384 idle 0 0 -\n"],
    )  # fmt: skip


@case("stuck-counter", {"busy": 0.5})
def stuck_counter(busy=1.0):
    """A disk that is always busy and completes nothing."""
    return Scripted(disks(), md("raid5"), parts=[{"md0": Did(queue=1.0, busy=busy, stuck=1)}])


@case("counters-corrected", {"iostats": 1})
def counters_corrected(iostats=0):
    """An array whose I/O the kernel does not count, while its members' I/O shows it."""
    return Scripted(
        disks(),
        md("raid0", ("sda", "sdb"), queue__iostats=iostats),
        parts=[{"sda": Did(writes=100, write_ms=1), "sdb": Did(writes=100, write_ms=1)}],
    )


# Errors that the kernel counted

DISK, MEMBER = "/sys/block/sda/device", "/sys/block/md0/md/dev-sda"
BTRFS = "/sys/fs/btrfs/11111111-2222-3333-4444-555555555555"
STATS = (
    "write_errs {io}\nread_errs {io}\nflush_errs 0\ncorruption_errs {wrong}\ngeneration_errs 0\n"
)


def _counts(path: str, text: str, *layers: Mapping[str, str], later: str | None = None) -> Scripted:
    """A disk below *layers* whose file *path* has *text*, and *later* at the end."""
    files = {path: text} if text else {}
    changes = [{}, {path: later}] if later else ()
    return Scripted(disks(), *layers, files, parts=[{"sda": Did(reads=10)}], changes=changes)


@case("command-timeouts", {"count": "0x0"})
def command_timeouts(count="0x2"):
    """Two timeouts since the disk was attached."""
    return _counts(f"{DISK}/iotmo_cnt", count)


@case("failed-commands", {"later": "0x4"})
def failed_commands(later="0x7"):
    """Four commands failed before, as on every disk, and three during the measurement."""
    return _counts(f"{DISK}/ioerr_cnt", "0x4", later=later)


@case("slowed-link", {"limit": "6.0 Gbps"})
def slowed_link(limit="1.5 Gbps"):
    """A port of 6 Gbps whose link the kernel keeps at 1.5."""
    port = "/sys/class/ata_link/link1"
    link = {"/sys/block/sda": "-> ../devices/pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda"}
    most = {f"{port}/hw_sata_spd_limit": "6.0 Gbps"}
    return _counts(f"{port}/sata_spd_limit", limit, link, most)


@case("corrected-reads", {"count": "0"})
def corrected_reads(count="8"):
    """A member with 8 corrected sectors."""
    return _counts(f"{MEMBER}/errors", count, md("raid1", ("sda", "sdb")))


@case("bad-blocks", {"ranges": "\n"})
def bad_blocks(ranges="4096 8\n8192 1\n"):
    """Two ranges in the bad block list of a member."""
    return _counts(f"{MEMBER}/bad_blocks", ranges, md("raid1", ("sda", "sdb")))


@case("mismatches", {"count": "0"})
def mismatches(count="128"):
    """A RAID5 whose check found a chunk that differs."""
    return Scripted(disks(), md("raid5", mismatch_cnt=count))


@case("wrong-checksums", {"count": 0})
def wrong_checksums(count=3):
    """A dm-integrity device that read three damaged sectors."""
    return Scripted(
        disk("sda"), mapped(0, "safe", "CRYPT-INTEGRITY-safe", 65536, ("sda",)),
        targets=["safe: 0 65536 integrity 8:0 0 4 J 1 internal_hash:crc32c"],
        statuses=[f"safe: 0 65536 integrity {count} 65536 -\n"],
    )  # fmt: skip


@case("path-failures", {"count": 0})
def path_failures(count=3):
    """Two paths; one failed three times, and works again."""
    return Scripted(
        disks(("sda", "sdb")), mapped(0, "paths", "mpath-3600", 65536, ("sda", "sdb")),
        targets=["paths: 0 65536 multipath 0 0 1 1 service-time 0 2 1 8:0 1 8:16 1"],
        statuses=[f"paths: 0 65536 multipath 2 0 0 0 1 1 A 0 2 1 8:0 A 0 1 8:16 A {count} 1\n"],
    )  # fmt: skip


@case("btrfs-errors", {"io": 0})
def btrfs_errors(io=2):
    """A btrfs on one disk that could not be read."""
    return _counts(f"{BTRFS}/devinfo/1/error_stats", STATS.format(io=io, wrong=0), _btrfs())


@case("btrfs-corruptions", {"wrong": 0})
def btrfs_corruptions(wrong=5):
    """The same with wrong checksums."""
    return _counts(f"{BTRFS}/devinfo/1/error_stats", STATS.format(io=0, wrong=wrong), _btrfs())


def _two_paths(selector: str, first: Did, second: Did, group: str = "A") -> Scripted:
    """A multipath device over sda, which is active, and sdb, in a group of its own if that is not "A"."""
    one, two = (f"{path} {word}" for path, word in (("8:0", "1"), ("8:16", "1")))
    groups, table, status = (1, f"{selector} 0 2 1 {one} {two}", "A 0 2 1 8:0 A 0 1 8:16 A 0 1")
    if group != "A":
        table = f"{selector} 0 1 1 {one} {selector} 0 1 1 {two}"
        groups, status = 2, f"A 0 1 1 8:0 A 0 1 {group} 0 1 1 8:16 A 0 1"
    both = Did(reads=first.reads + second.reads, read_ms=first.read_ms)
    return Scripted(
        disks(("sda", "sdb")), mapped(0, "paths", "mpath-3600", 65536, ("sda", "sdb")),
        targets=[f"paths: 0 65536 multipath 0 0 {groups} 1 {table}"],
        statuses=[f"paths: 0 65536 multipath 2 0 0 0 {groups} 1 {status}\n"],
        parts=[{"dm-0": both, "sda": first, "sdb": second}],
    )  # fmt: skip


@case(
    "slow-path",
    {"slower": 1.0},
    slower=least(2.0),
    longer=least(0.5, slower=10.0),
    requests=least(50),
)
def slow_path(slower=4.0, longer=None, requests=500):
    """Both paths have as many requests; one takes 2 ms and the other *slower* times as long."""
    usual = 2.0 if longer is None else longer / (slower - 1)
    rate = requests / 10
    return _two_paths(
        "service-time", Did(reads=rate, read_ms=usual), Did(reads=rate, read_ms=usual * slower)
    )


@case("detour", {"group": "A"}, share=least(0.1), requests=least(50))
def detour(group="E", share=0.5, requests=500):
    """A path of the second group has half of the requests."""
    rate = requests / 10
    return _two_paths("service-time", Did(reads=rate * (1 - share)), Did(reads=rate * share), group)


@case("unequal-paths", {"selector": "service-time"}, apart=least(0.2), requests=least(2000))
def unequal_paths(selector="round-robin", apart=0.6, requests=10000):
    """One path has *apart* more of the requests than the other."""
    rate = requests / 10
    return _two_paths(
        selector, Did(reads=rate * (1 + apart) / 2), Did(reads=rate * (1 - apart) / 2)
    )


@case(
    "one-path",
    {"policy": "round-robin"},
    share=least(0.95, low=0.9, high=0.98),
    queue=least(4.0),
    requests=least(50),
)
def one_path(policy="numa", share=1.0, queue=8.0, requests=500):
    """An NVMe disk with two paths, of which one has all requests and a queue."""
    rate = requests / 10
    loads = {
        "nvme0c0n1": Did(reads=rate * share, queue=queue),
        "nvme0c1n1": Did(reads=rate * (1 - share)),
    }
    return Scripted(nvme(policy), parts=[{"nvme0n1": Did(reads=rate, queue=queue), **loads}])


def nvme(policy: str) -> Mapping[str, str]:
    """The head of an NVMe disk and its two paths."""
    files = {**block("nvme0n1", "259:1", GIB_SECTORS, device__iopolicy=policy)}
    for number in (0, 1):
        attributes = {"device__state": "live", "ana_state": "optimized"}
        files |= block(f"nvme0c{number}n1", f"259:{number + 2}", GIB_SECTORS, **attributes)
    return files


@case("single-path", {"paths": 2})
def single_path(paths=1):
    """An NVMe disk of a storage system; its second path is gone, and nothing else shows it."""
    gone = "/sys/block/nvme0c1n1/"
    files = {p: t for p, t in nvme("numa").items() if paths > 1 or not p.startswith(gone)}
    return Scripted(files, {"/sys/block/nvme0c0n1/device/transport": "tcp\n"})


# What disks say of themselves


def _smart(**page: object) -> Scripted:
    """An NVMe disk with this health log."""
    host = Scripted(nvme("numa"))
    host.commands = {"nvme smart-log /dev/nvme0n1": json.dumps({"percent_used": 1, **page})}
    return host


@case("failing-disk", {"warning": 0})
def failing_disk(warning=4):
    """A disk that has become read-only."""
    return _smart(critical_warning=warning)


@case("exceeded-limits", {"over": 0.0}, longest=least(60))
def exceeded_limits(over=600.0, longest=None):
    """An EBS volume whose throughput was limited for ten minutes."""
    seconds = over if longest is None else longest
    files = {"/sys/block/nvme0n1/device/model": "Amazon Elastic Block Store\n"}
    host = Scripted(nvme("numa"), files)
    dumped = ebs_pages.dump(ebs_pages.page(over=(0, round(seconds * 1e6), 0, 0)))
    host.commands = {"nvme get-log /dev/nvme0n1": dumped}
    return host


@case("unhealthy-volume", {"letter": "w"})
def unhealthy_volume(letter="p"):
    """An LV of which LVM misses a PV; one that is write-mostly is healthy."""
    host = Scripted(disk("sda"), mapped(1, "vg-data", "LVM-" + 64 * "a"))
    host.volumes = [{"vg_name": "vg", "lv_name": "data", "attr": f"rwi-aor-{letter}-"}]
    return host


@case("worn-out", {"used": 0.1}, warning=least(0.8), critical=turns(1.0, "warning", "critical"))
def worn_out(used=0.9, warning=None, critical=None):
    """Nine tenths of its life are used."""
    share = warning or critical or used
    return _smart(percent_used=round(100 * share), avail_spare=97)


@case("unreadable-sectors", {"errors": 0})
def unreadable_sectors(errors=3):
    """Three errors that it could not correct."""
    return _smart(media_errors=errors)


@case("overheated", {"hot": 60}, hot=least(600))
def overheated(hot=6000):
    """Too hot for 100 minutes."""
    return _smart(warning_temp_time=round(hot / 60), critical_comp_time=0)


@case("slowed-by-heat", {"throttled": 7}, throttled=least(60))
def slowed_by_heat(throttled=2700):
    """Three quarters of an hour of throttling."""
    return _smart(thm_temp1_total_time=0, thm_temp2_total_time=round(throttled))


def _btrfs() -> Mapping[str, str]:
    return {f"{BTRFS}/devices/sda/size": "1"}


# Setup


@case("start", {"start": 2048})
def start(start=63):
    """A partition of DOS times on a disk with sectors of 4 KiB; a good start is reported as good."""
    return Scripted(disk("sda"), partition("sda", 1, start))


@case("stripe-start", {"sectors": 384 * 8})
def stripe_start(sectors=128):
    """An LV at the second chunk of a RAID5 of three data disks."""
    return _on_raid5(sectors)


def _on_raid5(sectors: int, **queue: object) -> Scripted:
    return Scripted(
        disks(),
        md("raid5", queue__optimal_io_size=196608),
        volume(0, "vg-lv", "md0", size=65536, **queue),
        targets=[f"vg-lv: 0 65536 linear 9:0 {sectors}"],
        statuses=["vg-lv: 0 65536 linear \n"],
    )


@case("alignment-offset", {"offset": 0})
def alignment_offset(offset=512):
    """A disk that the kernel reports as misaligned."""
    return Scripted(disk("sda", alignment_offset=offset))


@case("mixed-members", {"rotational": 1})
def mixed_members(rotational=0):
    """A spinning disk and flash in one RAID1."""
    return Scripted(
        disk("sda"), disk("sdb", queue__rotational=rotational), md("raid1", ("sda", "sdb"))
    )


@case("same-disk-twice", {"second": "sdb1"})
def same_disk_twice(second="sda2"):
    """A RAID1 on two partitions of one disk."""
    return Scripted(
        disk("sda") | partition("sda", 1, 2048) | partition("sda", 2, 67584),
        disk("sdb") | partition("sdb", 1, 2048),
        md("raid1", ("sda1", second)),
    )


@case("no-bitmap", {"policy": "bitmap"}, size=turns(100 * 1024**3, "info", "warning"))
def no_bitmap(policy="resync", size=200 * 1024**3):
    """A RAID1 of 200 GiB without a bitmap."""
    return Scripted(
        disks(),
        md("raid1", ("sda", "sdb"), consistency_policy=policy, size=round(size / SECTOR)),
    )


@case("stripe-cache-size", {"stripes": 64}, stripes=most(16, low=15, high=17))
def stripe_cache_size(stripes=8):
    """Chunks of 64 KiB: 16 rows are a stripe."""
    return Scripted(disks(), md("raid5", stripe_cache_size=round(stripes * 16)))


@case("crypt-sector", {"sector": 4096})
def crypt_sector(sector=512):
    """Sectors of 512 bytes on a disk with sectors of 4 KiB."""
    return Scripted(
        disk("sda"),
        mapped(0, "secret", "CRYPT-LUKS2-0-secret", 65536, ("sda",), queue__logical_block_size=str(sector)),
        targets=[f"secret: 0 65536 crypt aes-xts-plain64 {'0' * 64} 0 8:0 32768"],
        statuses=["secret: 0 65536 crypt \n"],
    )  # fmt: skip


@case("thin-chunk", {"sectors": 384})
def thin_chunk(sectors=128):
    """Thin chunks of 64 KiB on stripes of 192 KiB."""
    status = "vg-pool: 0 65536 thin-pool 1 10/4096 10/16000 - rw discard_passdown queue_if_no_space - 1024\n"
    return Scripted(
        disks(), md("raid5"), disk("sde"),
        volume(1, "vg-pool_tmeta", "sde", size=8192), volume(2, "vg-pool_tdata", "md0", size=65536),
        volume(3, "vg-pool-tpool", "dm-1", "dm-2", size=65536),
        targets=[
            "vg-pool_tmeta: 0 8192 linear 8:64 2048", "vg-pool_tdata: 0 65536 linear 9:0 384",
            f"vg-pool-tpool: 0 65536 thin-pool 254:1 254:2 {sectors} 0",
        ],
        statuses=[status.replace("vg-pool:", "vg-pool-tpool:")],
    )  # fmt: skip


@case("file-system-stripe", {"stripe": 48})
def file_system_stripe(stripe=16):
    """ext4 made for 64 KiB, on stripes of 192 KiB."""
    mounts = f"36 1 9:0 / /srv rw - ext4 /dev/md0 rw,stripe={stripe}\n"
    return Scripted(disks(), md("raid5"), {"/proc/self/mountinfo": mounts})


@case("optimal-size", {"own": 196608})
def optimal_size(own=0):
    """An LV that does not have the optimal_io_size of the array below."""
    return _on_raid5(384, queue__optimal_io_size=own)


@case("request-limit", {"limit": 512},
      size=turns(0.5, "info", "warning"), cost=turns(1.25, "info", "warning"),
      requests=turns(50, "info", "warning"))  # fmt: skip
def request_limit(limit=128, size=0.9, cost=2.0, requests=1000):
    """Requests of at most 128 KiB on stripes of 192 KiB; *cost* × the 1.33 bytes of full stripes."""
    written = size * limit * 1024
    # Of each byte written: 1 + p are written below, the rest of the cost is read.
    rate, members = requests / 10, len(ALL_DISKS)
    wrote, read = rate * written * 1.5, rate * written * (cost * 4 / 3 - 1.5)
    each = Did(
        writes=wrote / 65536 / members, write_size=65536, write_ms=5,
        reads=read / 65536 / members, read_size=65536, read_ms=5,
    )  # fmt: skip
    return Scripted(
        disks(),
        md("raid5", queue__max_sectors_kb=limit),
        parts=[
            {
                "md0": Did(writes=rate, write_size=written, write_ms=10),
                **dict.fromkeys(ALL_DISKS, each),
            }
        ],
    )
