"""Estimators: count, sum, mean, variance, quantiles, histogram and more, as functions of an array (`dither.stats`).

Names load when they are first used: a table needs a third of these modules, and the others take time to load.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.estimators.public_names import Estimate, Option, Solution, solve, stats

__all__ = ["Estimate", "Option", "Solution", "solve", "stats"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dither.estimators' has no attribute {name!r}.")
    from dither.estimators import public_names

    return getattr(public_names, name)
