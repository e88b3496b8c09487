"""The terminal in full-screen mode, with curses: keys in, styled lines out. It is restored on every exit."""

import contextlib
import curses
import io
import locale
import os
import select
import signal
import sys
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from stackmap.cli.output import coloured, decimal_point
from stackmap.host import signals

if TYPE_CHECKING:
    from types import FrameType

    from stackmap.features.top.cells import Line

ESCAPE_DELAY = 25  # ms after which an Esc is a key and not the begin of another
UTF_8 = "UTF-8"
NAMES = {
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_PPAGE: "pgup",
    curses.KEY_NPAGE: "pgdn",
    curses.KEY_HOME: "home",
    curses.KEY_END: "end",
    curses.KEY_ENTER: "enter",
    curses.KEY_BACKSPACE: "backspace",
    "\n": "enter",
    "\r": "enter",
    "\x1b": "esc",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x03": "ctrl-c",
}
# Without a handler these would end the program with the terminal as it is.
FATAL = ("SIGQUIT", "SIGABRT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGPWR", "SIGIO")  # fmt: skip
COLOURS = {"critical": (1, curses.COLOR_RED), "warning": (2, curses.COLOR_YELLOW)}


def is_usable() -> bool:
    """Whether standard input and output are a terminal that can show a screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        curses.setupterm()
    except curses.error:
        return False
    return bool(curses.tigetstr("cup"))


class Terminal:
    """
    A context in which the terminal is this program's.

    Messages for stderr are held until its end. Ctrl-Z suspends, a new size is the key "resize".
    """

    def __init__(self) -> None:
        self._ascii = (
            locale.nl_langinfo(locale.CODESET) != UTF_8 or os.environ.get("TERM") == "linux"
        )
        self.point = decimal_point()
        self._attributes: dict[str, int] = {"bold": curses.A_BOLD, "reverse": curses.A_REVERSE}
        self._held = io.StringIO()
        self._shown: list[Line] = []
        self._shown_size = (0, 0)

    @property
    def ascii_only(self) -> bool:
        """Whether it shows ASCII only."""
        return self._ascii

    @property
    def size(self) -> tuple[int, int]:
        """Its columns and lines."""
        lines, columns = self._window.getmaxyx()
        return columns, lines

    @contextlib.contextmanager
    def __call__(self) -> "Iterator[Terminal]":
        """Open it, and restore what was before."""
        with contextlib.ExitStack() as undo:
            wake, self._signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._wake = wake
            undo.callback(os.close, wake)
            undo.callback(os.close, self._signalled)
            undo.callback(self._print_held)
            curses.set_escdelay(ESCAPE_DELAY)
            self._window = curses.initscr()
            undo.callback(self._end)
            curses.noecho()
            curses.cbreak()
            self._window.keypad(True)
            self._window.nodelay(True)
            with contextlib.suppress(curses.error):
                curses.curs_set(0)
            self._set_colours()
            undo.enter_context(contextlib.redirect_stderr(self._held))
            undo.callback(
                signal.set_wakeup_fd,
                signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False),
            )
            handlers = {
                getattr(signal, name): signals.end for name in FATAL if hasattr(signal, name)
            }
            for number, handler in {
                **handlers,
                signal.SIGTSTP: self._suspend,
                signal.SIGWINCH: self._resize,
            }.items():
                undo.callback(signal.signal, number, signal.signal(number, handler))
            yield self

    def key(self, seconds: float | None) -> str | None:
        """Wait up to *seconds* for a key, None: until there is one; return its name or character, None without one."""
        if (pressed := self._key()) is not None:
            return pressed
        ready, _, _ = select.select([sys.stdin, self._wake], (), (), seconds)
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
            return "resize"
        if ready and (pressed := self._key()) is None and not os.isatty(sys.stdin.fileno()):
            raise SystemExit(1)
        return pressed if ready else None

    def draw(self, lines: "Iterable[Line]") -> None:
        """Show *lines*, the first one at the top; only those that differ from what is shown are written."""
        window = self._window
        before = self._shown if self._shown_size == self.size else []
        if not before:
            window.erase()
        self._shown, self._shown_size = list(lines), self.size
        empty: Line = []
        for place, (line, old) in enumerate(zip_longest(self._shown, before, fillvalue=empty)):
            # The cursor cannot move behind the last column of the last line.
            with contextlib.suppress(curses.error):
                if line != old:
                    window.move(place, 0)
                    window.clrtoeol()
                    for span in line:
                        window.addstr(span.text, self._attributes.get(span.tone, 0))
        window.refresh()

    def _key(self) -> str | None:
        try:
            key = self._window.get_wch()
        except curses.error:
            return None
        if key == curses.KEY_RESIZE:
            return "resize"
        return NAMES.get(key, key if isinstance(key, str) else "")

    def _set_colours(self) -> None:
        for tone, (number, colour) in COLOURS.items():
            self._attributes[tone] = curses.A_BOLD
            if coloured() and curses.has_colors() is not False:
                with contextlib.suppress(curses.error):
                    curses.start_color()
                    curses.use_default_colors()
                    curses.init_pair(number, colour, -1)
                    self._attributes[tone] = curses.color_pair(number) | curses.A_BOLD

    def _end(self) -> None:
        with contextlib.suppress(curses.error):  # the terminal may be gone
            if not curses.tigetstr(
                "rmcup"
            ):  # without a second screen, the shell goes on in the last line
                self._window.move(self.size[1] - 1, 0)
                self._window.clrtoeol()
                self._window.refresh()
            curses.endwin()

    def _print_held(self) -> None:
        for line in dict.fromkeys(self._held.getvalue().splitlines()):
            click.echo(line, err=True)

    def _suspend(self, _: int, __: "FrameType | None") -> None:
        """Give the terminal back, stop, and take it again."""
        self._end()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._window.clearok(True)
        self._resize(0, None)
        self._window.refresh()

    def _resize(self, _: int, __: "FrameType | None") -> None:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
        with contextlib.suppress(curses.error):
            curses.resizeterm(lines, columns)
