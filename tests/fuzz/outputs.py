"""
Output paths that another user prepared, and full disks.

Whatever is planted or swapped there, no file outside changes. An output is complete or absent.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from stackmap.errors import StackmapError
from stackmap.host.capture import CapturedHost
from tests.fuzz.hostile_captures import sample, write
from tests.fuzz.processes import machine_of, unpack
from tests.fuzz.running import Outcome, Tally, beside, finish, run, start

NOBODY = 65534
KEPT = b"not to be touched\n"
NAME = "out.html"
WRITTEN = frozenset({0, 1, 3})  # exit status: written, a full disk, refused
# What each command writes ends with this.
COMMANDS: tuple[tuple[tuple[str, ...], bytes], ...] = (
    (("report", "dm-8", "-o"), b"</html>\n"),
    (("export", "--openmetrics", "-o"), b"# EOF\n"),
    (("record",), b""),
)
SWAPS = 20_000  # of a racing process, which then ends


def planted(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: something is at the path of the output, or another process puts it there meanwhile."""
    scene = _Scene(folder / f"scene-{chance.randrange(1 << 60)}", chance)
    words, ending = chance.choice(COMMANDS)
    arguments = [*words, str(scene.path)]
    if words[0] == "record":
        arguments += ["0.01", "12"]
    else:
        arguments = ["--from", _capture(folder), *arguments, *chance.choice(((), ("--force",)))]
    with (
        beside(partial(_race, scene, chance.random())) if scene.raced else contextlib.nullcontext()
    ):
        outcome = _run(arguments, folder)
    faults = outcome.faults(WRITTEN) + scene.faults(outcome, ending)
    tally.case(f"{scene.words}: {' '.join(arguments)}", faults, outcome)
    scene.remove()


def _capture(folder: Path) -> str:
    place = folder / "machine.tar"
    return str(place) if place.exists() else write(place, sample("vghdd"))


def _run(arguments: list[str], folder: Path, setup: Callable[[], None] | None = None) -> Outcome:
    """Run the command; ``record`` records a sample machine in place of this one."""
    if arguments[0] != "record":
        return run(arguments, setup=setup)

    def prepared() -> None:
        machine_of(root, None)
        if setup:
            setup()

    root = unpack(folder)
    return finish(arguments, start(arguments, setup=prepared), 30)


