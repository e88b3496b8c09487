"""A decorator for methods whose results are kept, like a cached property with arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

Owner = TypeVar("Owner")
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


def computed_once(
    method: Callable[[Owner, *Given], Result],
) -> Callable[[Owner, *Given], Result]:
    """Return *method* so that each object computes it once per hashable positional arguments."""
    name = f"_known_{method.__name__}"

    @wraps(method)
    def known(self: Owner, *given: *Given) -> Result:
        found: dict[Hashable, Any] = vars(self).setdefault(name, {})
        if given not in found:
            found[given] = method(self, *given)
        return found[given]  # type: ignore[no-any-return]  # what *method* returned

    return known
