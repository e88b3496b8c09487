"""The words of a command's tables: its columns and the terms of the field."""

from __future__ import annotations

from stackmap.document.blocks import Part, Terms
from stackmap.ledger.layer_metrics import LAYER_METRICS
from stackmap.model.load import METRICS

BLAME = {
    "SOURCE": 'Volume that sent the requests; "not from any device above": a file system or program '
    "on the disk itself, udev or the kernel.",
    "USED BY": "Mount points and other users of the volume.",
    "DISK": "Disk that the volume loads.",
    "CONTROL GROUP": "Service or container that sent the requests.",
    "DEVICE": "Where the kernel counted the requests of a control group.",
    "sent/s": "Requests sent per second, before merging.",
    "KiB/s": "Data per second.",
    "% of requests": "Share of the requests that arrived at the disk.",
    "% of bytes": "Share of the disk's bytes.",
    "% of the volume's requests": "The disk's share of the volume's requests.",
    "% of the disk's requests": "The volume's share of the requests that arrived at the disk.",
}
WHATIF = {
    "members": "Requests at the devices that hold the data, with flushes, without the bitmap.",
    "disks": "Requests completed by the disks after merging, with the bitmap.",
    "range": "The lowest and highest figure that the measurement allows.",
    "p50, p95": "Half, or 95 %, of the intervals have at most this rate.",
    "peak": "Rate of the busiest interval.",
}
COMPARE = {
    "arrived per": "Requests arriving at a layer per request of the top, before merging.",
    "completed per": "Requests that the disks completed after merging, per request of the top.",
    "with reads": "With the reads that writes cause.",
    "change": "Increase or decrease in percent; from three times on, after ÷ before (×3.55).",
    "95 % interval": "The change lies in this range with 95 % confidence.",
    "*": "The change is significant.",
}
TRACE = {
    "requests": "Requests that arrived, empty flushes left out.",
    "p50 … p99.9, max": "Latency that this share of the requests did not exceed, in milliseconds.",
    "KiB": "Size of the requests on arrival: median and largest.",
    "sequential": "Share of the requests that began where the device's previous one ended.",
    "self-check": "Data pages of all rows ÷ pages written to the array: 1.0000 if no row is missing.",
}
SIGNS = {
    "-": "Unknown, or nothing to divide.",
    "~": "Estimate.",
}
WORDS = {
    "top": "Device with nothing above it.",
    "layer": "The devices of a stack at one level.",
    "member": "Device that holds data of an array or a RAID volume.",
    "metadata": "Device for a bitmap, journal, checksums, or thin or cache metadata.",
    "arrivals": "Requests sent to a device from above: completed + merged.",
    "chunk": "Consecutive bytes on one member.",
    "stripe": "One chunk on every data member.",
    "row": "One page (4 KiB) on every member, the unit in which md computes parity.",
    "full-stripe write": "All data pages of a row are written: nothing is read.",
    "partial-stripe write": "Some data pages of a row are written: old pages are read.",
    "read-modify-write": "md reads the old data and parity, then writes data and parity.",
    "reconstruct-write": "md reads the data pages that are not written, then writes data and parity.",
    "stripe cache": "md's memory for rows: a page in it need not be read again.",
    "bitmap": "One bit per region that md writes before the first write to the region.",
}
UNITS = {"bytes/s": ", in KiB per second", "bytes": ", in KiB", "ms": ", in milliseconds"}
DEVICES = {
    metric.heading: f"{metric.help.removesuffix('.')}{UNITS.get(metric.unit, '')}."
    for metric in METRICS
}
LAYERS = {metric.title: metric.help for metric in LAYER_METRICS if metric.title}
COLUMNS = {
    "iostat": (("Columns per device", DEVICES), ("Columns per layer (-l)", LAYERS)),
    "blame": (("Columns", BLAME),),
    "trace": (("Columns", TRACE),),
    "whatif": (("Columns and rows", WHATIF),),
    "compare": (("Columns and rows", COMPARE),),
}


def legend(command: str) -> list[Part]:
    """Return what the columns and words in the tables of *command* mean."""
    parts = (*COLUMNS[command], ("Signs", SIGNS), ("Words", WORDS))
    return [Part(title, (Terms(tuple(words.items())),)) for title, words in parts]
