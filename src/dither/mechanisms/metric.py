"""The exponential mechanism on a metric space: an answer close to the true one (claim C11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Event, Selection, Stated
from dither.exact import Ball, Number, ball, check, listed, once, precision, rational, relative_rounding, set_fields
from dither.exact.certified import above, exactly_above
from dither.guarantees import Guarantee, PureDP
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.metric_rows import NORMS, DistanceRows, coordinate_rounding
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.selection import calibrated
from dither.mechanisms.selection_error import worst_expected_error, worst_quantile
from dither.noise.race import Race, Scores
from dither.noise.tape import answered
from dither.pairs import ProfileOf
from dither.pairs.bounded_range import BoundedRangePair

__all__ = ["MetricExponential"]

_LARGEST_SPACE, _LARGEST_TABLE = 100_000, 512
_BITS = 128


@dataclass(frozen=True, init=False)
class MetricExponential(Mechanism):
    """Exponential mechanism on a finite metric space: release a point close to the true one.

    Pr[y] ∝ e^{−d(y, f(D))/α}, where f(D) is the true point and α = `scale`. Give exactly one of `epsilon` and `scale`.

    Parameters
    ----------
    points : sequence
        The public set of possible answers: 1 to 100,000 distinct hashable values, or an array with a row for each.
    distance : callable, table, or {"l1", "l2", "linf"}
        The metric d: a function of two points, a square table of distances in the order of `points`, or a norm of
        their difference. Up to 512 points, symmetry and the triangle inequality are checked; floats may be off by
        2^-40 of the largest distance or coordinate (by 8 roundings for a narrower type, such as float32), and where
        they miss both by that, such as ``abs(x - y)`` on decimals or `math.dist`, distances are widened until they
        hold. A function on more points is checked on up to 80 of them against all, and trusted on the others: see
        `sensitivity`.
    sensitivity : Number
        Δ, the largest distance between the true points of two neighbouring datasets. If d is no metric, it has to be
        the largest |d(y, x) − d(y, x′)| over all y and all such x and x′: the promise rests on that. What floats may
        be off by, and what distances were widened by, is added to it, and so paid for. Distances that are ints,
        Fractions, Decimals or decimal texts are exact, and cost nothing.
    epsilon : Number, optional
        The privacy budget ε > 0.
    scale : Number, optional
        The scale α > 0, in the unit of the distance.
    vectorised : bool, default False
        Whether `distance` is a function of one point and the tuple of all points that returns all distances at once.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Raises
    ------
    ParameterError
        If there are too many points, one stands twice, or `distance` is not a metric.

    Notes
    -----
    By the triangle inequality the scores −d(y, f(D)) move by at most Δ, so that α = 2Δ/ε gives ε-DP. If the normaliser
    Σ_y e^{−d(y, x)/α} is the same for every x (each point sees the same distances), only the numerator moves, and
    α = Δ/ε suffices; that is tight where a point lies beyond f(D′) on a line. `factor` is 2 or 1 accordingly. On the
    integers with d = |x − y| this is the geometric mechanism, and on the real line the Laplace mechanism (claim C11).

    With a norm, with `vectorised`, or beyond 512 points distances are doubles, computed when they are needed and paid
    for up to their rounding (metric_rows.py); then `factor` is 2, and `error` is a bound for any space of so many
    points.

    Examples
    --------
    >>> import dither as dp
    >>> around = lambda x, y: min((x - y) % 12, (y - x) % 12)
    >>> clock = dp.MetricExponential(points=range(12), distance=around, sensitivity=1, epsilon=1)
    >>> clock.scale
    Fraction(1, 1)
    >>> clock.release(3).value in range(12)
    True
    >>> dp.MetricExponential(points=range(12), distance=lambda x, y: abs(x - y), sensitivity=1, epsilon=1).scale
    Fraction(2, 1)
    >>> places = [(x, y) for x in range(100) for y in range(100)]
    >>> dp.MetricExponential(points=places, distance="l2", sensitivity=1, epsilon=2).release((3, 4)).value in places
    True
    """

    points: tuple[Any, ...]
    distances: tuple[tuple[Fraction, ...], ...] | DistanceRows = field(repr=False)
    sensitivity: Fraction
    scale: Fraction
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        points: Sequence[Any] | NDArray[Any],
        distance: Callable[[Any, Any], Any] | Sequence[Sequence[Number]] | NDArray[Any] | str,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        vectorised: bool = False,
        adjacency: Adjacency | None = None,
    ) -> None:
        set_fields(self, points=_listed(points))
        if not 1 <= len(self.points) <= _LARGEST_SPACE:
            raise ParameterError(f"points must be from 1 to {_LARGEST_SPACE}, got {len(self.points)} points.")
        check.distinct(points=self.points)
        distances, widened = _measured(self.points, distance, vectorised, _kind(points))
        given = rational(sensitivity, "sensitivity")
        check.positive(sensitivity=given)
        # Points at a distance of Δ or less are at Δ + widened or less in what is drawn from.
        set_fields(self, distances=distances, sensitivity=given + widened)
        set_fields(self, scale=calibrated(self.sensitivity, epsilon, scale, factor=self.factor), adjacency=adjacency)
        Race("gumbel", self.scale)
        _ = self.event

    @once
    def factor(self) -> int:
        """The factor in ε = factor · Δ/α: 1 if the normaliser is constant, else 2.

        It is constant if every point sees the same distances.
        """
        if isinstance(self.distances, DistanceRows):
            return 2
        return 1 if len({tuple(sorted(row)) for row in self.distances}) == 1 else 2

    @property
    def epsilon(self) -> Fraction:
        """The privacy budget ε = factor · Δ/α."""
        return self.factor * self.sensitivity / self.scale

    @property
    def event(self) -> Event:
        """A selection; with a constant normaliser the stated ε-DP, as losses then lie on both sides of 0."""
        if self.factor == 1:
            return Stated("PureDP", (self.epsilon,), self.adjacency)
        return Selection(self.scale, "gumbel", self.sensitivity, False, len(self.points), self.adjacency)

    @property
    def guarantee(self) -> PureDP:
        """Pure ε-DP; a release may cost less, and carries its own guarantee."""
        return PureDP(self.epsilon, adjacency=self.adjacency)

    def release(self, value: Any) -> Release:
        """Draw a point near the true one.

        Parameters
        ----------
        value : Any
            The true point; it must be one of `points`.

        Returns
        -------
        Release
            `.value` is the released point. It has no interval: `error(beta)` is a radius around it.

        Raises
        ------
        ParameterError
            If the value is not one of the points.
        """
        position = self._position(value)
        row = self.distances[position]
        scores = Scores.of(-row if isinstance(row, np.ndarray) else [-distance for distance in row])
        race = Race("gumbel", self.scale)
        winner = answered(lambda: race.winner(scores), "metric", position, mechanism=self)
        done: Guarantee = self.guarantee
        if self.factor == 2:
            done = ProfileOf(BoundedRangePair(self.epsilon), adjacency=self.adjacency)
        return Release(self.points[winner], self.event, done, self)

    def probabilities(self, value: Any) -> dict[Any, Ball]:
        """Compute the exact distribution of `release(value)`; it reveals the value, so do not publish it.

        Parameters
        ----------
        value : Any
            The true point; it must be one of `points`.

        Returns
        -------
        dict
            For each point a ball (certified interval) that contains its probability.
        """
        return dict(zip(self.points, self._law(self._position(value)), strict=True))

    def _position(self, value: Any) -> int:
        if isinstance(value, np.ndarray | list):  # a row of an array of points, which are kept as tuples
            value = tuple(np.asarray(value).tolist())
        try:
            return self.points.index(value)
        except ValueError:
            raise ParameterError("the value must be one of the points. Move it to the nearest one first.") from None

    def _law(self, position: int) -> list[Ball]:
        with precision(_BITS):
            weights = [ball(-Fraction(distance) / self.scale).exp() for distance in self.distances[position]]
            total = sum(weights, Ball(0))
            return [weight / total for weight in weights]

    @property
    def expected_error(self) -> float:
        """The mean distance to the true point, for the worst of all points; a bound where there is no table."""
        if isinstance(self.distances, DistanceRows):
            return worst_expected_error("gumbel", self.scale, len(self.points))
        return max(self._mean(i) for i in range(len(self.points)))

    def _mean(self, position: int) -> float:
        pairs = list(zip(map(Fraction, self.distances[position]), self._law(position), strict=True))
        return above(lambda: sum((ball(distance) * p for distance, p in pairs), Ball(0)))

    def _error(self, beta: Fraction) -> float:
        if isinstance(self.distances, DistanceRows):
            return worst_quantile("gumbel", self.scale, len(self.points), beta)
        return max(self._quantile(i, beta) for i in range(len(self.points)))

    def _quantile(self, position: int, beta: Fraction) -> float:
        """The smallest distance that is exceeded with probability at most `beta` from this point."""
        known = zip(map(Fraction, self.distances[position]), self._law(position), strict=True)
        pairs = sorted(known, key=lambda pair: -pair[0])
        beyond = Ball(0)
        with precision(_BITS):
            for distance, chance in pairs:
                beyond += chance
                if not beyond <= ball(beta):
                    return exactly_above(distance)
        return 0.0

    def _interval(self, value: Any, level: Any) -> Interval:
        raise ParameterError(
            "points have no order, so there is no interval. Use error(beta), a radius around the value."
        )


def _listed(points: Sequence[Any] | NDArray[Any]) -> tuple[Any, ...]:
    """The points as values that can be compared: a row of an array is a tuple."""
    if isinstance(points, np.ndarray):
        rows = listed(points.tolist(), "points")
        return tuple(tuple(point) if isinstance(point, list) else point for point in rows)
    return listed(points, "points")


def _kind(points: Sequence[Any] | NDArray[Any]) -> type[np.floating[Any]]:
    """The type of the coordinates of an array, which is lost where they become Python's."""
    return points.dtype.type if isinstance(points, np.ndarray) and points.dtype.kind == "f" else np.float64


