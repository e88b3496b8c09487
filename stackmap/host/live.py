"""
The running machine: the one place that opens, runs, sleeps, or imports pyudev and libblockdev.

It opens only files of /proc, /sys and /run; never a block device.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.errors import SourceDenied, SourceError, SourceMissing, SourceTimeout
from stackmap.host.places import decoded, udev_file

if TYPE_CHECKING:
    import pyudev

    from stackmap.host import Json

COMMAND_SECONDS = 5.0  # lvs answers in 0.05 s; a command that waits on a dead path, never
DYING_SECONDS = 1.0  # a killed child is gone at once, but for one that hangs in the kernel
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # an ordinary user's PATH often lacks sbin
CONTROL = "/dev/mapper/control"
BLOCK = 65536

_KINDS: dict[int, type[SourceError]] = {
    errno.ENOENT: SourceMissing,
    errno.ENOTDIR: SourceMissing,
    errno.EISDIR: SourceMissing,
    errno.ENODEV: SourceMissing,
    errno.ENXIO: SourceMissing,
    errno.EACCES: SourceDenied,
    errno.EPERM: SourceDenied,
}


class LiveHost:
    """A host that answers from the running system."""

    def __init__(self) -> None:
        self._udev_context: pyudev.Context | None = None

    def read(self, path: str) -> str:
        """Return the file's text."""
        # os.open and os.read: half the cost of open(), and a scan reads thousands.
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise _refusal(path, error) from error
        try:
            return decoded(_all_of(descriptor, at_once=path.startswith("/sys/")))
        except OSError as error:
            raise _refusal(path, error) from error
        finally:
            os.close(descriptor)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise _refusal(path, error) from error

    def link(self, path: str) -> str:
        """Return what the link says."""
        try:
            return os.readlink(path)
        except OSError as error:
            raise _refusal(path, error) from error

    def run(self, *command: str) -> str:
        """Return what *command* prints, in the C locale and within ``COMMAND_SECONDS``."""
        if command[0] == "dmsetup":
            _require_control()
        import subprocess  # 8 ms that a run without root and dm does not pay

        environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                command, stdin=null, stdout=pipe, stderr=pipe, env=environment
            )
        except OSError as error:
            raise _refusal(command[0], error) from error
        try:
            out, complaint = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            # Not subprocess.run(): it waits for the killed child, and one that
            # hangs in the kernel on a dead path cannot die.
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=DYING_SECONDS)
            for stream in filter(None, (process.stdout, process.stderr)):
                stream.close()
            raise SourceTimeout(
                f"{' '.join(command[:2])}: no answer within {COMMAND_SECONDS:g} s"
            ) from None
        if process.returncode:
            raise _failure(command, decoded(complaint))
        return decoded(out)

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties, by pyudev."""
        if not os.path.exists(udev_file(number)):
            return {}  # udev has recorded nothing; spare the import of pyudev and ctypes
        try:
            import pyudev
        except ImportError as error:
            raise SourceMissing(f"udev: pyudev cannot be used: {error}") from error
        if self._udev_context is None:
            self._udev_context = pyudev.Context()
        major, _, minor = number.partition(":")
        device_number = os.makedev(int(major), int(minor))
        try:
            device = pyudev.Devices.from_device_number(self._udev_context, "block", device_number)
        except pyudev.DeviceNotFoundError:
            return {}
        return {str(key): str(value) for key, value in device.properties.items()}

    def volumes(self) -> list[dict[str, Json]]:
        """Return LVM's LVs, by libblockdev."""
        from stackmap.host import blockdev

        return blockdev.volumes()

    def arrays(self) -> list[dict[str, Json]]:
        """Return md's arrays, by libblockdev."""
        from stackmap.host import blockdev

        names = [name for name in self.names_in("/sys/block") if name.startswith("md")]
        return blockdev.arrays(names)

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Yield instants by the clock, sleeping towards a deadline so that delays do not add up."""
        start = time.monotonic()
        done = 0
        while count is None or done < count:
            pause = start + done * interval - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            yield time.time()
            done += 1


def _all_of(descriptor: int, *, at_once: bool) -> bytes:
    """Return the content of an open file; an attribute of sysfs, a page at most, comes at once."""
    parts = [os.read(descriptor, BLOCK)]
    while parts[-1] and not at_once:
        parts.append(os.read(descriptor, BLOCK))
    return b"".join(parts)


def _require_control() -> None:
    """Refuse what dmsetup would refuse, without the cost of running it."""
    if not os.path.exists(CONTROL):
        raise SourceMissing("dmsetup: this kernel has no device-mapper loaded")
    if not os.access(CONTROL, os.R_OK | os.W_OK):
        raise SourceDenied(f"dmsetup: {CONTROL} needs root")


def _refusal(what: str, error: OSError) -> SourceError:
    kind = _KINDS.get(error.errno or 0, SourceError)
    return kind(f"{what}: {error.strerror or error}")


def _failure(command: tuple[str, ...], complaint: str) -> SourceError:
    said = complaint.strip().splitlines()
    message = f"{' '.join(command[:2])}: {said[-1].strip() if said else 'failed and said nothing'}"
    denied = "Permission denied" in complaint or "Operation not permitted" in complaint
    return (SourceDenied if denied else SourceError)(message)
