"""``stackmap annotate``: add LV names to iostat, sar or sadf output."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from stackmap.cli.output import tell
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.host.table_keys import masked_bytes
from stackmap.measurement.text import ForeignText, tell_unknown_names
from stackmap.render.text import safe
from stackmap.text.annotate import Annotator, Style
from stackmap.text.device_names import aliases

if TYPE_CHECKING:
    from stackmap.cli.session import Session

CHUNK = 1 << 20
MAX_TICKET = 4 << 20  # bytes of a file that is read for its topology; longer ones are logs


@click.command()
@click.argument("text", metavar="[FILE]", type=click.File("rb"), default="-")
@click.option(
    "--append/--replace",
    default=True,
    help="Add the old name in brackets, or drop it.",
)
@click.option("--no-align", is_flag=True, help="Let long names shift columns.")
@click.option(
    "--only", metavar="NAME", multiple=True, help="Show only NAME and the devices above and below."
)
@click.option("--tree", is_flag=True, help="Sort the rows of a report into stacks.")
@click.pass_obj
def command(
    session: Session,
    text: BinaryIO,
    append: bool,
    no_align: bool,
    only: tuple[str, ...],
    tree: bool,
) -> None:
    """
    Add LV names to iostat, sar or sadf output.

    Use it in a pipe: iostat -x 5 | stackmap annotate. Each report is printed as it arrives. Lines without a device are not
    changed. Devices such as dev253-89 of sar are found by their number. A FILE of at most 4 MiB with the output of lsblk,
    mdstat or LVM has its own names.
    """
    _take_topology(session, text)
    topology = discover(session.host)
    known = aliases(topology)
    shown = {device.name for device in topology.select(find_all(topology, only))} if only else None
    place = {device.name: rank for rank, (device, _) in enumerate(topology.rows())}
    style = Style(
        append=append,
        aligned=not no_align,
        only=None if shown is None else frozenset(a for a, name in known.items() if name in shown),
        order={alias: place[name] for alias, name in known.items()} if tree else None,
    )
    annotator = Annotator(
        {alias: safe(topology[name].title) for alias, name in known.items()},
        {device.number: device.name for device in topology.devices.values()},
        style,
    )
    out = sys.stdout.buffer
    foreign = ForeignText(topology.machine, tell)
    while chunk := os.read(text.fileno(), CHUNK):
        foreign.check_hosts(chunk)
        out.write(masked_bytes(annotator.feed(chunk)))
        out.flush()
    out.write(masked_bytes(annotator.finish()))
    out.flush()
    if not annotator.found_table:
        tell(f"{text.name}: no device table found; nothing annotated")
    tell_unknown_names(annotator.unresolved, tell, "unchanged")


def _take_topology(session: Session, text: BinaryIO) -> None:
    """Take the machine that commands in *text* tell of, if it is a short file; what a pipe has cannot be read twice."""
    status = os.fstat(text.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_TICKET:
        session.take(text)
        os.lseek(text.fileno(), 0, os.SEEK_SET)
