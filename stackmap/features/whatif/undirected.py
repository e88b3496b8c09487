"""
A load whose reads and writes the input does not separate, projected as a range.

A basic ``iostat`` or ``sar -d`` has requests of both together, and mostly bytes of each. Every mix of
request sizes that fits is a hypothesis; the model runs for the likely one and for both ends.
"""

from __future__ import annotations

from stackmap.errors import InputError
from stackmap.features.whatif import capacity
from stackmap.features.whatif.layout_model import model_of
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.projection import DeviceLoad, LayoutLoad, Projection
from stackmap.features.whatif.quantities import Band, Stream, exact, spanned
from stackmap.features.whatif.unmodelled import unmodelled
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.amounts import Share
from stackmap.ledger.ledger import Ledger
from stackmap.model.raid import PAGE, Layout
from stackmap.model.units import SECTOR

MIB = 1 << 20
SMALLEST, LARGEST = SECTOR, MIB  # bytes per request, of reads and of writes
# Shares of the load where even bytes are not separate; the first stands for the range.
WRITTEN = (0.5, 0.0, 1.0)


def undirected(ledger: Ledger, context: VolumeContext, layout: Layout) -> Projection:
    """Return the load on *layout*; ``InputError`` if the volume's requests or bytes are unknown."""
    own = ledger.load(context.device.name)
    if own.total.ios is None or own.total.bytes is None:
        raise InputError(
            f"{context.device.title}: the input lacks its requests or bytes per second; use `iostat -dxy`"
        )
    total = Stream(own.total.ios, own.total.bytes)
    members = ledger.share(context.device.name, context.members)
    splits = _splits(total, own.read.bytes, own.write.bytes, layout.chunk or PAGE)
    loads = [_measured(read, write, members, context, ledger) for read, write in splits]
    models = [model_of(load, context, layout) for load in loads]
    sides = [model.at(load).members for model, load in zip(models, loads, strict=True)]
    spread = DeviceLoad(
        layout.members,
        total=_spanned([side.data for side in sides]),
        total_bytes=_spanned([exact(side.data_bytes or 0.0) for side in sides]),
    )
    usable = capacity.usable(layout, context.member_bytes)
    return Projection(
        context.device,
        read=loads[0].read,
        write=loads[0].write,
        flushes=None,
        pattern=models[0].pattern,
        now=_now(context, ledger, members),
        projected=LayoutLoad(layout, spread, DeviceLoad(layout.members), usable),
        unmodelled=tuple(unmodelled(loads[0], context, models[0].pattern, layout)),
        total=total,
        bytes_known=None not in (own.read.bytes, own.write.bytes),
    )


def _splits(
    total: Stream, read: float | None, written: float | None, chunk: int
) -> list[tuple[Stream, Stream]]:
    """
    Return reads and writes that *total* may be, the likely ones first: those of one mean size.

    The model bends at requests of a page and of a *chunk*, so these are among them.
    """
    if read is None or written is None:
        return [(total.scaled(1 - share), total.scaled(share)) for share in WRITTEN]
    likely = total.requests * written / (read + written) if read + written else 0.0
    # Of n requests, at least the reads' smallest number are no writes, and the other way round.
    low = max(written / LARGEST, total.requests - read / SMALLEST)
    high = min(written / SMALLEST, total.requests - read / LARGEST)
    bends = (written / PAGE, written / chunk, total.requests - read / chunk)
    counts = [likely, low, high, *(each for each in bends if low < each < high)]
    counts = [min(max(0.0, count), total.requests) for count in counts]
    return [(Stream(total.requests - n, read), Stream(n, written)) for n in counts]


def _measured(
    read: Stream, write: Stream, members: Share, context: VolumeContext, ledger: Ledger
) -> Measured:
    """Return a mix as if it had been measured; below parity, bytes at the members are those of pages."""
    below: list[Stream | None] = [None, None]
    if context.present is not None and context.present.parity:
        moved = (members.read.bytes, members.write.bytes)
        below = [None if each is None else Stream(each / PAGE, each) for each in moved]
    return Measured(
        read, write, members_read=below[0], members_write=below[1], seconds=ledger.seconds
    )


def _now(context: VolumeContext, ledger: Ledger, members: Share) -> LayoutLoad:
    disks = ledger.share(context.device.name, context.disks).total.ios
    at_disks = DeviceLoad(len(context.disks), total=None if disks is None else exact(disks))
    sent = members.total
    at_members = DeviceLoad(
        len(context.members),
        read_bytes=members.read.bytes,
        write_bytes=members.write.bytes,
        total=None if sent.arrivals is None else exact(sent.arrivals),
        total_bytes=None if sent.bytes is None else exact(sent.bytes),
    )
    return LayoutLoad(context.present, at_members, at_disks, context.size)


def _spanned(bands: list[Band | None]) -> Band | None:
    """Return the band of all *bands*, the first of which is likely; None if one is unknown."""
    known = [band for band in bands if band is not None]
    return None if len(known) < len(bands) else spanned(known)
