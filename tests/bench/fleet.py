"""
What a fleet costs: rule evaluation, memory, and the time of ``stackmap fleet``.

    ./run bench fleet [HOSTS [VOLUMES [recorded]]]

HOSTS (default 200) have VOLUMES (default 20) LVM RAID5 volumes of 3+1 each: their counters and
topologies are written as blocks of a real Prometheus, which evaluates the real rules; then stackmap
asks it. 2,000 hosts of 20 volumes need 10 GB of disk and 20 minutes. With "recorded" the results of
the rules are written instead, which is all that ``stackmap fleet`` reads.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.features.fleet.servers import RULES, prometheus

STEP = 120  # seconds between samples
SAMPLES = 5  # of each series, up to now; the rules reach back far enough to use them all
REACH = "4h"
DISKS = "abcd"
COUNTERS = {
    "read_bytes": 300_000, "written_bytes": 600_000, "reads_completed": 70, "reads_merged": 0,
    "writes_completed": 140, "writes_merged": 10, "read_time_seconds": 0.3, "write_time_seconds": 0.8,
}  # fmt: skip


def host(number: int) -> str:
    """Return an instance: names with dashes and dots are what servers really have."""
    return f"db-{number:05}.dc1.example:9100"


def devices(volume: int) -> tuple[str, list[str], list[str]]:
    """Return the volume's own name, its data and its metadata members."""
    first = volume * 9
    return (
        f"dm-{first + 8}",
        [f"dm-{first + n}" for n in (1, 3, 5, 7)],
        [f"dm-{first + n}" for n in (0, 2, 4, 6)],
    )


Families = Iterator[tuple[str, Iterator[tuple[str, float | None, bool]]]]
RECORDED = {
    'instance_top_layer:stackmap_read_bytes:rate5m{layer="volume",': 1e5, 'instance_top_layer:stackmap_written_bytes:rate5m{layer="volume",': 2e5,
    'instance_top_layer:stackmap_reads:rate5m{layer="volume",': 20, 'instance_top_layer:stackmap_writes:rate5m{layer="volume",': 40,
    "instance_top:stackmap_parity_cost_bytes:rate5m{": 7e5, "instance_top:stackmap_parity_written_bytes:rate5m{": 2e5,
    "instance_top:stackmap_disk_bytes:rate5m{": 9e5,
    "instance_top:stackmap_disk_requests:rate5m{": 150, "instance_top:stackmap_wasted_bytes:rate5m{": 5e5,
    "instance_top:stackmap_wasted_requests:rate5m{": 80, 'instance_top_device:stackmap_slowest_member:ratio_rate5m{device="dm-5",': 1.2,
    'stackmap_stack_info{kind="volume",level="raid5",': 1, "stackmap_stack_members{": 4, "stackmap_stack_ideal_write_ratio{": 4 / 3,
    "stackmap_stack_degraded{": 0, "stackmap_stack_sync_active{": 0,
    'instance_top_disk:stackmap_written_bytes:rate5m{disk="sda",': 1e5, 'instance_top_disk:stackmap_written_bytes:rate5m{disk="sdb",': 2e5,
}  # fmt: skip

LEVEL = ',kind="volume",level="raid5"'
PER_HOST = (
    ("node_boot_time_seconds", "", 1.7e9), ("stackmap_topology_timestamp_seconds", "", None),
    ("instance_level:stackmap_volumes:count", LEVEL, 20), ("instance_level:stackmap_written_bytes:rate5m", LEVEL, 6e6),
    ("instance_level:stackmap_wasted_bytes:rate5m", LEVEL, 1.5e7), ("instance_level:stackmap_wasted_requests:rate5m", LEVEL, 2400),
)  # fmt: skip


def recorded(hosts: int, volumes: int) -> Families:
    """Yield the series that ``stackmap fleet`` reads."""
    for start, value in RECORDED.items():
        metric, _, labels = start.partition("{")
        yield (
            metric,
            (
                (
                    f'{labels}job="node",instance="{host(h)}",top="{devices(v)[0]}",name="vg/lv{v}"{uuid(metric, h, v)}',
                    value * (1 + (h * 7 + v) % 97 / 97),
                    False,
                )
                for h in range(hosts)
                for v in range(volumes)
            ),
        )
    yield from per_host(hosts)
    yield from of_disks([f'job="node",instance="{host(h)}"' for h in range(hosts)])


def uuid(metric: str, host: int, volume: int) -> str:
    return f',uuid="LVM-{host:032}{volume:032}"' if metric == "stackmap_stack_info" else ""


