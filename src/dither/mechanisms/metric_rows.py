"""Distances of a large metric space, one row at a time: from the true point to all others, when it is asked for.

**Privacy.** A release uses the distances d̂(y, x) from the true point x, in doubles. Let every one be within r of a
metric d. Then for any two true points at d(x, x′) ≤ Δ, by the triangle inequality of d,

    |d̂(y, x) − d̂(y, x′)| ≤ Δ + 2r for all y,

which is the sensitivity that the mechanism is made for. r is 2^-40 of a bound on the diameter, twice the largest
distance from the first point, and 2^-40 of the largest coordinate that is a float, as 1000000.1 in binary is not the
decimal that it means: public, as the points are. Where distances or coordinates are of a narrower type, such as
float32, it is 8 of their roundings in place of 2^-40, and one for each coordinate beyond 8 of them. The norms ℓ₁, ℓ₂
and ℓ∞ of up to 1024 coordinates keep it: a difference has one rounding, a sum of k terms k of them, a root one more;
squares below the smallest double are far below r, as the diameter is at least 10^-100.

A function of the caller's own is checked on up to 80 points against all others: 40 spread over all and one near each,
as the promise is about points near each other. It is not checked on all triples, of which there are up to 10^15. What
it has to keep is less than a metric: for true points x and x′ of neighbouring datasets

    |d(y, x) − d(y, x′)| ≤ Δ for all y,

because −d(y, x) is the score of an exponential mechanism, whose proof asks for nothing else. So for a function that is
no metric, and that the check does not notice, the promise holds if `sensitivity` is that Δ; if it is only the largest
d(x, x′), the loss may exceed ε. `sensitivity` is trusted here as it is by every mechanism.
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
_CHECKED = 40
_GOLDEN = (math.sqrt(5) - 1) / 2
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
    kind: type[np.floating[Any]] = np.float64
    """The type of the coordinates, where an array of them was narrower than the points that were made of it."""

    @classmethod
    def of_norm(cls, points: tuple[Any, ...], norm: str, kind: type[np.floating[Any]] = np.float64) -> DistanceRows:
        """The distances of a norm between points that are numbers or tuples of them."""
        places = _coordinates(points)
        number = {point: i for i, point in enumerate(points)}
        measure = NORMS[norm]
        rows = cls(points, lambda point, _: measure(places - places[number[point]]), kind)
        if len(points) > 1 and not rows.diameter > 1 / _WIDEST:
            raise ParameterError(f"points must not all lie within {1 / _WIDEST:g}. Measure in another unit.")
        return rows

    def __getitem__(self, position: int) -> Row:
        """The distance from this point to each."""
        try:
            found = np.asarray(self._given(position), dtype=np.float64)
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

    def _given(self, position: int) -> Any:
        return self.distance(self.points[position], self.points)

    @once
    def diameter(self) -> float:
        """At least the largest distance of all: twice the largest from the first point, and a little more."""
        return float(self[0].max()) * 2 * (1 + 2.0**-30)

    @once
    def rounding(self) -> Fraction:
        """What the distances from two points may be off by together, 2r."""
        widest = Fraction(self.diameter)
        each = max(Fraction(1, _ROUNDINGS), relative_rounding([np.asarray(self._given(0)).dtype.type(0)]))
        return 2 * each * widest + 2 * coordinate_rounding(self.points, self.kind)

    def check(self) -> None:
        """Refuse what is certainly not a metric: 40 points spread over all and one near each, against all others."""
        some = self._spread()
        rows = np.array([self[int(i)] for i in some])
        near = np.where(rows > 0, rows, math.inf).argmin(axis=1)
        more = np.setdiff1d(near, some)
        if len(more):
            some, rows = np.concatenate([some, more]), np.concatenate([rows, [self[int(i)] for i in more]])
        table, least = rows[:, some], float(self.rounding)
        is_zero = rows == 0
        if not (is_zero.sum(axis=1) == 1).all() or np.diag(table).any() or (np.abs(table - table.T) > least).any():
            raise ParameterError("distance must be symmetric, 0 from a point to itself and positive otherwise.")
        for i in range(len(some)):
            moved = np.abs(rows[i + 1 :] - rows[i]).max(axis=1, initial=0.0) - table[i, i + 1 :]
            short = table[i, i + 1 :] - (rows[i + 1 :] + rows[i]).min(axis=1, initial=math.inf)
            if max(moved.max(initial=0.0), short.max(initial=0.0)) > 2 * least:
                raise ParameterError(
                    "distance must keep the triangle inequality: no way may be shorter than the direct one."
                )

    def _spread(self) -> NDArray[np.int64]:
        """Half of them at equal steps, half by the golden ratio, which meets no pattern of rows and columns twice."""
        size = len(self.points)
        golden = np.floor(np.arange(1, _CHECKED // 2 + 1) * _GOLDEN % 1 * size)
        return np.unique(np.concatenate([np.linspace(0, size - 1, _CHECKED // 2), golden]).astype(np.int64))


def coordinate_rounding(points: tuple[Any, ...], kind: type[np.floating[Any]] = np.float64) -> Fraction:
    """What points that are floats, or tuples with floats, may be off by from the decimals that they mean.

    `kind` is the type of those that Python's floats were made of.
    """
    every = (x for point in points for x in (point if isinstance(point, tuple) else (point,)))
    floats = [x for x in every if isinstance(x, float | np.floating) and math.isfinite(x)]
    if not floats:
        return Fraction(0)
    each = relative_rounding([*floats, kind(0)])
    if each * _ROUNDINGS > 1:  # 8 roundings, where 2^-40 are far more than one for each coordinate
        each *= max(Fraction(1), Fraction(_most_coordinates(points), 8))
    return each * Fraction(max(abs(float(x)) for x in floats))


def _most_coordinates(points: tuple[Any, ...]) -> int:
    return max(len(point) if isinstance(point, tuple) else 1 for point in points)


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
        _binary(x) != Fraction(y)
        for given, kept in zip(listed, places.tolist(), strict=True)
        for x, y in zip(given, kept, strict=True)
    ):
        raise ParameterError(f"coordinates must be doubles of less than {_WIDEST:g}. Round them first.")
    return places


def _binary(x: Any) -> Fraction:
    return Fraction(*x.as_integer_ratio()) if isinstance(x, np.floating) else Fraction(x)
