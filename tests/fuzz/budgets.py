"""
Small archives, answers and logs that would take much: each stays within 300 MiB and 10 s.

The limits are ``running.MAX_MEMORY`` and ``MAX_CPU``. Of 200 generated ones:
``python -m tests.fuzz.campaign --cases 200 budgets``.
"""

from __future__ import annotations

import io
import json
import random
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from stackmap.host import log
from tests.fuzz.running import Tally, run_alone
from tests.paths import ROOT

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
    """Write an archive at *path*; a later member with the path of another replaces it."""
    with tarfile.open(path, "w:gz") as archive:
        kept = ("capture.json", b'{"format": %d}' % form, ""), ("proc/diskstats", COUNTERS, "")
        for name, content, target in chain(kept, members):
            info = tarfile.TarInfo(name)
            info.size, info.linkname = len(content), target
            info.type = tarfile.SYMTYPE if target else tarfile.REGTYPE
            archive.addfile(info, io.BytesIO(content))
            archive.members.clear()  # type: ignore[attr-defined]  # a child inherits what this process holds
    return str(path)


def _log(
    path: Path,
    frames: Iterable[list[bytes]],
    members: Iterable[Member] = (),
    level: int = 9,
    time: float = TIME,
) -> str:
    """Write an archive with a log at *path*; *level* 0: the log is compressed as a part of the archive alone."""
    packing = zlib.compressobj(level, zlib.DEFLATED, log.GZIP)
    parts = [
        packing.compress(log.encode_frame(time + n / 1000, each)) for n, each in enumerate(frames)
    ]
    segment = f"log/{time:.6f}.gz", b"".join([*parts, packing.flush()]), ""
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
    amazon = "sys/block/nvme0n1/device/model", b"Amazon Elastic Block Store\n", ""
    row = " ".join(["00"] * 16)

    def of_a_disk(tool: str, disk: str, lines: Iterable[str]) -> Iterator[Member]:
        yield f"sys/block/{disk}/size", b"8192\n", ""
        yield amazon
        yield from one(f"cmd/{tool}--dev-{disk}.txt", lines)

    deep = "[" * len(many)
    return {
        "health of lists": lambda: of_a_disk("smartctl", "sda", ('{"smartctl":[', "[]," * len(many), "[]]}")),
        "health of objects": lambda: of_a_disk(
            "smartctl", "sda", ('{"ata_smart_attributes":{"table":[', '{"id":5},' * (len(many) // 2), "{}]}}")
        ),
        "deep health": lambda: of_a_disk("smartctl", "sda", (deep,)),
        "health of NVMe": lambda: of_a_disk(
            "nvme-smart-log", "nvme0n1", ('{"percent_used":1,"a":[', "9," * len(many), "1]}")
        ),
        "health of digits": lambda: of_a_disk("nvme-smart-log", "nvme0n1", ('{"percent_used":', "9" * len(many), "}")),
        "Amazon's page": lambda: of_a_disk(
            "nvme-get-log", "nvme0n1", (f"{n % 256 * 16:04X}: {row}\n" for n in many[::8])
        ),
        "Amazon's page in one line": lambda: of_a_disk("nvme-get-log", "nvme0n1", ("0" * len(many), ": ", row)),
        "a trace of lists": lambda: one("cmd/stackmap-trace.json", ("[", "[]," * len(many), "[]]")),
        "a deep trace": lambda: one("cmd/stackmap-trace.json", (deep,)),
        "a report of lists": lambda: one(report, ('{"report":[', "[]," * len(many), "[]]}")),
        "a deep report": lambda: one(report, ('{"report":', deep)),
        "tags of lists": lambda: one("cmd/lvs.json", ('{"report":[', "[]," * len(many), "[]]}")),
        "deep tags": lambda: one("cmd/lvs.json", ('{"report":', deep)),
        "lsblk of a sosreport": lambda: one("sos_commands/block/lsblk", (f"d{n} 8:{n} 0 1G 0 disk\n" for n in many[::8])),
        "udev of a sosreport": lambda: one(
            "sos_commands/block/udevadm_info_.dev.sda", (f"E: A{n}=1\n" for n in many[::4])
        ),
        "mdadm of a must-gather": lambda: one(
            "host_service_logs/mdadm_-D_.dev.md0", (f"   {n}  8  {n}  0  active sync /dev/sd{n}\n" for n in many[::8])
        ),
        "folders of outputs": lambda: (
            (f"sos_commands/f{n}/lsblk", b"NAME MAJ:MIN\nsda 8:0\n", "") for n in many[::14]
        ),
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


Replay = tuple[Callable[[], Iterator[list[bytes]]], Callable[[], Iterator[Member]], int]


def replays(scale: float) -> dict[str, Replay]:
    """Return logs in whose samples much is to do, with their archives, and the level of compression of the log."""
    samples = range(1, int(100_000 * scale))

    def disks(count: float, more: bytes = b"") -> Iterator[Member]:
        for n in range(int(count)):
            yield (
                f"sys/block/sd{n}x/uevent",
                b"MAJOR=8\nMINOR=%d\nDEVNAME=sd%dx\n%b" % (n, n, more),
                "",
            )
            yield f"sys/block/sd{n}x/size", b"2097152\n", ""

    def counted(count: float, more: Callable[[int], list[bytes]]) -> Iterator[list[bytes]]:
        lines = [f"8 {n} sd{n}x 1 0 8 1 1 0 8 1 0 1 1" for n in range(int(count))]
        yield [log.encode_entry("read /proc/diskstats", lines)]
        for n in samples:
            yield [_change(b"0\n8 0 sd0x %d 0 8 1 1 0 8 1 0 1 1" % (n + 1)), *more(n)]

    def busy(count: int) -> Iterator[list[bytes]]:
        """Every device counts in every sample, as much as a machine would: only bytes pay for that."""
        chance = random.Random(1)
        counters = [[chance.randrange(10**6) for _ in range(6)] for _ in range(count)]
        for n in range(int(1500 * scale)):
            for each in counters:
                each[:] = [figure + chance.randrange(300) for figure in each]
            lines = [
                f"8 {d} sd{d}x {r} 0 {rs} {rt} {w} 0 {ws} {wt} 0 {rt} {rt + wt}"
                for d, (r, rs, rt, w, ws, wt) in enumerate(counters)
            ]
            of_settings = changed(n) if n and n % 5 == 0 else []
            yield [log.encode_entry("read /proc/diskstats", lines), *of_settings]

    def changed(n: int) -> list[bytes]:
        event = log.encode_transient("uevents", '[{"ACTION": "change", "DEVNAME": "sd0x"}]')
        return [event, log.encode_entry("read /sys/block/sd0x/size", [str(n)])]

    def come(n: int) -> list[bytes]:
        event = log.encode_transient("uevents", '[{"ACTION": "add", "DEVNAME": "sdz"}]')
        return [event, log.encode_entry("names_in /sys/block", [f"sd{d}x" for d in range(n % 9)])]

    def counted_again(n: int) -> list[bytes]:
        return [log.encode_entry("read /sys/kernel/uevent_seqnum", [str(n)])]

    def mounted(n: int) -> list[bytes]:
        return [
            log.encode_entry(
                "read /proc/self/mountinfo", [f"1 1 8:0 / /{n} rw - ext4 /dev/sd0x rw"]
            )
        ]

    small, large = 1000, 20_000 * scale
    return {
        "idle devices": (lambda: counted(small, lambda _: []), lambda: disks(small), 9),
        "a log that is compressed twice": (
            lambda: counted(small, lambda _: []),
            lambda: disks(small),
            0,
        ),
        "changes of busy devices": (lambda: busy(200), lambda: disks(200), 9),
        "changes of few devices": (lambda: counted(9, changed), lambda: disks(9), 9),
        "changes of devices": (lambda: counted(small, changed), lambda: disks(small), 9),
        "changes of many devices": (lambda: counted(large, changed), lambda: disks(large), 9),
        "devices that come and go": (lambda: counted(small, come), lambda: disks(small), 9),
        "counts of events": (
            lambda: counted(small, counted_again),
            lambda: disks(small, b"DISKSEQ=1\n"),
            9,
        ),
        "mounts that come and go": (lambda: counted(small, mounted), lambda: disks(small), 9),
    }


def _change(body: bytes) -> bytes:
    """Return the entry of changed lines of counters, as ``log.encode_entry`` does without comparing them."""
    return json.dumps(["~", "read /proc/diskstats", len(body)]).encode() + b"\n" + body + b"\n"


def old_replays(scale: float) -> dict[str, Callable[[], Iterator[Member]]]:
    """Return archives of the old format with many samples."""
    times = json.dumps({"format": 1, "times": [n / 8 - 2e9 for n in range(int(100_000 * scale))]})
    manifest = "capture.json", times.encode(), ""
    lines = "".join(f"8 {n} sd{n}x 1 0 8 1 1 0 8 1 0 1 1\n" for n in range(int(20_000 * scale)))
    counters = "proc/diskstats", lines.encode(), ""

    def disks(count: float) -> Iterator[Member]:
        for n in range(int(count)):
            yield f"sys/class/block/sd{n}x/uevent", b"DISKSEQ=%d\n" % n, ""
            yield f"sys/block/sd{n}x/uevent", b"MAJOR=8\nMINOR=%d\nDISKSEQ=%d\n" % (n, n), ""
            yield f"sys/block/sd{n}x/size", b"8\n", ""

    return {
        "samples before 1970": lambda: iter([manifest]),
        "samples of many devices": lambda: iter([manifest, counters]),
        "samples with numbers of disks": lambda: chain([manifest], disks(20_000 * scale)),
        "samples in folders": lambda: chain(
            [manifest],
            ((f"frames/{n}/sys/x", b"", "") for n in range(int(100_000 * scale))),
            disks(2000 * scale),
        ),
    }


EXPORT_CPU = 20.0  # seconds per 100,000 loads that become tables


def exports(tally: Tally, folder: Path) -> None:
    """
    Honest recordings as tables, which are as long as the recording: 200 busy disks in 1,500 samples have 300,000 loads.

    Also a machine with RAID volumes, of which each load takes longer.
    """
    frames, members, level = replays(1)["changes of busy devices"]
    disks = _log(folder / "disks.tar.gz", frames(), members(), level)
    volumes = _log(folder / "volumes.tar.gz", *_raid_machine(3000))
    for what, path, loads in (("disks", disks, 300_000), ("volumes", volumes, 69_000)):
        out = str(folder / what) + "/"
        arguments = ("--from", path, "export", "--parquet", "-o", out)
        outcome = run_alone(arguments, 600, cpu=300)
        faults = [each for each in outcome.faults(frozenset({0})) if not each.endswith(" s")]
        slow = outcome.cpu > EXPORT_CPU * loads / 100_000
        tally.case(
            f"{what} as tables", faults + [f"{outcome.cpu:.1f} s for {loads} loads"] * slow, outcome
        )
        tally.took(f"{loads} loads of {what} as tables", outcome)


def _raid_machine(samples: int) -> tuple[Iterator[list[bytes]], Iterator[Member]]:
    """Return the log of a sample machine with that many samples, in which each device does something, and its files."""
    place = ROOT / "sample_topologies" / "vghdd"
    names = ("cmd", "run", "sys", "proc/self", "proc/sys", "proc/version", "volumes.json")
    paths = (each for name in names for each in (place / name, *(place / name).rglob("*")))
    members = (
        (str(path.relative_to(place)), path.read_bytes(), "") for path in paths if path.is_file()
    )
    rows = [line.split() for line in (place / "proc/diskstats").read_text().splitlines()]
    chance = random.Random(1)

    def frames() -> Iterator[list[bytes]]:
        for _ in range(samples):
            for row in rows:
                for column in (
                    3,
                    5,
                    6,
                    7,
                    9,
                    10,
                    12,
                ):  # reads, sectors, ms; the same of writes; busy
                    row[column] = str(int(row[column]) + chance.randrange(50))
            yield [log.encode_entry("read /proc/diskstats", [" ".join(row) for row in rows])]

    return frames(), members


def named(tally: Tally, folder: Path) -> None:
    """Each archive, answer and log, whole."""
    more = ("explain",), ("check",)
    for what, members in (archives(1) | answers(1) | old_replays(1)).items():
        _measured(tally, what, _tar(folder / "attack.tar.gz", members()), *more)
    for what, frames in logs(1).items():
        _measured(tally, what, _log(folder / "attack.tar.gz", frames()), *more)
    for what, (frames, members, level) in replays(1).items():
        for time in (TIME, -TIME):
            made = _log(folder / "attack.tar.gz", frames(), members(), level, time)
            _measured(tally, f"{what}{' before 1970' * (time < 0)}", made, *more)


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: up to three attacks of random sizes in one archive, beside one in its log."""
    scales = (0.001, 0.01, 0.03, 0.1, 0.3)
    chosen = {}
    for _ in range(chance.randint(0, 3)):
        scale = chance.choice(scales)
        kinds = archives(scale) | answers(scale) | old_replays(scale)
        what, members = chance.choice([*kinds.items()])
        chosen[what] = members
    path = folder / "attack.tar.gz"
    scale = chance.choice(scales)
    if chance.random() < 0.3:
        what, (frames, disks, level) = chance.choice([*replays(scale).items()])
        more = chain(disks(), *(members() for members in chosen.values()))
        made = _log(path, frames(), more, level, chance.choice((TIME, -TIME)))
        chosen[what] = disks
    elif chosen and chance.random() < 0.5:
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
