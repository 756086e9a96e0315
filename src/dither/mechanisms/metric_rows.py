"""Distances of a large metric space, one row at a time: from the true point to all others, when it is asked for.

**Privacy.** A release uses the distances d̂(y, x) from the true point x, in doubles. Let every one be within r of a
metric d. Then for any two true points at d(x, x′) ≤ Δ, by the triangle inequality of d,

    |d̂(y, x) − d̂(y, x′)| ≤ Δ + 2r for all y,

which is the sensitivity that the mechanism is made for. r is 2^-40 of a bound on the diameter, twice the largest
distance from the first point, and 2^-40 of the largest coordinate that is a float, as 1000000.1 in binary is not the
decimal that it means: public, as the points are. The norms ℓ₁, ℓ₂ and ℓ∞ of up to 1024 coordinates keep it: a
difference has one rounding, a sum of k terms k of them, a root one more; squares below the smallest double are far
below r, as the diameter is at least 10^-100. A metric of the caller's own is checked on some points, and trusted to be
one, and to have a value, on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import once, relative_rounding

__all__ = ["NORMS", "DistanceRows", "coordinate_rounding"]

_ROUNDINGS = 2**40
_CHECKED = 64
_MOST_COORDINATES = 1024
_WIDEST = 1e100

Row = NDArray[np.float64]


def _l2(moves: NDArray[np.float64]) -> Row:
    found: Row = np.sqrt(np.square(moves).sum(axis=1))
    return found


NORMS: dict[str, Callable[[NDArray[np.float64]], Row]] = {
    "l1": lambda moves: np.abs(moves).sum(axis=1),
    "l2": _l2,
    "linf": lambda moves: np.abs(moves).max(axis=1),
}


@dataclass(frozen=True, eq=False)
class DistanceRows:
    """All distances from one point, by a function of the point and of all points."""

    points: tuple[Any, ...]
    distance: Callable[[Any, tuple[Any, ...]], Any]

    @classmethod
    def of_norm(cls, points: tuple[Any, ...], norm: str) -> DistanceRows:
        """The distances of a norm between points that are numbers or tuples of them."""
        places = _coordinates(points)
        number = {point: i for i, point in enumerate(points)}
        measure = NORMS[norm]
        rows = cls(points, lambda point, _: measure(places - places[number[point]]))
        if len(points) > 1 and not rows.diameter > 1 / _WIDEST:
            raise ParameterError(f"points must not all lie within {1 / _WIDEST:g}. Measure in another unit.")
        return rows

    def __getitem__(self, position: int) -> Row:
        """The distance from this point to each."""
        try:
            found = np.asarray(self.distance(self.points[position], self.points), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                "distance must give numbers. Give a function of two points that returns one."
            ) from None
        if found.shape != (len(self.points),) or not (found >= 0).all() or not (found < _WIDEST).all():
            raise ParameterError(
                f"distance must give {len(self.points)} numbers from 0 to {_WIDEST:g}, one for each point. "
                "Measure in another unit, or give vectorised=True for a function of a point and all points."
            )
        return found

    @once
    def diameter(self) -> float:
        """At least the largest distance of all: twice the largest from the first point, and a little more."""
        return float(self[0].max()) * 2 * (1 + 2.0**-30)

    @once
    def rounding(self) -> Fraction:
        """What the distances from two points may be off by together, 2r."""
        return Fraction(2 * self.diameter) / _ROUNDINGS + 2 * coordinate_rounding(self.points)

    def check(self) -> None:
        """Refuse what is certainly not a metric, on points spread over all."""
        some = np.unique(np.linspace(0, len(self.points) - 1, _CHECKED).astype(np.int64))
        table = np.array([self[int(i)][some] for i in some])
        least = float(self.rounding)
        if np.diag(table).any() or (np.abs(table - table.T) > least).any() or (table + np.eye(len(some)) <= 0).any():
            raise ParameterError("distance must be symmetric, 0 from a point to itself and positive otherwise.")
        if max(float((table - table[:, [k]] - table[[k], :]).max()) for k in range(len(some))) > 2 * least:
            raise ParameterError(
                "distance must keep the triangle inequality: no way may be shorter than the direct one."
            )


def coordinate_rounding(points: tuple[Any, ...]) -> Fraction:
    """What points that are floats, or tuples with floats, may be off by from the decimals that they mean."""
    every = (x for point in points for x in (point if isinstance(point, tuple) else (point,)))
    floats = [x for x in every if isinstance(x, float | np.floating) and math.isfinite(x)]
    return relative_rounding(floats) * Fraction(max((abs(float(x)) for x in floats), default=0.0))


def _coordinates(points: tuple[Any, ...]) -> NDArray[np.float64]:
    """One row of doubles for each point, which are these numbers exactly."""
    listed = [point if isinstance(point, tuple) else (point,) for point in points]
    try:
        places = np.array(listed, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("points must be numbers, or tuples of as many numbers each, for a norm.") from None
    if places.ndim != 2 or not 1 <= places.shape[1] <= _MOST_COORDINATES:
        raise ParameterError(f"points must have the same number of coordinates, from 1 to {_MOST_COORDINATES}.")
    if not (np.abs(places) < _WIDEST).all() or any(
        Fraction(x) != Fraction(y)
        for given, kept in zip(listed, places.tolist(), strict=True)
        for x, y in zip(given, kept, strict=True)
    ):
        raise ParameterError(f"coordinates must be doubles of less than {_WIDEST:g}. Round them first.")
    return places
