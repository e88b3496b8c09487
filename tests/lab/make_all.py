"""
Make the new volume of each plan that copies, in the guest, as root: ``make_all.py NAME WAY LAYOUT[@DISKS]...``.

For each layout what ``stackmap plan NAME --to LAYOUT --way WAY`` prints is run
up to the first step that is offline: there the new volume is made, in sync and
empty. DISKS are those of --onto, by commas. What was promised, what LVM or md
says of it then, and what failed are a line of JSON; the first step's way back
makes room for the next.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import takewhile

STATES = {
    "copy": "lvs --reportformat=json --options=segtype,stripes,stripe_size,data_copies vg/lv_new",
    "array-copy": "mdadm --detail /dev/md/x-new",
}


def ran(*command: str) -> tuple[int, str]:
    done = subprocess.run(command, input="y\n" * 9, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def made(name: str, way: str, asked: str) -> dict[str, object]:
    """Return what came of one layout."""
    layout, _, disks = asked.partition("@")
    onto = [word for disk in disks.split(",") if disk for word in ("--onto", disk)]
    words = ["stackmap", "plan", name, "--to", layout, "--way", way, *onto, "-J"]
    planned = subprocess.run(words, capture_output=True, text=True, check=False)
    if planned.returncode:
        return {"layout": layout, "failed": {"plan": planned.stderr}}
    (told,) = json.loads(planned.stdout)["ways"]
    failed: dict[str, str] = {}
    for step in takewhile(lambda step: step["online"], told["steps"]):
        status, said = ran(*step["command"])
        if status:
            failed[step["line"]] = said
            break
    state = ran("sh", "-c", STATES[way])[1]
    for command in told["steps"][1]["undo_commands"]:
        status, said = ran(*command)
        if status:
            failed[" ".join(command)] = said
    return {"layout": layout, "promised": told["result"], "state": state, "failed": failed}


def main() -> None:
    name, way, *layouts = sys.argv[1:]
    for asked in layouts:
        print(json.dumps(made(name, way, asked)), flush=True)


if __name__ == "__main__":
    main()
