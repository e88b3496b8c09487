"""See what a Linux storage stack does to I/O: names, layers and the ratios between them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackmap.api import blame as blame
    from stackmap.api import corrected as corrected
    from stackmap.api import findings as findings
    from stackmap.api import layers as layers
    from stackmap.api import live as live
    from stackmap.api import loads as loads
    from stackmap.api import open as open
    from stackmap.errors import StackmapError as StackmapError

__version__ = "0.1.0"
API = ("StackmapError", "blame", "corrected", "findings", "layers", "live", "loads", "open")


def __getattr__(name: str) -> Any:
    """Import the API when it is used: the command line starts without it. ``__all__`` has what features add too."""
    from stackmap.commands import added_names

    names = [*API, *added_names("api")]
    if name == "__all__":
        return names
    if name not in names:
        raise AttributeError(f"module 'stackmap' has no attribute {name!r}")
    from stackmap import api, errors

    return getattr(api, name, None) or getattr(errors, name)


def __dir__() -> list[str]:
    """List the API, which is not imported yet, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__getattr__("__all__")})
