"""See what a Linux storage stack does to I/O: names, layers and the ratios between them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackmap.api import blame, corrected, findings, layers, live, open, whatif
    from stackmap.errors import StackmapError

__version__ = "0.1.0"
__all__ = [
    "StackmapError",
    "blame",
    "corrected",
    "findings",
    "layers",
    "live",
    "open",
    "whatif",
]


def __getattr__(name: str) -> Any:
    """Import the API when it is used: the command line starts without it."""
    if name not in __all__:
        raise AttributeError(f"module 'stackmap' has no attribute {name!r}")
    from stackmap import api, errors

    return getattr(api, name, None) or getattr(errors, name)
