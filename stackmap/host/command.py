"""
A command or a question that is started now and read later, within limits of time and output.

It runs in a process group of its own, which is killed with everything in it: at a limit, and
when this program ends (``kill_all``). The child of a ``ForkedQuestion`` asks the kernel itself: what
hangs there cannot be killed, but a child can be left behind.

Uses os and select: importing subprocess takes longer than dmsetup runs.
"""

import atexit
import contextlib
import os
import select
import signal
import time
from _thread import allocate_lock  # threading takes 1 ms

from stackmap.errors import NO_ANSWER, SourceError, SourceMissing, SourceTimeout
from stackmap.host.signals import delayed

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # an ordinary user's PATH often lacks sbin
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
KILL_SECONDS = 1.0  # a killed child ends at once unless it hangs in the kernel
POLL_INTERVAL = 0.001  # seconds, while a child that closed its output is about to end
BLOCK = 65536
ENDING_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
MAX_OUTPUT = 32 << 20  # bytes; the tables of 20,000 devices take 3 MB

_running: set[int] = set()  # the process groups of commands that have not ended
_starting = allocate_lock()  # held from the start of a command until it is in ``_running``


def kill_all() -> None:
    """Kill all commands that are running, at the end; no other can be started, not even by a thread."""
    with delayed(ENDING_SIGNALS):
        _starting.acquire()
        for group in [*_running]:
            with contextlib.suppress(OSError):  # it ended meanwhile
                os.killpg(group, signal.SIGKILL)


atexit.register(kill_all)


class Command:
    """A running command; ``SourceMissing`` if there is no such program."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        try:
            with delayed(ENDING_SIGNALS), _starting:
                self._pid = self._started(out, err)
                _running.add(self._pid)
        except OSError as error:
            self._close()
            raise SourceError(f"{words[0]}: {error.strerror}") from error
        except SourceError:
            self._close()
            raise
        finally:
            os.close(out)
            os.close(err)

    def _started(self, out: int, err: int) -> int:
        """Start the command with these as its output; return its process."""
        return os.posix_spawn(
            _program(self.words[0]),
            self.words,
            ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, err, 2),
            ],
            setpgroup=0,
            setsigdef=[signal.SIGPIPE],  # Python ignores it, and a child would inherit that
            setsigmask=[],  # a child would inherit the signals blocked in this thread
        )

    def answer(self, seconds: float) -> tuple[int, bytes, bytes]:
        """
        Return the exit status (negative: the signal that ended it), stdout and stderr.

        ``SourceTimeout`` if that takes more than *seconds* from now. The time since the
        start does not count: the command may have waited for us to read. ``SourceError``
        if it prints more than ``MAX_OUTPUT``.
        """
        deadline = time.monotonic() + seconds
        try:
            out, err = self._said(deadline)
            return self._ended(deadline), out, err
        except TimeoutError:
            raise SourceTimeout(f"{' '.join(self.words[:2])}: {NO_ANSWER} {seconds:g} s") from None
        finally:
            self._kill()
            self._close()

    def _said(self, deadline: float) -> tuple[bytes, bytes]:
        """Return all output of both pipes."""
        output: dict[int, list[bytes]] = {self._out: [], self._err: []}
        poll = select.poll()
        for pipe in output:
            poll.register(pipe, select.POLLIN)
        remaining, room = len(output), MAX_OUTPUT
        while remaining:
            for pipe, _ in poll.poll(_milliseconds(deadline)):
                output[pipe].append(os.read(pipe, BLOCK))
                room -= len(output[pipe][-1])
                if room < 0:
                    raise SourceError(
                        f"{' '.join(self.words[:2])}: stopped: it printed more than"
                        f" {MAX_OUTPUT >> 20} MiB"
                    )
                if not output[pipe][-1]:
                    poll.unregister(pipe)
                    remaining -= 1
        return b"".join(output[self._out]), b"".join(output[self._err])

    def _ended(self, deadline: float) -> int:
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                _running.discard(self._pid)
                return os.waitstatus_to_exitcode(status)
            _milliseconds(deadline)
            time.sleep(POLL_INTERVAL)

    def _kill(self) -> None:
        """
        Kill the command's group if it has not ended.

        One that hangs in the kernel on a dead path cannot be killed and is left.
        """
        if self._pid not in _running:
            return
        os.killpg(self._pid, signal.SIGKILL)
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                _running.discard(self._pid)
                return
            time.sleep(POLL_INTERVAL)

    def _close(self) -> None:
        os.close(self._out)
        os.close(self._err)


def _program(name: str) -> str:
    for folder in SYSTEM_PATH.split(":"):
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    raise SourceMissing(f"{name}: No such file or directory")


def _milliseconds(deadline: float) -> float:
    """Return the milliseconds until *deadline*; ``TimeoutError`` if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left * 1000


class ForkedQuestion(Command):
    """A child that asks; it is left behind if the kernel does not answer. Its status is an errno."""

    def asked(self) -> bytes:
        """Return the answer; runs in the child."""
        raise NotImplementedError

    def _started(self, out: int, err: int) -> int:  # noqa: ARG002 - the child prints no errors
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os._exit(self._answered(out))
        os.setpgid(pid, pid)  # the parent too: it may end the child before it has come that far
        return pid

    def _answered(self, out: int) -> int:
        """Write the answer to *out*, in the child; return its exit status."""
        try:
            # Before the signals that wait are let through: the handlers are the parent's.
            for number in signal.valid_signals():
                if number == signal.SIGPIPE or callable(signal.getsignal(number)):
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            answer = self.asked()
            with os.fdopen(out, "wb") as pipe:
                pipe.write(answer)
        except OSError as error:
            return error.errno or 1
        except BaseException:  # noqa: BLE001 - the child must not return into the parent's program
            return 1
        return 0
