"""
Keys in the text of device-mapper tables, and their mask: zeros, as many as the key has digits.

dmsetup masks the keys of ``crypt`` and ``integrity`` in this form, but those of no other target
(dmsetup.c: ``_status``; measured with 1.02.185 and 1.02.205). So every table is masked here: as the
kernel's answer is read, and as a capture or a text from elsewhere is.

The record of a target (``model/dm_targets``) says which of its words may be a key: of most, and of
unknown ones, any word. There, every run of 32 and more hexadecimal or base64 digits is masked, unless
it is part of a path, a UUID, a WWID or a device's name.
"""

import re
from functools import partial

from stackmap.model.dm_targets import DM_TARGETS, Keys

# "-" stands for no key, and ":64:logon:NAME" for one that the kernel's keyring keeps.
KEY_SECOND = tuple(t.name for t in DM_TARGETS.values() if t.keys is Keys.SECOND_WORD)
KEY_TYPES = ("logon", "user", "encrypted", "trusted")  # of the kernel's keyring
KEY_OPTIONS = ("internal_hash", "journal_crypt", "journal_mac")  # OPTION:ALGORITHM:KEY of integrity
# Long words that are no keys: the root hash and the salt of verity, one letter per member of the others.
KEYLESS = frozenset(t.name for t in DM_TARGETS.values() if t.keys is Keys.NOWHERE)
DIGITS = 32  # a key of 128 bits in hexadecimal

# Patterns are compiled when first used: most commands need one of them.
_SECOND = rf"(\b[0-9]+[ \t]+(?:{'|'.join(KEY_SECOND)})[ \t]+\S+[ \t]+)([^\s:,;-][^\s,;]*)"
_OPTION = rf"(\b(?:{'|'.join(KEY_OPTIONS)}):[^\s:]+:)([^\s:,;][^\s,;]*)"
# A line of a table: alone, after a name, in quotes, or in the form of dmsetup --concise.
_LINE = r"""(?m)((?:^|:[ \t]|[,;"'])[ \t]*[0-9]{1,19}[ \t]+[0-9]{1,19}[ \t]+([A-Za-z][^\s:,;]*)[ \t]+)([^;\n]*)"""
_NAME = r"(?m)^(.+?):[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[A-Za-z]"
_WORD = rf":[0-9]+:(?:{'|'.join(KEY_TYPES)}):\S+|[^\s=,:;|\"'()\[\]]{{{DIGITS},}}"
_RUN = rf"[0-9A-Za-z+/]{{{DIGITS},}}"
_URL_RUN = rf"[0-9A-Za-z_-]{{{DIGITS},}}"
_CLASSES = "[a-z]", "[A-Z]", "[0-9]"
_IDENTIFIER = (
    r"(?a):[0-9]+:|/(?:dev|sys|proc|run|var|mnt|srv|home|opt|usr|etc|tmp)/"
    r"|(?:LVM|CRYPT|VDO|DMRAID|mpath|dm-uuid|dm-name|wwn|scsi|nvme|part[0-9]+)-"
    r"|(?:naa|eui|t10|nvme|uuid)\."
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|\w{6}(?:-\w{4}){5}-\w{6}$"  # of LVM
    r"|36[0-9a-f]{31}$"  # scsi_id's name of a disk with an NAA identifier of 128 bits
)
# Nearly no text without a key has one of these, so most texts need no look at their lines.
_SUSPECT_WORDS = ("crypt", "default-key", "internal_hash", "journal_mac")
_SUSPECT_RUN = rf"(?<![0-9A-Za-z+/_-])[0-9A-Za-z+/_-]{{{DIGITS}}}"


def masked(text: str) -> str:
    """
    Return *text* with zeros for each digit of a key in a line of a table; it keeps its length.

    >>> masked("home: 0 8 crypt aes-xts-plain64 c0ffee 0 8:1 4096")
    'home: 0 8 crypt aes-xts-plain64 000000 0 8:1 4096'
    """
    if not any(word in text for word in _SUSPECT_WORDS) and not re.search(_SUSPECT_RUN, text):
        return text
    text = re.sub(_OPTION, _zeros, re.sub(_SECOND, _zeros, text))
    return re.sub(_LINE, partial(_without_long_words, frozenset(re.findall(_NAME, text))), text)


def masked_bytes(content: bytes) -> bytes:
    """Return *content*, text in any encoding, with zeros for each digit of a key."""
    return masked(content.decode("latin-1")).encode("latin-1")


def names_with_key(text: str) -> list[str]:
    r"""
    Return the device names at the lines of *text* that have a key, "" for a line without a name.

    >>> names_with_key("a: 0 8 zero \nb: 0 8 crypt aes c0ffee 0 8:1 0")
    ['b']
    """
    after = masked(text)
    if after == text:
        return []
    pairs = zip(text.splitlines(), after.splitlines(), strict=True)
    lines = [line for line, without in pairs if line != without]
    names = (re.match(_NAME, line) for line in lines)
    return list(dict.fromkeys(name[1] if name else "" for name in names))


def _zeros(match: re.Match[str]) -> str:
    return match[1] + "0" * len(match[2])


def _without_long_words(names: frozenset[str], line: re.Match[str]) -> str:
    if line[2] in KEYLESS:
        return line[0]
    return line[1] + re.sub(_WORD, partial(_without_runs, names), line[3])


def _without_runs(names: frozenset[str], word: re.Match[str]) -> str:
    if re.match(_IDENTIFIER, word[0]) or word[0] in names:
        return word[0]
    return re.sub(_URL_RUN, _base64url_zeros, re.sub(_RUN, lambda run: "0" * len(run[0]), word[0]))


def _base64url_zeros(run: re.Match[str]) -> str:
    """Return zeros for a key in base64url; a name, whose words "-" and "_" join, rarely has all classes."""
    is_key = all(re.search(digits, run[0]) for digits in _CLASSES)
    return "0" * len(run[0]) if is_key else run[0]
