"""
What a boot depends on, as a digest: what ran in the guest, and nothing that judges its outputs.

These are the scenario, the lab's programs that it names, the modules that
Python loaded in the guest, the kernel's release and Debian's versions of the
tools. The modules are known when the guest has ended (``loaded/``).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
BOOT = HERE / "boot"
SCENARIOS = HERE / "scenarios"
ROOT = HERE.parents[1]
EACH = ("boot", "init", "guest", "finish", "loaded/sitecustomize.py")  # programs of every boot
IN_GUEST = (
    "follow.py",
    "convert_all.py",
    "make_all.py",
    "trace_runs.py",
)  # programs that scenarios run
# What plans say of what the lab saw: no command depends on it, and the tests read it as it is today.
ABOUT_THE_LAB = frozenset({"stackmap/features/plan/lab_results.py"})
TOOLS = ("lvm2", "mdadm", "dmsetup", "cryptsetup-bin", "fio")


def digests() -> dict[str, str]:
    """Return the digest of each file that may run in a guest, by its path in the checkout."""
    paths = [*ROOT.glob("stackmap/**/*"), *ROOT.glob("tests/**/*.py"), *HERE.rglob("*.sh")]
    paths += [HERE / name for name in EACH]
    return {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(set(paths))
        if path.is_file() and "__pycache__" not in path.parts
    }


def loaded(path: Path) -> frozenset[str] | None:
    """Return the modules of the checkout that the guest left in *path*; None if it left no list."""
    if not path.exists():
        return None
    lines = path.read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith(".venv/"))


def digest(
    scenario: str, kernel: str, rest: str, files: Mapping[str, str], modules: Iterable[str] | None
) -> str:
    """Return the digest of a boot; of every module where *modules*, those loaded, is None."""
    names = [*_programs(scenario), *(f"tests/lab/{name}" for name in EACH)]
    # What is no module, as a style sheet, may be read by any.
    names += [name for name in files if name.startswith("stackmap/") and _is_data(name)]
    names += files if modules is None else modules
    told = (f"{name} {files.get(name)}" for name in sorted({*names} - ABOUT_THE_LAB))
    words = "\0".join((release(kernel), _versions(), rest, *told))
    return hashlib.sha256(words.encode()).hexdigest()


def _is_data(name: str) -> bool:
    return not name.endswith((".py", ".md", ".typed"))


def _programs(scenario: str) -> Iterator[str]:
    """Yield the scenario and the lab's programs that it names, or that these name."""
    known = {path.name: path for path in (*HERE.glob("*.sh"), *(HERE / n for n in IN_GUEST))}
    todo, seen = [SCENARIOS / f"{scenario}.sh"], set[Path]()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        yield str(path.relative_to(ROOT))
        text = path.read_text()
        todo += [named for name, named in known.items() if name in text]


@cache
def release(kernel: str) -> str:
    """Return the release of the kernel that ``boot`` takes, without its folder; "" if there is none."""
    command = [BOOT, "kernel", kernel]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition(" ")[0]


@cache
def _versions() -> str:
    """Return Debian's versions of the tools; "" on a machine without dpkg, which has no lab."""
    if shutil.which("dpkg-query") is None:
        return ""
    command = ["dpkg-query", "--show", *TOOLS]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
