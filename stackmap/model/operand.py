"""
The words of the commands that stackmap prints, each of a type that is checked when it is made.

Operators paste these commands as root, and names come from untrusted sources. A command is a tuple of ``Word``, so
mypy refuses plain text in it. A word that its type does not allow is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import ClassVar, Self

from stackmap.errors import OperandRefused

MAX_PATH = 4095  # bytes (PATH_MAX)
MAX_NAME = 127  # characters of a name of LVM or device-mapper (lvm(8), DM_NAME_LEN)
# The mount flags in mountinfo (fs/proc_namespace.c) that mount(8) takes under the same names.
MOUNT_FLAGS = frozenset(
    {"ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "nosymfollow"}
)
MOUNT_TYPES = frozenset(
    {"bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "gfs2", "hfsplus", "iso9660",
     "jfs", "minix", "nilfs2", "ntfs", "ntfs3", "ocfs2", "reiserfs", "squashfs", "udf", "vfat", "xfs"}
)  # fmt: skip
CACHE_MODES = frozenset({"writethrough", "writeback", "passthrough"})


class Word(str):
    """A word of a command; only its types are made, each from text that it allows."""

    __slots__ = ()
    what: ClassVar[str] = "word"

    def __new__(cls, text: str) -> Self:
        """Check *text*; ``OperandRefused`` with the reason if it is none of this type."""
        if flaw := cls.flaw(text):
            raise OperandRefused(f"'{text}' cannot be a {cls.what} in a command: it {flaw}")
        return super().__new__(cls, text)

    @classmethod
    def flaw(cls, text: str) -> str:
        """Return why *text* is none of this type, as a predicate; "" if it is one."""
        if not text:
            return "is empty"
        if not text.isprintable():
            return "has unprintable characters"
        return "begins with '-'" if text.startswith("-") else ""


class _Matching(Word):
    """A word that matches ``allowed`` from its first character to its last; ``flaw_of_others``: why not."""

    __slots__ = ()
    allowed: ClassVar[re.Pattern[str]]
    flaw_of_others: ClassVar[str]

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse any other form."""
        return "" if cls.allowed.fullmatch(text) else cls.flaw_of_others


class Fixed(_Matching):
    """A word that stackmap's code has in it: a program, an option, a value of no other type."""

    __slots__ = ()
    what = "fixed word"
    allowed = re.compile(r"[A-Za-z0-9_+%=,./:-]+")
    flaw_of_others = "has other characters than options have"


class Pattern(Fixed):
    """An extended regular expression for ``grep``, of names that stackmap's tables have."""

    __slots__ = ()
    what = "pattern"
    allowed = re.compile(r"[A-Za-z0-9_ +*?:|()\[\]$-]+")


class Script(Word):
    """The text of ``sh -c``, which has no names in it."""

    __slots__ = ()
    what = "script"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Allow one line."""
        return "" if text.isprintable() else "has unprintable characters"


class ShellText(Word):
    """Lines for a shell in which every operand is quoted already."""

    __slots__ = ()
    what = "text for a shell"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Allow lines."""
        return super().flaw(text.replace("\n", " "))


class AbsolutePath(Word):
    """A path from the root on, without ``..``."""

    __slots__ = ()
    what = "path"
    root: ClassVar[str] = "/"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what leaves the root, or has two spellings."""
        if flaw := super().flaw(text):
            return flaw
        if not text.startswith(cls.root):
            return f"does not begin with {cls.root}"
        parts = text[len(cls.root) :].split("/")
        if {"", ".", ".."} & {*parts} and text != "/":
            return "has an empty part, '.' or '..' in its path"
        return f"is longer than {MAX_PATH} bytes" if len(text.encode()) > MAX_PATH else ""


class MountPoint(AbsolutePath):
    """A directory on which a file system is mounted."""

    __slots__ = ()
    what = "mount point"


class FilePath(Word):
    """The path of a file or directory, as the user gave it: also a relative one."""

    __slots__ = ()
    what: ClassVar[str] = "path"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what a program would take for an option."""
        return super().flaw(text) or ("begins with -" if text.startswith("-") else "")


class BlockDevicePath(AbsolutePath):
    """The path of a device, below ``/dev/``."""

    __slots__ = ()
    what = "device path"
    root = "/dev/"


class PvPath(BlockDevicePath):
    """A PV, in LVM's words."""

    __slots__ = ()
    what = "PV"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what LVM would take for a range of extents (``/dev/sda:0-99``) or a tag."""
        marks = ":" in text or "@" in text
        return super().flaw(text) or ("has ':' or '@', which LVM takes for more" if marks else "")


class _Name(Word):
    """One component of a path."""

    __slots__ = ()

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what is no file name."""
        if text in (".", "..") or "/" in text:
            return "is not a file name"
        if len(text) > MAX_NAME:
            return f"has more than {MAX_NAME} characters"
        return super().flaw(text)


