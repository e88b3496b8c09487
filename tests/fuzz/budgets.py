"""
Small archives, answers and logs that would take much: each stays within 300 MiB and 10 s.

The limits are ``running.MAX_MEMORY`` and ``MAX_CPU``. Of 200 generated ones:
``python -m tests.fuzz.campaign --cases 200 budgets``.
"""

from __future__ import annotations

import io
import random
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from stackmap.host import log
from tests.fuzz.running import Tally

TIME = 1763732400.0
COUNTERS = b" 8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n"
COMMANDS = (
    ("tree", "-J"),
    ("tree", "--svg"),
    ("iostat", "-l"),
    ("explain",),
    ("check",),
    ("blame",),
    ("report", "-o", "-"),
)
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


def _log(path: Path, frames: Iterable[list[bytes]], members: Iterable[Member] = ()) -> str:
    packing = zlib.compressobj(9, zlib.DEFLATED, log.GZIP)
    parts = [
        packing.compress(log.encode_frame(TIME + n / 1000, each)) for n, each in enumerate(frames)
    ]
    segment = f"log/{TIME:.6f}.gz", b"".join([*parts, packing.flush()]), ""
    return _tar(path, chain([segment], members), form=2)


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


def answers(scale: float) -> dict[str, Callable[[], Iterator[Member]]]:
    """Return archives with an answer of which much would be made; *scale* is 1 for 10 MB and more."""
    many = range(int(1_400_000 * scale))

    def one(path: str, lines: Iterable[str]) -> Iterator[Member]:
        yield path, "".join(lines).encode(), ""

    report = "cmd/lvm-fullreport.json"
    return {
        "tables": lambda: one("cmd/dmsetup-table.txt", (f"v{n}: 0 8 linear 8:0 {n}\n" for n in many[::4])),
        "segments": lambda: one("cmd/dmsetup-table.txt", (f"v: {n} 1 linear 8:0 {n}\n" for n in many[::4])),
        "short lines": lambda: one("cmd/dmsetup-table.txt", ("a\n" for _ in many)),
        "mounts": lambda: one(
            "proc/self/mountinfo", (f"{n} 1 8:0 / /{n} rw - ext4 /dev/sda rw\n" for n in many[::4])
        ),
        "arrays": lambda: one("proc/mdstat", (f"md{n} : active raid1 sda[0] sdb[1]\n 8 blocks\n\n" for n in many[::8])),
        "partitions listed": lambda: one("proc/partitions", (f"8 {n} 8 sda{n}\n" for n in many[::4])),
        "lists": lambda: one("volumes.json", ("[", "[]," * len(many), "[]]")),
        "objects": lambda: one("volumes.json", ("[", '{"a":{}},' * (len(many) // 2), "{}]")),
        "LVs": lambda: one(
            report,
            ('{"report":[{"lv":[', *(f'{{"lv_name":"l{n}","vg_name":"g"}},' for n in many[::4]), "{}]}]}"),
        ),
        "links in the manifest": lambda: one(
            "capture.json", ('{"format":1,"links":{', *(f'"/sys/block/s{n}":"x",' for n in many[::3]), '"a":"b"}}')
        ),
        "refusals": lambda: one(
            "capture.json",
            ('{"format":1,"refused":{', *(f'"read /{n}":["denied",""],' for n in many[::6]), '"read /":["denied",""]}}'),
        ),
        "times": lambda: one("capture.json", ('{"format":1,"times":[', *(f"{n}," for n in many), "9999999]}")),
        "users": lambda: one("etc/passwd", (f"u{n}:x:{n}:{n}::/:/\n" for n in many[::4])),
    }  # fmt: skip


def named(tally: Tally, folder: Path) -> None:
    """Each archive, answer and log, whole."""
    for what, members in (archives(1) | answers(1)).items():
        _measured(tally, what, _tar(folder / "attack.tar.gz", members()))
    for what, frames in logs(1).items():
        _measured(tally, what, _log(folder / "attack.tar.gz", frames()))


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: up to three attacks of random sizes in one archive, beside one in its log."""
    scales = (0.001, 0.01, 0.03, 0.1, 0.3)
    chosen = {}
    for _ in range(chance.randint(0, 3)):
        scale = chance.choice(scales)
        what, members = chance.choice([*(archives(scale) | answers(scale)).items()])
        chosen[what] = members
    path = folder / "attack.tar.gz"
    scale = chance.choice(scales)
    if chosen and chance.random() < 0.5:
        made = _tar(path, chain.from_iterable(members() for members in chosen.values()))
    else:
        what, frames = chance.choice([*logs(scale).items()])
        more = chain.from_iterable(members() for members in chosen.values())
        made = _log(path, frames(), more)
        chosen[what] = frames  # type: ignore[assignment]  # for its name
    _measured(tally, " + ".join(chosen), made, chance.choice(COMMANDS))


def _measured(tally: Tally, what: str, path: str, *more: tuple[str, ...]) -> None:
    for command in dict.fromkeys((("tree",), ("iostat",), *more)):
        tally.attack(what, ("--from", path, *command))
