"""``multipath``: one disk over several paths, in groups by priority."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.model.device import Role
from stackmap.sources.dm_targets.segment import Below, DmStatus, Segment, counted_words

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
