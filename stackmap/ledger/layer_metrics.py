"""The figures of a layer, in one list: tables, JSON, CSV, help and man pages take them from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stackmap.ledger.amplification import LayerFigures
from stackmap.model.load import on_one_line


class LayerMetric(NamedTuple):
    """
    A figure of a layer in one direction.

    ``key`` in CSV; ``path`` in JSON, with {} for the direction. ``heading`` in
    tables, "" for none; a line break splits it on a terminal, where the figure is
    divided by ``divisor`` and has so many ``digits``; None: as a rate has.
    """

    key: str
    path: str
    value: Callable[[LayerFigures, str], float | None]
    heading: str = ""
    help: str = ""
    divisor: float = 1
    digits: int | None = None

    @property
    def title(self) -> str:
        """The heading on one line."""
        return on_one_line(self.heading)


LAYER_METRICS = (
    LayerMetric("requests_per_s", "{}.iops", lambda f, d: f.share.part(d).ios, "IOPS", "Requests completed per second."),
    LayerMetric("arrivals_per_s", "{}.arrivals", lambda f, d: f.share.part(d).arrivals),
    LayerMetric("bytes_per_s", "{}.bytes", lambda f, d: f.share.part(d).bytes, "KiB/s", "Data per second, in KiB of 1024 bytes.", 1024, 1),
    LayerMetric("mean_bytes", "{}.size", lambda f, d: f.share.part(d).size, "size\nKiB", "Mean size of a completed request.", 1024, 1),
    LayerMetric(
        "await_ms", "{}.await", lambda f, d: f.own[d].await_ms, "await\nms",
        "Mean time per request on these devices, queueing included, for all volumes.",
    ),
    LayerMetric(
        "iops_amplification", "amplification.iops.{}", lambda f, d: f.iops_amplification.get(d), "IOPS\n× top",
        "IOPS amplification: requests arriving here, before merging, per request completed at the top.", digits=2,
    ),
    LayerMetric(
        "byte_amplification", "amplification.bytes.{}", lambda f, d: f.byte_amplification.get(d), "bytes\n× top",
        "Byte amplification: bytes here per byte at the top.", digits=3,
    ),
    LayerMetric(
        "shrink", "amplification.shrink.{}", lambda f, d: f.shrink.get(d), "shrink",
        "Mean request size at the top ÷ mean size of the requests arriving here. IOPS × top = bytes × top × shrink.", digits=2,
    ),
    LayerMetric(
        "coalescing", "coalescing.{}", lambda f, d: f.coalescing.get(d), "coalescing",
        "Requests arriving here ÷ requests completed here; 1 means nothing was merged.", digits=2,
    ),
    LayerMetric(
        "closure", "closure.{}", lambda f, d: f.accounted.get(d), "accounted",
        "Requests arriving here ÷ requests that the layer above sent; 1.000 means that all of them are accounted for.", digits=3,
    ),
)  # fmt: skip
COLUMNS = tuple(metric for metric in LAYER_METRICS if metric.heading)
