"""
The command line: options → measurement → analysis → document → output; ``commands.py`` lists the commands.

Errors are printed here and nowhere else. A closed pipe and an interrupt end a command with status 0.
Start at ``iostat``: its options (``options``), the measurement (``session``) and its output (``output``).
"""

import errno
import importlib
import os
import re
import signal
import sys
from itertools import islice
from typing import NoReturn

import click

from stackmap import __version__
from stackmap.cli.output import STDOUT, discard_output, one_line, tell
from stackmap.cli.session import Session
from stackmap.commands import COMMANDS, GROUPS
from stackmap.errors import NameNotFound, StackmapError
from stackmap.host.signals import end, raise_again


def load(name: str) -> click.Command:
    """Import a command of ``COMMANDS``."""
    command: click.Command = importlib.import_module(COMMANDS[name].module).command
    return command


PART = ("since", "until", "every")  # the options that choose a part of --from
WRONG_USAGE = 2  # exit status
CLOSE = 0.7  # similarity of a mistyped command: "iostta", but not "foo", means one
IMPLIED = "stackmap.implied"  # in click's meta: a NAME where a command was expected


class Commands(click.Group):
    """A group whose commands are modules of this package, each with a ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        return load(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the global options, also those after the command; print wrong usage in one line."""
        if not args:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(WRONG_USAGE)
        try:
            return super().parse_args(ctx, _global_options_first(ctx, self, args))
        except click.UsageError as error:
            _refuse(ctx, error)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments; ``stackmap NAME`` means ``stackmap tree NAME``."""
        word = args[0]
        if word in COMMANDS or word.startswith("-"):
            return super().resolve_command(ctx, args)
        if re.fullmatch(r"[0-9.]+", word):
            raise click.UsageError(f"{word} is no command; run `stackmap iostat {word}`", ctx)
        from difflib import get_close_matches

        similar = get_close_matches(word.lower(), COMMANDS, 1, CLOSE)
        if similar and not _is_device(ctx, word):
            message = f"no command and no device named '{word}'; did you mean '{similar[0]}'?"
            raise click.UsageError(message, ctx)
        ctx.meta[IMPLIED] = word
        return "tree", self.get_command(ctx, "tree"), args

    def invoke(self, ctx: click.Context) -> object:
        """Run the command and exit with its status: 0 after an interrupt, or if the pipe is closed."""
        try:
            super().invoke(ctx)
        except click.UsageError as error:
            _refuse(ctx, error)
        except NameNotFound as error:
            if IMPLIED not in ctx.meta:
                raise
            tell(f"no command and {error}")
            ctx.exit(WRONG_USAGE)
        except KeyboardInterrupt:
            ctx.exit(0)
        except BrokenPipeError:
            discard_output()
            ctx.exit(0)
        ctx.exit(ctx.obj.status)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list without importing every command for its first line of help."""
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(widest), command.help) for name, command in group.items()]
                )


def _global_options_first(ctx: click.Context, group: click.Group, args: list[str]) -> list[str]:
    """
    Return *args* with the global options that stand after the command moved before it.

    What follows ``--`` stays, and so do --help and --version, and options that the command has itself.
    """
    words = group.make_parser(ctx).parse_args([*args])[1]  # from the command on
    place = len(args) - len(words)
    end = words.index("--") if "--" in words else len(words)
    of_all = {word for option in group.params if not option.is_eager for word in option.opts}
    if not any(word.partition("=")[0] in of_all for word in words[:end]):
        return args
    command = load(words[0] if words[0] in COMMANDS else "tree")
    of_all.difference_update(word for option in command.params for word in option.opts)
    moved: list[str] = []
    kept: list[str] = []
    rest = iter(words[:end])
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in of_all:
            kept.append(word)
        elif equals:
            moved.append(word)
        elif value := list(islice(rest, 1)):
            moved += [word, *value]
        else:
            raise click.BadOptionUsage(word, f"{word} requires an argument", ctx)
    return [*args[:place], *moved, *kept, *words[end:]]


def _is_device(ctx: click.Context, word: str) -> bool:
    from stackmap.discover import discover
    from stackmap.discover.find import find

    session = Session(ctx.params["capture"], {name: ctx.params[name] for name in PART})
    return bool(find(discover(session.host), word))


def _refuse(ctx: click.Context, error: click.UsageError) -> NoReturn:
    tell(one_line(error))
    ctx.exit(WRONG_USAGE)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--from",
    "capture",
    metavar="CAPTURE",
    help="Read a capture or sosreport, not this machine.",
)
@click.option("--since", metavar="TIME", help="Start at TIME: 2026-11-21T14:30, 14:30, -1h.")
@click.option("--until", metavar="TIME", help="End at TIME.")
@click.option("--every", metavar="LENGTH", help="Use one sample per LENGTH: 60, 5min, 1h.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the output; auto honours NO_COLOR.",
)
@click.version_option(
    __version__, "-V", "--version", prog_name="stackmap", message="%(prog)s %(version)s"
)
@click.pass_context
def stackmap(ctx: click.Context, /, capture: str | None, color: str, **part: str | None) -> None:
    """Show what a Linux storage stack does to I/O. It only reads; trace adds probes."""
    ctx.color = {"always": True, "never": False}.get(color)
    ctx.obj = Session(capture, part)


def main() -> None:
    """Run the command line; print an error in one line, and exit with its status."""
    if sys.stdin is None:  # the shell closed it: keep its number from other files
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open until the end
        sys.stdin.buffer.raw.name = "<stdin>"  # type: ignore[attr-defined]  # for messages
    if sys.stderr is None:
        sys.exit(1)
    if sys.stdout is None:
        tell("standard output is closed: redirect it to a file or to /dev/null")
        sys.exit(1)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names are any bytes
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
            signal.signal(ending, end)
    raise_again()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _run()
    except KeyboardInterrupt:  # where no command is running yet, or any more
        sys.exit(0)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be completed


def _run() -> None:
    try:
        stackmap(prog_name="stackmap")
    except StackmapError as error:
        tell(*error.lines)
        sys.exit(error.exit_code)
    except OSError as error:
        # Writing to a file without a name fails with one of these.
        is_output = error.errno in (
            errno.EPIPE,
            errno.ENOSPC,
            errno.EIO,
            errno.EFBIG,
            errno.EDQUOT,
            errno.EAGAIN,
        )
        where = error.filename or (STDOUT if is_output else "")
        tell(": ".join(filter(None, (where, error.strerror or str(error)))))
        discard_output()
        sys.exit(1)
    except MemoryError:
        tell("out of memory: choose fewer devices, or a part of the recording")
        sys.exit(1)
