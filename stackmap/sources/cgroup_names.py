r"""
The owner of a control group, from the names that container engines and systemd use.

One line per engine. IDs are cut to 12 digits, as the engines' own tools do.
systemd writes ``\x2d`` for a hyphen in a unit's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackmap.sources.lvm_names import unmangle

ID = r"([0-9a-f]{12})[0-9a-f]*"

# Beginning of one part of a group's path, pattern of the rest, the kind of its owner, and the owner's name.
ENGINES = (
    ("docker-", rf"{ID}\.scope", "container", "docker {}"),
    ("libpod-", rf"{ID}\.scope", "container", "podman {}"),
    ("cri-containerd-", rf"{ID}\.scope", "container", "kubernetes {}"),
    ("crio-", rf"{ID}\.scope", "container", "kubernetes {}"),
    ("lxc.payload.", r"(.+)", "container", "lxc {}"),
    ("machine-qemu-", r"\d+-(.+)\.scope", "vm", "{}"),
    ("machine-", r"(.+)\.scope", "container", "nspawn {}"),
)
# Engines whose name is a directory, with the container as the next part.
FOLDERS = {
    "docker": (ID, "docker {}"),
    "lxc": (r"(?!\.)(.+)", "lxc {}"),
    "kubepods": (ID, "kubernetes {}"),
}
SERVICE = ".service"


def owner(group: str) -> tuple[str, str] | None:
    r"""
    Return the kind and the name of the owner of *group*; None if it has none.

    >>> owner("/system.slice/docker-0123456789abcdef.scope/init.scope")
    ('container', 'docker 0123456789ab')
    >>> owner(r"/machine.slice/machine-qemu\x2d3\x2dweb1.scope"), owner("/system.slice/mariadb.service")
    (('vm', 'web1'), ('service', 'mariadb'))
    >>> owner("/user.slice")
    """
    parts = [unmangle(part) for part in group.split("/")]
    # From the top: everything inside a container belongs to the container.
    found = next(_containers(parts), None)
    if found:
        return found
    units = (part for part in parts if part.endswith(SERVICE))
    services = [name for unit in units if (name := unit.removesuffix(SERVICE))]
    return ("service", services[-1]) if services else None


def group_of_owner(group: str) -> str:
    r"""
    Return the outermost group around *group* that has the same owner; *group* itself without one.

    >>> group_of_owner("/machine.slice/libpod-0123456789abcdef.scope/container")
    '/machine.slice/libpod-0123456789abcdef.scope'
    >>> group_of_owner("/user.slice/session-1.scope")
    '/user.slice/session-1.scope'
    """
    who, parts = owner(group), group.split("/")
    around = ("/".join(parts[:end]) for end in range(2, len(parts)))
    return next((each for each in around if who and owner(each) == who), group)


def _containers(parts: list[str]) -> Iterator[tuple[str, str]]:
    for place, part in enumerate(parts):
        for start, pattern, how, who in ENGINES:
            # Mostly no engine's part begins so, and no pattern is compiled.
            if part.startswith(start) and (match := re.fullmatch(pattern, part[len(start) :])):
                yield how, who.format(match[1])
        above = parts[place - 1] if place else ""
        folder = "kubepods" if above.startswith("kubepods") else above
        pattern, who = FOLDERS.get(folder, ("", ""))
        if who and (match := re.fullmatch(pattern, part)):
            yield "container", who.format(match[1])
