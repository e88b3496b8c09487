"""Small archives and logs that would take much: each stays within 300 MiB and 10 s (``running.MAX_MEMORY``, ``MAX_CPU``)."""

from __future__ import annotations

import io
import random
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from stackmap.host import log
from tests.fuzz.running import Tally

TIME = 1763732400.0
COUNTERS = b" 8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n"
Member = tuple[str, bytes, str]  # path, content, and the target of a link


def _tar(path: Path, members: Iterable[Member], form: int = 1) -> str:
    with tarfile.open(path, "w:gz") as archive:
        kept = ("capture.json", b'{"format": %d}' % form, ""), ("proc/diskstats", COUNTERS, "")
        for name, content, target in (*kept, *members):
            info = tarfile.TarInfo(name)
            info.size, info.linkname = len(content), target
            info.type = tarfile.SYMTYPE if target else tarfile.REGTYPE
            archive.addfile(info, io.BytesIO(content))
            archive.members.clear()  # type: ignore[attr-defined]  # a child inherits what this process holds
    return str(path)


def _log(path: Path, frames: Iterable[list[bytes]]) -> str:
    packing = zlib.compressobj(9, zlib.DEFLATED, log.GZIP)
    parts = [
        packing.compress(log.encode_frame(TIME + n / 1000, each)) for n, each in enumerate(frames)
    ]
    return _tar(path, [(f"log/{TIME:.6f}.gz", b"".join([*parts, packing.flush()]), "")], form=2)


def _counted(number: int, *more: bytes) -> list[bytes]:
    line = COUNTERS.decode().strip().replace(" 1 0 8", f" {number + 1} 0 8", 1)
    return [log.encode_entry("read /proc/diskstats", [line]), *more]


def archives(scale: float) -> dict[str, Callable[[], Iterator[Member]]]:
    """Return archives whose members would take much; *scale* is 1 for 10 MB."""
    many = range(int(600_000 * scale))
    links = range(int(100_000 * scale))
    return {
        "empty members": lambda: ((f"sys/block/s{n}/size", b"", "") for n in many),
        "empty devices": lambda: ((f"sys/block/s{n}", b"", "") for n in many),
        "partitions": lambda: (  # just fewer than the members that are allowed
            (f"sys/block/sda/sda{n}/size", b"8\n", "") for n in many[:490_000]
        ),
        "unused members": lambda: ((f"zzz/s{n}", b"", "") for n in many),
        "long targets": lambda: ((f"sys/block/l{n}", b"", "a" * 59_000) for n in links[::6]),
        "deep targets": lambda: ((f"sys/block/l{n}", b"", "a/" * 2000) for n in links),
        "a chain of links": lambda: (
            (f"sys/block/l{n}", b"", "x/../" * 700 + f"l{(n + 1) % 40}") for n in range(4000)
        ),
    }


def logs(scale: float) -> dict[str, Callable[[], Iterator[list[bytes]]]]:
    """Return logs whose frames would take much; *scale* is 1 for attacks that took gigabytes."""
    large = "a" * int((30 << 20) * scale)
    few, many = range(60), range(int(100_000 * scale))
    event = log.encode_transient("uevents", '[{"ACTION": "add", "DEVNAME": "sda"}]')
    return {
        "answers": lambda: (_counted(n, log.encode_entry(f"read /{n}", [large])) for n in few),
        "unknown answers": lambda: (_counted(n, log.encode_entry(f"x{n}", [large])) for n in few),
        "transient ones": lambda: (_counted(n, log.encode_transient(f"x{n}", large)) for n in few),
        "questions": lambda: (
            _counted(n, *(log.encode_entry(f"read /{n}/{q}", [""]) for q in many)) for n in few[:20]
        ),
        "unknown questions": lambda: (
            _counted(n, *(log.encode_entry(f"{n}/{q}", [""]) for q in many)) for n in few[:20]
        ),
        "uevents": lambda: (_counted(n, *[event for _ in many]) for n in few[:10]),
        "frames": lambda: ([] for _ in range(int(2_000_000 * scale))),
        "names": lambda: (
            [log.encode_entry("read /proc/diskstats", [f"8 0 s{n}x{d} 1 0 8 1 1 0 8 1 0 1 1" for d in many[:50_000]])]
            for n in few[:10]
        ),
    }  # fmt: skip


def named(tally: Tally, folder: Path) -> None:
    """Each archive and each log, whole."""
    for what, members in archives(1).items():
        _measured(tally, what, _tar(folder / "attack.tar.gz", members()))
    for what, frames in logs(1).items():
        _measured(tally, what, _log(folder / "attack.tar.gz", frames()))


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: an attack of random size."""
    scale = chance.choice((0.001, 0.01, 0.03, 0.1))
    shapes = archives(scale)
    what = chance.choice([*shapes, *logs(scale)])
    path = folder / "attack.tar.gz"
    made = _tar(path, shapes[what]()) if what in shapes else _log(path, logs(scale)[what]())
    _measured(tally, f"{what} * {scale}", made)


def _measured(tally: Tally, what: str, path: str) -> None:
    for command in ("tree", "iostat"):
        tally.run(what, ("--from", path, command))
