"""Machines for the rules that judge disks: one by itself, its queue, its settings, and its peers."""

from __future__ import annotations

import json

from tests import ebs_pages
from tests.machine import block
from tests.rules.cases_state import nvme
from tests.rules.rule_cases import LIGHT, case, least, most, turns
from tests.rules.scripted import (
    ALL_DISKS,
    GIB_SECTORS,
    KIB,
    SECONDS,
    Did,
    Scripted,
    disk,
    disks,
    md,
    partition,
)

ACCESS_MS = 15.0  # the most that one small request to a spinning disk takes
TRANSFER = 100_000  # bytes per ms that a spinning disk transfers at least


def _one(did: Did, seconds: float = SECONDS, **settings: object) -> Scripted:
    """One spinning disk."""
    return Scripted(disk("sda", **settings), parts=[{"sda": did}], seconds=seconds)


@case("sick-disk", {"slower": 1.0}, slower=least(4.0), requests=least(10))
def sick_disk(slower=6.0, requests=100):
    """A disk that needs several times as long as any healthy one, one request at a time."""
    expected = ACCESS_MS + 4096 / TRANSFER
    return _one(Did(reads=requests / SECONDS, read_ms=slower * expected))


@case("slow-transfer", {"slower": 1.0}, slower=least(2.0), size=least(65536), busy=least(0.9),
      queue=most(4.0), requests=least(50))  # fmt: skip
def slow_transfer(slower=4.0, size=131072, busy=1.0, queue=1.0, requests=2000):
    """A busy disk that needs several times the transfer time of its large requests."""
    rate = busy / (slower * size / TRANSFER / 1000)
    did = Did(reads=rate, read_size=size, read_ms=1000 * queue / rate, busy=busy, queue=queue)
    return _one(did, seconds=requests / rate)


@case("busy-is-not-full", {"ms": 30}, busy=least(0.9))
def busy_is_not_full(busy=1.0, ms=5):
    """200 requests per second of 5 ms: one in flight."""
    return _one(Did(reads=200, read_ms=ms, queue=ms / 5, busy=busy))


@case("long-queue", {"queue": 1.0}, queue=least(4.0), requests=least(50))
def long_queue(queue=5.0, requests=1000):
    """100 requests per second."""
    return _one(Did(reads=100, read_ms=queue * 10), seconds=requests / 100)


@case("knee", {"trickle": 0.4}, intervals=least(6, low=5, high=6), spread=least(4.0, knee=3.0),
      flat_share=most(0.9), beyond=least(2.0), least_queue=least(0.1), least_rate=least(1.0),
      knee=least(1.0), queue=least(2.0, knee=1.05), size_ratio=most(2.0), mix_difference=most(0.2),
      trickle=least(0.5), busy=least(0.9))  # fmt: skip
def knee_of_throughput(intervals=6, spread=None, flat_share=0.4, beyond=None, least_queue=0.5, least_rate=None,
                       knee=1.6, queue=8.0, size_ratio=1.0, mix_difference=0.0, trickle=1.05, busy=1.0):  # fmt: skip
    """
    Six intervals: the shortest queue, the knee at 200 requests per second, and four with the longest queue.

    All six are needed, so the rule is silent if the first one does not count.
    """
    highest = 200 * max(1.0, trickle)
    begin = queue / spread if spread else least_queue
    first = least_rate or flat_share * highest
    knee = queue / beyond if beyond else knee

    def did(depth: float, rate: float, size: float = 1.0, read: float = 0.0) -> Did:
        reads, writes = rate * read, rate * (1 - read)
        return Did(reads=reads, read_size=4096 * size, writes=writes, write_size=4096 * size,
                   read_ms=1000 * depth / rate, write_ms=1000 * depth / rate, queue=depth, busy=busy)  # fmt: skip

    deepest = [did(queue, 200 * trickle)] * (intervals - 2)
    dids = [did(begin, first, size_ratio, mix_difference), did(knee, 200), *deepest]
    return Scripted(disk("sda"), parts=[{"sda": each} for each in dids])


@case("coupled", {"spread": 0.1}, intervals=least(5, low=4, high=6), spread=most(0.02), slower=least(2.0),
      queue=least(0.9))  # fmt: skip
