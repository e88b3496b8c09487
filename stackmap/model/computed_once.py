"""A decorator for methods whose results are kept, like a cached property with arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

PREFIX = "_known_"  # of the attribute that keeps the results of a method
Owner = TypeVar("Owner")
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


def computed_once(
    method: Callable[[Owner, *Given], Result],
) -> Callable[[Owner, *Given], Result]:
    """Return *method* so that each object computes it once per hashable positional arguments."""
    name = PREFIX + method.__name__

    @wraps(method)
    def known(self: Owner, *given: *Given) -> Result:
        found: dict[Hashable, Any] = vars(self).setdefault(name, {})
        if given not in found:
            found[given] = method(self, *given)
        return found[given]  # type: ignore[no-any-return]  # what *method* returned

    return known


def forget(owner: object, *given: Hashable) -> None:
    """Free what the methods of *owner* computed for these arguments."""
    for name, found in vars(owner).items():
        if name.startswith(PREFIX):
            found.pop(given, None)