def per_host(hosts: int) -> Families:
    """Yield the series that each host has once."""
    for metric, labels, value in PER_HOST:
        yield (
            metric,
            ((f'job="node",instance="{host(h)}"{labels}', value, False) for h in range(hosts)),
        )


def families(hosts: int, volumes: int) -> Families:
    """Yield each metric with its series: labels, value, whether it counts up."""
    names = [f'job="node",instance="{host(h)}"' for h in range(hosts)]
    used = [
        name for v in range(volumes) for name in (devices(v)[0], *devices(v)[1], *devices(v)[2])
    ]
    used += [f"sd{letter}" for letter in DISKS]
    for counter, rate in COUNTERS.items():
        yield (
            f"node_disk_{counter}_total",
            (
                (f'{host},device="{d}"', rate * (1 + (n + len(d)) % 7), True)
                for n, host in enumerate(names)
                for d in used
            ),
        )
    yield (
        "stackmap_layer_weight",
        ((f"{host},{w}", 1, False) for host in names for w in weights(volumes)),
    )
    yield (
        "stackmap_device_disk_info",
        (
            (f'{host},device="{d}",disk="sd{letter}"', 1, False)
            for host in names
            for v in range(volumes)
            for part in devices(v)[1:]
            for d, letter in zip(part, DISKS, strict=True)
        ),
    )
    for metric, value in (
        ("stackmap_stack_members", 4), ("stackmap_stack_parity_members", 1), ("stackmap_stack_degraded", 0),
        ("stackmap_stack_sync_active", 0), ("stackmap_stack_ideal_write_ratio", 4 / 3),
        ("stackmap_stack_chunk_bytes", 65536),
    ):  # fmt: skip
        yield (
            metric,
            (
                (f'{host},top="{devices(v)[0]}",name="vg/lv{v}"', value, False)
                for host in names
                for v in range(volumes)
            ),
        )
    yield (
        "stackmap_stack_info",
        (
            (
                f'{host},top="{devices(v)[0]}",name="vg/lv{v}",kind="volume",level="raid5"'
                + uuid("stackmap_stack_info", number, v),
                1,
                False,
            )
            for number, host in enumerate(names)
            for v in range(volumes)
        ),
    )
    for metric, value in (
        ("node_boot_time_seconds", 1.7e9), ("stackmap_topology_timestamp_seconds", None),
        ("node_time_seconds", None), ("up", 1),
    ):  # fmt: skip
        yield metric, ((host, value, False) for host in names)
    yield from of_disks(names)


def of_disks(names: list[str]) -> Families:
    """Yield what each disk tells of itself: its model, and how worn it is."""
    for metric, more, value in (
        ("node_disk_info", ',model="M",serial="S"', 1),
        ("stackmap_device_life_used_ratio", "", 0.4),
        ("stackmap_device_life_written_bytes_total", "", 1e12),
    ):
        yield (
            metric,
            (
                (f'{host},device="sd{letter}"{more}', value, False)
                for host in names
                for letter in DISKS
            ),
        )


def weights(volumes: int) -> Iterator[str]:
    for v in range(volumes):
        top, data, metadata = devices(v)
        start = f'top="{top}",name="vg/lv{v}"'
        yield f'{start},layer="volume",role="data",device="{top}"'
        for layer, role, names in (
            ("members", "data", data),
            ("disks", "data", data),
            ("disks", "metadata", metadata),
        ):
            yield from (f'{start},layer="{layer}",role="{role}",device="{name}"' for name in names)


def write_blocks(folder: Path, metrics: Families) -> int:
    """Write the fleet as blocks; return the number of series."""
    now = int(time.time())
    instants = range(now - SAMPLES * STEP, now, STEP)
    count = 0
    with (folder / "fleet.om").open("w") as file:
        for metric, series in metrics:
            name = metric.removesuffix("_total")
            file.write(f"# TYPE {name} {'counter' if name != metric else 'gauge'}\n")
            for labels, value, counts in series:
                count += 1
                file.writelines(
                    f"{metric}{{{labels}}} {value_at(t, value, now, counts=counts)} {t}\n"
                    for t in instants
                )
        file.write("# EOF\n")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h", str(folder / "fleet.om"), str(folder / "data")],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (folder / "fleet.om").unlink()
    return count


def value_at(instant: int, value: float | None, now: int, *, counts: bool) -> float:
    """Return the value of a sample; without one it is the time, as of a clock."""
    if value is None:
        return instant
    return value * (instant - now + 9999) if counts else value


