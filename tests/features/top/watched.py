"""A screen of ``top`` without a terminal: what is drawn is kept, keys are pressed by the test."""

from __future__ import annotations

from stackmap.document.wording import number
from stackmap.features.top.follow import RecordedIntervals
from stackmap.features.top.program import Watcher
from stackmap.host.capture import CapturedHost
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
MIB = 1 << 20


class PaperDisplay:
    """A display that keeps the lines drawn last."""

    def __init__(self, size=(80, 24), *, ascii_only=False):
        self.size, self.ascii_only = size, ascii_only
        self.lines, self.point = [], "."

    def key(self, seconds):
        raise AssertionError(f"a test presses keys itself, in {seconds}")

    def draw(self, lines):
        self.lines = list(lines)

    @property
    def text(self):
        return "".join("".join(span.text for span in line).rstrip() + "\n" for line in self.lines)


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


def rows_as_iostat(text, stacks, part="total"):
    """
    Return how many rows of the screen *text* have the figures of *stacks*, of ``iostat -l -J``.

    A busy unfolded stack whose rows have others fails the test. *part*: read, write or total.
    """
    lines, checked = text.splitlines(), 0
    for stack in stacks:
        begin = f"- {stack['top']} "
        start = next((n for n, line in enumerate(lines) if line.startswith(begin)), None)
        if start is None or not stack["layers"][0]["total"]["iops"]:
            continue
        for place, layer in enumerate(stack["layers"]):
            words, wanted = lines[start + place].split(), _figures(stack, place, part)
            found = any(
                words[n : n + len(wanted)] == wanted for n in range(len(words) - len(wanted) + 1)
            )
            assert found, (stack["top"], layer["role"], wanted, lines[start + place])
            checked += 1
    return checked


def _figures(stack, place, part):
    """Return the cells of a layer of *stack*; those of the stack itself have the ratios of its disks."""
    layer, ratios = stack["layers"][place], stack["layers"][place or -1]["amplification"]
    flow, moved = layer[part], layer[part]["bytes"]
    cells = [
        number(flow["iops"], 2), number(None if moved is None else moved / MIB, 2), number(flow["await"], 2),
        number(layer["aqu"], 2), number(ratios["iops"][part], 2), number(ratios["bytes"][part], 2),
    ]  # fmt: skip
    cost = "~" * stack["estimated"] + number(stack["disk_bytes_per_byte"], 2)
    return cells if place else [*cells, cost]
