"""``stackmap top``: the stack live in a full-screen terminal, or a recording."""

import sys

import click

from stackmap.cli.options import split_words
from stackmap.cli.session import Session

NO_TERMINAL = "top needs a terminal; without one, run `stackmap iostat -l 1`"


@click.command()
@click.argument("words", nargs=-1, metavar="[NAME...] [INTERVAL]")
@click.pass_obj
def command(session: Session, words: tuple[str, ...]) -> None:
    """
    Show the stack live in a full-screen terminal.

    INTERVAL is in seconds (default 1). NAME is a VG, an LV, a device or a mount
    point. With --from, it shows a recording. Press ? for the keys.
    """
    names, seconds, count = split_words(words)
    if count is not None:
        raise click.UsageError("top takes no COUNT: it runs until q is pressed")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(NO_TERMINAL)
    from stackmap.features.top.program import on_machine, on_recording
    from stackmap.features.top.terminal import Terminal, is_usable

    if not is_usable():
        raise click.UsageError(NO_TERMINAL)
    if session.live:
        on_machine(session, Terminal(), names, seconds or 1.0)
    else:
        on_recording(session, Terminal(), names)
