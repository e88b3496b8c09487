"""
What ``trace`` needs of this machine beyond ``Host``: to change tracefs, and device-mapper's statistics.

Everything that is changed here belongs to stackmap's tracefs instance, its group of probes, or its
dm statistics. ``sources/tracefs.py`` undoes it.
"""

import fcntl
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from stackmap.errors import SourceError
from stackmap.host import dm_ioctl, signals
from stackmap.host.btf import Btf
from stackmap.host.capture_format import decoded, encoded
from stackmap.host.command import ForkedQuestion
from stackmap.host.live import BLOCK, LiveHost, refusal

BTF = "/sys/kernel/btf"
KERNEL = "vmlinux"
# Where the lowest byte of a 32-bit number is.
LOW_BYTE = 3 if sys.byteorder == "big" else 0
PAGE = 4096
MESSAGE_SECONDS = 10.0  # a new dm statistic waits for the requests in flight
APPEND = os.O_WRONLY | os.O_APPEND


class InstanceExists(SourceError):
    """The tracefs instance exists: another trace runs, or one was killed."""


class LiveTracingHost(LiveHost):
    """The running machine, to be traced. Each change takes effect at once, or raises ``SourceError``."""

    def __init__(self) -> None:
        super().__init__()
        self._kernel: Btf | None = None
        self._locks: dict[str, int] = {}
        signals.handle_all()

    def write(self, path: str, text: str) -> None:
        """Append the line *text* to the tracefs file at *path*, in one write."""
        # Not open(path, "a"), which seeks: tracefs refuses that.
        with _opened(path, APPEND) as descriptor, _refusals(f"{path}: {text}"):
            os.write(descriptor, encoded(f"{text}\n"))

    def write_denied(self, path: str) -> str:
        """Return why *path* cannot be written, "" if it can."""
        try:
            os.close(os.open(path, APPEND | os.O_CLOEXEC))
        except OSError as error:
            return f"{path}: {error.strerror}"
        return ""

    def make_directory(self, path: str) -> None:
        """Make a tracefs instance; ``InstanceExists`` if it is there."""
        with _refusals(path):
            try:
                os.mkdir(path)
            except FileExistsError:
                raise InstanceExists(f"{path}: exists") from None

    def remove_directory(self, path: str) -> None:
        """Remove a tracefs instance, and its lock."""
        with _refusals(path):
            os.rmdir(path)
        if path in self._locks:
            os.close(self._locks.pop(path))

    def drain(self, path: str, most: int) -> str:
        """Return and consume what is in the pipe at *path*, about *most* bytes of it, without waiting."""
        parts: list[bytes] = []
        with _opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor, suppress(BlockingIOError):
            while len(parts) * PAGE < most:
                parts.append(os.read(descriptor, BLOCK))  # the kernel gives a page
                if not parts[-1]:
                    break
        return decoded(b"".join(parts))

    def lock(self, path: str) -> bool:
        """
        Lock the directory *path*; return False if another process has it locked.

        The kernel unlocks it however this process ends.
        """
        with _refusals(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._locks[path] = descriptor
        return True

    def message(self, number: str, text: str) -> str:
        """Send *text* to the dm device *number* ("253:8"); return its answer."""
        status, out, _ = DmMessage(number, text).answer(MESSAGE_SECONDS)
        if status:
            words = os.strerror(status) if status > 0 else f"ended by signal {-status}"
            raise SourceError(f"dm device {number}: {text.split(maxsplit=1)[0]}: {words}")
        return decoded(out)

    def offsets(
        self, module: str, members: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], int]:
        """Return the offsets of (structure, member) that *module* has; ``SourceMissing`` without BTF."""
        types = self._types()
        if module != KERNEL and os.path.exists(f"{BTF}/{module}"):  # else it is built in
            types = Btf(_content(f"{BTF}/{module}"), types)
        offsets = ((member, types.offset(*member)) for member in members)
        return {member: offset for member, offset in offsets if offset is not None}

    def constant(self, name: str) -> int | None:
        """Return the value of an enumerator of the kernel, None if it has none; ``SourceMissing`` without BTF."""
        return self._types().constant(name)

    def seconds_of_calls(self, count: int) -> float:
        """Return how long *count* calls of ``getppid`` and as many of ``getuid`` take."""
        start = time.perf_counter()
        for _ in range(count):
            os.getppid()
            os.getuid()
        return time.perf_counter() - start

    def clock(self) -> float:
        """Return seconds since an instant in the past; setting the time of day does not change it."""
        return time.monotonic()

    def cpu_seconds(self) -> float:
        """Return the CPU time that this process took so far, in user and kernel mode."""
        return time.process_time()

    def inode(self, path: str) -> int:
        """Return the inode number of *path*, which is the number of a control group."""
        with _refusals(path):
            return os.stat(path).st_ino

    def _types(self) -> Btf:
        """Return the kernel's own types: 6 MB, so they are read once."""
        if self._kernel is None:
            self._kernel = Btf(_content(f"{BTF}/{KERNEL}"))
        return self._kernel


class DmMessage(ForkedQuestion):
    """A child that sends a message to a dm device; it can be left behind if the device hangs."""

    def __init__(self, number: str, text: str) -> None:
        self._number = number
        self._text = text
        super().__init__(("dm-message", number))

    def asked(self) -> bytes:
        """Return the device's answer."""
        major, minor = map(int, self._number.split(":"))
        return dm_ioctl.opened().message(os.makedev(major, minor), self._text.encode())


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Raise the kernel's refusal in the context as a ``SourceError`` that names *what*."""
    try:
        yield
    except OSError as error:
        raise refusal(what, error) from error


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    """Open *path* while the context is entered; a refusal names it."""
    with _refusals(path):
        descriptor = os.open(path, flags | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _content(path: str) -> bytes:
    with _refusals(path), open(path, "rb") as file:
        return file.read()
