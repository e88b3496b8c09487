"""
LVM's tags; Ceph marks its LVs with them (``ceph.osd_id=3``). They are in LVM's metadata only: needs root.

``lvs`` reads the devices that LVM knows, so it runs only if tags are needed, and
ignores suspended devices instead of waiting for them.
"""

from __future__ import annotations

from stackmap.host import Host
from stackmap.sources.sysfs import output

COMMAND = (
    "lvs", "--all", "--reportformat=json", "--readonly", "--options=vg_name,lv_name,lv_tags",
    "--config=devices/ignore_suspended_devices=1",
)  # fmt: skip
DAMAGE = (ValueError, KeyError, TypeError, AttributeError)


def read(host: Host) -> dict[str, dict[str, str]]:
    """Return the tags of each LV (``vg/lv``) as key and value, {} if unavailable."""
    return parse(output(host, *COMMAND))


def parse(text: str) -> dict[str, dict[str, str]]:
    """
    Return the tags in a report of lvs; {} if it is not one.

    >>> parse('{"report": [{"lv": [{"vg_name": "v", "lv_name": "l", "lv_tags": "a.b=3,c"}]}]}')
    {'v/l': {'a.b': '3', 'c': ''}}
    """
    import json  # 1 ms, needed only with Ceph's LVs

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
