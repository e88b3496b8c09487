r"""
Names and uuids of LVM's device-mapper devices.

A name is ``vg-lv`` or ``vg-lv-layer``, with hyphens inside a part doubled;
characters that device-mapper refuses become ``\xNN``. A uuid is ``LVM-``, 32
characters for the VG, 32 for the LV, and mostly a layer for sub-LVs. Older LVM
gives sub-LVs no layer in the uuid, newer LVM ``-real``. So a sub-LV is recognised
by the ending of its name, which LVM reserves, or by its uuid.
"""

import re
from typing import NamedTuple

from stackmap.model.device import Role

PREFIX = "LVM-"
UUID_LENGTH = len(PREFIX) + 32 + 32
_MANGLED = rb"\\x([0-9a-fA-F]{2})"
# Endings that LVM reserves, followed by an index where there are several.
_RESERVED = frozenset(
    "rimage rmeta mimage mlog mimagetmp tdata tmeta cdata cmeta corig wcorig cvol iorig imeta vdata vorigin pmspare".split()  # noqa: SIM905 - a table of words
)
_MOVED = "pvmove"
# The device above is that of a cached LV, of all pools, or of what is moved.
_ELSEWHERE = frozenset({"cdata", "cmeta", "cvol", "pmspare", _MOVED})

# Role of a sub-LV for the device above it, by the ending of its name or uuid; all others hold data.
ROLES = {
    **dict.fromkeys(("rmeta", "mlog", "tmeta", "cmeta", "imeta"), Role.METADATA),
    **dict.fromkeys(("cdata", "cvol"), Role.CACHE),
    **dict.fromkeys(("corig", "wcorig"), Role.ORIGIN),
    "cow": Role.COW,
}


class LvName(NamedTuple):
    """
    The parts of an LV's device name.

    ``layer``: what follows the LV ("tpool", "real", "cow"), "" for the LV itself.
    ``ending``: the kind of sub-LV ("rimage"), "" for an ordinary LV. ``position``:
    its index among several, None for a single one.
    """

    vg: str
    lv: str
    layer: str = ""
    ending: str = ""
    position: int | None = None

    @property
    def label(self) -> str:
        """The name as people write it: ``vg/lv``."""
        return f"{self.vg}/{self.lv}" + (f"-{self.layer}" if self.layer else "")

    @property
    def is_hidden(self) -> bool:
        """Whether LVM made it for its own use."""
        return bool(self.ending)

    @property
    def role(self) -> Role:
        """Its role for the device above it."""
        return ROLES.get(self.ending, Role.DATA)


def parse(name: str, uuid: str) -> LvName | None:
    """Return the parts of *name* (unmangled), with its *uuid*; None if it is not LVM's."""
    if not uuid.startswith(PREFIX):
        return None
    parts = split_name(name)
    if len(parts) < 2:
        return None
    vg, lv, layer = parts[0], parts[1], "-".join(parts[2:])
    reserved, index = _reserved_ending(lv)
    ending = layer or reserved or uuid[UUID_LENGTH + 1 :]
    # "-pool" is the visible device of a thin pool, an ordinary LV.
    ending = "" if ending == "pool" else ending
    # LVM numbers at most 255 sub-LVs; a longer number is part of a user's name.
    place = int(index) if 0 < len(index) <= 9 else None
    return LvName(vg, lv, layer, ending, place)


def _reserved_ending(lv: str) -> tuple[str, str]:
    """
    Return the reserved ending of *lv* and its index, each "" if it has none.

    >>> _reserved_ending("root_rimage_12"), _reserved_ending("pvmove0"), _reserved_ending("root_1")
    (('rimage', '12'), ('pvmove', ''), ('', ''))
    """
    if lv.startswith(_MOVED) and lv.removeprefix(_MOVED).isdecimal():
        return _MOVED, ""
    volume, _, ending = lv.rpartition("_")
    index = ""
    if ending.isdecimal():
        index = ending
        volume, _, ending = volume.rpartition("_")
    return (ending, index) if volume and ending in _RESERVED else ("", "")


def owner_of(sub_lv: str) -> str:
    """
    Return the LV whose device lies on that of *sub_lv*, by its name; "" if the name does not tell.

    >>> owner_of("root_rimage_12"), owner_of("pool_tdata"), owner_of("root"), owner_of("fast_cdata")
    ('root', 'pool', '', '')
    """
    ending, index = _reserved_ending(sub_lv)
    if not ending or ending in _ELSEWHERE:
        return ""
    return sub_lv.removesuffix(f"_{index}" if index else "").removesuffix(f"_{ending}")


def split_name(name: str) -> list[str]:
    """
    Return the parts of *name* between single hyphens, with doubled ones made single.

    >>> split_name("vg--md-home--dirs-real")
    ['vg-md', 'home-dirs', 'real']
    """
    # Pairs first: of three hyphens the last one separates, because a part cannot begin with one.
    return [part.replace("\0", "-") for part in name.replace("--", "\0").split("-")]


def unmangle(name: str) -> str:
    r"""
    Return *name* with its ``\xNN`` decoded.

    >>> unmangle(r"vg-caf\xc3\xa9")
    'vg-café'
    """
    if "\\x" not in name:
        return name
    raw = re.sub(_MANGLED, lambda match: bytes([int(match[1], 16)]), name.encode(errors="replace"))
    return raw.decode("utf-8", "backslashreplace")
