"""Runs of the command line in child processes with limits, and the conditions that every run must meet."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from stackmap import cli

EXIT_CODES = {0, 1, 2, 3, 10, 11, 12, 32, 64}  # of stackmap(8)
MAX_MEMORY = 300  # MiB, resident
MAX_CPU = 10.0  # seconds until a refusal
ADDRESS_SPACE = (
    1 << 30
)  # bytes beyond what is mapped at first, and the run fails before the machine suffers
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
READING = (
    ("tree",), ("tree", "-s"), ("tree", "-J"), ("tree", "-O"), ("tree", "-P"), ("tree", "-r"),
    ("tree", "--dot"), ("tree", "--mermaid"), ("tree", "--svg"), ("tree", "--graphml"),
    ("iostat",), ("iostat", "-x", "--totals", "-t"), ("iostat", "-J"), ("iostat", "-l"),
    ("iostat", "-l", "-J"), ("iostat", "-l", "--why"), ("iostat", "--since-boot"),
    ("iostat", "--report", "last"), ("iostat", "--report", "average"),
    ("blame",), ("blame", "-J"), ("explain",), ("explain", "-J"), ("explain", "-m"),
    ("check",), ("check", "-J"), ("report", "-o", "-"), ("export",),
)  # fmt: skip
NAMED = (
    ("tree",), ("iostat", "-l"), ("blame",), ("explain",), ("check",), ("fiojob",),
    ("plan", "--to", "raid10"), ("whatif", "--to", "raid10"), ("plan", "-J", "--to", "raid5"),
)  # fmt: skip


@dataclass
class Outcome:
    """The result of a run: exit status (negative: a signal), output and cost."""

    arguments: Sequence[str]
    status: int
    out: str
    err: str
    seconds: float
    cpu: float
    memory: int  # MiB

    def faults(
        self, codes: frozenset[int] = frozenset(EXIT_CODES), *, memory: int = MAX_MEMORY
    ) -> list[str]:
        """Return what is wrong with the run, which may take so many MiB of *memory*."""
        found = []
        if "Traceback" in self.err or "Exception ignored" in self.err:
            found.append("traceback: " + self.err.strip().splitlines()[-1][:160])
        if self.status not in codes:
            found.append(f"exit status {self.status}: {self.err.strip()[-160:]}")
        if self.memory > memory:
            found.append(f"{self.memory} MiB")
        if self.cpu > MAX_CPU:
            found.append(f"{self.cpu:.1f} s")
        if self.status == 1 and not self.err.strip():
            found.append("failed without a word")
        passed_on = "annotate" in self.arguments  # which prints the text that it is given
        if not passed_on and (unsafe := UNSAFE.search(self.out + self.err)):
            found.append(f"control character {unsafe[0]!r}")
        if "-J" in self.arguments and "plan" not in self.arguments:
            found += _bad_json(self.out)
        return found


def _bad_json(text: str) -> list[str]:
    def refuse(word: str) -> object:
        raise ValueError(f"{word} in JSON")

    try:
        for line in text.splitlines():
            json.loads(line, parse_constant=refuse)
    except ValueError as error:
        return [f"JSON: {error}"]
    return []


@dataclass
class Tally:
    """The cases of one part of the campaign, and its failures."""

    part: str
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    memory: int = 0
    cpu: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    worst: dict[str, tuple[int, float]] = field(
        default_factory=dict
    )  # MiB and seconds of CPU by attack

    def case(self, what: str, faults: Sequence[str] = (), outcome: Outcome | None = None) -> None:
        """Count a case; *what* identifies it."""
        self.cases += 1
        self.failures += [f"{self.part}: {what}: {fault}" for fault in faults]
        if outcome:
            self.memory = max(self.memory, outcome.memory)
            self.cpu = max(self.cpu, outcome.cpu)
            self.statuses[outcome.status] = self.statuses.get(outcome.status, 0) + 1

    def run(self, what: str, arguments: Sequence[str], **more: object) -> Outcome:
        """Run the command line and count it as a case."""
        outcome = run(arguments, **more)
        self.case(f"{what}: {' '.join(arguments)}", outcome.faults(), outcome)
        return outcome

    def attack(self, what: str, arguments: Sequence[str]) -> None:
        """Run the command line alone, count it as a case, and keep what the attack took."""
        outcome = run_alone(arguments)
        self.case(f"{what}: {' '.join(arguments)}", outcome.faults(), outcome)
        self.took(what, outcome)

    def took(self, what: str, outcome: Outcome) -> None:
        """Keep what the attack took in this run, if it is more than in others."""
        memory, cpu = self.worst.get(what, (0, 0.0))
        self.worst[what] = max(memory, outcome.memory), max(cpu, outcome.cpu)


def prepare() -> None:
    """Import every command, so that a child need not."""
    for name in cli.COMMANDS:
        cli.load(name)


@contextlib.contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Let another process do *work*, which may have no end, until the block ends."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def start(
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    setup: Callable[[], None] | None = None,
    environment: dict[str, str] | None = None,
    cpu: int = 60,
) -> tuple[int, int, int]:
    """
    Start the command line in a child; return its process id and the files with its output and errors.

    It ends after *cpu* seconds of CPU.
    """
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    os.write(files[0], stdin)
    os.lseek(files[0], 0, os.SEEK_SET)
    sys.stdout.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # as stackmap.__main__ does
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        _child(arguments, files, setup, environment or {})
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(files[0])
    return child, files[1], files[2]


def _address_space() -> int:
    """Return the bytes that this process has mapped already."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _child(
    arguments: Sequence[str],
    files: list[int],
    setup: Callable[[], None] | None,
    environment: dict[str, str],
) -> None:
    status = 99
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        os.environ.update(environment)
        limit = _address_space() + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if setup:
            setup()
        sys.argv = ["stackmap", *arguments]
        status = 0
        cli.main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:  # noqa: BLE001 - what a user would see
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        with contextlib.suppress(BaseException):
            import atexit

            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def finish(arguments: Sequence[str], started: tuple[int, int, int], limit: float = 90) -> Outcome:
    """Wait for the child; kill it after *limit* seconds."""
    child, out, err = started
    begun = time.monotonic()
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() - begun > limit:
            os.kill(child, signal.SIGKILL)
            pid, status, usage = os.wait4(child, 0)
            break
        time.sleep(0.002)
    texts = []
    for file in (out, err):
        os.lseek(file, 0, os.SEEK_SET)
        with open(file, "rb") as printed:
            texts.append(printed.read(20 << 20).decode("utf-8", "surrogateescape"))
    return Outcome(
        arguments, os.waitstatus_to_exitcode(status), *texts, time.monotonic() - begun,
        usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10,
    )  # fmt: skip


def run(arguments: Sequence[str], limit: float = 90, **more: object) -> Outcome:
    """Run the command line in a child."""
    return finish(arguments, start(arguments, **more), limit)


def run_alone(arguments: Sequence[str], limit: float = 90, **more: object) -> Outcome:
    """
    Run the command line in a process of its own, as its users do.

    A forked child has what the campaign holds: it counts as the child's memory, and its garbage collector scans it.
    """

    def alone() -> None:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the first run compiles, no other does
        os.execv(sys.executable, (sys.executable, "-m", "stackmap", *arguments))  # noqa: S606 - no shell is wanted

    return run(arguments, limit, setup=alone, **more)
