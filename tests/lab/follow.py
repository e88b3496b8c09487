"""
Follow a plan exactly as it is printed, while somebody writes: in the guest, as root.

    follow.py [--kill] [--spare DISK]... [--back STEP] [--key PASSPHRASE] [--fio] [--then COMMAND]
              FOLDER MOUNT DEVICE STATE

FOLDER/plan.json is what ``stackmap plan -J`` printed; its first way is gone,
step by step. Where a step is online, files are written and synced to MOUNT all
the time, with --fio beside random reads and writes of fio's; before one that
is not, the writers let go. STATE is a command that is run after each step.
With --back the plan is given up after STEP, and the roll-back commands of the
steps so far are run, the last step first, as the plan tells the reader to. At the end every file is compared
with what was written, past the page cache, and the file system on DEVICE is
checked; COMMAND is run. With --kill as many disks as the new layout promises to
outlive are then dead, those that held the volume before first, and all is read
again. What came of it is FOLDER/done.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

PACE = 0.2  # seconds between two files
FILES = 20
SIZE = 65536
PATIENCE = 300  # seconds for a sync, emulated
CHECKS = {"ext4": "e2fsck -fn", "xfs": "xfs_repair -n", "btrfs": "btrfs check --readonly"}
YES = "y\n" * 9  # to what LVM asks


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
            self._thread = threading.Thread(target=self._run, daemon=True)
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


class Load:
    """Random reads and writes by fio in a file below a mount point; what it did, and its errors."""

    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)
        self.done = 0
        self.errors: list[str] = []
        self._fio: subprocess.Popen[str] | None = None

    def start(self) -> None:
        if self._fio is None and os.path.ismount(self.directory):
            words = (
                f"fio --name=load --filename={self.directory}/fio --size=4m --rw=randrw --bs=4k --direct=1 "
                "--ioengine=libaio --iodepth=2 --rate_iops=10 --time_based --runtime=900 --output-format=json"
            )  # fmt: skip
            self._fio = subprocess.Popen(words.split(), stdout=subprocess.PIPE, text=True)

    def stop(self) -> None:
        if self._fio is None:
            return
        self._fio.send_signal(signal.SIGINT)
        said, _ = self._fio.communicate()
        begun, self._fio = self._fio.returncode != -signal.SIGINT, None
        if not begun:  # it listens for signals when it does
            return
        (job,) = json.loads(said[said.index("{") :])["jobs"]
        self.done += job["read"]["total_ios"] + job["write"]["total_ios"]
        self.errors += [f"fio: {os.strerror(job['error'])}"] if job["error"] else []


class Writers:
    """All who write while a plan is followed; what is counted are the files of the first."""

    def __init__(self, writer: Writer, *others: Load) -> None:
        self.writer = writer
        self.them = (writer, *others)

    def start(self) -> None:
        for each in self.them:
            each.start()

    def stop(self) -> None:
        for each in self.them:
            each.stop()


def ran(command: list[str], words: str = "") -> dict[str, object]:
    """Run a command to its end, as a shell does: what it leaves behind may go on, and hold its output."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            command, input=words, stdout=output, stderr=subprocess.STDOUT, text=True, check=False
        )
        output.seek(0)
        said = output.read()
    return {
        "status": done.returncode,
        "said": said,
        "seconds": round(time.monotonic() - begun, 1),
    }


