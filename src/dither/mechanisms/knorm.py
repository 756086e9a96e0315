"""Noise for vectors in the norm in which they move: density ∝ e^{−‖y − f(D)‖/α} on ℝᵏ (claim C11)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.events import Stated
from dither.exact import Number, ball, check, once, precision, rational, set_fields
from dither.exact.certified import above, exactly_above, fraction_above
from dither.guarantees import PureDP
from dither.mechanisms.additive import array_interval, described, exactly_one, numeric
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import Grid
from dither.noise.normed import NORMED, NormedNoise
from dither.noise.tape import answered

__all__ = ["KNorm"]

_MOST_COORDINATES = 10_000
_HALVINGS = 60


@dataclass(frozen=True, init=False, repr=False)
class KNorm(Mechanism):
    """K-norm mechanism: a vector plus noise of density ∝ e^{−‖x‖/α}, for vectors that move by at most Δ in that norm.

    Give exactly one of `epsilon` and `scale`. With ℓ₂ the noise has a gamma radius and a uniform direction.

    Parameters
    ----------
    sensitivity : Number
        Δ, how far one neighbour can move the vector in the norm, in the unit of its coordinates.
    dimension : int
        k, the number of coordinates, at most 10,000.
    norm : {"l2", "linf"}, default "l2"
        The Euclidean length, or the largest coordinate. (ℓ₁ is `dp.Laplace`.)
    epsilon : Number, optional
        The privacy budget ε > 0.
    scale : Number, optional
        The scale α > 0, in the unit of the coordinates.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Attributes
    ----------
    scale : Fraction
        α as it is drawn: Δ/ε, or as given. In ℓ₂ it is wider for what rounding to the grid costs, by less than √k/ε
        parts in 2^39: 10^-11 of it for three coordinates and ε = 0.1.

    Raises
    ------
    ParameterError
        If none or both of `epsilon` and `scale` are given, or a number is out of range.

    Notes
    -----
    With Δ = `sensitivity` and α = `scale` it is ε-DP for ε = Δ/α, and for no smaller ε: the exponential mechanism of
    the metric ‖y − y′‖, with a normaliser that is the same for all data (claim C11; Hardt and Talwar 2010).

    Vectors are rounded to a public dyadic grid, of 2^40 to 2^41 steps to the scale, and the noise is drawn from the
    same law on its points, exactly (noise/normed.md). `error` and `expected_error` are about the norm of the error.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.KNorm(sensitivity=1, dimension=3, epsilon=1)
    >>> m.guarantee, round(m.expected_error, 6)
    (PureDP(epsilon=1), 3.0)
    >>> m.release([0.5, 0.0, -2.25]).value.shape
    (3,)
    """

    sensitivity: Fraction
    dimension: int
    norm: str
    scale: Fraction
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        sensitivity: Number,
        dimension: int,
        norm: str = "l2",
        epsilon: Number | None = None,
        scale: Number | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        distance = rational(sensitivity, "sensitivity")
        check.positive(sensitivity=distance)
        check.count(dimension=dimension)
        if dimension > _MOST_COORDINATES:
            raise ParameterError(f"dimension must be at most {_MOST_COORDINATES:,}, got dimension={dimension}.")
        if norm not in NORMED:
            raise ParameterError(f"norm must be one of {', '.join(NORMED)}; got {norm!r}. For ℓ₁ use Laplace.")
        way = exactly_one("the noise", epsilon=epsilon, scale=scale)
        amount = rational(epsilon if way == "epsilon" else scale, way)
        check.positive(**{way: amount})
        known = None if adjacency is None else checked(adjacency)
        set_fields(self, sensitivity=distance, dimension=int(dimension), norm=norm, adjacency=known)
        set_fields(self, scale=amount if way == "scale" else self._scale_for(amount))

    def __repr__(self) -> str:
        return described(
            self, sensitivity=self.sensitivity, dimension=self.dimension, norm=self.norm, epsilon=self.epsilon
        )

    def _scale_for(self, epsilon: Fraction) -> Fraction:
        """K/ε in steps of its own grid: rounding may take it into the next octave, whose grid is the coarser one."""
        scale, grid = self.sensitivity / epsilon, None
        while grid != Grid.for_scale(scale):
            grid = Grid.for_scale(scale)
            scale = self._steps(scale) / epsilon * grid.step
        return scale

    def _steps(self, scale: Fraction) -> Fraction:
        """The sensitivity in steps of the grid for this scale, after rounding (noise/lattice.md)."""
        grid = Grid.for_scale(scale)
        if self.norm == "linf":
            return Fraction(math.ceil(self.sensitivity / grid.step))
        return grid.l2_steps(self.sensitivity, self.dimension)

    @once
    def _grid(self) -> Grid:
        return Grid.for_scale(self.scale)

    @once
    def _law(self) -> NormedNoise:
        """The noise, in steps."""
        return NORMED[self.norm](self.scale / self._grid.step, self.dimension)

    @property
    def epsilon(self) -> Fraction:
        """The privacy budget ε: the sensitivity after rounding, over the scale, both in steps."""
        return self._steps(self.scale) / self._law.scale

    @property
    def event(self) -> Stated:
        """The stated ε-DP: losses lie on both sides of 0."""
        return Stated("PureDP", (self.epsilon,), self.adjacency)

    @property
    def guarantee(self) -> PureDP:
        """Pure ε-DP."""
        return PureDP(self.epsilon, adjacency=self.adjacency)

    def release(self, value: Any) -> Release:
        """Add noise to the exact vector.

        Parameters
        ----------
        value : sequence or array of numbers
            The exact vector: `dimension` numbers. Integers are released as real numbers.

        Returns
        -------
        Release
            `.value` is an array of floats; `.interval(level)` bounds all coordinates at once.

        Raises
        ------
        NotANumberError
            If a coordinate is NaN, infinite, a boolean or not numeric.
        ParameterError
            If there are not `dimension` coordinates.
        """
        clean = numeric(value)
        if not isinstance(clean, np.ndarray) or clean.shape != (self.dimension,):
            raise ParameterError(f"the value must be a vector of dimension={self.dimension} numbers. Give one each.")
        grid, steps = self._grid, self._grid.round(clean)

        def draw() -> list[float]:
            sums: list[float] = grid.sums(steps, self._law.sample(1)[0]).tolist()
            return sums

        noisy = answered(draw, "vector", steps, mechanism=self)
        return Release(np.array(noisy), self.event, self.guarantee, self)

    @property
    def expected_error(self) -> float:
        """The mean of the norm of the error, rounded up: kα."""
        return above(lambda: (self._law.mean_norm() + self._law.half_cell) * ball(self._grid.step))

    def _error(self, beta: Fraction) -> float:
        """What the norm of the error exceeds with probability `beta` or less."""
        return exactly_above(self._radius(beta))

    def _radius(self, beta: Fraction) -> Fraction:
        """The smallest radius whose tail is certain to be at most β, up to 2^-60 of it; and half a cell of rounding."""
        law = self._law

        def is_enough(radius: Fraction) -> bool:
            with precision(128):
                return bool(law.tail(radius) <= ball(beta))

        low, high = Fraction(0), law.scale
        while not is_enough(high):
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return (high + fraction_above(lambda: law.half_cell)) * self._grid.step

    def _interval(self, value: Any, level: Fraction) -> Interval:
        """No coordinate of the error is larger than its norm."""
        return array_interval(value, self._radius(1 - level), whole=False)
