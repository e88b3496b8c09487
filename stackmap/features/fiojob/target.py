"""The target of a fio job: a device or file that is unused on every machine involved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from stackmap.discover import discover
from stackmap.discover.file_uses import file_uses, guest_number, sees_all_processes, writers
from stackmap.discover.find import find
from stackmap.errors import InputError, NameNotFound, TargetRefused
from stackmap.features.fiojob.target_use import HEAD, in_use, is_source, not_a_test_file, used_by
from stackmap.features.plan.plan_context import path_of
from stackmap.model.device import Use
from stackmap.model.operand import AbsolutePath
from stackmap.model.topology import NO_TOPOLOGY

if TYPE_CHECKING:
    from stackmap.cli.session import Session
    from stackmap.host import Host
    from stackmap.measurement.measurement import Measurement
    from stackmap.model.topology import Topology

DEV = "/dev/"
# Blanks end a name in fio's job file, # and ; begin a comment, and $ may run a program (bc).
NOT_IN_A_JOB = frozenset(" #;$")
UNSEEN = "not known: whether another user's process writes to {path}; run as root to find out"
WRITTEN = "{path} has {size} bytes of data, which the job overwrites"


class Target(NamedTuple):
    """A path for a job, None for the user to set, and notes on it."""

    path: AbsolutePath | None
    notes: tuple[str, ...] = ()


NONE = Target(None)


def target_of(session: Session, measured: Measurement, source: str, target: str) -> Target:
    """
    Return the device or file of *target*; ``TargetRefused`` if it is, or may be, in use.

    It is checked on the measured machine and on this one, where fio may run:
    a path may mean another device there.
    """
    from stackmap.host.live import LiveHost

    here: Host = session.host if session.live else LiveHost()
    topology = measured.topology
    machines = [topology]
    if not session.live or NO_TOPOLOGY in topology.unknown:
        machines.append(discover(here))
    paths = [_judged(machine, source, target, first=machine is topology) for machine in machines]
    path = next(filter(None, paths), None)
    found = Target(path) if path else _file(session.host, here, target)
    if found.path is not None and NOT_IN_A_JOB & {*found.path}:
        raise TargetRefused(f"{found.path}: a job file cannot name it")
    return found


def _judged(machine: Topology, source: str, target: str, *, first: bool) -> AbsolutePath | None:
    found = find(machine, target)
    if len(found) > 1:
        raise click.UsageError(f"--target {target} matches {len(found)} devices: choose one")
    if not found:
        return None
    (name,) = found
    if first and is_source(machine, source, name):
        raise TargetRefused(f"{target} is, or is part of, the measured volume")
    reason = in_use(machine, name)
    if reason:
        raise TargetRefused(f"{target} {reason}: choose an unused volume")
    return path_of(machine[name])


def _file(there: Host, here: Host, target: str) -> Target:
    """Return the file *target* of this machine, *here*; refused if the measured one, *there*, uses it."""
    if target.startswith(DEV) or os.sep not in target:
        raise NameNotFound(f"no device named '{target}'")
    if not os.path.isfile(target):
        raise InputError(f"{target}: no such file; create it first, in the size of the test")
    path = os.path.realpath(target)
    status = os.stat(path)
    reason = next(map(used_by, _uses(there, here, path)), "") or _content(path, status)
    if reason:
        raise TargetRefused(f"{target} {reason}: choose an unused file")
    written = status.st_size and status.st_blocks  # a file of holes has nothing to lose
    notes = [WRITTEN.format(path=path, size=status.st_size)] if written else []
    if not sees_all_processes(here):
        notes.append(UNSEEN.format(path=path))
    return Target(AbsolutePath(os.path.abspath(target)), tuple(notes))


def _uses(there: Host, here: Host, path: str) -> Iterator[Use]:
    """Yield the uses of the file at *path*, which has no link in it."""
    if number := guest_number(path):
        yield Use("vm", f"guest {number}", "file name")
    for host in (here,) if there is here else (here, there):
        yield from (use for used, use in file_uses(host) if _is_same(used, path))
    for used, use in writers(here, os.path.basename(path)):
        if _is_same(used, path):
            yield use


def _is_same(used: str, path: str) -> bool:
    if used == path:
        return True
    try:
        return os.path.samefile(used, path)
    except (OSError, ValueError):  # removed, of the recorded machine, or no path at all
        return False


def _not_waiting(path: str, flags: int) -> int:
    """Open the file at *path*; the kernel's log would wait for a message."""
    return os.open(path, flags | os.O_NONBLOCK)


def _content(path: str, status: os.stat_result) -> str:
    """Return why the file at *path* is unfit for tests, "" if it is not; an unreadable one may hold anything."""
    try:
        with open(path, "rb", opener=_not_waiting) as file:
            head = file.read(HEAD)
    except OSError as error:
        return f"cannot be read ({error.strerror}), so its content is not known"
    return not_a_test_file(path, status.st_size, head, executable=bool(status.st_mode & 0o111))
