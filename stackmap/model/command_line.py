"""Commands as lists of arguments, and the one function that quotes them for a shell."""

import re
import shlex
from collections.abc import Iterable

from stackmap.model.operand import DeviceTitle, Fixed, Script, Word

Command = tuple[Word, ...]

# zsh replaces =ls by the path of ls; with magicequalsubst also in a==ls and a=b:=ls.
_EXPANDED_BY_ZSH = r"(?:^|[=:])="


def quoted(command: Iterable[Word]) -> str:
    """
    Return *command* as one line for bash, dash or zsh: every argument arrives as it is.

    >>> from stackmap.model.operand import MountPoint
    >>> quoted(words("umount", MountPoint("/srv/a b; reboot")))
    "umount '/srv/a b; reboot'"
    """
    return " ".join(map(quoted_word, command))


def quoted_word(word: str) -> str:
    """
    Return *word* as one argument.

    >>> quoted_word("vg/lv"), quoted_word("$(id)"), quoted_word("=ls")
    ('vg/lv', "'$(id)'", "'=ls'")
    """
    plain = shlex.quote(word)
    return f"'{word}'" if plain == word and re.search(_EXPANDED_BY_ZSH, word) else plain


def words(text: str, *operands: Word) -> Command:
    """
    Return the words of *text*, which the code has in it, and *operands*.

    >>> from stackmap.model.operand import MountPoint
    >>> quoted(words("umount --", MountPoint("/srv/a b")))
    "umount -- '/srv/a b'"
    """
    return (*map(Fixed, text.split()), *operands)


def script(text: Script, *arguments: Word) -> Command:
    """Return a command that runs *text* with *arguments* as $1, $2 ..."""
    return (*words("sh -c"), text, Fixed("sh"), *arguments)


# In place of a command; no name is in it, because readers may paste it.
NO_COMMAND = "no command: a name in it is not valid"


def stackmap_command(text: str, *names: DeviceTitle) -> Command:
    """
    Return a command of stackmap's own; a name that looks like an option is behind "--".

    >>> quoted(stackmap_command("blame", DeviceTitle("-rf")))
    'stackmap blame -- -rf'
    """
    dashes = words("--") if any(name.startswith("-") for name in names) else ()
    return (*words("stackmap"), *words(text), *dashes, *names)
