"""What a check works out of evidence, worked out once: evidence never changes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from specaudit.model.evidence import Evidence

P = ParamSpec("P")
T = TypeVar("T")


def once(function: Callable[Concatenate[Evidence, P], T]) -> Callable[Concatenate[Evidence, P], T]:
    """Keep what a pure function makes of evidence for as long as the evidence itself is kept.

    Its other arguments must be hashable, and given by position.
    """
    kept: WeakKeyDictionary[Evidence, dict[tuple[Any, ...], T]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(evidence: Evidence, /, *args: P.args, **kwargs: P.kwargs) -> T:
        mine = kept.setdefault(evidence, {})
        if args not in mine:
            mine[args] = function(evidence, *args, **kwargs)
        return mine[args]

    return remembered
