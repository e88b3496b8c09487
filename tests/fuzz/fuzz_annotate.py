"""Any bytes through ``annotate``; where no name is known they must come out as they went in."""

from harness import fuzz

from stackmap.text.annotate import Annotator, Style

NAMES = {"dm-2": "vg/root", "sda": "sda"}
NUMBERS = {"253:2": "dm-2"}
STYLES = (
    Style(),
    Style(append=False, aligned=False),
    Style(only=frozenset({"sda"})),
    Style(order={"sda": 0, "dm-2": 1}),
)


def target(raw: bytes) -> None:
    for style in STYLES:
        annotator = Annotator(NAMES, NUMBERS, style)
        annotator.feed(raw[:50])
        annotator.feed(raw[50:])
        annotator.finish()
    nobody = Annotator({}, {}, Style(aligned=False))
    if nobody.feed(raw) + nobody.finish() != raw:
        raise AssertionError(raw)


fuzz(target)
