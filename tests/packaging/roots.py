"""Clean Debian roots, each with nothing but apt, and commands in them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.paths import ROOT

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
OWN = "/usr/local/share/ca-certificates"
MIRROR = "http://deb.debian.org/debian"
# bash stays as the first process: it ends orphans, which a test would find as zombies.
ENTER = """
root=$1; shift
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"; mount -t sysfs -o ro sysfs "$root/sys"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$@" || exit
"""


class CleanRoot:
    """The root of *suite* in *folder*, made from a tar that is kept in *kept*."""

    def __init__(self, suite: str, folder: Path, kept: Path) -> None:
        self.path = folder / suite
        tar = kept / f"{suite}.tar"
        if not tar.exists():
            kept.mkdir(parents=True, exist_ok=True)
            half = kept / f"{suite}-new.tar"
            source = f"deb {MIRROR} {suite} main"
            # The lists of sid are valid for a week; a mirror may be older.
            options = ['--aptopt=Acquire::Check-Valid-Until "false"'] if suite == "sid" else []
            call(["mmdebstrap", "--variant=apt", *options, suite, str(half), source])
            half.rename(tar)
        self.path.mkdir(parents=True)
        call(["tar", "-xpf", str(tar), "-C", str(self.path), "--exclude=./dev/*"])
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        (self.path / "etc/hosts").write_text("127.0.0.1 localhost\n")  # an installer writes it
        # A network may have a proxy with a certificate of its own, which this machine trusts.
        if Path(CERTIFICATES).exists():
            (self.path / CERTIFICATES[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CERTIFICATES, self.path / CERTIFICATES[1:])
        if Path(OWN).is_dir():  # ca-certificates, once installed, makes the list anew from these
            shutil.copytree(OWN, self.path / OWN[1:], dirs_exist_ok=True)
        self.run("apt-get", "update", "-qq")

    def entering(self, *command: str) -> list[str]:
        """Return the command that runs *command* in this root."""
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-euc", ENTER]
        return [*enter, "bash", str(self.path), *command]

    def run(self, *command: str) -> str:
        """Return the output of *command*; it must succeed."""
        return call(self.entering(*command))

    def shell(self, line: str) -> str:
        """Return the output of a line of bash."""
        return self.run("bash", "-euo", "pipefail", "-c", line)

    def files(self) -> set[str]:
        """Return the paths of all files and directories, without apt's and dpkg's own."""
        found = self.shell("find / -xdev ! -path '/proc*' ! -path '/tmp/*' ! -path '/var/cache/*'")
        changing = ("/var/lib/apt/", "/var/lib/dpkg/", "/var/log/", "/root/")
        return {path for path in found.splitlines() if not path.startswith(changing)}


def call(command: list[str]) -> str:
    """Return what *command* prints; it must succeed."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=1200
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def checkout(folder: Path) -> Path:
    """Return a copy of this checkout's files in *folder*."""
    names = call(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"])
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder
