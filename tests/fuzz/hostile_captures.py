"""Captures that are damaged or hostile, or of machines that cannot exist."""

from __future__ import annotations

import io
import json
import random
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from stackmap.host import log
from tests.fuzz.running import NAMED, READING, Tally
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
Files = dict[str, bytes]

NUMBERS = (
    b"-1", b"0", b"1e400", b"nan", b"-inf", b"9" * 400, b"18446744073709551616", b"0x10",
    b"\xd9\xa3", b"1_0", b"", b"4294967296", b"99999999999999999999", b"-9223372036854775808",
)  # fmt: skip
WORDS = (
    b"\x1b]0;owned\x07", b"\xe2\x80\xae", b"\xff\xfe", b"<script>", b"../../etc", b"\0" * 40,
    b"a" * 5000, b"$(id)", b"`id`", b"'", b'"', b"\n\n", b"%s%n", b"{0}", b"{device}", b"\r", b"|",
    b"=cmd()", b"\xed\xa0\x80", b"--help", b" ",
)  # fmt: skip
JSON_VALUES = (
    None, True, -1, 0, 1e308, 10**30, "", "x", "\ud800", [], {}, [[]], [None], {"a": None},
    [["denied"]], {"format": 2}, "nan", [1, 2], -0.5,
)  # fmt: skip


