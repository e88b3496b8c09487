"""
The command line: options → one chain of calls → echo; and the one place that explains errors.

A closed pipe ends a command silently, and an interrupt ends it well: status 0.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, cast

import click

from stackmap import __version__
from stackmap.cli.output import STDOUT
from stackmap.errors import StackmapError
from stackmap.render.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackmap.host import Host
    from stackmap.host.capture import CapturedHost
    from stackmap.model.topology import Topology

SOME_MISSING = 64  # of several names, as lsblk has it; none of them is ``NameNotFound``

# A command's module is imported when it runs, so that each pays only for what it uses.
COMMANDS = {
    "tree": "the stacks, from what is used down to the disks",
    "iostat": "counters by device with the names people use; what each layer does to I/O",
    "annotate": "iostat, sar or sadf text in, the same text out with LV names",
    "blame": "who loads a disk: its requests and bytes by volume; which disks a volume loads",
    "explain": "is it the workload, the layout, or a sick disk: findings with their evidence",
    "check": "do the layers fit each other: starts, chunks, stripes, sectors",
    "whatif": "the measured load on another layout: requests, bytes, load a disk",
    "report": "one self-contained page for a change request: HTML or Markdown",
    "plan": "the commands that give a volume another layout, for this stack; printed, never run",
    "compare": "two recordings of a volume: what changed, normalised for load, and what of it is chance",
    "fiojob": "the measured load as a fio job for a test volume, reads and writes apart",
    "record": "topology and counters into a capture that --from reads back",
    "export": "the figures of each device over time as OpenMetrics or Parquet",
}


class Commands(click.Group):
    """A group whose commands are modules of this package, each with a ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"stackmap.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; one that is interrupted, or whose reader went away, ended well."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(0)
        except BrokenPipeError:
            _let_go_of_output()
            ctx.exit(0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list without importing every command for its first line of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


class Session:
    """
    What every command is given: the host to ask, and how to look.

    ``most``: of a recording of more samples only about so many are read, where
    nothing said how far ``apart``, in seconds.
    """

    def __init__(
        self, capture: str | None, color: str, window: tuple[str | None, ...] = (None,) * 3
    ) -> None:
        self._capture = capture
        self._window = window
        self._host: Host | None = None
        self.most: int | None = None
        self.apart: float | None = None
        self.color = {"always": True, "never": False}.get(color)

    @property
    def live(self) -> bool:
        """Whether the host is this machine, now."""
        return self._capture is None

    @property
    def place(self) -> str:
        """What is looked at, for a message."""
        return self._capture or "this machine"

    @property
    def host(self) -> Host:
        """The machine to look at."""
        if self._host is None:
            self._host = self._open()
        return self._host

    @property
    def recorded(self) -> CapturedHost | None:
        """The recording that is looked at; None if that is this machine."""
        return None if self.live else cast("CapturedHost", self.host)

    @staticmethod
    def tell_missing(topology: Topology, names: Iterable[str]) -> int:
        """Say on stderr which of *names* no device bears; return lsblk's exit status for it."""
        from stackmap.find import unmatched

        lacking = unmatched(topology, names)
        for name in lacking:
            tell(f"no device is named {name}")
        return SOME_MISSING if lacking else 0

    @staticmethod
    def tell_unknown(topology: Topology) -> None:
        """Say on stderr what of *topology* could not be learned, and why."""
        for reason in topology.unknown:
            tell(f"not known: {reason}")

    def tell_apart(self) -> None:
        """Say on stderr that samples were left out, where nobody asked for it."""
        if self.apart is not None:
            tell(
                f"a sample every {self.apart:g} s is read of so long a recording; --every has others"
            )

    def _open(self) -> Host:
        if self._capture is None:
            from stackmap.host.live import LiveHost

            return LiveHost()
        from stackmap.host.capture import CapturedHost

        host = CapturedHost(self._capture, tell)
        if any(self._window) or self.most:
            from stackmap.cli.window import narrow

            self.apart = narrow(host, self._window, self.most)
        return host


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--from",
    "capture",
    metavar="CAPTURE",
    help="Read a recorded machine instead of this one: a capture, a tar of one, or a tree with "
    "proc/ and sys/ such as a sosreport.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Of CAPTURE only what is not before TIME: 2026-11-21T14:30, 14:30, -1h (before its end).",
)
@click.option("--until", metavar="TIME", help="Of CAPTURE only what is not after TIME.")
@click.option(
    "--every", metavar="LENGTH", help="Of CAPTURE only a sample every LENGTH: 60, 5min, 1h."
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the output; auto: on a terminal, unless NO_COLOR is set.",
)
@click.version_option(__version__, prog_name="stackmap", message="%(prog)s %(version)s")
@click.pass_context
def stackmap(ctx: click.Context, /, capture: str | None, color: str, **window: str | None) -> None:
    """See what a Linux storage stack does to I/O. It only reads."""
    chosen = window["since"], window["until"], window["every"]
    if capture is None and any(chosen):
        raise click.UsageError(
            "--since, --until and --every choose from a capture: --from names it"
        )
    ctx.obj = Session(capture, color, chosen)


def main() -> None:
    """Run the command line; say what went wrong in one line, and exit with its status."""
    if sys.stderr is None:
        sys.exit(1)  # the shell closed it: there is nobody to tell
    if sys.stdout is None:
        tell("standard output is closed: send it to a file, or to /dev/null")
        sys.exit(1)
    try:
        stackmap(prog_name="stackmap")
    except StackmapError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        tell(f"{error.filename or STDOUT}: {error.strerror or error}")
        _let_go_of_output()
        sys.exit(1)


def _let_go_of_output() -> None:
    """Have what is left to be written, at exit, go nowhere: it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(message: str) -> None:
    """Say *message* on stderr, in one line that controls no terminal."""
    click.echo(f"stackmap: {safe(message)}", err=True)
