"""
The running machine.

With ``command`` and ``blockdev`` the only modules that open files, run
commands or sleep. It opens files of /proc, /sys and /run, never a block device.
"""

import contextlib
import errno
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from stackmap.errors import CaptureError, SourceDenied, SourceError, SourceMissing
from stackmap.host import EVENTS_LOST, Answer, Host, Json, Metadata
from stackmap.host.capture_format import decoded, loaded_json, parse_udev, udev_file
from stackmap.host.table_keys import masked

if TYPE_CHECKING:
    from stackmap.host.blockdev import LibraryQuestion
    from stackmap.host.command import Command
    from stackmap.host.dm_ioctl import Mapper

T = TypeVar("T")

DEFAULT_TIMEOUT = 5.0  # seconds; dmsetup answers in 0.01 s, or never on a dead path
FIRST_TIMEOUT = 0.5  # the same for device-mapper before the first sample of a measurement
# lvm reads the labels of all PVs with direct I/O, queued behind the load under investigation.
COMMAND_TIMEOUTS = {"lvm": 60.0}
METADATA_TIMEOUT = 60.0  # libblockdev runs lvm, once per VG
MACHINE_ID = "/etc/machine-id"
CONTROL = "/dev/mapper/control"
LIBRARY = "libblockdev"
SMARTCTL_FAILED = 0b11  # it did not understand its options, or could not open the disk
BLOCK = 65536
# The properties of a uevent that are kept.
PROPERTIES = ("ACTION", "DEVNAME", "DEVTYPE", "MAJOR", "MINOR", "DISKSEQ", "DM_NAME", "SEQNUM")
RECEIVE_BUFFER = 16 << 20  # bytes, for about 10,000 unread uevents; needs root
TRACEFS = "/sys/kernel/tracing/"  # its files are longer than a page, unlike those of sysfs

_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENODEV, errno.ENXIO)


class LiveHost:
    """
    A host that answers from the running system.

    *wait*: what to do until the next tick, given the seconds until it, also if it is overdue;
    None: sleep.
    """

    def __init__(self, wait: Callable[[float], None] | None = None) -> None:
        self._wait = wait
        self._begun: dict[tuple[str, ...], Command] = {}
        self._asked_mapper: Mapper | None = None
        self._listener: UeventListener | None = None
        self._stopped = self._asleep = False
        self._mapper_timeout: float | None = None  # None: DEFAULT_TIMEOUT

    def hurry(self) -> None:
        """Give device-mapper ``FIRST_TIMEOUT`` until the first tick: no counter waits for it."""
        self._mapper_timeout = FIRST_TIMEOUT

    def read(self, path: str) -> str:
        """Return the file's text."""
        # os.open and os.read cost half as much as open(), and a scan reads thousands of files.
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise refusal(path, error) from error
        try:
            # A sysfs attribute, at most a page, takes one read.
            attribute = path.startswith("/sys/") and not path.startswith(TRACEFS)
            parts = [os.read(descriptor, BLOCK)]
            while parts[-1] and not attribute:
                parts.append(os.read(descriptor, BLOCK))
            return decoded(b"".join(parts))
        except OSError as error:
            raise refusal(path, error) from error
        finally:
            os.close(descriptor)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise refusal(path, error) from error

    def link(self, path: str) -> str:
        """Return the link's target."""
        try:
            return os.readlink(path)
        except OSError as error:
            raise refusal(path, error) from error

    def start(self, *command: str) -> None:
        """Start *command* now for a later ``run``, which also raises its errors."""
        with contextlib.suppress(SourceError):
            if command[0] == "dmsetup":
                self._mapper().start(command[1])
            else:
                self._begun[command] = _started(command)

    def run(self, *command: str) -> str:
        """
        Return the output of *command* in the C locale, within its time limit (``COMMAND_TIMEOUTS``).

        ``libblockdev FUNCTION DISK`` is no program: its output is the answer of the library, as JSON.
        """
        if command[0] == LIBRARY:
            asked = self._begun.pop(command, None) or _started(command)
            return json.dumps(cast("LibraryQuestion", asked).result(DEFAULT_TIMEOUT))
        if command[0] == "dmsetup":
            answer = self._mapper().answer(command[1], self._mapper_timeout or DEFAULT_TIMEOUT)
            if answer is not None:
                return decoded(answer)
            return masked(decoded(self._output(command)))
        return decoded(self._output(command))

    def _mapper(self) -> "Mapper":
        """Return device-mapper; refuse without it or without root, before its modules are imported."""
        if not os.path.exists(CONTROL):
            raise SourceMissing("dmsetup: this kernel has no device-mapper loaded")
        if not os.access(CONTROL, os.R_OK | os.W_OK):
            raise SourceDenied(f"dmsetup: {CONTROL} needs root")
        if self._asked_mapper is None:
            from stackmap.host.dm_ioctl import Mapper

            self._asked_mapper = Mapper()
        return self._asked_mapper

    def _output(self, command: tuple[str, ...]) -> bytes:
        process = self._begun.pop(command, None) or _started(command)
        usual = COMMAND_TIMEOUTS.get(command[0], DEFAULT_TIMEOUT)
        hurried = self._mapper_timeout if command[0] == "dmsetup" else None
        status, out, complaint = process.answer(min(usual, hurried or usual))
        # smartctl's status is a set of bits, most of which are about the disk (smartctl(8), EXIT STATUS).
        if status and not (
            command[0] == "smartctl" and status > 0 and not status & SMARTCTL_FAILED
        ):
            raise _failure(command, decoded(complaint) or _message(decoded(out)))
        return out

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's recorded properties, {} if there are none."""
        try:
            return parse_udev(self.read(udev_file(number)))
        except SourceMissing:
            return {}

    def metadata(self, of: Metadata) -> list[dict[str, Json]]:
        """Return the records of libblockdev."""
        from stackmap.host import blockdev

        ask: Callable[[], list[Json]] = blockdev.volumes
        if of == "arrays":
            names = [name for name in self.names_in("/sys/block") if name.startswith("md")]
            ask = partial(blockdev.arrays, names)
        records: list[dict[str, Json]] = blockdev.LibraryQuestion(of, ask).result(METADATA_TIMEOUT)
        return records

    def machine_id(self) -> str:
        """Return the salted hash; a plan's guard makes the same one (features/plan/guard.py)."""
        import hashlib

        machine_id = self.read(MACHINE_ID).strip()
        if not machine_id or machine_id == "uninitialized":  # as in an image, machine-id(5)
            raise SourceMissing(f"{MACHINE_ID}: has no id")
        return hashlib.sha256(f"stackmap {machine_id}".encode()).hexdigest()

    def uevents(self) -> list[dict[str, str]]:
        """Return the events since the previous call, from pyudev's monitor of the kernel."""
        if self._listener is None:
            self._listener = UeventListener()
        return self._listener.events()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Start *ask* in a thread."""
        # 3 ms, needed only after a change
        from stackmap.host.background import ThreadedAnswer

        return ThreadedAnswer(partial(ask, self))

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """
        Yield instants, sleeping towards deadlines so that delays do not add up.

        A deadline that passed while the program was busy is skipped: two samples at
        one time have no rate. The clock is monotonic, set to the time of day at the start.
        After ``stop`` one more instant comes, at once, and no other.
        """
        self._mapper_timeout = None
        start = _now()
        date = time.time() - start
        place = 0
        for _ in range(count) if count is not None else itertools.count():
            self._sleep(start + place * interval - _now())
            now = _now()
            yield date + now
            if self._stopped:
                return
            if interval > 0:
                place = max(place, int((_now() - start) / interval)) + 1

    def stop(self) -> None:
        """End the present sleep of ``ticks``, and the ticks; for a handler of signals."""
        self._stopped = True
        if self._asleep:
            raise _StoppedError

    def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(_StoppedError):
            self._asleep = True
            if self._wait is not None:
                self._wait(max(0.0, seconds))
            elif seconds > 0 and not self._stopped:
                time.sleep(seconds)
        self._asleep = False


class _StoppedError(Exception):
    """Raised in ``time.sleep``, which no other exception of ours can end."""


def _started(command: tuple[str, ...]) -> "Command":
    if command[0] == LIBRARY:
        from stackmap.host.blockdev import LibraryQuestion, disk_health

        return LibraryQuestion(command[1], partial(disk_health, *command[1:]))
    from stackmap.host.command import Command  # 2 ms, not needed without root or dm

    return Command(command)


def _now() -> float:
    """Return seconds since boot, time in suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def refusal(what: str, error: OSError) -> SourceError:
    """Return the ``SourceError`` for *error*, naming *what* was asked."""
    kind: type[SourceError] = SourceDenied if isinstance(error, PermissionError) else SourceError
    if error.errno in _MISSING:
        kind = SourceMissing
    return kind(f"{what}: {error.strerror or error}")


