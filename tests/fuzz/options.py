"""Random combinations of a command's options, each with values of its kind, on the sample machines."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import click

from stackmap import cli
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.model.load import METRICS
from stackmap.render.columns import COLUMNS
from tests.fuzz.hostile_captures import SAMPLES
from tests.fuzz.running import Tally

MACHINES = [path for path in sorted(SAMPLES.iterdir()) if path.is_dir()]
MOST = 3  # options of a case
TEXT = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n" + 3 * (
    "sda 10.00 20.00 40.00 160.00 1.00 2.00 0.05 5.00\n"
    "dm-8 5.00 80.00 20.00 640.00 1.00 9.00 0.75 40.00\n\n"
)
WORDS = {"tree": [*COLUMNS], "iostat": [metric.key for metric in METRICS]}
LAYOUTS = (
    "raid1",
    "raid10",
    "raid10",
    "raid5",
    "raid6",
    "raid0",
    "raid10 2+2",
    "raid6 6+2",
    "nope",
)

Values = Callable[[random.Random, Path, list[str]], str]


def _list(chance: random.Random, _: Path, __: list[str]) -> str:
    words = chance.choice([*WORDS.values(), WORDS["tree"] + WORDS["iostat"] + ["nope", ""]])
    return chance.choice(["", "", "+"]) + ",".join(chance.choices(words, k=chance.randint(1, 3)))


def _text(_: random.Random, folder: Path, __: list[str]) -> str:
    path = folder / "iostat.txt"
    path.write_text(TEXT)
    return str(path)


def _any_of(*values: str) -> Values:
    return lambda chance, _, __: chance.choice(values)


# By what the option's help calls its value.
VALUES: Mapping[str, Values] = {
    "LIST": _list,
    "COLUMN": lambda chance, _, __: chance.choice(["", "-"]) + chance.choice(WORDS["iostat"]),
    "FILE": _text,
    "CAPTURE|FILE": lambda chance, folder, names: (
        _text(chance, folder, names) if chance.random() < 0.5 else str(chance.choice(MACHINES))
    ),
    "CAPTURE": lambda chance, _, __: str(chance.choice(MACHINES)),
    "N|last|average|all": _any_of("1", "1", "last", "last", "average", "average", "all", "99", "x"),
    "LAYOUT": _any_of(*LAYOUTS),
    "DEVICE": lambda chance, _, names: ",".join(chance.choices(names, k=chance.randint(1, 4))),
    "PATH|NAME": lambda chance, _, names: chance.choice([*names, "/tmp/file"]),
    "NAME": lambda chance, _, names: chance.choice(names),
    "NAME=NAME": lambda chance, _, names: "=".join(chance.choices(names, k=2)),
    "SIZE": _any_of("10M", "1G", "0", "x", "4096"),
    "LENGTH": _any_of("1h", "5min", "10 s", "x", "0"),
    "TIME": _any_of("10ms", "1s", "x", "-1", "2026-11-01 10:00"),
    "read|write=SIZES": _any_of("read=4k:50,8k:50", "write=64k", "write=x", "read="),
    "PERCENT": _any_of("1", "0.1", "100", "nan"),
    "SECONDS": _any_of("1", "10", "0", "3600"),
    "DIR": lambda _, folder, __: str(folder),
    "OUT": lambda chance, folder, _: str(folder / chance.choice(["out.html", "out.csv", "out"])),
}
# Not here: they listen to a server, need a terminal, or record this machine.
LEFT_OUT = frozenset({"fleet", "top", "record"})


# What a command cannot run without.
NEEDED = {
    "whatif": ["--to=raid10"],
    "plan": ["--to=raid10"],
    "report": ["--output=-"],
    "export": ["--openmetrics"],
}


def combined(tally: Tally, chance: random.Random, folder: Path) -> None:
    """Run a random command with random options together, on a random sample machine."""
    name = chance.choice(sorted(set(cli.COMMANDS) - LEFT_OUT))
    command = cli.load(name)
    machine = chance.choice(MACHINES)
    names = _names(machine)
    options = [p for p in command.params if isinstance(p, click.Option) and not p.is_eager]
    words = [name, *NEEDED.get(name, ())]
    for option in chance.sample(options, k=min(len(options), chance.randint(0, MOST))):
        words += _given(option, chance, folder, names)
    words += _arguments(name, chance, folder, names)
    tally.run(machine.name, ["--from", str(machine), *words])


def _arguments(
    command: str, chance: random.Random, folder: Path, names: list[str]
) -> Iterable[str]:
    """Return the NAMEs, or whatever else the command takes."""
    if command == "annotate":
        return [_text(chance, folder, names)]
    if command == "compare":
        return map(str, chance.choices(MACHINES, k=2))
    one = command in ("whatif", "plan", "fiojob")
    return chance.choices(names, k=1 if one else chance.randint(0, 2))


def _given(
    option: click.Option, chance: random.Random, folder: Path, names: list[str]
) -> Iterator[str]:
    """Yield the words that give *option* a value of its kind."""
    spelled = chance.choice(option.opts)
    if option.is_flag:
        yield spelled
        return
    kind = option.type
    if isinstance(kind, click.Choice):
        value = str(chance.choice(list(kind.choices)))
    elif option.metavar in VALUES:
        value = VALUES[option.metavar](chance, folder, names)
    else:
        value = chance.choice(["1", "20", "300", "0", "x"])
    yield f"{spelled}={value}" if spelled.startswith("--") else f"{spelled}{value}"


@cache
def _names(machine: Path) -> list[str]:
    """Return names that the machine has, and some that it has not."""
    devices = discover(CapturedHost(str(machine)))
    return [*(device.title for device in devices), *(device.name for device in devices)]
