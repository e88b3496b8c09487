"""Does the capture contain the key of a volume?"""

from __future__ import annotations

from stackmap.rules.context import Context
from stackmap.rules.rule import Found, Limits, Severity, check, observe


@check(
    "SM931",
    Severity.CRITICAL,
    sentence="{capture} contains a key of {volume}",
    expected="no key in a capture",
    reason="a reader of the capture can decrypt or forge the data, even after a change of the passphrase",
    advice="write the capture without the key, `stackmap --from {capture} record NEW`, and delete {capture} and "
    "its copies. Then give the volume a new key: [`cryptsetup reencrypt {below}` if it is LUKS; otherwise ]copy "
    "its data to a new volume",
    source="stackmap's SECURITY.md",
)
def recorded_key(context: Context, _: Limits) -> Found:
    """Yield the volumes whose key is in the capture."""
    topology = context.topology
    by_name = {device.dm_name: device for device in topology if device.dm_name}
    for name in context.recorded_keys:
        device = by_name.get(name)
        edges = topology.below(device.name) if device else ()
        words = {
            "capture": context.capture,
            "volume": device.title if device else name or "a volume without a name",
        }
        if edges:
            words["below"] = f"/dev/{edges[0].below}"
        yield observe(device.name if device else "", words=words)
