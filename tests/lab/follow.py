"""
Follow a plan exactly as it is printed, while somebody writes: in the guest, as root.

    follow.py PLAN.json DONE.json MOUNT DEVICE STATE [PASSPHRASE]

PLAN.json is what ``stackmap plan -J`` printed; its first way is gone, step by
step. Where a step is online, files are written and synced to MOUNT all the
time; before one that is not, the writer lets go. STATE is a command that is
run after each step. At the end every file is compared with what was written,
past the page cache, and the file system on DEVICE is checked.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

PACE = 0.2  # seconds between two files
FILES = 20
SIZE = 65536


class Writer:
    """Writes files below a mount point, a few a second, and keeps what is in each."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.sums: dict[str, str] = {}
        self.written = 0
        self.failure = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None and os.path.ismount(self.directory):
            self._stop.clear()
            self._thread = threading.Thread(target=self._run)
            self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def write(self, name: str, size: int) -> None:
        content = os.urandom(size)
        with (self.directory / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.sums[name] = hashlib.sha256(content).hexdigest()
        self.written += 1

    def _run(self) -> None:
        while not self._stop.wait(PACE):
            try:
                self.write(f"small{self.written % FILES}", SIZE)
            except OSError as error:
                self.failure = str(error)
                return

    def damaged(self) -> list[str]:
        """Return the files that are not as they were written."""
        return [name for name, told in self.sums.items() if self._sum(name) != told]

    def _sum(self, name: str) -> str:
        return hashlib.sha256((self.directory / name).read_bytes()).hexdigest()


def ran(command: list[str], words: str = "") -> dict[str, object]:
    begun = time.monotonic()
    done = subprocess.run(command, input=words, capture_output=True, text=True, check=False)
    return {
        "status": done.returncode,
        "said": done.stdout + done.stderr,
        "seconds": round(time.monotonic() - begun, 1),
    }


def asked(state: str) -> str:
    """Return what is true now; no warning among it."""
    done = subprocess.run(["sh", "-c", state], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def follow(plan: dict, writer: Writer, state: str, words: str) -> list[dict[str, object]]:
    """Go the steps; the first that fails is the last."""
    told: list[dict[str, object]] = []
    for step in plan["ways"][0]["steps"]:
        if step["online"]:
            writer.start()
        else:
            writer.stop()
        before = writer.written
        entry = {"line": step["line"], **ran(step["command"], words)}
        entry["written"] = writer.written - before
        entry["after"] = asked(state)
        told.append(entry)
        if entry["status"]:
            break
    return told


def main() -> None:
    plan, done, mount, device, state, *words = sys.argv[1:]
    writer = Writer(mount)
    writer.write("large", 64 * SIZE)
    before = asked(state)
    writer.start()
    time.sleep(1)
    steps = follow(json.loads(Path(plan).read_text()), writer, state, "".join(words))
    writer.start()
    time.sleep(1)
    writer.stop()
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    mounted = os.path.ismount(mount)
    damaged = writer.damaged() if mounted else ["not mounted"]
    source = ran(["findmnt", "-no", "SOURCE,OPTIONS", mount])["said"]
    ran(["umount", mount])
    check = ran(["e2fsck", "-fn", device])
    ran(["mount", device, mount])
    told = {
        "before": before, "steps": steps, "damaged": damaged, "failure": writer.failure,
        "written": writer.written, "fsck": check, "mounted": source,
    }  # fmt: skip
    Path(done).write_text(json.dumps(told, indent=1))
    failed = [step for step in steps if step["status"]]
    print(f"  {len(steps)} steps, {writer.written} files written", *damaged, writer.failure)
    for step in failed:
        print(f"  !! {step['line']}: {step['status']}: {step['said']}")


if __name__ == "__main__":
    main()
