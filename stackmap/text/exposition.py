"""
node_exporter's counters of disks in Prometheus' text format, as ``curl localhost:9100/metrics`` prints them.

One scrape has totals since boot, and usually both the time of the scrape and of the boot. Two have an interval.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stackmap.errors import InputError
from stackmap.model.exported import COUNTERS, NODE
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Machine
from stackmap.text.diskstats_copies import NO_LENGTH, SINCE_BOOT
from stackmap.text.headings import MAX_DEVICES

BEGINNING = re.compile(rf"\W{{0,8}}(?:{NODE}\w+\{{|node_(?:boot_)?time_seconds\b)")
_METRIC = re.compile(r"(node_\w+)(?:\{([^{}]*)\})?\s+([-+.\deE]+)(?:\s|$)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

FIELDS = {NODE + counter.name: (counter.field, counter.unit) for counter in COUNTERS}
FLOWS = (
    ("reads", "read_merges", "read_bytes", "read_ms"),
    ("writes", "write_merges", "write_bytes", "write_ms"),
    ("discards", "discard_merges", "discard_bytes", "discard_ms"),
    ("flushes", "", "", "flush_ms"),
)
CLOCKS = {"node_time_seconds": "time", "node_boot_time_seconds": "boot"}

Totals = dict[str, float]  # of a device, by field of ``Counters``


@dataclass(slots=True)
class Scrape:
    """The metrics of one host at one instant: its clocks, and the totals of each device."""

    clocks: dict[str, float] = field(default_factory=dict)
    devices: dict[str, Totals] = field(default_factory=dict)

    def take(self, metric: str, device: str, value: float) -> bool:
        """Take a figure; return False if it is that of a later scrape."""
        if metric in CLOCKS:
            return self.clocks.setdefault(CLOCKS[metric], value) == value
        name, unit = FIELDS[metric]
        totals = self.devices.setdefault(device, {})
        if name in totals:
            return False
        totals[name] = value * unit
        if len(self.devices) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one scrape")
        return True


def read(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the intervals between the scrapes of each host; of a single scrape, that since boot."""
    scrapes: dict[str, list[Scrape]] = {}  # by host: the last two
    for line in lines:
        match = _METRIC.search(line)
        if match is None or match[1] not in FIELDS.keys() | CLOCKS.keys():
            continue
        labels = dict(_LABEL.findall(match[2] or ""))
        host, value = labels.get("instance", ""), _number(match[3])
        if value is None or (match[1] in FIELDS and not labels.get("device")):
            continue
        of_host = scrapes.setdefault(host, [Scrape()])
        if not of_host[-1].take(match[1], labels.get("device", ""), value):
            if len(of_host) > 1:
                yield _between(host, *of_host)
                del of_host[0]
            of_host.append(Scrape())
            of_host[-1].take(match[1], labels.get("device", ""), value)
    for host, of_host in scrapes.items():
        if of_host[-1].devices:
            yield _between(host, *of_host)


def _between(host: str, earlier: Scrape, later: Scrape | None = None) -> Interval:
    """Return the loads between two scrapes, or since boot."""
    notes: tuple[str, ...] = ()
    alone = later is None
    later = later or earlier
    start = earlier.clocks.get("boot" if alone else "time", 0.0)
    end = later.clocks.get("time", 0.0)
    seconds = end - start if 0 < start < end else None
    if seconds is None:
        notes = (SINCE_BOOT if alone else NO_LENGTH,)
    events, loads = [], {}
    for device, totals in later.devices.items():
        since = dict.fromkeys(totals, 0.0) if alone else earlier.devices.get(device)
        if since is None:
            events.append(f"{device} appeared")
        elif any(value < since.get(name, 0.0) for name, value in totals.items()):
            events.append(f"{device}: its counters went back; no figures for it")
        else:
            known = {name: value - since[name] for name, value in totals.items() if name in since}
            loads[device] = _load(known, seconds)
    return Interval(
        loads,
        time=end or None,
        seconds=seconds,
        since_boot=alone,
        notes=notes,
        events=tuple(events),
        machine=Machine(host=host.partition(":")[0]),
    )


def _load(totals: Totals, seconds: float | None) -> Load:
    """Return the load per second, or the totals themselves without the figures that need a length."""
    per_second = 1 / (seconds or 1.0)
    read, write, discard, flush = (
        Flow(*(totals[name] * per_second if name in totals else None for name in names))
        for names in FLOWS
    )
    aqu, busy = (totals.get(name) if seconds else None for name in ("weighted_ms", "busy_ms"))
    share = per_second / 1000
    return Load(
        read,
        write,
        discard,
        flush,
        aqu=None if aqu is None else aqu * share,
        busy=None if busy is None else busy * share,
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e20 else None
