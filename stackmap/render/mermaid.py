"""The topology in the Mermaid language, which GitHub, GitLab and many wikis draw."""

from __future__ import annotations

import re

from stackmap.document.picture import Box, Picture
from stackmap.render.text import safe

# With the defaults names wrap and arrows run behind boxes.
_HEAD = """\
%%{init: {"flowchart": {"wrappingWidth": 600, "rankSpacing": 160, "nodeSpacing": 20}}}%%
flowchart LR
"""

# Characters that Mermaid or its HTML would interpret.
_SPECIAL = re.compile(r'["#&<>;`\\\[\](){}|]')


def render_mermaid(shown: Picture) -> str:
    """Return *shown* as a flowchart, from the tops on the left to the disks on the right."""
    fills = list(dict.fromkeys(box.fill for box in shown.boxes))
    lines = [_node(box, fills.index(box.fill)) for box in shown.boxes]
    for arrow in shown.arrows:
        line = f"-. {arrow.role} .->" if arrow.role else "-->"
        lines.append(f"{arrow.above} {line} {arrow.below}")
    lines += [
        f"classDef c{place} fill:{fill},stroke:#666,color:#000" for place, fill in enumerate(fills)
    ]
    return _HEAD + "".join(f"  {line}\n" for line in lines)


def _node(box: Box, place: int) -> str:
    text = "<br>".join(
        _SPECIAL.sub(lambda found: f"#{ord(found[0])};", safe(line)) for line in box.lines
    )
    return f'{box.key}["{text}"]:::c{place}'