def _measured(
    points: tuple[Any, ...],
    distance: Callable[[Any, Any], Any] | Sequence[Sequence[Number]] | NDArray[Any] | str,
    vectorised: bool,
    kind: type[np.floating[Any]],
) -> tuple[tuple[tuple[Fraction, ...], ...] | DistanceRows, Fraction]:
    """All distances, in a table or row by row; and what is to be added to the sensitivity."""
    if isinstance(distance, str):
        if distance not in NORMS:
            raise ParameterError(f"distance must be one of {', '.join(NORMS)}, or a function; got {distance!r}.")
        rows = DistanceRows.of_norm(points, distance, kind)
        return rows, rows.rounding
    if not vectorised and (len(points) <= _LARGEST_TABLE or not callable(distance)):
        return _matrix(points, distance, kind)
    if not callable(distance):
        raise ParameterError("vectorised belongs to a distance that is a function of a point and all points.")
    check.takes(2, distance=distance)
    rows = DistanceRows(points, distance if vectorised else _one_by_one(distance), kind)
    rows.check()
    return rows, rows.rounding


def _one_by_one(distance: Callable[[Any, Any], Any]) -> Callable[[Any, tuple[Any, ...]], list[float]]:
    return lambda point, points: [distance(point, other) for other in points]


def _matrix(
    points: tuple[Any, ...],
    distance: Callable[[Any, Any], Any] | Sequence[Sequence[Number]] | NDArray[Any],
    kind: type[np.floating[Any]],
) -> tuple[tuple[tuple[Fraction, ...], ...], Fraction]:
    """All distances as exact numbers w that are a metric, on which the proof rests; and what Δ is to grow by.

    Let the floats d̂ be within r of the metric d that is meant. Then w(x, x′) ≤ Δ + r + what d̂ was widened by, for all
    x and x′ with d(x, x′) ≤ Δ, and by its own triangle inequality w(y, ·) moves by no more than that, for every y.
    """
    if callable(distance):
        check.takes(2, distance=distance)
        rows = [[distance(x, y) for y in points] for x in points]
    else:
        rows = _table(distance)
    if len(rows) != len(points) or any(len(row) != len(points) for row in rows):
        raise ParameterError(f"distance must be a table of {len(points)} rows and columns, one for each point.")
    exact = tuple(tuple(rational(entry, "distance") for entry in row) for row in rows)
    off = relative_rounding(entry for row in rows for entry in row)
    rounding = off * max(map(max, exact)) + (coordinate_rounding(points, kind) if off else 0)
    if rounding > 0:
        exact, step = _short(exact, rounding)
        rounding += step
    exact, asymmetry = _symmetric(exact, rounding)
    unit = math.lcm(*(entry.denominator for row in exact for entry in row))
    whole = np.array([[int(entry * unit) for entry in row] for row in exact], dtype=object)
    if (
        (whole < 0).any()
        or (whole != whole.T).any()
        or any(bool(d == 0) != (i == j) for (i, j), d in np.ndenumerate(whole))
    ):
        raise ParameterError("distance must be symmetric, 0 from a point to itself and positive otherwise.")
    table = whole.astype(np.int64) if whole.max() < 2**62 else whole
    missing = max(0, *(int((table - table[:, k, None] - table[None, k, :]).max()) for k in range(len(points))))
    if Fraction(missing, unit) > rounding:
        raise ParameterError("distance must keep the triangle inequality: no way may be shorter than the direct one.")
    # The same number more between any two points: on a way by a third one it counts twice, so no way stays too short.
    more = Fraction(missing, unit)
    wide = tuple(tuple(entry + more * (i != j) for j, entry in enumerate(row)) for i, row in enumerate(exact))
    return wide, more + asymmetry + rounding


