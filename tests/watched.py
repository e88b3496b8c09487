"""A screen of ``top`` without a terminal: what is drawn is kept, keys are pressed by the test."""

from __future__ import annotations

from pathlib import Path

from stackmap.cli.watcher import Watcher
from stackmap.host.capture import CapturedHost
from stackmap.measurement.follow import RecordedIntervals
from stackmap.render.top import as_text

SAMPLES = Path(__file__).parents[1] / "sample_topologies"


class PaperDisplay:
    """A display that keeps the lines drawn last."""

    def __init__(self, size=(80, 24), *, ascii_only=False):
        self.size, self.ascii_only = size, ascii_only
        self.lines = []

    def key(self, seconds):
        raise AssertionError(f"a test presses keys itself, in {seconds}")

    def draw(self, lines):
        self.lines = list(lines)

    @property
    def text(self):
        return as_text(self.lines)


def watch(path, *, size=(80, 24), ascii_only=False, names=(), count=None, live=False):
    """Return the watcher and the display after *count* intervals of the capture at *path*, None: all."""
    display = PaperDisplay(size, ascii_only=ascii_only)
    host = CapturedHost(str(path))
    source = RecordedIntervals(host)
    watcher = Watcher(display, host, names, live=live)
    found = [*source.from_start()]
    for each in found:
        watcher.take(*each)
    taken = len(found)
    while count is None or taken < count:
        following = next(source.after(), None)
        if following is None:
            break
        watcher.take(*following)
        taken += 1
    return watcher, display


def press(watcher, *keys):
    """Press *keys* and return the last request."""
    return [watcher.press(key) for key in keys][-1]
