"""
What ``trace`` needs of a live machine beyond ``Host``: to change tracefs, and dm's own statistics.

Everything that is changed here belongs to stackmap's tracefs instance, its group of probes, or its
dm statistics. ``sources/tracefs.py`` undoes it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from stackmap.errors import SourceError
from stackmap.host import Host, dm_ioctl
from stackmap.host.btf import Btf
from stackmap.host.capture_paths import decoded, encoded
from stackmap.host.forked import ForkedQuestion
from stackmap.host.live import BLOCK, LiveHost, refusal

BTF = "/sys/kernel/btf"
KERNEL = "vmlinux"
# Where the lowest byte of a 32-bit number is.
LOW_BYTE = 3 if sys.byteorder == "big" else 0
PAGE = 4096
MESSAGE_SECONDS = 10.0  # a new dm statistic waits for the requests in flight
# Signals that do not end a program, that Python ignores, or after which no Python can run.
NOT_ENDING = frozenset({
    signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT, signal.SIGCHLD, signal.SIGURG,
    signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS,
    signal.SIGFPE, signal.SIGILL,
})  # fmt: skip
ENDING = tuple(signal.valid_signals() - NOT_ENDING)


class TracingHost(Host, Protocol):
    """A machine that can be traced. Each change may raise ``SourceError``, and takes effect at once."""

    def write(self, path: str, text: str) -> None:
        """Append the line *text* to the tracefs file at *path*, in one write."""

    def make_directory(self, path: str) -> None:
        """Make a tracefs instance; ``InstanceExists`` if it is there."""

    def remove_directory(self, path: str) -> None:
        """Remove a tracefs instance."""

    def drain(self, path: str, most: int) -> str:
        """Return and consume what is in the pipe at *path*, about *most* bytes of it, without waiting."""

    def lock(self, path: str) -> bool:
        """Lock the directory *path* until it is removed or this process ends; return False if another process has it locked."""

    def message(self, number: str, text: str) -> str:
        """Send *text* to the dm device *number* ("253:8"); return its answer."""

    def offsets(
        self, module: str, members: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], int]:
        """Return the offsets of (structure, member) that *module* has; ``SourceMissing`` without BTF."""

    def constant(self, name: str) -> int | None:
        """Return the value of an enumerator of the kernel, None if it has none; ``SourceMissing`` without BTF."""

    def seconds_of_calls(self, count: int) -> float:
        """Return how long *count* calls of ``getppid`` and as many of ``getuid`` take."""

    def clock(self) -> float:
        """Return seconds since some instant; the time of day may be set meanwhile."""

    def cpu_seconds(self) -> float:
        """Return the CPU time that this process took so far."""

    def inode(self, path: str) -> int:
        """Return the inode number of *path*, which is the number of a control group."""

    def write_denied(self, path: str) -> str:
        """Return why *path* cannot be written, "" if it can."""


class InstanceExists(SourceError):
    """The tracefs instance is there: of a trace that runs, or of one that was killed."""


class LiveTracingHost(LiveHost):
    """The running machine, as ``TracingHost``."""

    def __init__(self) -> None:
        super().__init__()
        self._kernel: Btf | None = None
        self._locks: dict[str, int] = {}
        for number in ENDING:  # SIGQUIT too must leave nothing behind
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
        # A stopped process would leave its probes in place beyond the time limit.
        signal.signal(signal.SIGTSTP, _interrupt)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)

    def write(self, path: str, text: str) -> None:
        """Append the line to the file."""
        try:
            # Not open(path, "a"), which seeks: tracefs refuses that.
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            os.write(descriptor, encoded(f"{text}\n"))
        except OSError as error:
            raise refusal(f"{path}: {text}", error) from error
        finally:
            os.close(descriptor)

    def write_denied(self, path: str) -> str:
        """Return why the file cannot be opened for writing."""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
        except OSError as error:
            return f"{path}: {error.strerror}"
        return ""

    def make_directory(self, path: str) -> None:
        """Make the directory."""
        try:
            os.mkdir(path)
        except FileExistsError:
            raise InstanceExists(f"{path}: exists") from None
        except OSError as error:
            raise refusal(path, error) from error

    def remove_directory(self, path: str) -> None:
        """Remove the directory, and its lock."""
        try:
            os.rmdir(path)
        except OSError as error:
            raise refusal(path, error) from error
        if path in self._locks:
            os.close(self._locks.pop(path))

    def drain(self, path: str, most: int) -> str:
        """Return what can be read now."""
        parts: list[bytes] = []
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            while len(parts) * PAGE < most:
                parts.append(os.read(descriptor, BLOCK))  # the kernel gives a page
                if not parts[-1]:
                    break
        except BlockingIOError:
            pass  # it is empty
        except OSError as error:
            raise refusal(path, error) from error
        finally:
            os.close(descriptor)
        return decoded(b"".join(parts))

    def lock(self, path: str) -> bool:
        """Lock the directory; the kernel unlocks it however this process ends."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._locks[path] = descriptor
        return True

    def message(self, number: str, text: str) -> str:
        """Send the message, in a child that can be left behind if the device hangs."""
        status, out, _ = DmMessage(number, text).answer(MESSAGE_SECONDS)
        if status:
            words = os.strerror(status) if status > 0 else f"ended by signal {-status}"
            raise SourceError(f"dm device {number}: {text.split(maxsplit=1)[0]}: {words}")
        return decoded(out)

    def offsets(
        self, module: str, members: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], int]:
        """Return the offsets; the kernel's own types, 6 MB, are read once."""
        types = self._types()
        if module != KERNEL and os.path.exists(f"{BTF}/{module}"):  # else it is built in
            types = Btf(_content(f"{BTF}/{module}"), types)
        found = {member: types.offset(*member) for member in members}
        return {member: offset for member, offset in found.items() if offset is not None}

    def constant(self, name: str) -> int | None:
        """Return the enumerator's value."""
        return self._types().constant(name)

    def clock(self) -> float:
        """Return the monotonic time."""
        return time.monotonic()

    def cpu_seconds(self) -> float:
        """Return the CPU time, in user and kernel mode."""
        return time.process_time()

    def inode(self, path: str) -> int:
        """Return the inode number."""
        try:
            return os.stat(path).st_ino
        except OSError as error:
            raise refusal(path, error) from error

    def _types(self) -> Btf:
        if self._kernel is None:
            self._kernel = Btf(_content(f"{BTF}/{KERNEL}"))
        return self._kernel

    def seconds_of_calls(self, count: int) -> float:
        """Return how long the system calls take."""
        start = time.perf_counter()
        for _ in range(count):
            os.getppid()
            os.getuid()
        return time.perf_counter() - start


class DmMessage(ForkedQuestion):
    """A child that sends a message to a dm device."""

    def __init__(self, number: str, text: str) -> None:
        self._number = number
        self._text = text
        super().__init__(("dm-message", number))

    def asked(self) -> bytes:
        """Return the device's answer."""
        major, minor = map(int, self._number.split(":"))
        return dm_ioctl.opened().message(os.makedev(major, minor), self._text.encode())


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore signals that would end the program: what is being removed is removed to the end."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def delayed() -> Iterator[None]:
    """Delay signals that would end the program, for a moment."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    """Call *action* if the context lasts longer, even while a write waits for a reader."""
    before = signal.signal(signal.SIGALRM, lambda *_: action())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise refusal(path, error) from error
