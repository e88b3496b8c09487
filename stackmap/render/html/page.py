"""
A page → an HTML document.

Its policy forbids network access and every script except its own two, which
the policy lists by hash. A name that passed all escaping could run nothing.
"""

from __future__ import annotations

import base64
import hashlib
from typing import NamedTuple

from stackmap.document.blocks import Page
from stackmap.render.html.draw import draw_section
from stackmap.render.html.markup import Markup, joined, tag


class Assets(NamedTuple):
    """The page's styles and scripts, ours or vendored: never escaped."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...]


def render_html(page: Page, assets: Assets) -> str:
    """Return *page* as one HTML file."""
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(assets)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),  # without it a browser requests one
        tag("title", page.title),
        *(Markup(f"<style>{style}</style>") for style in assets.styles),
    )
    body = joined(
        tag("header", joined(tag("h1", page.title), *(tag("p", line) for line in page.about))),
        tag("main", joined(*map(draw_section, page.sections))),
        *(Markup(f"<script>{script}</script>") for script in assets.scripts),
    )
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _policy(assets: Assets) -> str:
    scripts = " ".join(map(_hash, assets.scripts))
    styles = " ".join(map(_hash, assets.styles))
    return f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'"


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