def sample(name: str) -> Files:
    """Return a sample machine as files by path."""
    root = SAMPLES / name
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def write(path: Path, files: Files) -> str:
    """Write *files* as a tar, and return its path."""
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return str(path)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return *content* with one change."""
    place = chance.randrange(len(content) + 1)
    lines = content.split(b"\n")
    words = content.split(b" ")
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: content[:place],
        lambda: content + b"\0" * chance.randrange(1, 4096),
        lambda: content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :],
        lambda: content[:place] + chance.choice(WORDS) + content[place:],
        lambda: b" ".join(_replaced(words, chance.choice(NUMBERS), chance)),
        lambda: b" ".join(_replaced(words, chance.choice(WORDS), chance)),
        lambda: b"\n".join(_replaced(lines, chance.choice(lines), chance)),
        lambda: b"\n".join(lines + lines),
        lambda: b"\n".join(line for line in lines if chance.random() < 0.7),
        lambda: b"\n".join(chance.sample(lines, len(lines))),
        lambda: b"\n".join(b" ".join(line.split()[: chance.randrange(9)]) for line in lines),
        lambda: b"",
        lambda: chance.randbytes(chance.randrange(200)),
        lambda: chance.choice(NUMBERS) + b"\n",
        lambda: _changed_json(content, chance),
    )
    return chance.choice(changes)()


def _replaced(parts: list[bytes], part: bytes, chance: random.Random) -> list[bytes]:
    place = chance.randrange(len(parts))
    return [*parts[:place], part, *parts[place + 1 :]]


def _changed_json(content: bytes, chance: random.Random) -> bytes:
    """Return JSON with one value replaced by another, or *content* if it is not JSON."""
    try:
        value = json.loads(content)
    except ValueError:
        return content
    holders = list(_holders(value))
    if not holders:
        return json.dumps(chance.choice(JSON_VALUES)).encode()
    holder, key = chance.choice(holders)
    holder[key] = chance.choice(JSON_VALUES)
    return json.dumps(value).encode()


def _holders(value: object) -> Iterator[tuple[object, object]]:
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, inside in list(pairs):
        yield value, key
        yield from _holders(inside)


def damaged_files(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a sample machine of which some files were changed, through a random command."""
    name = chance.choice(sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
    files = sample(name)
    for _ in range(chance.choice((1, 1, 2, 5, 40))):
        often = [p for p in files if "diskstats" in p or p.startswith(("cmd", "capture"))]
        path = chance.choice(often) if often and chance.random() < 0.4 else chance.choice([*files])
        if chance.random() < 0.1:
            del files[path]
            if not files:
                return
            continue
        files[path] = mutated(files[path], chance)
    place = write(folder / "damaged.tar", files)
    command = chance.choice(READING)
    if chance.random() < 0.3:
        command = (
            *chance.choice(NAMED),
            chance.choice(("dm-8", "dm-2", "md0", "sda", "/", "nvme0n1")),
        )
    tally.run(name, ("--from", place, *command))


def manifests(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a manifest of another shape."""
    files = sample("vghdd")
    manifest = json.loads(files["capture.json"])
    for _ in range(chance.choice((1, 1, 3))):
        key = chance.choice((*manifest, "times", "refused", "links", "format"))
        value = chance.choice((*JSON_VALUES, 10**400, [10**400], [float("nan")], [4e11, 4e11 + 1]))
        if key == "times" and chance.random() < 0.5:
            value = [chance.choice((0, 1, 1.5, 1e12, -5, 253402300799.0, 1e308)) for _ in range(3)]
        if key in ("refused", "links") and chance.random() < 0.5:
            value = {chance.choice(("read /proc/diskstats", "volumes", "uevents")): value}
        manifest[key] = value
    files["capture.json"] = json.dumps(manifest).encode()
    place = write(folder / "manifest.tar", files)
    tally.run("manifest", ("--from", place, *chance.choice(READING)))


def logs(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a log with odd names, times, entries and lengths, its checksums right."""
    files = sample("vghdd")
    counters = [files["proc/diskstats"]]
    counters += [
        v for k, v in sorted(files.items()) if k.endswith("/proc/diskstats") and k[0] == "f"
    ]
    files = {k: v for k, v in files.items() if not k.startswith("frames")}
    manifest = json.loads(files["capture.json"])
    files["capture.json"] = json.dumps({**manifest, "format": 2}).encode()
    time, packer = 1763732400.0, zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = b""
    for content in counters[: chance.randrange(1, len(counters) + 1)]:
        entries = [_entry(content, chance) for _ in range(chance.choice((1, 1, 1, 3)))]
        if chance.random() < 0.3:
            events = mutated(b'[{"ACTION": "add", "DEVNAME": "/dev/sda", "SEQNUM": "3"}]', chance)
            entries.append(log.encode_transient("uevents", events.decode("utf-8", "replace")))
        if chance.random() < 0.2:
            count = chance.choice(("0 0", "-1 -1", "x", "1 2 3", "99999999999 4"))
            entries.append(log.encode_transient("count", count))
        frame = log.encode_frame(time, entries)
        if chance.random() < 0.1:
            frame = frame.replace(b"%.6f" % time, chance.choice(NUMBERS), 1)
        packed += packer.compress(frame) + packer.flush(zlib.Z_SYNC_FLUSH)
        time += chance.choice((1, 1, 1, 1, 0, -5, 1e9, 3e10, 0.001))
    if chance.random() < 0.7:
        packed += packer.flush()
    names = ["1763732400.000000.gz"] * 4 + [
        "nan.gz", "inf.gz", "1e400.gz", "-1.gz", "1_0.gz", ".gz", "99999999999999.gz", "x.gz",
    ]  # fmt: skip
    files[f"log/{chance.choice(names)}"] = (
        mutated(packed, chance) if chance.random() < 0.2 else packed
    )
    if chance.random() < 0.2:
        files[f"log/{chance.choice(names)}"] = packed
    place = write(folder / "log.tar", files)
    options = chance.choice(
        ((), (), (), (), (), ("--since", "-1h"), ("--every", "1s"), ("--until", "+2s"))
    )
    tally.run("log", ("--from", place, *options, *chance.choice(READING)))


def _entry(content: bytes, chance: random.Random) -> bytes:
    """Return an entry of a frame, right or wrong in one way."""
    size = len(content)
    question = "read /proc/diskstats"
    wrong = (
        ["=", question, -size], ["=", question, -1], ["=", question, size + 1], ["=", question, 1e400],
        ["=", question, True], ["=", question, str(size)], ["=", question, None], ["=", question],
        ["=", None, size], ["?", question, size], ["=", [question], size], [], {}, ["!"],
        ["!", question], ["!", question, "denied"], ["!", question, None, None, None],
        ["~", question, size], ["~", "never asked", size], ["+", "uevents", size], 17, "x",
    )  # fmt: skip
    heading = ["=", question, size] if chance.random() < 0.7 else chance.choice(wrong)
    if chance.random() < 0.1:
        content = chance.choice((b"-1\nx\n", b"0 1 2\nx\n", b"99999\nx\n", b"", b"\n" * 1000))
    return json.dumps(heading).encode() + b"\n" + content + b"\n"


def tars(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a tar that is damaged, or whose paths lead out of it."""
    files = sample("laptop-luks-lvm")
    path = folder / "hostile.tar"
    form = chance.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(path, "w:" + chance.choice(("", "gz", "xz", "bz2")), format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if chance.random() < 0.002:
                info.type = bytes([chance.randrange(256)])
            if chance.random() < 0.005:
                info.type, info.linkname = (
                    tarfile.SYMTYPE,
                    chance.choice(("/etc", "../..", ".", name, "x/" * 30)),
                )
            if chance.random() < 0.005:
                info.name = chance.choice(
                    ("/etc/x", "../x", "a/" * 45 + "b", "proc/\udcff", "sys/\n", ".", "x" * 99)
                )
            if form == tarfile.PAX_FORMAT and chance.random() < 0.004:
                key = chance.choice(
                    ("size", "path", "GNU.sparse.map", "mtime", "linkpath", "hdrcharset")
                )
                info.pax_headers = {
                    key: chance.choice(("-1", "x", "9" * 30, "../../x", "1e400", "\x01"))
                }
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    if chance.random() < 0.3:
        raw = bytearray(path.read_bytes())
        for _ in range(chance.choice((1, 3, 30))):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        path.write_bytes(raw[: chance.choice((len(raw), chance.randrange(len(raw))))])
    tally.run("tar", ("--from", str(path), *chance.choice(READING)))


NAMES = (
    "\x1b[2J", "a;id", "$(reboot)", "`id`", "a b", "-rf", "--help", "'", '"', "\\", "..", "a--b",
    "\u202e", "\u2028", "<b>", "{0}", "%n", "=1+1", "|x", "#", "\udcff\udc80", "né", "磁盘", "a" * 127,
    "&amp;", "]]>", "${IFS}", "\t", "\n", "\x7f", "{device}", "~", "*", "?", "[a]", "!x",
)  # fmt: skip


def names(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: devices, volumes, mounts and models with hostile names, through every kind of command."""
    files = sample("vghdd")
    ours = {
        old: chance.choice(NAMES).encode("utf-8", "surrogateescape")
        for old in (b"vghdd", b"vm--disk1", b"vm-disk1", b"ST1000", b"/srv")
    }
    for path, content in files.items():
        for old, new in ours.items():
            if chance.random() < 0.8:
                content = content.replace(old, new)  # noqa: PLW2901
        files[path] = content
    place = write(folder / "names.tar", files)
    command = chance.choice(READING)
    if chance.random() < 0.6:
        command = (
            *chance.choice(NAMED),
            "--",
            chance.choice(
                ("dm-8", "dm-8", "sda", ours[b"vm-disk1"].decode("utf-8", "replace"), *NAMES[:3])
            ),
        )
    elif chance.random() < 0.2:
        command = (*command, "--", chance.choice(NAMES))
    environment = chance.choice(({}, {"PYTHONIOENCODING": "ascii"}))
    tally.run("name", ("--from", place, *command), environment=environment)
