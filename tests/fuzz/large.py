"""Very large machines and files: work grows in proportion to devices and edges, and memory is limited."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import zlib
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from statistics import mean

from stackmap.host import log
from stackmap.text.text_lines import MAX_UNUSED
from tests.fuzz.hostile_captures import Files, write
from tests.fuzz.running import Outcome, Tally, run, run_alone

COMMANDS = (("tree",), ("iostat",), ("iostat", "-l"), ("explain",))
# Times the time for sixteen times the devices. A ladder makes exactly sixteen times as many calls, and takes 17.9
# times the time: its objects no longer fit the processor's cache, and Python looks for garbage among more of them.
GROWTH = 20
MANY = 50_000  # devices, with a limit of their own
IN_AN_ARCHIVE = 40_000  # mapped devices: what is kept of an archive of more is too much
TREE = 8.0  # seconds of CPU for them
MEMORY = 400  # MiB for them

Shape = Callable[[int], tuple[Files, list[str]]]


def _device(
    files: Files, name: str, number: str, *, below: tuple[str, ...] = (), dm: str = ""
) -> None:
    root = f"sys/block/{name}"
    major, minor = number.split(":")
    files[f"{root}/uevent"] = f"MAJOR={major}\nMINOR={minor}\nDEVNAME={name}\n".encode()
    files[f"{root}/size"] = b"2097152\n"
    files[f"{root}/ro"] = b"0\n"
    files[f"{root}/queue/iostats"] = b"1\n"
    if dm:
        files[f"{root}/dm/name"] = dm.encode() + b"\n"
        files[f"{root}/dm/uuid"] = f"LVM-{dm:>064}\n".encode()
        files[f"{root}/dm/suspended"] = b"0\n"
    for each in below:
        files[f"{root}/slaves/{each}/size"] = b"1\n"


def disks(count: int) -> tuple[Files, list[str]]:
    """*count* disks."""
    files: Files = {}
    for number in range(count):
        _device(files, f"sd{number}x", f"8:{number}")
    return files, [f"8 {number} sd{number}x" for number in range(count)]


def partitions(count: int) -> tuple[Files, list[str]]:
    """A disk of *count* partitions."""
    files, rows = disks(1)
    for number in range(1, count):
        root = f"sys/block/sd0x/sd0x{number}"
        files[f"{root}/uevent"] = f"MAJOR=8\nMINOR={number}\nDEVTYPE=partition\n".encode()
        files[f"{root}/size"] = b"100\n"
        files[f"{root}/start"] = f"{100 * number}\n".encode()
        rows.append(f"8 {number} sd0x{number}")
    return files, rows


def volumes(count: int) -> tuple[Files, list[str]]:
    """*count* volumes on one disk."""
    files, rows = disks(1)
    for number in range(count - 1):
        _device(files, f"dm-{number}", f"253:{number}", below=("sd0x",), dm=f"vg-lv{number}")
    lines = (f"vg-lv{n}: 0 2048 linear 8:0 {n * 2048}\n" for n in range(count - 1))
    files["cmd/dmsetup-table.txt"] = "".join(lines).encode()
    return files, rows + [f"253 {n} dm-{n}" for n in range(count - 1)]


def chain(count: int) -> tuple[Files, list[str]]:
    """*count* devices, each on the one before."""
    files, rows = disks(1)
    table = []
    for n in range(count - 1):
        _device(files, f"dm-{n}", f"253:{n}", below=(f"dm-{n - 1}" if n else "sd0x",), dm=f"c{n}")
        table.append(f"c{n}: 0 2048 linear {f'253:{n - 1}' if n else '8:0'} 0\n")
    files["cmd/dmsetup-table.txt"] = "".join(table).encode()
    return files, rows + [f"253 {n} dm-{n}" for n in range(count - 1)]


def segments(count: int) -> tuple[Files, list[str]]:
    """A volume with a segment on each of *count* disks."""
    files, rows = disks(count - 1)
    _device(files, "dm-0", "253:0", below=tuple(f"sd{n}x" for n in range(count - 1)), dm="vg-big")
    lines = (f"vg-big: {n * 100} 100 linear 8:{n} 0\n" for n in range(count - 1))
    files["cmd/dmsetup-table.txt"] = "".join(lines).encode()
    return files, [*rows, "253 0 dm-0"]


def ladder(count: int) -> tuple[Files, list[str]]:
    """Levels of two devices, each on both of the level below: paths double at each level."""
    files, rows = disks(2)
    table = []
    for n in range(count - 2):
        base = n // 2 * 2 - 2
        under = (
            [("8", 0, "sd0x"), ("8", 1, "sd1x")]
            if n < 2
            else [("253", base + i, f"dm-{base + i}") for i in (0, 1)]
        )
        _device(files, f"dm-{n}", f"253:{n}", below=tuple(name for _, _, name in under), dm=f"l{n}")
        table += [f"l{n}: {i * 1024} 1024 linear {a}:{b} 0\n" for i, (a, b, _) in enumerate(under)]
    files["cmd/dmsetup-table.txt"] = "".join(table).encode()
    return files, rows + [f"253 {n} dm-{n}" for n in range(count - 2)]


def listed(count: int) -> tuple[Files, list[str]]:
    """*count* disks that only /proc lists, as in a sosreport without sysfs."""
    rows = [f"8 {number} sd{number}x" for number in range(count)]
    sizes = (f"   8 {number} 1048576 sd{number}x\n" for number in range(count))
    heading = "major minor  #blocks  name\n\n"
    return {"proc/partitions": (heading + "".join(sizes)).encode()}, rows


SHAPES: tuple[Shape, ...] = (disks, partitions, volumes, chain, segments, ladder, listed)


def machine(place: Path, shape: Shape, count: int) -> str:
    """Write the capture of a machine of *count* devices with three samples, and return its path."""
    files, rows = shape(count)
    files["capture.json"] = json.dumps({"format": 1, "times": [1000.0, 1001.0, 1002.0]}).encode()
    for frame in range(3):
        text = "".join(
            f"{row} {9 * frame + n % 7} 0 {80 * frame} {9 * frame} {20 * frame} 0 {160 * frame}"
            f" {11 * frame} 0 {20 * frame} {20 * frame} 0 0 0 0 0 0\n"
            for n, row in enumerate(rows)
        )
        files[f"frames/{frame}/proc/diskstats" if frame else "proc/diskstats"] = text.encode()
    return write(place, files)


def growth(
    tally: Tally, folder: Path, shape: Shape, sizes: tuple[int, int] = (1000, 16000)
) -> None:
    """
    Each command on machines of this *shape*: at most ``GROWTH`` times the CPU for sixteen times the devices.

    Other work on the machine makes times longer, so the best of three rounds counts.
    """
    few, many = sizes
    paths = [machine(folder / f"{count}.tar", shape, count) for count in sizes]
    for command in COMMANDS:
        what = f"{shape.__name__} {' '.join(command)}"
        allowed = GROWTH * many / few / 16
        times, large = _grown(paths, command, allowed)
        faults = [fault for fault in large.faults() if not fault.endswith(" s")]
        if times > allowed:
            faults.append(f"{many / few:g} times the devices took {times:.1f} times the CPU")
        tally.case(what, faults, large)
    if shape in (disks, volumes, listed):
        count = IN_AN_ARCHIVE if shape is volumes else MANY
        large = _best(machine(folder / "many.tar", shape, count), ("tree",), TREE)
        faults = large.faults(frozenset({0}), memory=MEMORY)
        faults += [f"{large.cpu:.1f} s"] if large.cpu > TREE else []
        tally.case(f"{count} {shape.__name__} tree", faults, large)


def _grown(paths: list[str], command: tuple[str, ...], most: float) -> tuple[float, Outcome]:
    """
    Return how many times the CPU of the first of *paths* the second took, and what became of it.

    The small machine is measured before and after the large one, and its mean counts: the
    shortest of many short runs caught a moment that no long run has. Of three rounds if
    it is more than *most* times.
    """
    found = []
    for _ in range(3):
        before = [_measured(paths[0], command).cpu for _ in range(3)]
        large = _measured(paths[1], command)
        after = [_measured(paths[0], command).cpu for _ in range(3)]
        found.append((large.cpu / mean(before + after), large))
        if found[-1][0] <= most:
            break
    return min(found, key=itemgetter(0))


def _best(path: str, command: tuple[str, ...], most: float) -> Outcome:
    """Return the run that took the least CPU, of three if it takes more than *most* seconds."""
    best = _measured(path, command)
    for _ in range(2):
        if best.cpu > most:
            best = min(best, _measured(path, command), key=lambda outcome: outcome.cpu)
    return best


def _measured(path: str, command: tuple[str, ...]) -> Outcome:
    """Run *command* with limits that suit a busy machine."""
    return run_alone(("--from", path, *command), 600, cpu=300)


def _tar(path: Path, name: str, size: int) -> str:
    """Write a compressed tar with *size* zeros in one member."""
    with gzip.open(path, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        info = tarfile.TarInfo(name)
        info.size = size
        archive.addfile(info, _Zeros(size))
    return str(path)


class _Zeros(io.RawIOBase):
    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        size = min(size, self._left)
        self._left -= size
        return bytes(size)


def bombs(tally: Tally, folder: Path) -> None:
    """Small files that unpack to large ones, large files, and answers of many parts."""
    base, _ = disks(1)
    base["proc/diskstats"] = b" 8 0 sd0x 1 0 8 1 1 0 8 1 0 1 1\n"
    place = folder / "bomb.tar"

    def refused(what: str, path: str, *command: str) -> None:
        outcome = run(("--from", path, *(command or ("tree",))))
        said = [] if outcome.status == 1 else [f"status {outcome.status}: {outcome.err[-200:]}"]
        tally.case(what, outcome.faults() + said, outcome)

    for size in (500 << 20, 1000 << 20):
        refused(f"{size >> 20} MiB of zeros in a tar", _tar(place, "sys/block/sda/size", size))
        refused(
            f"{size >> 20} MiB of zeros beside a capture", _tar(place, "var/log/messages", size)
        )
    refused("600,000 entries", write(place, {f"sys/block/s{n}/size": b"" for n in range(600_000)}))
    refused("deep names", write(place, {f"sys/{'a/' * 30}{n}/x": b"" for n in range(60_000)}))
    place.write_bytes(lzma.compress(bytes(300 << 20), preset=0))
    refused("300 MiB of zeros as xz", str(place))
    frame = log.encode_frame(
        1763732400.0,
        [b'["=", "read /proc/diskstats", %d]\n' % (64 << 20), b"\n" * (64 << 20), b"\n"],
    )
    logged = {
        **base,
        "capture.json": b'{"format": 2}',
        "log/1763732400.000000.gz": gzip.compress(frame, 1),
    }
    refused("a frame of 64 MiB", write(place, logged), "iostat")
    frame = log.encode_frame(
        1763732400.0,
        [b'["=", "read /proc/diskstats", %d]\n' % (30 << 20), b"ab\n" * (10 << 20), b"\n"],
    )
    logged["log/1763732400.000000.gz"] = gzip.compress(frame, 1)
    refused("a frame of 10 million lines", write(place, logged), "iostat")
    refused(
        "a manifest of lists",
        write(
            place,
            {**base, "capture.json": b'{"format": 2, "links": [' + b"[]," * (8 << 20) + b"[]]}"},
        ),
    )
    refused(
        "counters of 10 million lines",
        write(place, {**base, "proc/diskstats": b"ab\n" * (10 << 20)}),
        "iostat",
    )
    refused(
        "zlib within a log",
        write(place, {**logged, "log/1763732400.000000.gz": zlib.compress(bytes(200 << 20))}),
        "iostat",
    )


TEXTS = {
    "a line of 100 MB": (b"x" * (1 << 20), 100, b""),
    "a line of numbers": (b"1.5 " * (1 << 18), 20, b""),
    "blank lines": (b"\n" * (1 << 20), 40, b""),
    "headings": (b"Device r/s w/s rkB/s wkB/s await\n" * 10_000, 20, b""),
}


def texts(tally: Tally, folder: Path) -> None:
    """Texts with one line, many rows, or many headings."""
    place = folder / "large.txt"
    for what, (part, times, head) in TEXTS.items():
        with place.open("wb") as file:
            file.write(head)
            for _ in range(times):
                file.write(part)
        tally.run(what, ("iostat", "--input", str(place)))
    endless = Path("/dev/zero")
    for what, part in {"endless NULs": b"", "letters": b"x", "blank lines": b"\n"}.items():
        with place.open("wb") as file:
            for _ in range(MAX_UNUSED >> 20):
                file.write(part * (1 << 20))
            file.write(part)
        outcome = run(("iostat", "--input", str(place if part else endless)))
        said = [] if outcome.status == 1 else [f"status {outcome.status}: {outcome.err[-200:]}"]
        tally.case(what, outcome.faults() + said, outcome)
    with place.open("w") as file:
        file.write("Device r/s w/s rkB/s wkB/s await\n")
        file.writelines(f"sd{n} 1.0 2.0 3.0 {n}.0 5.0\n" for n in range(300_000))
    for command in ("iostat", "explain"):
        tally.run("300,000 rows", (command, "--input", str(place)))
