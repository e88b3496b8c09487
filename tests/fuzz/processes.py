"""Programs that hang, flood or lie, signals at random moments, and recordings that are killed."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from stackmap.errors import SourceMissing, StackmapError
from stackmap.host import command, live
from stackmap.host.capture import CapturedHost
from tests.fuzz import budgets
from tests.fuzz.hostile_captures import mutated, sample, write
from tests.fuzz.running import EXIT_CODES, NAMED, READING, Tally, finish, run, start

DISKSTATS = "/proc/diskstats"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDED_BY_SIGNAL = frozenset({*EXIT_CODES, *(128 + s for s in SIGNALS), *(-s for s in SIGNALS)})
STUBS = {
    "hangs": "sleep 77 & echo $! >> {pids}; wait",
    "hangs silently": "exec >&- 2>&-; sleep 77",
    "ignores signals": "trap '' TERM INT HUP PIPE; while :; do sleep 0.1; done",
    "floods": "yes vg-lv: 0 8 linear 8:0 0",
    "floods stderr": "yes >&2",
    "floods one line": "exec cat /dev/zero",
    "fails": "echo \"$(printf 'a\\033[2Jb')\" >&2; exit 5",
    "is killed": "kill -9 $$",
    "lies": "cat {lie}",
}
MAX_PRINTED = 10_000_000
STUB_SECONDS = 0.4  # time limit of a command in the campaign


def machine_of(
    root: Path, programs: Path | None, diskstats: Callable[[], str] | None = None
) -> None:
    """Have this process find the files of *root* in place of its machine's, and *programs* in place of its tools."""
    host = live.LiveHost
    read, names_in, link = host.read, host.names_in, host.link
    host.read = lambda self, path: (
        diskstats() if diskstats and path == DISKSTATS else read(self, f"{root}{path}")
    )
    host.names_in = lambda self, path: names_in(self, f"{root}{path}")
    host.link = lambda self, path: link(self, f"{root}{path}")
    host.metadata = _no_library
    live.DEFAULT_TIMEOUT = STUB_SECONDS
    live.COMMAND_TIMEOUTS = {}
    if programs:
        live.CONTROL = "/dev/null"
        command.SYSTEM_PATH = f"{programs}:{command.SYSTEM_PATH}"
        command.ENVIRONMENT = {**command.ENVIRONMENT, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def _no_library(_: live.LiveHost, of: str) -> list[dict[str, object]]:
    raise SourceMissing(f"libblockdev: {of} not in this campaign")


def unpack(folder: Path, name: str = "vghdd") -> Path:
    """Write a sample machine as the files of a machine."""
    root = folder / f"machine-{name}"
    for path, content in sample(name).items() if not root.exists() else ():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def stubs(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: dmsetup and lvm hang or print nonsense; none of their processes is left."""
    root, programs = unpack(folder), folder / "programs"
    programs.mkdir(exist_ok=True)
    pids, lie = folder / "pids", folder / "lie"
    pids.write_text("")
    what, body = chance.choice([*STUBS.items()])
    lie.write_bytes(mutated(sample("vghdd")["cmd/dmsetup-table.txt"], chance))
    for name in ("dmsetup", "lvm", "lvs"):
        program = programs / name
        program.write_text(f"#!/bin/sh\necho $$ >> {pids}\n{body.format(pids=pids, lie=lie)}\n")
        program.chmod(0o755)
    arguments = chance.choice(
        (
            ("tree",),
            ("iostat", "0.2", "2"),
            ("explain", "0.1", "2"),
            ("check",),
            ("iostat", "-l", "0.2", "1"),
            ("blame", "0.1", "2"),
        )
    )
    if chance.random() < 0.15:
        arguments = ("record", str(folder / f"recorded-{chance.random()}"), "0.1", "2")
    child = start(arguments, setup=partial(machine_of, root, programs))
    number = 0
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0, 0.6))
        number = chance.choice(SIGNALS)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child[0], number)
    outcome = finish(arguments, child, 30)
    faults = outcome.faults(ENDED_BY_SIGNAL if number else frozenset(EXIT_CODES))
    time.sleep(0.05)
    left = [pid for pid in pids.read_text().split() if pid.isdigit() and _runs(int(pid))]
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGKILL)
    faults += [f"left process {pid}" for pid in left]
    tally.case(f"dmsetup {what}, signal {number}: {' '.join(arguments)}", faults, outcome)


# What a tool prints, by its name: long answers of ``budgets.answers``, which a machine's own tools may give, too.
LARGE = {
    "dmsetup": ("tables", "segments", "short lines"),
    "lvs": ("tags of lists", "deep tags"),
    "nvme": ("health of NVMe", "health of digits", "Amazon's page"),
    "smartctl": ("health of lists", "health of objects", "deep health"),
}


def large_answers(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: tools print up to 10 MB; memory and time have limits."""
    root, programs = unpack(folder), folder / "large"
    programs.mkdir(exist_ok=True)
    chosen = {name: chance.choice(kinds) for name, kinds in LARGE.items()}
    made = budgets.answers(chance.choice((0.01, 0.1, 1.0)))
    for name, kind in chosen.items():
        printed = folder / f"printed-{name}"
        *_, (_, content, _) = made[kind]()
        printed.write_bytes(content[:MAX_PRINTED])
        (programs / name).write_text(f"#!/bin/sh\nexec cat {printed}\n")
        (programs / name).chmod(0o755)
    arguments = chance.choice(
        (("tree",), ("iostat", "0.2", "2"), ("explain", "0.1", "2"), ("check",))
    )
    outcome = run(arguments, setup=partial(machine_of, root, programs))
    what = " + ".join(chosen.values())
    tally.case(f"tools print {what}: {' '.join(arguments)}", outcome.faults(), outcome)
    tally.took(f"tools: {what}", outcome)


def _runs(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def signals(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a signal at a random moment of a command."""
    place = write(folder / "signal.tar", sample("vghdd"))
    arguments = ("--from", place, *chance.choice(READING + tuple((*n, "dm-8") for n in NAMED)))
    child = start(arguments)
    time.sleep(chance.uniform(0, 0.25))
    number = chance.choice((*SIGNALS, signal.SIGPIPE))
    with contextlib.suppress(ProcessLookupError):
        os.kill(child[0], number)
    outcome = finish(arguments, child, 30)
    tally.case(
        f"signal {number}: {' '.join(arguments)}",
        [
            f
            for f in outcome.faults(ENDED_BY_SIGNAL)
            if "JSON" not in f and "without a word" not in f
        ],
        outcome,
    )


ROW = " 8 0 sda {0} 0 {1} {0} {0} 0 {1} {0} 0 {0} {0} 0 0 0 0 0 0\n"


def killed_recording(tally: Tally, chance: random.Random, folder: Path) -> None:
    """
    One case: ``record`` is killed at a random moment; the samples before it can be read.

    The counters that it reads are numbered, and each number is written to a journal by the reader
    of the counters, not by ``record``.
    """
    out = folder / f"killed-{chance.randrange(1 << 60)}"
    journal = folder / "journal"
    journal.write_bytes(b"")
    root = folder / "machine-disk"
    (root / "sys/block/sda/queue").mkdir(parents=True, exist_ok=True)
    (root / "sys/block/sda/size").write_text("8192\n")
    (root / "sys/block/sda/dev").write_text("8:0\n")
    count = 0

    def counters() -> str:
        nonlocal count
        count += 1
        with journal.open("ab", 0) as file:
            file.write(b"%d\n" % count)
        return ROW.format(count, 8 * count)

    arguments = ("record", str(out), chance.choice(("0.003", "0.01", "0.03")))
    child = start(arguments, setup=partial(machine_of, root, None, counters))
    time.sleep(chance.uniform(0.05, 0.8))
    os.kill(child[0], signal.SIGKILL)
    finish(arguments, child, 10)
    read = [int(line) for line in journal.read_bytes().split()]
    faults = _missing(str(out), read)
    if not faults and len(read) > 3:
        for reading in (("iostat",), ("explain",), ("tree",), ("iostat", "--report", "average")):
            outcome = run(("--from", str(out), *reading))
            faults += outcome.faults() + ([f"{reading}: {outcome.err}"] if outcome.status else [])
    tally.case(f"record killed after {len(read)} readings", faults)
    remove(out)


def _missing(out: str, read: list[int]) -> list[str]:
    """Return the samples that were *read* and that the recording lacks, except the last one."""
    if len(read) < 3:  # the second reading is the one for the files
        return []
    try:
        host = CapturedHost(out)
        kept = {int(re.split(r" +", host.read(DISKSTATS))[4]) for _ in host.ticks(0, None)}
    except StackmapError as error:
        return [str(error)]
    lost = [number for number in read[1:-1] if number not in kept]
    # The first reading is of a plain file, whose answer a frame repeats if it did not change.
    return [f"samples {lost} of {len(read)} are lost"] if lost else []


def remove(folder: Path) -> None:
    """Remove a recording."""
    for path in sorted(folder.rglob("*"), reverse=True) if folder.exists() else ():
        path.rmdir() if path.is_dir() else path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
