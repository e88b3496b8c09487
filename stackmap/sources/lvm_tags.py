"""
LVM's tags, by which Ceph says whose an LV is (``ceph.osd_id=3``). They are in LVM's metadata alone: needs root.

``lvs`` reads the devices that LVM knows, so it is asked only where tags are
wanted, and told not to wait for those that are suspended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackmap.errors import SourceError

if TYPE_CHECKING:
    from stackmap.host import Host

COMMAND = (
    "lvs", "--all", "--reportformat=json", "--readonly", "--options=vg_name,lv_name,lv_tags",
    "--config=devices/ignore_suspended_devices=1",
)  # fmt: skip
DAMAGE = (ValueError, KeyError, TypeError, AttributeError)


def read(host: Host) -> dict[str, dict[str, str]]:
    """Return the tags of each LV (``vg/lv``) as key and value, {} where they cannot be had."""
    try:
        return parse(host.run(*COMMAND))
    except SourceError:
        return {}


def parse(text: str) -> dict[str, dict[str, str]]:
    """
    Return the tags in a report of lvs; {} where it is none.

    >>> parse('{"report": [{"lv": [{"vg_name": "v", "lv_name": "l", "lv_tags": "a.b=3,c"}]}]}')
    {'v/l': {'a.b': '3', 'c': ''}}
    """
    import json  # 1 ms that only a host with Ceph's LVs pays

    try:
        rows = [row for report in json.loads(text)["report"] for row in report["lv"]]
        return {
            f"{row['vg_name']}/{row['lv_name'].strip('[]')}": _tags(row["lv_tags"]) for row in rows
        }
    except DAMAGE:
        return {}


def _tags(text: str) -> dict[str, str]:
    pairs = (tag.partition("=") for tag in text.split(",") if tag)
    return {key: value for key, _, value in pairs}