def coupled(intervals=6, spread=0.0, slower=4.0, queue=3.0):
    """One write per read, with *spread* alternating; writes take *slower* times as long."""
    read_ms = 1000 * queue / (500 + 500 * slower)
    signs = [(-1) ** number for number in range(intervals)]
    return Scripted(disk("sda"), parts=[
        {"sda": Did(reads=500, read_ms=read_ms, writes=500 * (1 + sign * spread), write_ms=slower * read_ms)}
        for sign in signs
    ])  # fmt: skip


@case("overloaded", {"slower": 1.5}, slower=least(3.0), low_queue=most(2.0, quiet_busy=1.0),
      high_queue=least(4.0), requests=least(10, loaded_rate=5.0), size_ratio=most(2.0),
      baseline_size_ratio=most(4.0), mix_difference=most(0.2), trickle=least(0.1), busy=least(0.6),
      intervals=least(0.25, low=0.2, high=0.3), least_busy=most(0.05, low_queue=0.15),
      **{"await": least(1.0, slower=6.0)})  # fmt: skip
def overloaded(slower=6.0, low_queue=0.5, high_queue=8.0, requests=None, size_ratio=1.0,
               baseline_size_ratio=None, mix_difference=0.0, trickle=0.5, intervals=0.5, busy=1.0,
               least_busy=None, quiet_busy=0.5, loaded_rate=100.0, **milliseconds):  # fmt: skip
    """20 intervals, some quiet and some loaded; with *baseline_size_ratio*, the quiet one is the baseline."""
    longer = milliseconds.get("await")
    base = 10.0 if longer is None else longer / (slower - 1)
    rate = trickle * loaded_rate if requests is None else requests / SECONDS
    quiet = Did(writes=rate, write_ms=base, queue=low_queue, busy=least_busy or quiet_busy)
    loaded = Did(
        reads=loaded_rate * mix_difference, read_size=4096 * size_ratio, read_ms=base * slower,
        writes=loaded_rate * (1 - mix_difference), write_size=4096 * size_ratio, write_ms=base * slower,
        queue=high_queue, busy=busy,
    )  # fmt: skip
    if baseline_size_ratio is not None:
        before = {"sda": quiet._replace(write_size=4096 * baseline_size_ratio)}
        return Scripted(disk("sda"), parts=[{"sda": loaded}], before=before)
    number = round(20 * intervals)
    return Scripted(
        disk("sda"), parts=[{"sda": loaded}] * number + [{"sda": quiet}] * (20 - number)
    )


SLOWED = {"rose": most(1.1), "size_ratio": most(2.0), "mix_difference": most(0.2), "service": least(2.0),
          "requests": least(50, service=3.0)}  # fmt: skip


@case("slowed-disk", {"needed": 14.0}, **SLOWED)
def slowed(
    name="sda",
    rose=1.0,
    size_ratio=1.0,
    mix_difference=0.0,
    needed=20.0,
    service=None,
    requests=None,
):
    """A disk of unknown kind, with the load of the baseline and eight requests in flight; with *service*, hardly any."""
    if service is not None:
        rate = 20.0 if requests is None else requests / SECONDS
        before = Did(writes=rate, write_ms=10, queue=rate / 100, busy=rate / 100)
        now = Did(writes=rate, write_ms=35, queue=rate * 0.035, busy=service * rate / 100)
        return Scripted(disk(name), parts=[{name: now}], before={name: before})
    rate, size = 1000 / needed, 8192 / size_ratio
    reads, writes = rate * rose * mix_difference, rate * rose * (1 - mix_difference)
    now = Did(reads=reads, read_size=size, read_ms=8 * needed, writes=writes, write_size=size, write_ms=8 * needed,
              queue=8.0, busy=1.0)  # fmt: skip
    before = Did(writes=rate, write_size=8192, write_ms=needed / 2, queue=0.5, busy=0.5)
    return Scripted(disk(name), parts=[{name: now}], before={name: before})


@case("slowed-remote", {"name": "sda"}, **SLOWED)
def slowed_remote(name="vda", **knobs):
    """A virtio disk."""
    return slowed(name, **knobs)


@case("slower-than-like-disks", {"size": 2 * GIB_SECTORS}, slower=least(3.0), rose=most(1.1), mix_difference=most(0.2),
      rate=least(20.0), requests=least(50), unknown=least(2, low=1, high=2), **{"await": least(1.0, slower=9.0)})  # fmt: skip