def _table(distance: Any) -> list[list[Any]]:
    """The entries of a table of distances, whatever it is given as."""
    try:
        return [list(row) for row in distance]
    except TypeError:
        raise ParameterError(
            f"distance must be a table, a function or one of {', '.join(NORMS)}, got {type(distance).__name__}."
        ) from None


def _short(
    table: tuple[tuple[Fraction, ...], ...], rounding: Fraction
) -> tuple[tuple[tuple[Fraction, ...], ...], Fraction]:
    """The entries as multiples of a step, moved away from 0 by less than it; a power of two below 2^-10 of `rounding`.

    They are whole numbers below 2^53 then, where decimals of floats are long: a hundred times faster to compare.
    """
    step = Fraction(2) ** (math.floor(math.log2(rounding)) - 10)

    def moved(entry: Fraction) -> Fraction:
        steps = math.ceil(abs(entry) / step)
        return step * (steps if entry >= 0 else -steps)

    return tuple(tuple(moved(entry) for entry in row) for row in table), step


def _symmetric(
    table: tuple[tuple[Fraction, ...], ...], rounding: Fraction
) -> tuple[tuple[tuple[Fraction, ...], ...], Fraction]:
    """The larger of both ways between two points, if they differ by rounding alone; and the largest difference."""
    pairs = [(i, j) for i in range(len(table)) for j in range(i)]
    apart = max((abs(table[i][j] - table[j][i]) for i, j in pairs), default=Fraction(0))
    if not 0 < apart <= rounding:
        return table, Fraction(0)
    return tuple(tuple(max(entry, table[j][i]) for j, entry in enumerate(row)) for i, row in enumerate(table)), apart