def _failure(command: tuple[str, ...], complaint: str) -> SourceError:
    lines = complaint.strip().splitlines() or ["failed without a message"]
    message = masked(f"{' '.join(command[:2])}: {lines[-1].strip()}")
    denied = "Permission denied" in complaint or "Operation not permitted" in complaint
    return (SourceDenied if denied else SourceError)(message)


def _message(printed: str) -> str:
    """Return the first message in the JSON that smartctl *printed* in place of a complaint; "" without one."""
    try:
        return str(loaded_json(printed, "smartctl")["smartctl"]["messages"][0]["string"])
    except (ValueError, KeyError, IndexError, TypeError, CaptureError):
        return ""


class UeventListener:
    """
    The kernel's events of block devices, through pyudev's monitor, from its creation on.

    It listens to the kernel, not to udevd: udevd reports later, and not at all in
    some containers, while the counters change at once.
    """

    def __init__(self) -> None:
        try:
            import pyudev
        except ImportError as error:
            raise SourceMissing(f"uevents: pyudev cannot be used: {error}") from error
        try:
            self._monitor = pyudev.Monitor.from_netlink(pyudev.Context(), "kernel")
            self._monitor.filter_by("block")
            with contextlib.suppress(OSError):  # without root the system's default stays
                self._monitor.set_receive_buffer_size(RECEIVE_BUFFER)
            self._monitor.start()
        except (OSError, ImportError) as error:  # libudev is loaded only here
            reason = error.strerror if isinstance(error, OSError) else None
            raise SourceMissing(f"uevents: {reason or error}") from error

    def events(self) -> list[dict[str, str]]:
        """Return the events since the previous call."""
        events = []
        try:
            while (device := self._monitor.poll(0)) is not None:
                kept = {name: str(device.properties.get(name, "")) for name in PROPERTIES}
                events.append({name: value for name, value in kept.items() if value})
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise SourceError(f"uevents: {error.strerror or error}") from error
            events.append(dict(EVENTS_LOST))
        return events
