"""A signal ends the program, wherever Python is when it comes."""

import subprocess
import sys

import pytest

BEGIN = """
import atexit, importlib, os, signal, time
from stackmap.host import signals
signal.signal(signal.SIGHUP, signals.end)
signals.raise_again()

def end(*_):
    os.kill(os.getpid(), signal.SIGHUP)
    for _ in range(3):  # Python calls handlers between two instructions
        time.sleep(0)
"""
LOST = {
    "a finalizer": "class Ends: __del__ = end\nEnds()",
    "a weak reference": "import weakref\nclass Ends: pass\nends = Ends()\nlast = weakref.ref(ends, end)\ndel ends",
    "an abandoned generator": "def counted():\n    try: yield\n    finally: end()\nstarted = counted(); next(started); del started",
}


@pytest.mark.parametrize("place", LOST)
def test_a_signal_is_not_lost(place):
    """Python reports what is raised there and goes on."""
    done = _run(f"{BEGIN}{LOST[place]}\ntime.sleep(30)\nprint('went on')")
    assert (done.returncode, done.stdout, done.stderr) == (128 + 1, "", "")


def test_a_signal_at_the_very_end_is_not_reported():
    done = _run(f"{BEGIN}atexit.register(end)")
    assert (done.returncode, done.stderr) == (0, "")


def test_another_error_in_a_finalizer_is_reported():
    done = _run(f"{BEGIN}class Fails:\n    def __del__(self): 1 / 0\nFails()")
    assert "ZeroDivisionError" in done.stderr


def _run(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
