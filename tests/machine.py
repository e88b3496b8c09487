"""A host drawn by hand: files by path, commands by their words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stackmap.errors import SourceDenied, SourceMissing


class DrawnHost:
    """
    Answers from *files* and *commands*; a command that is not there needs root.

    A file of "-> target" is a link.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        commands: Mapping[str, str] | None = None,
        udev: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.files = files
        self.commands = commands or {}
        self.properties = udev or {}
        self.asked: list[str] = []
        self.events: list[dict[str, str]] | None = None

    def read(self, path):
        self.asked.append(path)
        if path not in self.files:
            raise SourceMissing(f"{path}: not drawn")
        return self.files[path]

    def names_in(self, path):
        self.asked.append(f"{path}/")
        names = {p[len(path) + 1 :].split("/")[0] for p in self.files if p.startswith(f"{path}/")}
        if not names:
            raise SourceMissing(f"{path}: not drawn")
        return sorted(names)

    def link(self, path):
        self.asked.append(path)
        target = self.files.get(path, "")
        if not target.startswith("-> "):
            raise SourceMissing(f"{path}: no link")
        return target.removeprefix("-> ")

    def start(self, *command):
        pass

    def run(self, *command):
        words = " ".join(word for word in command if not word.startswith("-"))
        if command[0] == "libblockdev" and words not in self.commands:
            raise SourceMissing("libblockdev: not drawn")
        self.asked.append(words)
        if words not in self.commands:
            raise SourceDenied(f"{words}: needs root")
        return self.commands[words]

    def udev(self, number):
        self.asked.append(f"udev {number}")
        return dict(self.properties.get(number, {}))

    def metadata(self, of):
        raise SourceMissing(f"libblockdev: {of} not drawn")

    def machine_id(self):
        raise SourceMissing("/etc/machine-id: not drawn")

    def uevents(self):
        if self.events is None:
            raise SourceMissing("uevents: nobody listens")
        told, self.events = self.events, []
        return told

    def in_background(self, ask):
        return Answered(partial(ask, self))


class Answered:
    """What *ask* returns, whenever it is asked for."""

    def __init__(self, ask):
        self.result = ask

    def ready(self, _):
        return True


def block(name: str, number: str, size: int = 2048, **files: str) -> dict[str, str]:
    """The files of a block device of *size* sectors; ``__`` in a name is a slash."""
    path = f"/sys/block/{name}"
    major, minor = number.split(":")
    return {
        f"{path}/uevent": f"MAJOR={major}\nMINOR={minor}\nDEVNAME={name}\nDISKSEQ=1\n",
        f"{path}/size": f"{size}\n",
        f"{path}/ro": "0\n",
        f"{path}/queue/iostats": "1\n",
        **{f"{path}/{key.replace('__', '/')}": f"{text}\n" for key, text in files.items()},
    }


def mapped(
    number: int, name: str, uuid: str = "", size: int = 2048, below: tuple[str, ...] = (), **files
) -> dict[str, str]:
    """The files of a mapped device."""
    path = f"/sys/block/dm-{number}"
    return {
        **block(f"dm-{number}", f"254:{number}", size, **files),
        f"{path}/dm/name": f"{name}\n",
        f"{path}/dm/uuid": f"{uuid}\n",
        f"{path}/dm/suspended": "0\n",
        **{f"{path}/slaves/{other}": "" for other in below},
    }


def lvm_uuid(number: int, layer: str = "") -> str:
    """An uuid as LVM makes them, for the LV with *number*."""
    return f"LVM-{'v' * 32}{number:032d}" + (f"-{layer}" if layer else "")
