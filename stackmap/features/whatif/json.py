"""A projection as JSON: ``stackmap.whatif/1``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from stackmap.features.whatif.projection import (
    CountCheck,
    DeviceLoad,
    LayoutLoad,
    Projection,
    SelfCheck,
    WearChange,
)
from stackmap.features.whatif.quantities import Band, Stream
from stackmap.model.reason import code_of
from stackmap.render.json import layout_json

if TYPE_CHECKING:
    from stackmap.features.whatif.timing import Scenario, TimeProjection

SCHEMA = "stackmap.whatif/1"
Json = dict[str, object]
Figure = TypeVar("Figure")
DIRECTIONS = ("read", "write")


def whatif_json(projections: Sequence[Projection]) -> Json:
    """Return the object of ``whatif -J``: of one projection, or with a list of several."""
    first = projections[0]
    common: Json = {
        "schema": SCHEMA,
        "device": first.device.name,
        "label": first.device.title,
        "seconds": first.seconds,
        "intervals": first.intervals,
        "load": _load(first),
        "growth": first.growth,
        "cache": first.scenario and _cache(first.scenario),
        "now": _layout_load(first.now, projected=False),
    }
    if len(projections) == 1:
        return common | _projected(first)
    return common | {"projections": list(map(_projected, projections))}


def _projected(projection: Projection) -> Json:
    return {
        "check": projection.is_check,
        "projected": _layout_load(projection.projected, projected=True),
        "counts": projection.replayed and _counts(projection.replayed),
        "time": projection.time and _time(projection.time),
        "levels": {key: levels._asdict() for key, levels in projection.levels.items()},
        "room": None if projection.room is None else projection.room._asdict(),
        "need": None if projection.need is None else projection.need._asdict(),
        "wear": projection.wear and _wear(projection.wear),
        "regions": [region._asdict() for region in projection.regions],
        "unmodelled": list(projection.unmodelled),
        "unmodelled_codes": list(map(code_of, projection.unmodelled)),
        "corrections": list(projection.corrections),
        "events": list(projection.events),
        "notes": list(projection.notes),
    }


def _wear(change: WearChange) -> Json:
    return {
        "years_now": list(change.now),
        "years_projected": list(change.projected),
        "rated": change.rated,
    }


def _cache(scenario: "Scenario") -> Json | None:
    """Return the cache and its hits by the trace; null without a cache, the hits null without offsets."""
    from stackmap.features.whatif.cache import NO_OFFSETS

    cache, hits = scenario.cache, scenario.hits
    if cache is None:
        return None
    return {
        "size": cache.size,
        "block": cache.block,
        "mode": "writeback" if cache.writeback else "writethrough",
        "service_ms": cache.seconds * 1000,
        "service_assumed": cache.is_assumed,
        "hits": hits and _shares(hits.shares),
        "curve": hits
        and [{"size": size, **_shares(shares)} for size, shares in hits.curve.items()],
        "requests": hits and hits.requests,
        "seconds": hits and hits.seconds,
        "used": hits and hits.used,
        "first_use_share": hits and hits.first,
        "filled": hits and hits.filled,
        "reason": None if hits else NO_OFFSETS,
        "reason_code": None if hits else code_of(NO_OFFSETS),
    }


def _shares(shares: Mapping[str, Band]) -> Json:
    return {direction: _range(shares.get(direction)) for direction in DIRECTIONS}


def _time(time: "TimeProjection") -> Json:
    """Return the times in milliseconds; a direction without requests is null."""
    return {
        "self_check": _by_direction(time.self_check, SelfCheck._asdict),
        "now": {direction: time.now.get(direction) for direction in DIRECTIONS},
        "projected": _by_direction(time.projected, asdict),
        "headroom": {
            "now": time.headroom_now and time.headroom_now.likely,
            "now_range": _range(time.headroom_now),
            "projected": _range(time.headroom),
        },
        "busy": {"now": time.busy_now, "projected": _range(time.busy)},
        "iops": {"now": time.iops_now, "projected": _range(time.iops)},
        "unseen": time.unseen and dict(zip(("now", "projected"), time.unseen, strict=True)),
        "arrivals": time.arrivals,
        "reason": time.reason or None,
        "reason_code": code_of(time.reason),
    }


def _by_direction(
    figures: Mapping[str, Mapping[str, Figure]], to_json: Callable[[Figure], Json]
) -> Json:
    return {
        direction: {key: to_json(figure) for key, figure in figures[direction].items()}
        if direction in figures
        else None
        for direction in DIRECTIONS
    }


def _counts(counts: CountCheck) -> Json:
    """Return the source of the counts, and the present layout's requests per second, measured and simulated."""
    return {
        "from": "counters" if counts.reason else "trace",
        "requests": counts.requests,
        "self_check": {
            layer: {direction: requests._asdict() for direction, requests in checked.items()}
            for layer, checked in counts.layers.items()
        }
        or None,
        "reason": counts.reason or None,
        "reason_code": code_of(counts.reason),
    }


def _range(band: Band | None) -> Json | None:
    return None if band is None else asdict(band)


def _load(projection: Projection) -> Json:
    pattern = projection.pattern
    shares = [hypothesis.sequential for hypothesis in pattern.hypotheses]
    return {
        **_directions(projection),
        "flushes": projection.flushes,
        "run": pattern.run,
        "sequential": {"low": min(shares), "likely": shares[0], "high": max(shares)},
        "span": pattern.likely.span,
        "told": list(pattern.evidence),
        "told_codes": list(map(code_of, pattern.evidence)),
    }


def _directions(projection: Projection) -> Json:
    """Return reads, writes and their total; requests of each are unknown where the input has only both."""
    read, write = _stream(projection.read), _stream(projection.write)
    if projection.total is None:
        return {"read": read, "write": write, "total": _stream(projection.read + projection.write)}
    unknown = {"iops": None, "size": None} | ({} if projection.bytes_known else {"bytes": None})
    return {"read": read | unknown, "write": write | unknown, "total": _stream(projection.total)}


def _stream(stream: Stream) -> Json:
    return {
        "iops": stream.requests,
        "bytes": stream.bytes,
        "size": stream.size if stream.requests else None,
    }


def _layout_load(side: LayoutLoad, *, projected: bool) -> Json:
    data, every = side.members.data, side.disks.requests
    moved = _bytes_range(side.members.carried)
    is_range = side.members.total is not None and moved
    return {
        "layout": layout_json(side.layout),
        "usable": side.usable,
        "members": {
            "iops": None if data is None else data.likely,
            **({"low": data.low, "high": data.high} if projected and data is not None else {}),
            "bytes": None if is_range or not side.members.carried else side.members.carried.likely,
            **moved,
            "per_disk": None if data is None else data.likely / max(1, side.members.count),
            **_devices(side.members, banded=False),
        },
        "disks": {
            "iops": _band(every, banded=projected),
            "bytes": side.disks.bytes,
            **_bytes_range(side.disks.moved),
            "per_disk": _band(every, banded=projected, part=1 / max(1, side.disks.count)),
            **_devices(side.disks, banded=projected),
        },
    }


def _bytes_range(moved: Band | None) -> Json:
    """Return the range of *moved* bytes, nothing if it has only one value."""
    return {"bytes_range": asdict(moved)} if moved is not None and moved.high > moved.low else {}


def _devices(devices: DeviceLoad, *, banded: bool) -> Json:
    """Return the number of devices, and their reads, writes and metadata."""
    added = devices.metadata
    return {
        "count": devices.count,
        "read": {"iops": _band(devices.read, banded=banded), "bytes": devices.read_bytes},
        "write": {"iops": _band(devices.write, banded=banded), "bytes": devices.write_bytes},
        "metadata": added
        and {
            "iops": _band(added.requests, banded=banded),
            "bytes": _band(added.bytes, banded=banded),
        },
    }


def _band(band: Band | None, *, banded: bool, part: float = 1.0) -> Json | float | None:
    """Return *part* of a band: with its ends if *banded*, else the likely value."""
    if band is None:
        return None
    scaled = band.scaled(part)
    return asdict(scaled) if banded else scaled.likely
