"""
Go every pair of lvconvert's table, in the guest, as root: ``convert_all.py VG/LV``.

A walk from where the LV is to the nearest pair that was not gone yet, again
and again. After each the content is compared, and a line is printed: from, to,
"ok" or what went wrong; of a pair that fails no more is tried.
"""

from __future__ import annotations

import subprocess
import sys
import time

from stackmap.analysis.plan.takeover import RESHAPES, TAKEOVERS, names

PAIRS = TAKEOVERS | RESHAPES
PATIENCE = 120  # seconds for a sync of a few MiB, emulated


def said(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def nearest(
    here: str, left: set[tuple[str, str]], broken: set[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the shortest walk from *here* that ends with a pair of *left*, [] if there is none."""
    todo: list[tuple[str, list[tuple[str, str]]]] = [(here, [])]
    seen = {here}
    for place, walk in todo:
        for pair in sorted(PAIRS - broken):
            if pair[0] == place and pair in left:
                return [*walk, pair]
            if pair[0] == place and pair[1] not in seen:
                seen.add(pair[1])
                todo.append((pair[1], [*walk, pair]))
    return []


def settled(name: str) -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.5)
        _, words = said("lvs", "--noheadings", "-o", "sync_percent,raid_sync_action", name)
        if words in ("100.00 idle", "", "idle"):
            return True
    return False


def converted(name: str, after: str) -> str:
    """Return what went wrong with one conversion, "" if nothing."""
    status, words = said("lvconvert", "--yes", "--type", after, name)
    if status:
        return words
    if not settled(name):
        return "not in sync in time"
    _, segtype = said("lvs", "--noheadings", "-o", "segtype", name)
    if segtype not in names(after):
        return f"became {segtype}"
    return said("cmp", "-n", sys.argv[2], "/tmp/content", f"/dev/{name}")[1]


def main() -> None:
    name, here = sys.argv[1], "striped"
    left, broken = set(PAIRS), set()
    while walk := nearest(here, left, broken):
        for pair in walk:
            wrong = converted(name, pair[1])
            if pair in left or wrong:
                print(*pair, wrong or "ok", flush=True)
            left.discard(pair)
            if wrong:
                broken.add(pair)
                _, segtype = said("lvs", "--noheadings", "-o", "segtype", name)
                here = next((kind for kind, _ in PAIRS if segtype in names(kind)), segtype)
                break
            here = pair[1]


if __name__ == "__main__":
    main()
