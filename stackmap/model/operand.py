"""
The words of the commands that stackmap prints, each of a type that is checked when it is made.

Operators paste these commands as root, and names come from untrusted sources. A command is a tuple of ``Word``, so
mypy refuses plain text in it. A word that its type does not allow is refused with the reason.
"""

import re
from collections.abc import Callable, Collection
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


# Whether a text fits, and what it is or has otherwise, as a predicate.
Rule = tuple[Callable[[str], object], str]


def _form(pattern: str, flaw: str) -> Rule:
    return re.compile(pattern, re.DOTALL).fullmatch, flaw


NOT_EMPTY: Rule = bool, "is empty"
PRINTABLE: Rule = str.isprintable, "has unprintable characters"
NO_OPTION = _form(r"(?!-).*", "begins with '-'")
# A path has one spelling, and does not leave its root.
PATH = (
    _form(r"/|(?:/(?!\.{1,2}(?:/|\Z))[^/]+)+", "has an empty part, '.' or '..' in its path"),
    (lambda text: len(text.encode()) <= MAX_PATH, f"is longer than {MAX_PATH} bytes"),
)


class Word(str):
    """A word of a command; only its types are made, each from text that fits its ``rules``, tried in order."""

    __slots__ = ()
    what: ClassVar[str] = "word"
    rules: ClassVar[tuple[Rule, ...]] = (NOT_EMPTY, PRINTABLE, NO_OPTION)

    def __new__(cls, text: str) -> Self:
        """Check *text*; ``OperandRefused`` with the reason if it is none of this type."""
        if flaw := cls.flaw(text):
            raise OperandRefused(f"'{text}' cannot be a {cls.what} in a command: it {flaw}")
        return super().__new__(cls, text)

    @classmethod
    def flaw(cls, text: str) -> str:
        """Return why *text* is none of this type, as a predicate; "" if it is one."""
        return next((flaw for fits, flaw in cls.rules if not fits(text)), "")


class Fixed(Word):
    """A word that stackmap's code has in it: a program, an option, a value of no other type."""

    what = "fixed word"
    rules = (_form(r"[A-Za-z0-9_+%=,./:-]+", "has other characters than options have"),)


class Pattern(Fixed):
    """An extended regular expression for ``grep``, of names that stackmap's tables have."""

    what = "pattern"
    rules = (_form(r"[A-Za-z0-9_ +*?:|()\[\]$-]+", "has other characters than such patterns have"),)


class Script(Word):
    """The text of ``sh -c`` on one line, which has no names in it."""

    what = "script"
    rules = (PRINTABLE,)


class ShellText(Word):
    """Lines for a shell in which every operand is quoted already."""

    what = "text for a shell"
    rules = (
        NOT_EMPTY,
        (lambda text: text.replace("\n", " ").isprintable(), PRINTABLE[1]),
        NO_OPTION,
    )


class AbsolutePath(Word):
    """A path from the root on, without ``..``."""

    what = "path"
    rules = (*Word.rules, _form("/.*", "does not begin with /"), *PATH)


class MountPoint(AbsolutePath):
    r"""A directory on which a file system is mounted; ``\x80`` stands for a byte that is no UTF-8."""

    what = "mount point"
    rules = (
        *AbsolutePath.rules,
        _form(r"(?!.*\\x[89a-f][0-9a-f]).*", "may have a byte that is no UTF-8"),
    )


class FilePath(Word):
    """The path of a file or directory, as the user gave it: also a relative one."""

    what = "path"


class BlockDevicePath(AbsolutePath):
    """The path of a device, below ``/dev/``."""

    what = "device path"
    rules = (*Word.rules, _form("/dev/.*", "does not begin with /dev/"), *PATH)


class PvPath(BlockDevicePath):
    """A PV, in LVM's words: ``/dev/sda:0-99`` would be a range of extents, ``@name`` a tag."""

    what = "PV"
    rules = (*BlockDevicePath.rules, _form("[^:@]*", "has ':' or '@', which LVM takes for more"))


class _Name(Word):
    """One component of a path."""

    rules = (
        _form(r"(?!\.{1,2}\Z)[^/]*", "is not a file name"),
        (lambda text: len(text) <= MAX_NAME, f"has more than {MAX_NAME} characters"),
        *Word.rules,
    )


class LvmName(_Name):
    """The name of a VG or an LV (lvm(8), "Valid names")."""

    what = "name of LVM"
    rules = (
        *_Name.rules,
        _form(r"[A-Za-z0-9+_.-]+", "has characters that LVM does not allow"),
    )


class LvPath(Word):
    """An LV with its VG: ``vg/lv``."""

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

    def with_suffix(self, suffix: str) -> "LvPath":
        """Return another LV of the VG."""
        return LvPath(f"{self}{suffix}")


class MdName(_Name):
    """The name of an array in ``/dev/md``."""

    what = "name of an array"

    @property
    def path(self) -> BlockDevicePath:
        """Its device."""
        return BlockDevicePath(f"/dev/md/{self}")


class MapName(_Name):
    """The name of a device-mapper device."""

    what = "device-mapper name"


class KernelName(_Name):
    """The directory of a device in ``/sys/block``."""

    what = "kernel name"


class GuestName(_Name):
    """The name of a VM for virsh, which would take a number or a UUID for those of another VM."""

    what = "name of a VM"
    rules = (
        *_Name.rules,
        _form(r"(?!\d+\Z|[0-9A-Fa-f-]{32,}\Z).*", "is a number or a UUID for virsh"),
    )


class DeviceTitle(Word):
    """A NAME for stackmap itself, which takes any; after ``--`` if it begins with "-"."""

    what = "name"
    rules = (NOT_EMPTY, PRINTABLE)


class Uuid(Word):
    """A UUID as LVM or md print it."""

    what = "UUID"
    rules = (
        _form(
            r"[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}|[0-9a-f]{8}(:[0-9a-f]{8}){3}",
            "is not a UUID of LVM or md",
        ),
    )


class Digest(Word):
    """A SHA-256 digest."""

    what = "digest"
    rules = (_form(r"[0-9a-f]{64}", "is not 64 hexadecimal digits"),)


class Number(Word):
    """A whole number from 0 on."""

    what = "number"
    rules = (_form(r"[0-9]+", "is not a whole number"),)

    def __new__(cls, value: int | str) -> Self:
        """Take a number, or the text of one."""
        return super().__new__(cls, str(value))


class Kibibytes(Number):
    """A size in KiB, with LVM's letter."""

    what = "size"
    rules = (_form(r"[0-9]+k", "is not a whole number"),)

    def __new__(cls, value: int | str) -> Self:
        """Take a number of KiB."""
        return super().__new__(cls, f"{value}k")


class Keyword(Fixed):
    """A word of a list."""

    what = "keyword"
    rules = (_form(r"[a-z][a-z0-9_]*", "has other characters than options have"),)


class Composed(Word):
    """Words joined to one, as in ``if=PATH``: its parts were checked."""

    rules = ()


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
    words = (keyword(flag, MOUNT_FLAGS, "the mount option") for flag in flags.split(","))
    return Composed(",".join(words))
