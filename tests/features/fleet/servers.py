"""Real servers on loopback: node_exporter over a recorded /proc, Prometheus, VictoriaMetrics."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.paths import ROOT

HERE = ROOT
RULES = HERE / "packaging" / "prometheus" / "stackmap.rules.yml"
PATIENCE = 60  # seconds for a server to start


def program(name: str) -> str:
    """Return the path of a program; skip the test where it is missing."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(words: list[str], log: Path, ready: str):
    """Run a server until the end of the block; *ready*: an address that answers when it has started."""
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        wait_for(lambda: answers(ready) or process.poll() is not None)
        assert process.poll() is None, log.read_text()[-2000:]
        yield process
    finally:
        process.terminate()
        process.wait(120)  # one with millions of series writes them first


def answers(address: str) -> bool:
    """Whether a server answers there; at an address without a path, whether it listens."""
    host = urlsplit(address)
    if not host.path:
        with contextlib.suppress(OSError), socket.create_connection((host.hostname, host.port), 5):
            return True
        return False
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - our own server
            return answer.status == 200
    except urllib.error.HTTPError as refusal:  # 503 while it starts
        refusal.close()
    except OSError:
        pass
    return False


def wait_for(condition, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "gave up waiting"
        time.sleep(0.1)


@contextlib.contextmanager
def node_exporter(folder: Path):
    """Run node_exporter over folder/proc and folder/textfile; yield its address."""
    address = f"127.0.0.1:{free_port()}"
    words = [
        program("prometheus-node-exporter"),
        f"--web.listen-address={address}",
        f"--path.procfs={folder / 'proc'}",
        "--collector.disable-defaults",
        "--collector.diskstats",
        "--collector.stat",
        "--collector.textfile",
        f"--collector.textfile.directory={folder / 'textfile'}",
    ]
    with running(words, folder / "node_exporter.log", f"http://{address}/"):
        yield address


@contextlib.contextmanager
def prometheus(folder: Path, config: str = "", *options: str, ready: bool = True):
    """Run Prometheus with its data in *folder*; yield its URL. Not *ready*: wait only until it listens."""
    address = f"127.0.0.1:{free_port()}"
    (folder / "prometheus.yml").write_text(config)
    words = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
        *options,
    ]
    path = "/-/ready" if ready else ""
    with running(words, folder / "prometheus.log", f"http://{address}{path}"):
        yield f"http://{address}"


@contextlib.contextmanager
def victoria_metrics(folder: Path):
    """Run VictoriaMetrics; yield its URL."""
    address = f"127.0.0.1:{free_port()}"
    words = [
        program("victoria-metrics"),
        f"-storageDataPath={folder / 'victoria'}",
        f"-httpListenAddr={address}",
        "-search.latencyOffset=0s",
        "-loggerLevel=ERROR",
    ]
    with running(words, folder / "victoria.log", f"http://{address}/health"):
        yield f"http://{address}"


def as_file(path: Path, content: str) -> None:
    """Write *content* so that a reader sees all of it or the previous one."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(content)
    os.replace(beside, path)
