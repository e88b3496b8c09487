"""Machines for the rules about where requests wait: in a layer, behind a neighbour, or at a volume for long."""

from __future__ import annotations

from tests.rules.rule_cases import case, least, most
from tests.rules.scripted import SECONDS, Did, Scripted, disk, disks, md, volume


def _mapped(target: str, upper: Did, lower: Did) -> Scripted:
    """One device-mapper device on a disk."""
    return Scripted(
        disk("sda"),
        volume(0, "vg-top", "sda"),
        targets=[f"vg-top: 0 65536 {target}"],
        statuses=[f"vg-top: 0 65536 {target.split(maxsplit=1)[0]} \n"],
        parts=[{"dm-0": upper, "sda": lower}],
    )


@case("layer-wait", {"own": 1.0}, own=least(5.0, beneath=0.5), times=least(2.0), requests=least(50))
def layer_wait(own=100.0, times=None, beneath=7.0, requests=1000):
    """An encrypted disk: the await of the mapping is longer than that of the disk."""
    wait = beneath + (own if times is None else times * beneath)
    did = Did(writes=requests / SECONDS, write_ms=wait)
    crypt = f"crypt aes-xts-plain64 {'0' * 64} 0 8:0 0"
    return _mapped(crypt, did, did._replace(write_ms=beneath))


@case("neighbour", {"queue": 2.0}, share=least(0.5, rest=True), own=most(0.4), queue=least(4.0),
      requests=least(20, own=0.02))  # fmt: skip
def neighbour(share=None, own=0.1, queue=24.0, requests=None, rest=False):
    """Two volumes on one disk, whose requests all take as long; with *rest*, a third sends what is left."""
    other = 1 - own if share is None else share
    rate = 100.0 if requests is None else requests / SECONDS / own
    wait = 1000 * queue / rate
    parts = {"sda": rate, "dm-0": own * rate, "dm-1": other * rate}
    if rest:
        parts["dm-2"] = (1 - own - other) * rate
    return Scripted(
        disk("sda"),
        *(volume(number, f"vg-v{number}", "sda") for number in range(3)),
        targets=[f"vg-v{number}: 0 65536 linear 8:0 {number * 65536}" for number in range(3)],
        statuses=["".join(f"vg-v{number}: 0 65536 linear \n" for number in range(3))],
        parts=[{name: Did(reads=each, read_ms=wait) for name, each in parts.items()}],
    )


@case(
    "long-wait",
    {"slower": 1.0},
    slower=least(4.0),
    queue=least(4.0, slower=10.0),
    requests=least(50),
)
def long_wait(slower=60.0, queue=None, requests=1000):
    """A RAID0 with 400 small writes in flight, its disks too."""
    rate = requests / SECONDS
    wait = slower * (15 + 4096 / 100_000)
    top = Did(writes=1000 * queue / wait if queue else rate, write_ms=wait)
    member = Did(writes=top.writes / 4, write_ms=wait)
    parts = [{"md0": top, **dict.fromkeys(("sda", "sdb", "sdc", "sdd"), member)}]
    return Scripted(disks(), md("raid0"), parts=parts)


@case("unequal-settings", {"scheduler": "[mq-deadline] none"})
def unequal_settings(scheduler="[none] mq-deadline"):
    """A RAID0 whose first disk has another scheduler."""
    usual = disks(queue__scheduler="[mq-deadline] none")
    return Scripted(usual | disk("sda", queue__scheduler=scheduler), md("raid0"))
