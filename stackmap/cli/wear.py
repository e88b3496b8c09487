"""The life of disks, for the commands that say how long it lasts: from a capture, from the disks, or from the user."""

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import click

from stackmap.cli.output import tell
from stackmap.host import Answer, Host
from stackmap.ledger.wear import DAY, WARRANTY, YEAR, life, rated_life
from stackmap.model.device import Device, Kind
from stackmap.model.health import NO_LIVES, Health, Life
from stackmap.model.topology import Topology
from stackmap.sources.sysfs import NVME_PATH

Decorated = TypeVar("Decorated", bound=Callable[..., object])

WAIT = 2.0  # seconds for the disks, once per report until they have answered
TERABYTE = 10**12
_PER_DAY = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)DWPD(?::([0-9]{1,2})Y)?")
_TERABYTES = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,4})?)TBW")

Endurance = Callable[[int], float]  # bytes that may be written to a disk, by its size


def endurance(value: str) -> Endurance | None:
    """
    Return the bytes that "3DWPD", "1DWPD:3y" or "1200TBW" allow, by disk size; None for another *value*.

    >>> endurance("600tbw")(1), endurance("2DWPD:1y")(1000), endurance("2")
    (600000000000000.0, 730500.0, None)
    """
    if match := _TERABYTES.fullmatch(value.upper()):
        total = float(match[1]) * TERABYTE
        return (lambda _: total) if total else None
    match = _PER_DAY.fullmatch(value.upper())
    days = float(match[1]) * int(match[2] or WARRANTY) * YEAR / DAY if match else 0.0
    return (lambda size: days * size) if days else None


def _endurance(_: click.Context, __: click.Parameter, value: str | None) -> Endurance | None:
    rating = endurance(value) if value else None
    if value and rating is None:
        raise click.BadParameter(f"must be 3DWPD, 1DWPD:3y or 1200TBW, not {value}")
    return rating


def wear_options(command: Decorated) -> Decorated:
    """Add ``--wear`` and ``--endurance``."""
    asks = click.option("--wear", is_flag=True, help="Ask disks how much of their life is used.")
    rating = click.option(
        "--endurance",
        metavar="RATING",
        callback=_endurance,
        help="Rated life of the disks: 3DWPD, 1DWPD:3y, 1200TBW.",
    )
    return asks(rating(command))


class DiskLives:
    """
    The rest of the life of each disk.

    A capture has the answers of disks that were recorded. On this machine *asks* says whether disks are asked, in
    the background. *rating*: what the user gives in place of the disks' own rate of wear.
    """

    def __init__(self, host: Host, *, live: bool, asks: bool, rating: Endurance | None) -> None:
        self._host, self._rating = host, rating
        self._live, self._asks = live, asks and os.geteuid() == 0
        self._answer: Answer[dict[str, Health]] | None = None
        self._last: tuple[Topology, Mapping[str, Life]] | None = None
        if live and asks and not self._asks:
            tell("wear: only root may ask disks for their health")

    def ask(self, topology: Topology) -> None:
        """Begin to ask the disks of *topology*, if they are to be asked; once."""
        if self._live and self._asks and self._answer is None:
            from stackmap.sources import health

            self._answer = self._host.in_background(partial(health.read, devices=[*topology]))

    def of(self, topology: Topology) -> Mapping[str, Life]:
        """Return the lives of the disks of *topology* as far as they are known by now."""
        if self._last is not None and self._last[0] is topology:
            return self._last[1]
        known, is_final = self._health(topology)
        lives = {name: rest for device in topology for name, rest in self._life(device, known)}
        if is_final:
            self._last = topology, lives
        return lives or NO_LIVES

    def _health(self, topology: Topology) -> tuple[Mapping[str, Health], bool]:
        """Return the health of the disks, and whether it is final."""
        if not self._live:
            from stackmap.host.capture import CapturedHost

            # The devices of a text are names that its author wrote: no disk of this machine is asked for them.
            if not isinstance(self._host, CapturedHost):
                return {}, True
            from stackmap.sources import health

            return health.recorded(self._host, topology), True
        self.ask(topology)
        if self._answer is None:
            return {}, True
        return (self._answer.result(), True) if self._answer.ready(WAIT) else ({}, False)

    def _life(self, device: Device, known: Mapping[str, Health]) -> list[tuple[str, Life]]:
        said = known.get(device.name)
        rest = None if said is None else life(said)
        is_disk = device.kind is Kind.DISK and not NVME_PATH.fullmatch(device.name)
        is_flash = is_disk and device.rotational is not True
        if self._rating is not None and is_flash and device.size:
            rest = rated_life(self._rating(device.size), None if said is None else said.used)
        return [] if rest is None else [(device.name, rest)]
