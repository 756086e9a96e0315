"""Where a condition begins or ends, by halving. The answer is always on the side that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

__all__ = ["farthest", "first_integer"]

_Place = TypeVar("_Place", float, Fraction)


def first_integer(holds: Callable[[int], object], low: int, high: int) -> int:
    """The smallest of low, …, high − 1 at which a condition that stays true once true holds; `high` if there is none.

    Whatever the condition: it was seen to hold at the answer, or that is `high`; and not to hold just before, or that
    is `low`.

    >>> first_integer(lambda n: n * n >= 50, 0, 100)
    8
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def farthest(holds: Callable[[_Place], object], inside: _Place, outside: _Place, halvings: int) -> _Place:
    """The farthest place on the way from `inside`, where a condition holds, to `outside`, at which it was seen to hold.

    So the condition holds at the answer, whatever it is, or that is `inside`.

    >>> farthest(lambda x: x * x <= 2, 1.0, 2.0, 20) ** 2 <= 2
    True
    """
    for _ in range(halvings):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
