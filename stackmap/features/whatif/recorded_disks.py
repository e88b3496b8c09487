"""How the busiest disk of another machine's capture serves: ``--disks-from``."""

from __future__ import annotations

from stackmap.commands import additions
from stackmap.discover import discover
from stackmap.errors import InputError
from stackmap.features.whatif.serving import services
from stackmap.features.whatif.stations import Service
from stackmap.features.whatif.volume_context import volume_context
from stackmap.host.capture import CapturedHost
from stackmap.ledger.averages import Average
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
from stackmap.measurement.machines import CaptureSource


def busiest_disk(path: str) -> Service:
    """Return how the disk with most requests in the capture at *path* serves; ``InputError`` if it has none."""
    host = CapturedHost(path)
    topology = discover(host, geometry=True)
    average = Average()
    for _, interval in CaptureSource(host, geometry=True).intervals():
        average.add(interval)
    whole = average.result()
    if whole is None:
        raise InputError(f"{path}: no interval, so no disk's latency is known")
    right = corrected(topology, whole)
    ledger = Ledger(topology, right.loads, right.seconds)
    disks = [d.name for d in topology if not topology.below(d.name) and d.name in right.loads]
    busiest = max(disks, key=lambda name: ledger.load(name).total.ios or 0.0, default="")
    trace = next(filter(None, (of(host) for of in additions("traced"))), None)
    ways = services(ledger, volume_context(topology, busiest), trace, 0.0) if busiest else []
    if not ways:
        raise InputError(f"{path}: its disks were idle, or their await is unknown")
    return ways[0][0]._replace(others=(0.0, 0.0))