def slower_than_like_disks(slower=9.0, rose=1.0, mix_difference=0.0, rate=100.0, requests=None, unknown=None,
                           size=GIB_SECTORS, **milliseconds):  # fmt: skip
    """Two disks of one size that get as much; with *unknown*, the slow one and as many others of unknown size."""
    longer = milliseconds.get("await")
    usual = 2.0 if longer is None else longer / (slower - 1)
    others = ["sdb"] if unknown is None else ["sdb", "sdc", "sdd"][: round(unknown)]
    reads = rate * rose * mix_difference
    own = Did(
        reads=reads, read_ms=slower * usual, writes=rate * rose - reads, write_ms=slower * usual
    )
    sizes = {"sda": size, **dict.fromkeys(others, GIB_SECTORS)}
    files = [disk(name, of) for name, of in sizes.items()]
    if unknown is not None:
        files = [{k: v for k, v in each.items() if not k.endswith("/size")} for each in files]
    did = {"sda": own} | dict.fromkeys(others, Did(writes=rate, write_ms=usual))
    return Scripted(*files, parts=[did], seconds=SECONDS if requests is None else requests / rate)


# Settings


@case("no-scheduler", {"scheduler": "none [mq-deadline]"}, queue=least(4.0))
def no_scheduler(scheduler="[none] mq-deadline", queue=6.0):
    """A spinning disk without a scheduler."""
    return _one(Did(reads=100, read_ms=queue * 10), queue__scheduler=scheduler)


@case("queue-full", {"share": 0.5}, share=least(0.9))
def queue_full(share=0.99):
    """A queue of 64 requests."""
    return _one(Did(reads=1000, read_ms=share * 64), queue__nr_requests=64)


@case("read-ahead", {"ahead": 4096}, size_difference=most(0.05), requests=least(100))
def read_ahead(ahead=128, size_difference=0.0, requests=1000):
    """Reads as large as the read-ahead, on stripes of 192 KiB."""
    reads = Did(reads=requests / SECONDS, read_size=128 * KIB * (1 - size_difference), read_ms=3)
    return Scripted(disks(), md("raid5", queue__read_ahead_kb=ahead), parts=[{"md0": reads}])


@case("write-through", {"cache": "write back"}, requests=least(100), **{"await": least(5.0)})
def write_through(cache="write through", requests=1000, **milliseconds):
    """A spinning disk whose write cache is off."""
    ms = milliseconds.get("await", 10.0)
    return _one(Did(writes=requests / SECONDS, write_ms=ms), queue__write_cache=cache)


@case("flush-bound", {"share": 0.1}, share=least(0.3), requests=least(50, ms=200.0),
      **{"await": least(2.0), **LIGHT})  # fmt: skip
def flush_bound(
    share=0.8, requests=None, ms=40.0, light_rate=100.0, light_queue=2.0, **milliseconds
):
    """A disk that flushes for a *share* of the time."""
    ms = milliseconds.get("await", ms)
    rate = 1000 * share / ms if requests is None else requests / SECONDS
    return _one(Did(writes=light_rate, write_ms=1, flushes=rate, flush_ms=ms, queue=light_queue))


