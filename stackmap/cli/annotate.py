"""``stackmap annotate``: add LV names to iostat, sar or sadf output."""

import os
import stat
import sys
from collections import Counter
from collections.abc import Sequence
from typing import BinaryIO

import click

from stackmap.cli.output import tell
from stackmap.cli.session import Session
from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.host import Host
from stackmap.host.table_keys import masked_bytes
from stackmap.measurement.stream import MAX_LEARNT, StreamTopology
from stackmap.measurement.text import ForeignText, tell_unknown_names
from stackmap.model.topology import Topology
from stackmap.render.text import safe
from stackmap.text.annotate import Annotator, Style
from stackmap.text.device_names import aliases

CHUNK = 1 << 20


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
    changed. Devices such as dev253-89 of sar are found by their number. Where the first 4 MiB have the output of lsblk, mdstat
    or LVM, the names are those in it; a pipe uses the output that came before the report.
    """
    # Commands in a short file tell of its machine; a pipe is not read ahead.
    status = os.fstat(text.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_LEARNT:
        session.take(text)
        os.lseek(text.fileno(), 0, os.SEEK_SET)
    annotation = Annotation(session.host, only, append=append, aligned=not no_align, tree=tree)
    annotation.tells = session.tells
    stream = StreamTopology(text.name, session.note)
    while chunk := os.read(text.fileno(), CHUNK):
        for told, part in [(None, chunk)] if session.tells else stream.divide(chunk):
            if told is not None:
                annotation.use(told)
            annotation.write(part)
    annotation.write(stream.rest)
    annotation.end()
    if not annotation.found_table:
        tell(f"{text.name}: no device table found; nothing annotated")
    tell_unknown_names(annotation.unresolved, tell, "unchanged")


class Annotation:
    """Writes a text with the names of one machine after another. The first is not asked before the text needs it."""

    def __init__(
        self, host: Host, only: Sequence[str], *, append: bool, aligned: bool, tree: bool
    ) -> None:
        self._host, self._only = host, only
        self._append, self._aligned, self._tree = append, aligned, tree
        self._annotator: Annotator | None = None
        self.unresolved: Counter[str] = Counter()
        self.found_table = False
        self.tells = False  # the text itself tells of the host

    def use(self, host: Host) -> None:
        """Use the names of *host* from here on."""
        self.end()
        self._host, self.tells = host, True

    def write(self, part: bytes) -> None:
        """Write what is complete of the text so far."""
        if self._annotator is None:
            topology = discover(self._host)
            self._foreign = ForeignText(topology.machine, tell)
            self._annotator = self._made_for(topology)
        if not self.tells:
            self._foreign.check_hosts(part)
        self._print(self._annotator.feed(part))

    def end(self) -> None:
        """Write the rest of the text so far."""
        done, self._annotator = self._annotator, None
        if done is not None:
            self._print(done.finish())
            self.unresolved.update(done.unresolved)
            self.found_table = self.found_table or done.found_table
            if others := " and ".join(done.other_hosts):
                self.found_table = True
                tell(f"lines of {others} are unchanged: the devices are known of {done.host} only")

    def _print(self, text: bytes) -> None:
        sys.stdout.buffer.write(masked_bytes(text))
        sys.stdout.buffer.flush()

    def _made_for(self, topology: Topology) -> Annotator:
        known = aliases(topology)
        chosen = find_all(topology, self._only) if self._only else ()
        shown = {device.name for device in topology.select(chosen)}
        place = {device.name: rank for rank, (device, _) in enumerate(topology.rows())}
        style = Style(
            append=self._append,
            aligned=self._aligned,
            only=frozenset(a for a, name in known.items() if name in shown) if self._only else None,
            order={alias: place[name] for alias, name in known.items()} if self._tree else None,
        )
        return Annotator(
            {alias: safe(topology[name].title) for alias, name in known.items()},
            {device.number: device.name for device in topology.devices.values()},
            style,
            topology.machine.host if self.tells else "",
        )
