"""
Text → HTML: everything in a page is escaped by this module.

A name may contain anything. ``Markup`` was made here and is used as it is; any
other text is escaped, control characters first.
"""

import json
import re
from html import escape

from stackmap.render.text import safe

VOID = frozenset({"br", "meta", "link", "hr"})
_BREAKS = re.compile("[\n\t]")


class Markup(str):
    """HTML made by this module; text added to it is escaped."""

    __slots__ = ()

    def __add__(self, other: str) -> "Markup":
        return Markup(str.__add__(self, text(other)))


def text(words: str) -> Markup:
    r"""
    Return *words* as HTML.

    >>> text("<b>\x1b[2J")
    '&lt;b&gt;\\x1b[2J'
    """
    return words if isinstance(words, Markup) else Markup(escape(safe(words)))


def lines(words: str) -> Markup:
    """Return *words* as HTML with their line breaks."""
    return Markup("\n".join(text(_BREAKS.sub(" ", line)) for line in words.split("\n")))


def tag(kind: str, /, *content: str, **attributes: str | bool | None) -> Markup:
    """
    Return an element; ``klass`` is its class; None and False attributes are left out.

    >>> tag("p", "a < b", klass="x", hidden=True)
    '<p class="x" hidden>a &lt; b</p>'
    """
    attributes_text = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if kind in VOID:
        return Markup(f"<{kind}{attributes_text}>")
    return Markup(f"<{kind}{attributes_text}>{''.join(map(text, content))}</{kind}>")


def _attribute(key: str) -> str:
    return "class" if key == "klass" else key.replace("_", "-")


def data(key: str, value: object) -> Markup:
    r"""
    Return *value* as JSON for the page's script; nothing in it can end the element.

    >>> data("k", ["</script>"])
    '<script type="application/json" id="k">["\\u003c/script\\u003e"]</script>'
    """
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(f'<script type="application/json" id="{text(key)}">{written}</script>')


def joined(*parts: str) -> Markup:
    """Return *parts* joined by line breaks."""
    return Markup("\n".join(text(part) for part in parts if part))
