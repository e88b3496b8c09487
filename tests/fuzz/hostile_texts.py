"""
Texts of iostat and sar in which every cell has a value of its own.

However a text is damaged, a figure that is read must be the one printed for that device in that
column: a number that moved to another device or column is worse than a line that is refused.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from stackmap import text as statistics
from stackmap.errors import StackmapError
from stackmap.model.load import Flow, Load
from tests.fuzz.hostile_captures import NAMES, NUMBERS, WORDS
from tests.fuzz.running import READING, Tally
from tests.paths import ROOT

KIB = 1024.0
# Heading of the name's column, columns, whether the name is last.
NEW = "r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util"
FORMS = (
    ("Device", NEW),
    ("Device", "r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"),
    ("Device:", "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"),
    ("Device:", "rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await svctm %util"),
    ("Device", "tps kB_read/s kB_wrtn/s kB_dscd/s kB_read kB_wrtn kB_dscd"),
    ("DEV", "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"),
    ("DEV", "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util"),
)  # fmt: skip
DEVICES = ("sda", "sdb", "nvme0n1", "dm-0", "dm-13", "md127", "nvme10n1p3", "vda", "sdaa")

# A figure of a load: the columns that print it, each with its factor.
FIGURES = {
    "read.ios": {"r/s": 1.0}, "write.ios": {"w/s": 1.0},
    "read.bytes": {"rkB/s": KIB, "rMB/s": KIB * KIB, "kB_read/s": KIB, "rd_sec/s": 512.0},
    "write.bytes": {"wkB/s": KIB, "wMB/s": KIB * KIB, "kB_wrtn/s": KIB, "wr_sec/s": 512.0},
    "read.merges": {"rrqm/s": 1.0}, "write.merges": {"wrqm/s": 1.0},
    "discard.ios": {"d/s": 1.0}, "flush.ios": {"f/s": 1.0}, "discard.merges": {"drqm/s": 1.0},
    "discard.bytes": {"dkB/s": KIB, "kB_dscd/s": KIB},
    "aqu": {"aqu-sz": 1.0, "avgqu-sz": 1.0}, "busy": {"%util": 0.01},
}  # fmt: skip
AWAITS = {"read": "r_await", "write": "w_await", "discard": "d_await", "flush": "f_await"}

Cells = dict[tuple[str, str], set[float]]  # by device and column


def text_with_tracers(chance: random.Random, cells: Cells) -> list[str]:
    """Return the lines of a text, and add each of its values to *cells*."""
    name, columns = chance.choice(FORMS)
    sar = name == "DEV"
    devices = chance.sample(DEVICES, chance.randrange(1, len(DEVICES)))
    order = columns.split()
    last = not sar and chance.random() < 0.2
    lines = ["Linux 6.1.0-18-amd64 (lab) \t11/21/2026 \t_x86_64_\t(4 CPU)", ""]
    used: set[float] = set()
    for report in range(chance.randrange(1, 6)):
        stamp = f"07:{report:02}:01"
        lines += [] if sar or chance.random() < 0.5 else [f"11/21/2026 07:{report:02}:01 AM"]
        lines.append(_line(stamp if sar else "", name, order, last=last))
        for device in devices:
            row = []
            for column in order:
                value = _tracer(column, chance, used)
                cells.setdefault((device, column), set()).add(float(value))
                row.append(value)
            lines.append(_line(stamp if sar else "", device, row, last=last))
        lines.append("")
    return lines


def _tracer(column: str, chance: random.Random, used: set[float]) -> str:
    """Return a value that no other cell has; shares stay below 100."""
    while True:
        value = round(chance.uniform(1, 99 if "%" in column else 90000), 2)
        if value not in used:
            used.add(value)
            return f"{value:.2f}"


def _line(stamp: str, name: str, cells: list[str], *, last: bool) -> str:
    parts = [*cells, name] if last else [name, *cells]
    return "   ".join([stamp, *parts] if stamp else parts)


def damaged(lines: list[str], chance: random.Random, *, parts: bool) -> list[str]:
    """
    Return *lines* with one change that leaves every word whole; *parts*: the change may move parts of rows.

    After two such changes, the start of one row may stand before the end of another. No reader can detect that.
    """
    if not lines:
        return lines
    place = chance.randrange(len(lines))
    words = lines[place].split()
    other = chance.randrange(len(lines))

    def put(*new: str) -> list[str]:
        return [*lines[:place], *new, *lines[place + 1 :]]

    of_rows = (
        put,
        lambda: put("  ".join(words[: chance.randrange(len(words) + 1)])),
        lambda: put("  ".join(words[chance.randrange(len(words) + 1) :])),
        lambda: put(lines[place] + " " + lines[other]),
        lambda: put("   ".join(words[: len(words) // 2]), "   ".join(words[len(words) // 2 :])),
        lambda: lines[:place] + lines[other:],
        lambda: lines[:place],
    )
    changes = (
        lambda: put(lines[place], lines[place]),
        lambda: put(chance.choice(WORDS).decode("latin-1"), lines[place]),
        lambda: put("> " + lines[place]),
        lambda: put("\x1b[32m" + lines[place] + "\x1b[0m"),
        lambda: put("avg-cpu:  %user   %nice %system %iowait  %steal   %idle", lines[place]),
        lambda: put("```", lines[place], "```"),
        lambda: [line for line in lines if line],
        lambda: [*lines[:place], "", *lines[place:]],
    )
    return chance.choice(of_rows if parts else changes)()


def tracers(tally: Tally, chance: random.Random, folder: Path) -> None:  # noqa: ARG001 - like the others
    """One case: a text, damaged or whole. Each figure that is read must come from its own cell."""
    cells: Cells = {}
    lines = text_with_tracers(chance, cells)
    number = chance.choice((0, 1, 1, 2, 4))
    with_parts = chance.randrange(2 * number + 1)  # which change; as often none
    for change in range(number):
        lines = damaged(lines, chance, parts=change == with_parts)
    if chance.random() < 0.2:  # another form after the first one
        lines += text_with_tracers(chance, cells)
    raw = "\n".join(lines).encode("utf-8", "replace")
    faults = []
    try:
        for interval in statistics.intervals([raw], "text"):
            if not interval.summary:
                for device, load in interval.loads.items():
                    faults += list(misplaced(device, load, cells))
    except StackmapError:
        pass
    except Exception as error:  # noqa: BLE001 - a user would see a traceback
        faults.append(f"{type(error).__name__}: {error}")
    if faults:
        faults = [f"{faults[0]} in {raw[:3000]!r}"]
    tally.case("tracer", faults)


def misplaced(device: str, load: Load, cells: Cells) -> Iterator[str]:
    """Yield each figure of *load* that was not printed for *device* in a column of that figure."""
    for figure, columns in FIGURES.items():
        value = _figure(load, figure)
        if value:
            printed = [
                each * factor
                for column, factor in columns.items()
                for each in cells.get((device, column), ())
            ]
            if not any(abs(value - each) <= 1e-6 * each for each in printed):
                yield f"{device} {figure} {value}"
    for direction, column in AWAITS.items():
        flow: Flow = getattr(load, direction)
        value = flow.await_ms
        printed = [*cells.get((device, column), ())]
        if value and printed and not any(abs(value - each) <= 1e-6 * each for each in printed):
            yield f"{device} {column} {value}"


def _figure(load: Load, figure: str) -> float | None:
    found: object = load
    for word in figure.split("."):
        found = getattr(found, word)
    return found if isinstance(found, float) else None


def garbage(tally: Tally, chance: random.Random, folder: Path) -> None:  # noqa: ARG001 - like the others
    """One case: a text with hostile words in it, through a command."""
    lines = text_with_tracers(chance, {})
    for _ in range(chance.choice((1, 3, 9))):
        place = chance.randrange(len(lines))
        words = lines[place].split() or [""]
        word = chance.choice((*(w.decode("latin-1") for w in (*WORDS, *NUMBERS)), *NAMES))
        words[chance.randrange(len(words))] = word
        lines[place] = "  ".join(words)
    raw = "\n".join(lines).encode("utf-8", "surrogateescape")
    commands = [c for c in READING if c[0] in ("iostat", "blame", "explain", "report", "export")]
    command = [c for c in commands if "--since-boot" not in c]
    arguments = (*chance.choice(command), "--input", "-")
    if chance.random() < 0.2:
        arguments = ("annotate",)
    tally.run(
        "text",
        ("--from", str(ROOT / "sample_topologies/vghdd"), *arguments),
        stdin=raw,
    )
