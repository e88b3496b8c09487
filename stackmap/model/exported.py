"""The metrics that carry a topology and counters to Prometheus and back: one table for writer and reader."""

import re
from typing import NamedTuple

from stackmap.model.units import SECTOR

NODE = "node_disk_"  # node_exporter's counters of devices
OWN = "stackmap_device_"  # stackmap's, of devices that node_exporter leaves out

INFO = "stackmap_device_info"
EDGE = "stackmap_edge_info"
EDGE_BYTES = "stackmap_edge_bytes"
BUILD = "stackmap_build_info"
TIMESTAMP = "stackmap_topology_timestamp_seconds"
LIFE_USED = "stackmap_device_life_used_ratio"
LIFE_WRITTEN = "stackmap_device_life_written_bytes_total"
WEAR_TIMESTAMP = "stackmap_wear_timestamp_seconds"
RECORDINGS = "stackmap.recordings/1"  # the schema of a directory of recordings in Parquet
SLOW, HUNG = "SM202", "SM305"  # the rules whose findings are exported with their figures

# node_exporter's default of --collector.diskstats.device-exclude.
NOT_EXPORTED = re.compile(r"(z?ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+")


class Counter(NamedTuple):
    """``name`` after the prefix; ``field`` of ``Counters``; ``unit``: the field's value for 1 of the metric."""

    name: str
    field: str
    unit: float
    help: str


COUNTERS = (
    Counter("reads_completed_total", "reads", 1, "Reads completed."),
    Counter("reads_merged_total", "read_merges", 1, "Reads merged into others."),
    Counter("read_bytes_total", "read_bytes", 1, "Bytes read."),
    Counter("read_time_seconds_total", "read_ms", 1000, "Seconds of all reads together."),
    Counter("writes_completed_total", "writes", 1, "Writes completed."),
    Counter("writes_merged_total", "write_merges", 1, "Writes merged into others."),
    Counter("written_bytes_total", "write_bytes", 1, "Bytes written."),
    Counter("write_time_seconds_total", "write_ms", 1000, "Seconds of all writes together."),
    Counter("io_time_seconds_total", "busy_ms", 1000, "Seconds with a request in flight."),
    Counter("io_time_weighted_seconds_total", "weighted_ms", 1000, "Seconds times requests in flight."),
    Counter("discards_completed_total", "discards", 1, "Discards completed."),
    Counter("discards_merged_total", "discard_merges", 1, "Discards merged into others."),
    Counter("discarded_sectors_total", "discard_bytes", SECTOR, "Sectors of 512 bytes discarded."),
    Counter("discard_time_seconds_total", "discard_ms", 1000, "Seconds of all discards together."),
    Counter("flush_requests_total", "flushes", 1, "Flushes completed."),
    Counter("flush_requests_time_seconds_total", "flush_ms", 1000, "Seconds of all flushes together."),
)  # fmt: skip
IN_FLIGHT = "io_now"


def is_exported(name: str) -> bool:
    """Whether node_exporter exports the counters of the device *name*, by its defaults."""
    return NOT_EXPORTED.fullmatch(name) is None