class LvmName(_Name):
    """The name of a VG or an LV (lvm(8), "Valid names")."""

    __slots__ = ()
    what = "name of LVM"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what LVM does not allow."""
        valid = re.fullmatch(r"[A-Za-z0-9+_.-]+", text)
        return super().flaw(text) or ("" if valid else "has characters that LVM does not allow")


class LvPath(Word):
    """An LV with its VG: ``vg/lv``."""

    __slots__ = ()
    what = "name of an LV"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what is not two names of LVM."""
        group, slash, volume = text.partition("/")
        flaw = LvmName.flaw(group) or LvmName.flaw(volume)
        return flaw if slash else "is not VG/LV"

    @property
    def group(self) -> LvmName:
        """Its VG."""
        return LvmName(self.partition("/")[0])

    @property
    def name(self) -> LvmName:
        """Its name in the VG."""
        return LvmName(self.partition("/")[2])

    @property
    def path(self) -> BlockDevicePath:
        """Its device."""
        return BlockDevicePath(f"/dev/{self}")

    def with_suffix(self, suffix: str) -> LvPath:
        """Return another LV of the VG."""
        return LvPath(f"{self}{suffix}")


class MdName(_Name):
    """The name of an array in ``/dev/md``."""

    __slots__ = ()
    what = "name of an array"

    @property
    def path(self) -> BlockDevicePath:
        """Its device."""
        return BlockDevicePath(f"/dev/md/{self}")


class MapName(_Name):
    """The name of a device-mapper device."""

    __slots__ = ()
    what = "device-mapper name"


class KernelName(_Name):
    """The directory of a device in ``/sys/block``."""

    __slots__ = ()
    what = "kernel name"


class GuestName(_Name):
    """The name of a VM for virsh, which would take a number or a UUID for those of another VM."""

    __slots__ = ()
    what = "name of a VM"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what virsh looks up first as an id or a UUID."""
        other = text.isdecimal() or re.fullmatch(r"[0-9A-Fa-f-]{32,}", text)
        return super().flaw(text) or ("is a number or a UUID for virsh" if other else "")


class DeviceTitle(Word):
    """A NAME for stackmap itself, which takes any; after ``--`` if it begins with "-"."""

    __slots__ = ()
    what = "name"

    @classmethod
    def flaw(cls, text: str) -> str:
        """Refuse what cannot be printed."""
        return super().flaw(f"name {text}") if text else super().flaw(text)


class Uuid(_Matching):
    """A UUID as LVM or md print it."""

    __slots__ = ()
    what = "UUID"
    allowed = re.compile(
        r"[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}|[0-9a-f]{8}(:[0-9a-f]{8}){3}"
    )
    flaw_of_others = "is not a UUID of LVM or md"


class Digest(_Matching):
    """A SHA-256 digest."""

    __slots__ = ()
    what = "digest"
    allowed = re.compile(r"[0-9a-f]{64}")
    flaw_of_others = "is not 64 hexadecimal digits"


class Number(_Matching):
    """A whole number from 0 on."""

    __slots__ = ()
    what = "number"
    allowed = re.compile(r"[0-9]+")
    flaw_of_others = "is not a whole number"

    def __new__(cls, value: int | str) -> Self:
        """Take a number, or the text of one."""
        return super().__new__(cls, str(value))


class Kibibytes(Number):
    """A size in KiB, with LVM's letter."""

    __slots__ = ()
    what = "size"
    allowed = re.compile(r"[0-9]+k")

    def __new__(cls, value: int | str) -> Self:
        """Take a number of KiB."""
        return super().__new__(cls, f"{value}k")


class Keyword(Fixed):
    """A word of a list."""

    __slots__ = ()
    what = "keyword"
    allowed = re.compile(r"[a-z][a-z0-9_]*")


class Composed(Word):
    """Words joined to one, as in ``if=PATH``: its parts were checked."""

    __slots__ = ()

    @classmethod
    def flaw(cls, text: str) -> str:  # noqa: ARG003 - its parts were checked
        """Refuse nothing."""
        return ""


def keyword(text: str, among: Collection[str], what: str) -> Keyword:
    """Return *text*; refused if it is not *among* those that a command may have: *what* they are."""
    if text not in among:
        raise OperandRefused(f"{what} '{text}' is not in the list of those that a plan prints")
    return Keyword(text)


def assigned(prefix: str, value: Word) -> Word:
    """
    Return *value* after a fixed *prefix*.

    >>> assigned("--raid-devices=", Number(4))
    '--raid-devices=4'
    """
    return Composed(f"{Fixed(prefix)}{value}")


def mount_options(flags: str) -> Word:
    """Return the mount *flags* of mountinfo; refused if one is not in ``MOUNT_FLAGS``."""
    return _joined(keyword(flag, MOUNT_FLAGS, "the mount option") for flag in flags.split(","))


def _joined(words: Iterable[Word]) -> Word:
    return Composed(",".join(words))
