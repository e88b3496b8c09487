"""Questions to the kernel that a child process asks, because one that hangs there cannot be killed."""

from __future__ import annotations

import os
import signal

from stackmap.host.command import Command


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