def asked(state: str) -> str:
    """Return what is true now; no warning among it."""
    done = subprocess.run(["sh", "-c", state], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def pasted(function: str, line: str) -> list[str]:
    """Return the command of a shell that has the guard's *function*, as after step 1."""
    return ["bash", "-c", f"{function}\n{line}"]


def follow(
    steps: list[dict], function: str, writers: Writers, state: str, words: str
) -> list[dict[str, object]]:
    """Go the steps; the first that fails is the last."""
    told: list[dict[str, object]] = []
    for step in steps:
        if step["online"]:
            writers.start()
        else:
            writers.stop()
        before = writers.writer.written
        entry = {"line": step["line"], **ran(pasted(function, step["line"]), words)}
        entry["written"] = writers.writer.written - before
        entry["after"] = asked(state)
        told.append(entry)
        if entry["status"]:
            break
    return told


def go_back(steps: list[dict], function: str, state: str) -> list[dict[str, object]]:
    """Undo *steps*, the last first; the first command that fails is the last."""
    told: list[dict[str, object]] = []
    for line in (each for step in reversed(steps) for each in step["undo_lines"]):
        entry = {"line": line, **ran(pasted(function, line), YES)}
        in_sync()
        told.append(entry | {"after": asked(state)})
        if entry["status"]:
            break
    return told


def in_sync() -> None:
    """Wait until all of LVM and of md are quiet, twice: a reshape ends before mdadm makes it another level."""
    until = time.monotonic() + PATIENCE
    actions = "lvs -a --noheadings -o raid_sync_action; cat /sys/block/md*/md/sync_action"
    quiet = 0
    while quiet < 2 and time.monotonic() < until:
        time.sleep(2)
        quiet = quiet + 1 if set(asked(actions).split()) <= {"idle"} else 0


def disks(name: str) -> set[str]:
    """Return the disks that a device stands on, by their names in /sys."""
    folder = Path(f"/sys/class/block/{name}").resolve()
    if (folder / "partition").exists():
        return {folder.parent.name}
    below = [path.name for path in (folder / "slaves").iterdir()]
    return set().union(*map(disks, below)) if below else {name}


def read_again(writer: Writer) -> list[str]:
    """Return the files that are damaged on the disks themselves."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")
    return writer.damaged() if os.path.ismount(writer.directory) else ["not mounted"]


def outlived(dying: list[str], writer: Writer) -> dict[str, object]:
    """Let disks die; return whether they are, and what is damaged, once more is written, too."""
    for disk in dying:
        Path(f"/sys/block/{disk}/device/state").write_text("offline\n")
    deaf = [ran(["dd", f"if=/dev/{disk}", "of=/dev/null", "count=1", "iflag=direct"])["status"] != 0
            for disk in dying]  # fmt: skip
    failure = ""
    try:
        damaged = read_again(writer)
        writer.write("late", SIZE)
        damaged += read_again(writer)
    except OSError as error:
        damaged, failure = ["not read"], str(error)
    said = asked("dmsetup status --target raid; cat /proc/mdstat")
    for disk in dying:
        Path(f"/sys/block/{disk}/device/state").write_text("running\n")
    return {"disks": dying, "dead": deaf, "damaged": damaged, "failure": failure, "said": said}


def mortal(layout: dict | None, before: set[str], after: set[str]) -> list[str]:
    """Return the disks that *layout* says it outlives, one that holds much of what was there first."""
    count = layout["parity"] + layout["copies"] - 1 if layout else 0
    return sorted(after, key=lambda disk: (disk not in before, disk))[:count]


def on_disks(device: str) -> set[str]:
    name = Path(os.path.realpath(device)).name
    return disks(name) if Path(f"/sys/class/block/{name}").exists() else set()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--fio", action="store_true")
    parser.add_argument("--spare", action="append", default=[])
    parser.add_argument("--back", type=int, default=0)
    parser.add_argument("--key", default="")
    parser.add_argument("--then", default="true")
    for name in ("folder", "mount", "device", "state"):
        parser.add_argument(name)
    return parser.parse_args()


def main() -> None:
    given = options()
    folder, mount, device = Path(given.folder), given.mount, given.device
    way = json.loads((folder / "plan.json").read_text())["ways"][0]
    writer, load = Writer(mount), Load(mount)
    writers = Writers(writer, load) if given.fio else Writers(writer)
    writer.write("large", 64 * SIZE)
    before, stood_on = asked(given.state), on_disks(device)
    writers.start()
    time.sleep(1)
    last = given.back or len(way["steps"])
    function = way["guard"]["function"]
    steps = follow(way["steps"][:last], function, writers, given.state, given.key)
    back = go_back(way["steps"][:last], function, given.state) if given.back else []
    writers.start()
    time.sleep(1)
    writers.stop()
    damaged = read_again(writer)
    source = ran(["findmnt", "-no", "SOURCE,OPTIONS", mount])["said"]
    kind = asked(f"findmnt -no FSTYPE {shlex.quote(mount)}")
    ran(["umount", mount])
    check = ran([*CHECKS[kind].split(), device])
    ran(["mount", "-o", "noatime", device, mount])
    told = {
        "before": before, "steps": steps, "back": back, "damaged": damaged,
        "failure": writer.failure, "written": writer.written,
        "fio": {"done": load.done, "errors": load.errors}, "fsck": check, "mounted": source,
    }  # fmt: skip
    failed = [step for step in (*steps, *back) if step["status"]]
    if not failed:
        print(ran(["bash", "-c", given.then])["said"], end="")
    if given.kill and not failed:
        stands_on = on_disks(device) - set(given.spare)
        told["death"] = outlived(mortal(way["result"], stood_on, stands_on), writer)
    (folder / "done.json").write_text(json.dumps(told, indent=1))
    print(f"  {len(steps)} steps, {writer.written} files written", *damaged, writer.failure)
    print("  death:", {k: v for k, v in told.get("death", {}).items() if k != "said"})
    for step in failed:
        print(f"  !! {step['line']}: {step['status']}: {step['said']}")


if __name__ == "__main__":
    main()
