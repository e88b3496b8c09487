"""
What recording costs, beside iostat into a file and sadc; and what a window of a long recording takes.

Both need many devices, which this machine has not. For the costs, all three are fed the same counters of
1,000 devices, 100 of them at work, from files that are mounted over /proc/diskstats and /sys/block in a
namespace of their own (root's; nobody else sees them). So none of them pays for what the kernel takes to write
its counters down, which record and sadc would pay once a sample, and iostat once a device.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tabulate import tabulate

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import measure  # noqa: E402 - beside this file

from tests import long  # noqa: E402 - run as a script, the checkout is not on the path

STACKMAP = Path(sys.executable).with_name("stackmap")
DEVICES, ACTIVE = 1000, 100
BEGUN, LONG = 5, 60  # seconds that all three run before they are measured, and are measured
STARTED = 120  # seconds that record may take to look around first
KEPT = {  # where each writes to
    "stackmap record": "recorded/log",
    "iostat -dx 1 >file": "iostat.txt",
    "sadc -S XDISK 1": "sadc",
}
SADC = "/usr/lib/sysstat/sadc"
SHARE = 0.1  # of iostat's CPU
SECOND = 1.0  # for a window of an hour
HOUR = 3600
# What to do with an hour of it, which may take SECOND; CPU, so that a busy machine does not decide.
OPENED = (
    ("tree",),
    ("iostat",),
    ("iostat", "--per-layer"),
    ("--every", "60", "iostat", "-J", "--report", "all"),
)
# And with all of it, and in how many seconds.
WHOLE = {
    ("iostat",): 5.0,
    ("whatif", "vg/lv3", "--to", "raid10"): 5.0,
    ("explain",): 5.0,
    ("fiojob", "vg/lv3"): 20.0,
    ("report", "-o", "-", "--markdown"): 15.0,
    ("--every", "60", "export", "--openmetrics", "-o", "-"): 60.0,
}
# And with each sample of an hour of it, which is not long enough for longer intervals.
EXAMINED = {
    ("whatif", "vg/lv3", "--to", "raid10"): 5.0,
    ("explain",): 10.0,
    ("fiojob", "vg/lv3"): 5.0,
    ("report", "-o", "-", "--markdown"): 20.0,
}
HELD = 200.0  # MB


def costs() -> bool:
    """Print what a sample costs each; whether ours is a tenth of iostat's, and smaller than sadc's."""
    if os.geteuid() or not Path(SADC).exists():
        print("cost of recording: takes root and sysstat; not measured", file=sys.stderr)
        return True
    return measure.in_own_mounts(__file__)


def feed_and_measure() -> bool:
    """In a namespace of our own: mount the counters, keep them moving, and run all three."""
    with TemporaryDirectory() as directory:
        machine = long.Repeated(DEVICES, ACTIVE)
        place = Path(directory)
        _mount(machine, place)
        running = {
            name: _start(command, place / f"{name.split()[0]}.txt")
            for name, command in _commands(place).items()
        }
        before, after = _twice(machine, place, running)
        for process in running.values():
            process.terminate()
            process.wait()
        return _judge(before, after)


@dataclass(frozen=True)
class Spent:
    """What a process had taken at an instant: CPU milliseconds, and bytes of its output."""

    at: float
    cpu: float
    size: int


def _twice(
    machine: long.Repeated, place: Path, running: dict[str, subprocess.Popen[bytes]]
) -> tuple[dict[str, Spent], dict[str, Spent]]:
    """Keep the counters moving; return what each had spent when all had begun, and a while later."""
    begun = 0
    before: dict[str, Spent] = {}
    for second, _ in enumerate(machine.ticks(1.0, STARTED + BEGUN + LONG)):
        _feed(machine, place)
        time.sleep(1)
        if not begun and (place / KEPT["stackmap record"]).exists():
            begun = second
        if begun and second == begun + BEGUN:
            before = _spent(running, place)
        if begun and second == begun + BEGUN + LONG:
            return before, _spent(running, place)
    raise RuntimeError("stackmap record took no sample")


def _spent(running: dict[str, subprocess.Popen[bytes]], place: Path) -> dict[str, Spent]:
    return {
        name: Spent(time.monotonic(), _cpu(process.pid), _size(place / KEPT[name]))
        for name, process in running.items()
    }


def _cpu(pid: int) -> float:
    """Return the milliseconds that all threads of a process have run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def _commands(place: Path) -> dict[str, list[str | Path]]:
    return {
        "stackmap record": [STACKMAP, "record", place / "recorded", "1"],
        "iostat -dx 1 >file": ["iostat", "-dx", "1"],
        "sadc -S XDISK 1": [SADC, "-S", "XDISK", "1", place / "sadc"],
    }