class _Scene:
    """The directory of an output with something planted in it, and a victim outside."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.victim = root / "victim"
        self.room = root / "room"
        self.victim.mkdir(parents=True)
        (self.victim / NAME).write_bytes(KEPT)
        (self.victim / NAME).chmod(0o640)
        self.room.mkdir()
        self.raced = chance.random() < 0.5
        self.kind = "nothing" if self.raced else chance.choice((*PLANTS, "nothing"))
        self.is_others = not os.geteuid() and chance.random() < 0.7
        mode = chance.choice((0o700, 0o777, 0o1777))
        self.plant(self.room / NAME, self.kind)
        if self.is_others:
            os.lchown(self.room, NOBODY, NOBODY)
            os.lchown(root, NOBODY, NOBODY)
        self.room.chmod(mode)
        self.path = self.room / NAME
        if chance.random() < 0.2:
            (root / "way").symlink_to(self.room)
            self.path = root / "way" / NAME
        self.words = f"{self.kind}, {mode:o}{', of another user' if self.is_others else ''}"
        self.words += ", raced" if self.raced else ""
        self.before = self._state()

    def plant(self, path: Path, kind: str) -> None:
        """Put something of this *kind* at *path*."""
        with contextlib.suppress(OSError):
            if kind in PLANTS:
                PLANTS[kind](path, self.victim)
            if not os.geteuid():
                os.lchown(path, NOBODY, NOBODY)
            if kind == "hard link":
                os.chown(self.victim / NAME, 0, 0)

    def faults(self, outcome: Outcome, ending: bytes) -> Iterator[str] | list[str]:
        """Return what is wrong after the command."""
        found = []
        if self._state() != self.before:
            found.append(f"the victim changed: {self.before} to {self._state()}")
        left = [each.name for each in self.root.rglob(".stackmap-*") if not each.is_symlink()]
        if left:
            found.append(f"left {left}")
        if outcome.status == 0 and not self.raced:
            found += self._wrong_output(ending)
        if outcome.status and not self.raced and self.kind == "nothing" and self.path.exists():
            found.append("failed, and there is an output")
        return found

    def _wrong_output(self, ending: bytes) -> list[str]:
        status = self.path.lstat()
        if stat.S_ISDIR(status.st_mode):
            return [] if (self.path / "capture.json").exists() else ["not a capture"]
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != 0o600:
            return [f"mode {status.st_mode:o}"]
        return [] if self.path.read_bytes().endswith(ending) else ["the output is incomplete"]

    def _state(self) -> list[tuple[str, int, int, bytes]]:
        return [
            (path.name, path.lstat().st_mode, path.lstat().st_uid, path.read_bytes())
            for path in sorted(self.victim.iterdir())
        ]

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root)


def _socket(path: Path, _: Path) -> None:
    here = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(f"/proc/self/fd/{here}/{path.name}")  # an address has 108 bytes
    os.close(here)


PLANTS: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, victim: path.symlink_to(victim / NAME),
    "dangling link": lambda path, victim: path.symlink_to(victim / "new"),
    "link to a directory": lambda path, victim: path.symlink_to(victim),
    "link to a process's file": lambda path, _: path.symlink_to("/proc/self/fd/1"),
    "hard link": lambda path, victim: path.hardlink_to(victim / NAME),
    "pipe": lambda path, _: os.mkfifo(path),
    "socket": _socket,
    "directory": lambda path, _: path.mkdir(),
    "full directory": lambda path, _: (path / "log").mkdir(parents=True),
    "device": lambda path, _: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7)),
    "block device": lambda path, _: os.mknod(path, 0o666 | stat.S_IFBLK, os.makedev(7, 255)),
    "file": lambda path, _: path.write_bytes(KEPT),
}


def _race(scene: _Scene, seed: float) -> None:
    """Swap the output, its temporary files or its directory as fast as possible, as another user if possible."""
    os.chdir(scene.root)  # the directories above it are private
    if not os.geteuid():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    _swap(scene, random.Random(seed))


def _swap(scene: _Scene, chance: random.Random) -> None:
    """Swap, in the directory of the scene."""
    time.sleep(chance.uniform(0, 0.3))
    for _ in range(SWAPS):
        with contextlib.suppress(OSError):
            chance.choice((_swap_output, _swap_directory, _swap_parts))(scene, chance)
        time.sleep(chance.choice((0, 0, 0.001)))


def _swap_output(scene: _Scene, chance: random.Random) -> None:
    new, target = Path("room/new"), Path("room", NAME)
    if target.is_dir() and not target.is_symlink():
        target.rename(f"room/was-{chance.randrange(9)}")
    scene.plant(new, chance.choice([*PLANTS]))
    new.rename(target)
    if chance.random() < 0.7:
        target.unlink()


def _swap_directory(scene: _Scene, chance: random.Random) -> None:
    room, away = Path("room"), Path("away")
    room.rename(away)
    try:
        room.symlink_to(scene.victim)
        time.sleep(chance.choice((0, 0.001)))
        room.unlink()
    finally:
        away.rename(room)


def _swap_parts(scene: _Scene, chance: random.Random) -> None:
    """Put links where temporary files and the parts of a recording will be."""
    for path in Path("room").glob(".stackmap-*"):
        path.unlink()
        path.symlink_to(scene.victim / NAME)
    for part in ("log", "capture.json.new", "capture.json", "answers.tar.gz"):
        path = Path("room", NAME, part)
        with contextlib.suppress(OSError):
            path.rename(f"room/part-{chance.randrange(9)}")
        path.symlink_to(scene.victim if part == "log" else scene.victim / NAME)


def full(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: room for some bytes or files only; an output is complete, and a recording can be read."""
    words, ending = chance.choice(COMMANDS)
    place = folder / f"small-{chance.randrange(1 << 60)}"
    place.mkdir()
    size = int(4 * 1.5 ** chance.uniform(0, 14))  # KiB
    names = chance.choice(("", "", f",nr_inodes={chance.randrange(1, 12)}"))
    options = f"size={size}k{names}"
    setup = None if _mounted(place, options) else partial(_limit, size << 10)
    out = place / NAME
    had = out.exists()
    if words[0] == "record":
        arguments = ["record", str(out), "0.002", str(chance.choice((2, 300)))]
    else:
        arguments = ["--from", _capture(folder), *words, str(out)]
    outcome = _run(arguments, folder, setup)
    faults = outcome.faults(frozenset({0, 1}))
    if outcome.status and "space" not in outcome.err and "too large" not in outcome.err:
        faults.append(f"does not say why: {outcome.err}")
    faults += _unreadable(outcome, out) if words[0] == "record" else _partial(outcome, out, ending)
    left = [path.name for path in place.iterdir() if path != out]
    faults += [f"left {left}"] if left or had else []
    tally.case(f"{options}: {' '.join(arguments)}", faults, outcome)
    if not setup:
        # Lazily: a part beside this one that looks at all mounts of the machine would make it busy.
        subprocess.run(["umount", "--lazy", place], check=True)
    shutil.rmtree(place)


def _mounted(place: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "stackmap-fuzz", str(place)]
    return (
        not os.geteuid()
        and shutil.which("mount") is not None
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def _limit(size: int) -> None:
    import resource

    sys.dont_write_bytecode = True  # Python would keep half a compiled file
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _partial(outcome: Outcome, out: Path, ending: bytes) -> list[str]:
    if outcome.status:
        return ["a part of the output remains"] if out.exists() else []
    return [] if out.read_bytes().endswith(ending) else ["the output is incomplete"]


def _unreadable(outcome: Outcome, out: Path) -> list[str]:
    """Return what is wrong with a recording that found no more room."""
    if not out.exists():
        return [] if outcome.status else ["no recording"]
    try:
        host = CapturedHost(str(out))
        kept = sum(1 for _ in host.ticks(0, None))
    except StackmapError as error:
        return [str(error)]
    saved = f"; {kept} samples are saved"
    return [f"{kept} samples: {outcome.err}"] if outcome.status and saved not in outcome.err else []