def ask(url: str, path: str) -> dict:
    with urllib.request.urlopen(f"{url}/api/v1/{path}", timeout=600) as answer:  # noqa: S310 - our own server
        return json.load(answer)["data"]


def memory(folder: Path) -> float:
    """Return MB of the Prometheus that has its data in *folder*."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if str(folder / "data") in status.with_name("cmdline").read_text():
                return next(
                    int(line.split()[1]) / 1024
                    for line in status.read_text().splitlines()
                    if line.startswith("VmRSS")
                )
        except (OSError, StopIteration):
            continue
    return 0.0


def server_cpu(folder: Path) -> float:
    """Return the CPU seconds of the Prometheus that has its data in *folder*."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if str(folder / "data") in stat.with_name("cmdline").read_text():
                words = stat.read_text().rpartition(")")[2].split()
                return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return 0.0


def timed(folder: Path, *words: str) -> str:
    stackmap = Path(sys.executable).with_name("stackmap")
    begin, used, served = time.monotonic(), os.times(), server_cpu(folder)
    done = subprocess.run([stackmap, "fleet", *words], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    size = len(done.stdout)
    cpu = sum(os.times()[2:4]) - sum(used[2:4])
    return f"{seconds:6.2f} s (CPU: own {cpu:.2f} s, server {server_cpu(folder) - served:.2f} s), {size:>9} bytes, exit {done.returncode} {done.stderr[:200]}"


def main(hosts: int = 200, volumes: int = 20, *, only_recorded: bool = False) -> None:
    folder = Path(tempfile.mkdtemp(prefix="stackmap-fleet-"))
    try:
        begin = time.monotonic()
        series = write_blocks(folder, (recorded if only_recorded else families)(hosts, volumes))
        print(
            f"{hosts} hosts, {volumes} volumes each: {series} series, written in {time.monotonic() - begin:.0f} s",
            flush=True,
        )
        (folder / "rules.yml").write_text(rules(hosts * volumes))
        config = "" if only_recorded else "rule_files: [rules.yml]\n"
        with prometheus(folder, config, f"--query.lookback-delta={REACH}") as url:
            if not only_recorded:
                measure_rules(url, hosts * volumes, folder)
            print(
                f"  resident memory {memory(folder):.0f} MB; load of this machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
            )
            for words in ([], ["-J"], ["--sort", "cost", "--limit", "10"], ["--host", "db-0000*"]):
                print(
                    f"  stackmap fleet {' '.join(words):30} {timed(folder, *words, '--url', url)}",
                    flush=True,
                )
    finally:
        shutil.rmtree(folder)


def rules(volumes: int) -> str:
    """Return the rules, with the interval that stackmap-fleet(7) names, for counters that began hours ago."""
    text = RULES.read_text().replace("[5m]", f"[{REACH}]")
    return text if volumes <= 5000 else text.replace("interval: 1m", "interval: 4m")


def measure_rules(url: str, volumes: int, folder: Path) -> None:
    """Wait until each group was evaluated, and print the times, and the CPU of an interval: of all rules, if they end in it."""
    wanted = {f"stackmap.{name}" for name in ("layers", "ratios", "volumes", "health", "alerts")}
    groups: dict[str, dict] = {}
    for _ in range(90):
        time.sleep(20)
        groups = {g["name"]: g for g in ask(url, "rules")["groups"]}
        found = ask(url, "query?query=count(instance_top:stackmap_wasted_bytes:rate5m)")["result"]
        if found and all(groups[name]["evaluationTime"] > 0 for name in wanted):
            break
    for name, group in groups.items():
        slow = max(group["rules"], key=lambda rule: rule["evaluationTime"])
        print(
            f"  group {name:18} {group['evaluationTime']:7.2f} s of {group['interval']:.0f} s; slowest rule {slow['name']} {slow['evaluationTime']:.2f} s"
        )
    interval = max(groups[name]["interval"] for name in wanted)
    used = server_cpu(folder)
    time.sleep(interval)
    print(
        f"  the server uses {server_cpu(folder) - used:.1f} s of CPU in an interval of {interval:.0f} s"
    )
    recorded = ask(url, "status/tsdb")["headStats"]["numSeries"]
    print(f"  recorded series {recorded}, {recorded / volumes:.0f} per volume")


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word.isdecimal()]
    main(*map(int, given), only_recorded="recorded" in sys.argv)
