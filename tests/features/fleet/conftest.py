"""A small fleet on real servers: every test of this folder reads the same forty seconds."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackmap.host.capture import CapturedHost
from tests.features.fleet.hosts import INTERVAL, SteadyHost, recorded_loads, scraped_through
from tests.features.fleet.servers import RULES, node_exporter, prometheus, victoria_metrics
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
ZOO = ROOT.parent / "shared" / "captures" / "zoo" / "healthy.tar.gz"
SECONDS = 38  # three ranges of the rules
VISIBLE = 3  # seconds until VictoriaMetrics answers with what Prometheus wrote to it
SCALE = {
    "[5m]": "[12s]",
    "[1h]": "[12s]",
    "interval: 1m": "interval: 1s",
    "interval: 1h": "interval: 4s",
    "for: 30m": "for: 3s",
}


def recorded(path: Path) -> dict[str, list[float]]:
    """Return the mean rates of the recording at *path*."""
    host = CapturedHost(str(path), print)
    samples = [(at, host.read("/proc/diskstats").splitlines()) for at in host.ticks(1, None)]
    (begin, first), (end, last) = samples[0], samples[-1]
    return recorded_loads(first, last, end - begin)


def counted_twice(folder: Path) -> Path:
    """Return a copy of vghdd on Linux 6.12, where the counters of LVM RAID volumes are double."""
    path = folder / "twice-capture"
    shutil.copytree(SAMPLES / "vghdd", path)
    for file in (path / "proc/version", path / "proc/sys/kernel/osrelease"):
        if file.exists():
            file.write_text(file.read_text().replace("6.1.0-56", "6.12.0-1"))
    for file in path.glob("sys/block/dm-*/queue/iostats"):
        file.write_text("1\n")
    return path


def doubled(loads: dict[str, list[float]]) -> dict[str, list[float]]:
    return {
        n: [2 * r for r in rates] if n in ("dm-8", "dm-17") else rates for n, rates in loads.items()
    }


def drawn(names: dict[str, tuple[float, float]]) -> dict[str, list[float]]:
    """Return the rates of all counters; *names*: by device, its writes and reads per second, 8 KiB each."""
    return {
        name: [
            reads,
            0,
            reads * 16,
            reads * 2,
            writes,
            0,
            writes * 16,
            writes * 3,
            0,
            400,
            500,
            *[0] * 6,
        ]
        for name, (writes, reads) in names.items()
    }


def hosts(folder: Path) -> dict[str, SteadyHost]:
    vghdd, cache = recorded(SAMPLES / "vghdd"), recorded(SAMPLES / "cold-cache")
    cache |= drawn(
        {
            "dm-4": (300, 100),
            "dm-5": (300, 100),
            "dm-1": (330, 110),
            "dm-0": (20, 0),
            "dm-6": (30, 0),
            "sda": (400, 200),
        }
    )
    md = drawn(
        {
            "md0": (400, 200),
            **{f"nvme{n}n1": (100, 50) for n in range(1, 5)},
            "nvme0n1": (3, 1),
            "nvme0n1p1": (3, 1),
        }
    )
    found = {
        "once": (SAMPLES / "vghdd", vghdd),
        "twice": (counted_twice(folder), doubled(vghdd)),
        "thin": (SAMPLES / "cold-cache", cache),
        "md": (SAMPLES / "ec2-nvme-raid0", md),
    }
    if ZOO.exists():  # md RAID5 on partitions, whose counters node_exporter leaves out
        found["zoo"] = ZOO, zoo_loads()
    return {
        name: SteadyHost(
            folder / name,
            path,
            {n: r for n, r in loads.items() if not n.startswith(("fd", "loop", "zram"))},
        )
        for name, (path, loads) in found.items()
    }


def zoo_loads() -> dict[str, list[float]]:
    """Return loads of every device of the zoo; a parity array's members do read-modify-write."""
    from stackmap.discover import discover

    topology = discover(CapturedHost(str(ZOO), print), geometry=True)
    rates: dict[str, tuple[float, float]] = {}
    for device in topology:
        writes, reads = rates.get(device.name, (100.0, 50.0))
        rates[device.name] = writes, reads
        shape = device.layout
        parity, copies = (shape.parity, shape.copies) if shape else (0, 1)
        below = topology.below(device.name)
        for edge in below:
            more = (
                writes * (1 + parity) * copies / len(below),
                (reads + writes * parity * 2) / len(below),
            )
            had = rates.get(edge.below, (0.0, 0.0))
            rates[edge.below] = had[0] + more[0], had[1] + more[1]
    return drawn(rates)


def fast_rules() -> str:
    """Return the rules with seconds for minutes."""
    text = RULES.read_text()
    for slow, fast in SCALE.items():
        assert slow in text
        text = text.replace(slow, fast)
    return text


@pytest.fixture(scope="session")
def fleet(tmp_path_factory):
    """Prometheus and VictoriaMetrics with forty seconds of every host, and of one without topology."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "rules.yml").write_text(fast_rules())
    with contextlib.ExitStack() as stack:
        machines = hosts(folder)
        bare = folder / "bare"
        shutil.copytree(folder / "md" / "proc", bare / "proc")
        (bare / "proc" / "diskstats").write_text("   8   0 sda" + " 7" * 17 + "\n")
        (bare / "textfile").mkdir()
        addresses = {"bare": stack.enter_context(node_exporter(bare))}
        for name, host in machines.items():
            exporter = stack.enter_context(node_exporter(folder / name))
            addresses[name] = stack.enter_context(scraped_through(host, exporter))
        victoria = stack.enter_context(victoria_metrics(folder))
        url = stack.enter_context(prometheus(folder, configuration(addresses, victoria)))
        time.sleep(SECONDS)
        end = time.time()
        time.sleep(VISIBLE)
        yield SimpleNamespace(url=url, victoria=victoria, hosts=machines, end=end)


def configuration(addresses: dict[str, str], victoria: str) -> str:
    """Return the configuration of Prometheus: each host under its name."""
    targets = "\n".join(
        f"    - targets: ['{address}']\n      labels: {{instance: '{name}'}}"
        for name, address in addresses.items()
    )
    return f"""
global: {{scrape_interval: {INTERVAL}s, scrape_timeout: {INTERVAL}s, evaluation_interval: 1s}}
rule_files: [rules.yml]
scrape_configs:
- job_name: node
  static_configs:
{targets}
remote_write:
- url: {victoria}/api/v1/write
  queue_config: {{batch_send_deadline: 200ms}}
"""