@case(
    "throttled", {"others": 1405, "share_of_cap": 0.0}, share_of_cap=least(0.9, low=0.85, high=0.95)
)
def throttled(share_of_cap=1.0, others=0):
    """A control group that may write 200 times per second to sda, which *others* use too."""
    group, done = "/sys/fs/cgroup/backup.service", 200 * share_of_cap
    files = {f"{group}/io.max": "8:0 rbps=max wbps=max riops=max wiops=200\n"}
    root = {"/sys/fs/cgroup/cgroup.controllers": "io\n"}
    counts = [
        {f"{group}/io.stat": f"8:0 rbytes=0 wbytes=0 rios=0 wios={number * done * SECONDS:.0f} dbytes=0 dios=0\n",
         f"{group}/io.pressure": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={number * 9000000}\n"}
        for number in range(4)
    ]  # fmt: skip
    did = Did(writes=done + others, write_ms=1)
    return Scripted(disk("sda"), files | counts[0], root, parts=[{"sda": did}] * 3, changes=counts)


@case(
    "remote-wait",
    {"slower": 1.0},
    slower=least(4.0),
    requests=least(10),
    queue=most(8.0, low=7.9, high=8.1),
)
def remote_wait(slower=6.0, requests=100, queue=3.0):
    """A network block device that needs several times as long as any disk, with few requests in flight."""
    ms = slower * (ACCESS_MS + 4096 / TRANSFER)
    did = Did(reads=requests / SECONDS, read_ms=ms, queue=queue)
    return Scripted(block("nbd0", "43:0", GIB_SECTORS, pid="7"), parts=[{"nbd0": did}])


@case("provider-limit", {"spread": 0.3}, intervals=least(6, low=5, high=6), spread=most(0.02),
      queue=least(2.0), requests=least(100))  # fmt: skip
def provider_limit(intervals=8, spread=0.0, queue=8.0, requests=None):
    """A virtio disk whose rate is the same in all intervals."""
    rate = 500.0 if requests is None else requests / intervals / SECONDS
    rates = [rate, rate * (1 - spread)] * intervals
    return Scripted(
        block("vda", "252:0", GIB_SECTORS, queue__rotational="1"),
        parts=[{"vda": Did(reads=r, read_ms=1000 * queue / r)} for r in rates[:intervals]],
    )


@case("over-limit", {"over": 0.0}, over=least(0.1), watched=least(60))
def over_limit(over=0.8, watched=90.0):
    """An EBS volume that is over its IOPS; the second page is read after *watched* seconds."""
    model = {"/sys/block/nvme0n1/device/model": "Amazon Elastic Block Store\n"}
    did = {"nvme0n1": Did(reads=3000, read_ms=9, queue=27)}
    return Scripted(
        nvme("numa"), model, parts=[did] * 3, seconds=watched / 3, answers=pages(over * watched)
    )


def pages(over, instance=0.0):
    """Amazon's pages before and after three intervals in which the volume was *over* its IOPS for so many seconds."""
    begun = 977.0  # seconds before

    def dumped(volume, others):
        counts = (round(volume * 1e6), 0, round(others * 1e6), 0)
        return {"nvme get-log /dev/nvme0n1": ebs_pages.dump(ebs_pages.page(over=counts))}

    return [dumped(begun, begun), {}, {}, dumped(begun + over, begun + instance)]


@case("too-hot", {"over": 0.0}, over=least(0.05), watched=least(60))
def too_hot(over=0.4, watched=6000.0):
    """An NVMe disk that slowed itself down by its second limit; it is asked again after *watched* seconds."""

    def logged(seconds):
        page = {
            "percent_used": 1,
            "thm_temp1_total_time": 331,
            "thm_temp2_total_time": 661 + round(seconds),
        }
        return {
            "nvme smart-log /dev/nvme0n1": json.dumps(page | {"data_units_written": round(seconds)})
        }

    did = {"nvme0n1": Did(reads=3000, read_ms=9, queue=27)}
    answers = [logged(0), {}, {}, logged(over * watched)]
    return Scripted(nvme("numa"), parts=[did] * 3, seconds=watched / 3, answers=answers)


ROOT_GROUP = {"/sys/fs/cgroup/cgroup.controllers": "io\n", "/sys/fs/cgroup/cgroup.procs": "1\n"}


@case("cost-limited", {"used": 0.3}, used=least(0.9))
def cost_limited(used=1.0):
    """A disk for which io.cost is on, at half of the speed that was set; another one for which it is off."""
    root = "/sys/fs/cgroup"
    stat = "8:16 rbytes=0 wbytes=0 rios=7 wios=0 dbytes=0 dios=0\n8:0 rbytes=0 wbytes=0 rios=9 wios=0 dbytes=0 dios=0"
    qos = "8:16 enable=0 ctrl=auto min=1.00\n8:0 enable=1 ctrl=user rpct=95.00 rlat=2500 min=50.00 max=50.00\n"
    changes = [
        {f"{root}/io.stat": f"{stat} cost.vrate=50.00 cost.usage={3001 + number * used * SECONDS * 1e6:.0f}\n",
         f"{root}/io.pressure": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={number * 9000000}\n"}
        for number in range(4)
    ]  # fmt: skip
    files = {**ROOT_GROUP, f"{root}/io.cost.qos": qos}
    did = {"sda": Did(reads=67, read_ms=2), "sdb": Did(reads=67, read_ms=2)}
    return Scripted(disks(("sda", "sdb")), files | changes[0], parts=[did] * 3, changes=changes)


@case("latency-limited", {"depth": "max"})
def latency_limited(depth="2"):
    """A control group whose queue is shortened, because another one misses its target."""
    root = "/sys/fs/cgroup"
    groups = {
        f"{root}/web.service/io.latency": "8:0 target=10000\n",
        f"{root}/web.service/io.stat": "8:0 rbytes=0 wbytes=0 rios=7 wios=0 dbytes=0 dios=0 missed=9 total=20 depth=max\n",
        f"{root}/backup.service/io.latency": "",
        f"{root}/backup.service/io.stat": f"8:0 rbytes=0 wbytes=0 rios=7 wios=0 dbytes=0 dios=0 use_delay=1 delay_nsec=5 missed=0 total=9 depth={depth}\n",
    }
    return Scripted(disk("sda"), ROOT_GROUP, groups, parts=[{"sda": Did(reads=67, read_ms=2)}])


@case("evident-overload", {"slower": 1.0}, slower=least(3.0), queue=least(8.0), busy=least(0.95, low=0.9, high=1.0),
      size=most(131072, slower=8.0), requests=least(50),
      beyond=least(2.0, low=1.8, high=2.2, slower=1.5, queue=20.0))  # fmt: skip
def evident_overload(slower=6.0, queue=24.0, busy=1.0, size=4096, requests=1000, beyond=None):
    """A spinning disk on which requests wait *slower* times as long, *beyond* times as many as it takes at once."""
    ms = slower * (ACCESS_MS + size / TRANSFER)
    rate = 1000 * queue / ms
    did = Did(reads=rate, read_size=size, read_ms=ms, queue=queue, busy=busy)
    depth = {} if beyond is None else {"device__queue_depth": round(queue / beyond)}
    return _one(did, seconds=requests / rate, **depth)


@case("fsync-storm", {"writes": 20.0}, flushes=least(50.0), writes=most(4.0))
def fsync_storm(flushes=200.0, writes=1.0):
    """A disk that flushes after each write or two, quickly."""
    return _one(Did(writes=writes * flushes, write_ms=0.2, flushes=flushes, flush_ms=0.5))


@case("swapping", {"bytes": 0.0}, bytes=least(262144), queue=least(4.0))
def swapping(bytes=4 << 20, queue=None):
    """A swap device that is read and written; with *queue*, it is only read, at 200 KiB/s."""
    did = Did(reads=bytes / 4096, read_ms=1, writes=bytes / 4096, write_ms=1)
    if queue is not None:
        did = Did(reads=50, read_ms=20 * queue)
    swaps = {
        "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda partition 1048572 9999 -2\n"
    }
    return Scripted(disk("sda"), swaps, parts=[{"sda": did}])


@case("loop-cached", {"dio": 1}, requests=least(100))
def loop_cached(dio=0, requests=1000):
    """A loop device with or without direct I/O."""
    loop = block("loop0", "7:0", GIB_SECTORS, loop__backing_file="/srv/image", loop__dio=str(dio))
    return Scripted(loop, parts=[{"loop0": Did(reads=requests / SECONDS, read_ms=1)}])


@case("hung", {"stuck": 0}, stalled=least(3.0))
def hung(stuck=32, stalled=10.0):
    """A disk that completes nothing while requests are in flight."""
    return _one(Did(stuck=stuck, queue=stuck, busy=1.0 if stuck else 0.0), seconds=stalled)


@case("impossible", {"excess": 0.0}, excess=least(1.0, await_ms=0.0), times=least(3.0, excess=None),
      parts=least(0.6, low=0.5, high=0.7))  # fmt: skip
def impossible(excess=2.0, times=4.0, parts=1.0, await_ms=0.13):
    """20 requests per second, and a queue that they cannot make, in a share of the intervals."""
    if excess is None:  # a real queue of one request
        await_ms, excess = 50.0, times - 1
    made = 20 * await_ms / 1000
    odd = Did(reads=20, read_ms=await_ms, queue=made + excess, busy=1.0)
    number = round(10 * parts)
    fine = odd._replace(queue=made)
    return Scripted(disk("sda"), parts=[{"sda": odd}] * number + [{"sda": fine}] * (10 - number))


@case("misaligned", {"start": 2048}, requests=least(50))
def misaligned(start=63, requests=1000):
    """A partition at sector 63 of a disk with sectors of 4 KiB."""
    did = Did(writes=requests / SECONDS, write_ms=1)
    return Scripted(disk("sda"), partition("sda", 1, start), parts=[{"sda1": did, "sda": did}])


# Peers: the disks of a RAID0. sdd is the slow or the loaded one.


QUIET = 4  # intervals in which sdd is as fast as its peers
REMARK = {"peers_queue": 2.0, "queue": 2.0, "rate": 100.0}


@case("slow-member", {"slower": 1.0}, slower=least(1.5), rate_difference=most(0.25),
      requests=least(50, slower=2.5), slow_intervals=least(0.6, low=0.55, high=0.65),
      chance=turns(200, "info", "warning", slower=2.0),
      cap_difference=least(0.03, busy=0.8, **REMARK),
      saturated=turns(0.95, "warning", "info", low=0.93, high=0.97, cap_difference=0.1, **REMARK),
      next_slowest=turns(1.25, "info", "warning"),
      quiet_queue=turns(1.0, "info", "warning", queue=3.0),
      quiet_requests=turns(10, "warning", "info", queue=3.0, quiet_queue=0.5),
      lasting=turns(10, "info", "warning", low=9, high=10, queue=3.0, quiet_queue=0.5),
      avoided=least(3.0, next_slowest=None, level="raid1", rate_difference=-0.6),
      **{"await": least(5.0)})  # fmt: skip
def slow_member(slower=3.0, rate_difference=0.0, requests=None, slow_intervals=1.0, chance=None,
                cap_difference=0.0, saturated=None, next_slowest=None, quiet_queue=None, quiet_requests=None,
                lasting=None, avoided=None, level="raid0", rate=20.0, busy=None, queue=None, peers_queue=None, **milliseconds):  # fmt: skip
    """20 intervals, or *lasting* slow ones and four quiet ones; sdd needs *slower* times as long as its peers."""
    peers_ms, longer, slower = 20.0, milliseconds.get("await"), avoided or slower
    peers_ms = 10.0 if avoided else peers_ms  # a slower one would be sick by itself
    slow_ms = slower * peers_ms
    if longer is not None:
        peers_ms, slow_ms = 2.0, 2.0 + longer
    quiet = quiet_queue is not None or quiet_requests is not None or lasting is not None
    number = round(lasting or 8) + QUIET if quiet else 20
    slow = number - QUIET if quiet else round(slow_intervals * number)
    total = requests or chance
    rate = rate if total is None else total / number / SECONDS
    peer = Did(writes=rate, write_ms=peers_ms, queue=peers_queue, busy=saturated or busy)
    part = {
        **dict.fromkeys(ALL_DISKS, peer),
        "sda": peer._replace(writes=rate * (1 + cap_difference)),
    }
    if next_slowest is not None:
        part["sdb"] = peer._replace(write_ms=slow_ms / next_slowest)
    own = peer._replace(writes=rate * (1 + rate_difference), write_ms=slow_ms, queue=queue)
    calm = dict.fromkeys(ALL_DISKS, peer)
    if quiet:
        calm_rate = rate if quiet_requests is None else quiet_requests / SECONDS
        calm = {**dict.fromkeys(ALL_DISKS, peer._replace(writes=calm_rate)),
                "sdd": peer._replace(writes=calm_rate, queue=quiet_queue)}  # fmt: skip
    parts = [{**part, "sdd": own}] * slow + [calm] * (number - slow)
    return Scripted(disks(), md(level), parts=parts)


@case("unequal-load", {"ratio": 1.1}, ratio=least(2.0), requests=least(500), **LIGHT)
def unequal_load(ratio=3.0, requests=None, light_rate=None, light_queue=2.0):
    """sdd writes *ratio* times what its peers do."""
    rate = 300.0 if requests is None else requests / SECONDS
    rate, seconds = (rate, SECONDS) if light_rate is None else (light_rate, 60.0)
    own = Did(writes=rate, write_ms=1, queue=light_queue)
    peer = own._replace(writes=rate / ratio)
    parts = [{**dict.fromkeys(ALL_DISKS, peer), "sdd": own, "md0": own._replace(writes=rate * 2)}]
    return Scripted(disks(), md("raid0"), parts=parts, seconds=seconds)
