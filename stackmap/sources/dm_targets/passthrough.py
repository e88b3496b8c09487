"""Targets that pass I/O on as it comes, perhaps delayed, encrypted or checked."""

from __future__ import annotations

from stackmap.model.device import Role
from stackmap.model.raid import Layout, layout
from stackmap.sources.dm_targets.segment import (
    Below,
    DmStatus,
    Segment,
    counted_words,
    is_device,
    sectors_to_bytes,
)
from stackmap.sources.progress import percent

_META_DEVICE = "meta_device:"
_FEC_DEVICE = "use_fec_from_device"


def device_offset_pairs(
    words: tuple[str, ...], length: int | None, role: Role = Role.DATA
) -> list[Below]:
    """Return the devices of ``DEV offset DEV offset …``."""
    return [
        Below(number, role, sectors_to_bytes(start), length)
        for number, start in zip(words[::2], words[1::2], strict=False)
    ]


def striped(segment: Segment) -> list[Below]:
    """``stripes chunk (DEV offset)…``."""
    count = int(segment.words[0])
    return device_offset_pairs(segment.words[2 : 2 + 2 * count], segment.length // count)


def striped_layout(segment: Segment) -> Layout | None:
    """Return the geometry of a striped LV."""
    return layout("striped", int(segment.words[0]), sectors_to_bytes(segment.words[1]))


def striped_status(status: Segment) -> DmStatus:
    """``stripes DEV… 1 AAAA``: D is a stripe whose device has errors."""
    count = int(status.words[0])
    states = tuple("failed" if x == "D" else "active" for x in status.words[count + 2])
    return DmStatus("failed" if "failed" in states else "active", members=states)


def delay(segment: Segment) -> list[Below]:
    """``DEV offset ms``, once for all I/O or repeated for writes and flushes."""
    words = segment.words
    found = [
        device_offset_pairs(words[i : i + 2], segment.length)[0]
        for i in range(0, len(words) - 2, 3)
    ]
    return list(dict.fromkeys(found))


def delay_facts(segment: Segment) -> dict[str, str]:
    """Return the milliseconds of reads, writes and flushes, as given."""
    return {"delay": " ".join(f"{ms} ms" for ms in segment.words[2::3])}


def unstriped(segment: Segment) -> list[Below]:
    """``stripes chunk which DEV offset``."""
    return device_offset_pairs(segment.words[3:5], None)


def switch(segment: Segment) -> list[Below]:
    """``paths region 0 (DEV offset)…``."""
    return device_offset_pairs(segment.words[3:], None, Role.PATH)


def every_device(segment: Segment) -> list[Below]:
    """Return every word that is a device: zoned, and newer forms of error."""
    return [Below(word, Role.DATA) for word in segment.words if is_device(word)]


def integrity(segment: Segment) -> list[Below]:
    """``DEV reserved tag_size mode #options …``; ``meta_device:DEV`` is a separate device for tags."""
    data = Below(segment.words[0], Role.DATA, sectors_to_bytes(segment.words[1]))
    chosen, _ = counted_words(segment.words[4:])
    apart = [word.removeprefix(_META_DEVICE) for word in chosen if word.startswith(_META_DEVICE)]
    return [data, *(Below(number, Role.METADATA) for number in apart)]


def integrity_facts(segment: Segment) -> dict[str, str]:
    """Return the mode and the checksum by name."""
    modes = {"J": "journal", "B": "bitmap", "D": "direct", "R": "recovery", "I": "inline"}
    facts = {"mode": modes.get(segment.words[3], segment.words[3])}
    chosen, _ = counted_words(segment.words[4:])
    hashes = [word.partition(":")[2] for word in chosen if word.startswith("internal_hash:")]
    return facts | ({"hash": hashes[0]} if hashes else {})


def integrity_status(status: Segment) -> DmStatus:
    """``mismatches sectors recalculated``: the last is ``-`` or how many sectors have tags."""
    mismatches, provided, done = status.words[:3]
    facts = {"mismatches": mismatches} if mismatches != "0" else {}
    if done == "-" or int(done) >= int(provided):
        return DmStatus("active", facts=facts)
    return DmStatus(f"recalculate {percent(int(done), int(provided))}", facts=facts)


def verity(segment: Segment) -> list[Below]:
    """``version DATA HASH …``, with an optional device for error correction."""
    words = segment.words
    below = [Below(words[1], Role.DATA, 0), Below(words[2], Role.METADATA)]
    if _FEC_DEVICE in words:
        below.append(Below(words[words.index(_FEC_DEVICE) + 1], Role.METADATA))
    return below


def verity_status(status: Segment) -> DmStatus:
    """``V``, or ``C`` after a block did not match its hash."""
    return DmStatus("active" if status.words[0] == "V" else "corrupted")


def log_writes(segment: Segment) -> list[Below]:
    """``DEV LOGDEV``."""
    return [Below(segment.words[0], Role.DATA, 0), Below(segment.words[1], Role.JOURNAL)]


def vdo(segment: Segment) -> list[Below]:
    """``V4 DEV physical_blocks …``: the device follows the version in every version."""
    return [Below(below.number, Role.DATA, 0) for below in every_device(segment)[:1]]


def vdo_status(status: Segment) -> DmStatus:
    """``DEV mode recovering index compression used total``."""
    mode, recovering = status.words[1:3]
    used, total = status.words[-2:]
    facts = {"index": status.words[3], "compression": status.words[4]}
    if used.isdigit() and total.isdigit():
        facts["used"] = percent(int(used), int(total))
    if mode != "normal":
        return DmStatus(mode, facts=facts)
    return DmStatus("active" if recovering == "-" else "recovering", facts=facts)