def _mount(machine: long.Repeated, place: Path) -> None:
    (place / "sys").mkdir()
    for path, text in machine.files.items():
        if path.startswith("/sys/block/"):
            file = place / "sys" / path.removeprefix("/sys/block/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    (place / "diskstats").write_text(machine.text())
    _feed(machine, place)
    for what, where in (("diskstats", "/proc/diskstats"), ("sys", "/sys/block")):
        subprocess.run(["mount", "--bind", place / what, where], check=True)


def _feed(machine: long.Repeated, place: Path) -> None:
    """Write the counters where they are read, in place: a file that is moved there would not be mounted."""
    with (place / "diskstats").open("r+") as file:
        file.write(machine.text())
    for number, line in enumerate(machine.text().splitlines()):
        if number < ACTIVE or not (place / "sys" / line.split()[2] / "stat").exists():
            words = line.split()
            (place / "sys" / words[2] / "stat").write_text(" ".join(words[3:]) + "\n")


def _start(command: list[str | Path], out: Path) -> subprocess.Popen[bytes]:
    with out.open("w") as file:
        return subprocess.Popen(command, stdout=file, env={**os.environ, "LC_ALL": "C"})


def _size(path: Path) -> int:
    return sum(f.stat().st_size for f in path.rglob("*")) if path.is_dir() else path.stat().st_size


def _judge(before: dict[str, Spent], after: dict[str, Spent]) -> bool:
    rows = {}
    for name, now in after.items():
        then = before[name]
        seconds = now.at - then.at  # as many samples, at one a second
        rows[name] = (now.cpu - then.cpu) / seconds, (now.size - then.size) / seconds
    ours, iostat, sadc = rows.values()
    share = ours[0] / iostat[0]
    fine = share <= SHARE and ours[1] < sadc[1]
    heading = ["1,000 devices, 100 at work", "CPU ms/sample", "bytes/sample"]
    print(
        tabulate(
            [(name, *row) for name, row in rows.items()], heading, floatfmt=(None, ".3f", ".0f")
        )
    )
    print(f"record / iostat: {share:.3f}, at most {SHARE}: {'ok' if fine else 'TOO MUCH'}")
    return fine


def windows(hours: int = 24) -> bool:
    """Print what an hour of a recording of a day takes, and all of it; whether all is within its budget."""
    with TemporaryDirectory() as directory:
        out = f"{directory}/day"
        maker = [sys.executable, ROOT / "tests/long.py", out, str(hours * HOUR)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(maker, stdout=subprocess.DEVNULL, env=environment, check=True)
        since = long.START + hours * HOUR // 2
        window = ["--from", out, "--since", f"@{since}", "--until", f"@{since + HOUR}"]
        commands = {" ".join(words): [STACKMAP, *window, *words] for words in OPENED}
        costs = measure.compare(commands, 3)
        rows = [
            (" ".join(words), cost.median / 1000, SECOND, cost.memory / 1e6)
            for words, cost in zip(OPENED, costs.values(), strict=True)
        ]
        size = _size(Path(out)) / 1e6
        fine = _told(f"an hour of {hours} h at 1 s x 200 devices, {size:.0f} MB", rows)
        fine &= _told("each sample of that hour", _measured(window, EXAMINED))
        return _told(f"all of the {hours} h", _measured(["--from", out], WHOLE)) and fine


def _measured(
    part: list[str], commands: dict[tuple[str, ...], float]
) -> list[tuple[str, float, float, float]]:
    """Return what each of *commands* takes of a part of a recording, once, beside its budget."""
    rows = []
    for words, budget in commands.items():
        taken, memory = measure.cpu([STACKMAP, *part, *words])
        rows.append((" ".join(words), taken / 1000, budget, memory / 1e6))
    return rows


def _told(what: str, rows: list[tuple[str, float, float, float]]) -> bool:
    """Print what each took, in seconds and MB; return whether that is within its budget."""
    fine = [taken < budget and memory < HELD for _, taken, budget, memory in rows]
    verdicts = ["ok" if each else "TOO MUCH" for each in fine]
    heading = [what, "CPU s", "at most", "RSS MB", ""]
    told = [(*row, verdict) for row, verdict in zip(rows, verdicts, strict=True)]
    print(tabulate(told, heading, floatfmt=(None, ".2f", ".0f", ".0f")))
    return all(fine)


if __name__ == "__main__":
    sys.exit(not feed_and_measure())
