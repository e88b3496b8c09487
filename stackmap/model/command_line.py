"""Commands as lists of arguments, and the one function that quotes them for a shell."""

from __future__ import annotations

import re
import shlex

Command = tuple[str, ...]

# zsh replaces =ls by the path of ls; with magicequalsubst also in a==ls and a=b:=ls.
_EXPANDED_BY_ZSH = r"(?:^|[=:])="


def quoted(command: Command) -> str:
    """
    Return *command* as one line for bash, dash or zsh: every argument arrives as it is.

    >>> quoted(("umount", "/srv/a b; reboot"))
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


def operand(name: str) -> Command:
    """
    Return *name* as the first operand of a command, after "--" if it looks like an option.

    >>> operand("safe"), operand("-rf")
    (('safe',), ('--', '-rf'))
    """
    return ("--", name) if name.startswith("-") else (name,)


def script(text: str, *arguments: str) -> Command:
    """Return a command that runs *text*, which has no names in it, with *arguments* as $1, $2 ..."""
    return ("sh", "-c", text, "sh", *arguments)
