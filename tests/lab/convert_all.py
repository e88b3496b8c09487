"""
Go every pair of one half of lvconvert's table, in the guest, as root: ``convert_all.py TYPE``.

TYPE is where to begin. From a striped one all pairs that have a striped one in
them are gone, from one with parity all that have none. A walk from where the
LV is to the nearest pair that was not gone yet, again and again. After each
the content is compared, and a line is printed: from, to, "ok" or what went
wrong. A pair that fails is not tried again, and the LV is made anew.
"""

from __future__ import annotations

import subprocess
import sys
import time

from stackmap.features.plan.lvm_convert import RESHAPES, STRIPED, TAKEOVERS, names

PAIRS = TAKEOVERS | RESHAPES
NAME = "vg/lv"
MADE = ("lvcreate", "--yes", "-Wn", "-Zn", "--stripes=3", "--stripesize=64k", "--name=lv", "vg")
SIZE = 24  # MiB
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


def made(kind: str) -> None:
    """Make the LV anew, of a type and with the content."""
    said("lvremove", "--yes", NAME)
    for command in (
        (*MADE, "--type", kind, "--size", f"{SIZE}m"),
        ("dd", "if=/tmp/content", f"of=/dev/{NAME}", "bs=1M", "oflag=direct", "conv=fsync"),
    ):
        status, words = said(*command)
        if status:
            raise SystemExit(words)
    settled()


def settled() -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.5)
        _, words = said("lvs", "--noheadings", "-o", "sync_percent,raid_sync_action", NAME)
        if words in ("100.00 idle", "", "idle"):
            return True
    return False


def converted(after: str) -> str:
    """Return what went wrong with one conversion, "" if nothing."""
    status, words = said("lvconvert", "--yes", "--type", after, NAME)
    if status:
        return words
    if not settled():
        return "not in sync in time"
    # A striped one has a segment for each piece that its members were made of.
    _, segtypes = said("lvs", "--noheadings", "-o", "segtype", NAME)
    if not set(segtypes.split()) <= set(names(after)):
        return f"became {segtypes}"
    return said("cmp", "-n", str(SIZE * 1024**2), "/tmp/content", f"/dev/{NAME}")[1]


def main() -> None:
    begin = sys.argv[1]
    of_half = {pair for pair in PAIRS if (begin in STRIPED) == bool(STRIPED & {*pair})}
    left, broken = set(of_half), PAIRS - of_half
    here = begin
    made(here)
    while walk := nearest(here, left, broken):
        for pair in walk:
            wrong = converted(pair[1])
            if pair in left or wrong:
                print(*pair, wrong or "ok", flush=True)
            left.discard(pair)
            here = pair[1]
            if wrong:
                broken.add(pair)
                here = begin
                made(here)
                break


if __name__ == "__main__":
    main()
