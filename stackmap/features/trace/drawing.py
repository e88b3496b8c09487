"""Latencies drawn with characters: by layer, and over time."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from stackmap.document.blocks import Block, Code, Paragraph
from stackmap.document.wording import duration
from stackmap.features.trace.distribution import Distribution
from stackmap.features.trace.stacks import TracedStack

BAR = 16  # columns of the longest bar
ALL_BARS = 44  # columns of the bars of all layers
SHADES = " .:-=+*#%@"  # by the share of the most requests in a cell
TIME_UNITS = (("s", 10**9), ("ms", 10**6), ("µs", 1000), ("ns", 1))


def latency_histogram(stack: TracedStack, direction: str, title: str) -> Iterator[Block]:
    """Yield the latency of each layer in powers of two, drawn."""
    shown = [
        (layer.layer.word, layer.requests[direction].latency)
        for layer in stack.layers
        if direction in layer.requests and layer.requests[direction].latency.count
    ]
    if shown:
        yield Paragraph(f"{title} by latency:")
        yield Code("\n".join(drawn(shown)))


def drawn(columns: list[tuple[str, Distribution]]) -> Iterator[str]:
    """
    Yield a line per power of two, with a bar and a count for each column.

    >>> for line in drawn([("disks", Distribution({(1000000, 1040000): 4, (3000000, 3100000): 1}))]):
    ...     print(line)
                        disks
      524 µs-1.0 ms     ################ 4
      1.0 ms-2.1 ms                      0
      2.1 ms-4.2 ms     ####             1
    """
    powers = [found.by_powers() for _, found in columns]
    used = [power for each in powers for power in each]
    bar = max(6, BAR if len(columns) == 1 else ALL_BARS // len(columns))
    width = bar + 9
    yield f"{'':20}{''.join(f'{title[: width - 1]:{width}}' for title, _ in columns)}".rstrip()
    for power in range(min(used), max(used) + 1):
        cells = []
        for found in powers:
            count = found.get(power, 0)
            longest = max(found.values(), default=1)
            marks = "#" * max(bool(count), round(bar * count / longest))
            cells.append(f"{f'{marks:{bar}} {count}':{width}}")
        yield f"  {_span(power):18}{''.join(cells)}".rstrip()


def latency_over_time(stack: TracedStack, seconds: float) -> Iterator[Block]:
    """Yield the top's latency over time: a column per slice, darker for more requests."""
    for direction, parts in stack.over_time.items():
        yield Paragraph(
            f"{direction.capitalize()}s of {stack.top.title} by latency over time, "
            f"{duration(round(seconds / len(parts), 1))} per column:"
        )
        yield Code("\n".join(heat_map(parts)))


def heat_map(parts: list[Distribution]) -> Iterator[str]:
    r"""
    Yield a line per power of two, the slowest first.

    >>> slices = [Distribution({(1000000, 1040000): n}) for n in (0, 1, 50, 100)]
    >>> print(*heat_map(slices), sep="\n")
      524 µs-1.0 ms      .+@
    """
    powers = [part.by_powers() for part in parts]
    used = [power for each in powers for power in each]
    most = max(count for each in powers for count in each.values())
    for power in range(max(used), min(used) - 1, -1):
        cells = (_shade(each.get(power, 0) / most) for each in powers)
        yield f"  {_span(power):18}{''.join(cells)}".rstrip()


def _shade(share: float) -> str:
    """Return a character for a share of the most requests; a blank for none only."""
    return SHADES[ceil(share * (len(SHADES) - 1))]


def _span(power: int) -> str:
    return f"{short_time(2**power)}-{short_time(2 ** (power + 1))}"


def short_time(nanoseconds: float) -> str:
    """
    Return a time in its largest unit.

    >>> short_time(2**20), short_time(2**15), short_time(2**31)
    ('1.0 ms', '33 µs', '2.1 s')
    """
    unit, length = next(each for each in TIME_UNITS if nanoseconds >= each[1])
    value = nanoseconds / length
    return f"{value:.{1 if value < 10 and length > 1 else 0}f} {unit}"
