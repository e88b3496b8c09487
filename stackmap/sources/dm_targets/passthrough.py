"""
Targets that pass I/O on as it comes, perhaps delayed, encrypted or checked.

``multipath`` is one disk over several paths, in groups by priority.
"""

from collections.abc import Iterator

from stackmap.model.device import Role
from stackmap.model.raid import Layout, layout
from stackmap.model.units import percent
from stackmap.sources.dm_targets.segment import (
    Below,
    DmStatus,
    Segment,
    counted_words,
    is_device,
    sectors_to_bytes,
)

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
    pairs = [
        device_offset_pairs(words[i : i + 2], segment.length)[0]
        for i in range(0, len(words) - 2, 3)
    ]
    return list(dict.fromkeys(pairs))


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
    counts = {"checksum_errors": int(mismatches)}
    if done == "-" or int(done) >= int(provided):
        return DmStatus("active", facts=facts, counts=counts)
    return DmStatus(f"recalculate {percent(int(done), int(provided))}", facts=facts, counts=counts)


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


def vdo_status(status: Segment) -> DmStatus:
    """``DEV mode recovering index compression used total``."""
    mode, recovering = status.words[1:3]
    used, total = status.words[-2:]
    facts = {"index": status.words[3], "compression": status.words[4]}
    counts = {}
    if used.isdigit() and total.isdigit():
        facts["used"] = percent(int(used), int(total))
        counts = {"data_used": int(used), "data_total": int(total)}
    state = "active" if recovering == "-" else "recovering"
    return DmStatus(state if mode == "normal" else mode, facts=facts, counts=counts)


# An enabled group is used when the active one fails.
_GROUPS = {"A": "active", "E": "standby", "D": "disabled"}


def multipath(segment: Segment) -> list[Below]:
    """
    ``#features … #handler … #groups next``, then the groups.

    Each is ``selector #words … #paths #path_words (DEV word…)…``.
    """
    _, rest = counted_words(segment.words)
    _, rest = counted_words(rest)
    return [
        Below(number, Role.PATH, 0)
        for _, paths in _groups(int(rest[0]), rest[2:], after_path=0)
        for number, *_ in paths
    ]


def multipath_facts(segment: Segment) -> dict[str, str]:
    """Return the features, the hardware handler and the path selector."""
    features, rest = counted_words(segment.words)
    handler, rest = counted_words(rest)
    facts = {"features": " ".join(features), "handler": " ".join(handler)}
    if int(rest[0]):
        facts["selector"] = rest[2]
    return {name: value for name, value in facts.items() if value}


def multipath_status(status: Segment) -> DmStatus:
    """
    ``#features … #handler … #groups current``, then the groups with their states.

    A path is ``DEV A|F failures`` and the words of its selector.
    """
    _, rest = counted_words(status.words)
    _, rest = counted_words(rest)
    groups = list(_groups(int(rest[0]), rest[2:], after_path=2))
    states = {
        number: "failed" if alive == "F" else _GROUPS.get(group, group)
        for group, paths in groups
        for number, alive, *_ in paths
    }
    failures = {number: int(count) for _, paths in groups for number, _, count, *_ in paths}
    return path_status(states)._replace(failures=failures)


def path_status(states: dict[str, str]) -> DmStatus:
    """Return the status of a multipath device by the *states* of its paths, by number."""
    working = [state for state in states.values() if state != "failed"]
    facts = {"paths": f"{len(working)} of {len(states)}"}
    whole = len(working) == len(states)
    state = "failed" if not working else "active" if whole else "degraded"
    return DmStatus(state, paths=states, facts=facts)


def _groups(
    count: int, words: tuple[str, ...], *, after_path: int
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield each group's first word and its paths; *after_path* words precede the selector's."""
    for _ in range(count):
        name = words[0]
        _, words = counted_words(words[1:])
        paths, length = int(words[0]), 1 + after_path + int(words[1])
        words = words[2:]
        yield name, [words[i * length : (i + 1) * length] for i in range(paths)]
        words = words[paths * length :]
