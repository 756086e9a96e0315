"""Staircase noise: pure differential privacy with the smallest expected error, for one number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.events import Event, StaircaseNoise
from dither.exact import Ball, Number, check, once, rational, set_fields
from dither.guarantees import PureDP
from dither.mechanisms.additive import Additive, Noising, described
from dither.noise import Grid
from dither.noise.staircase import DiscreteStaircase

__all__ = ["Staircase"]


@dataclass(frozen=True, init=False, repr=False)
class Staircase(Additive):
    """Staircase mechanism: the ε-DP noise with the smallest expected error, for one number.

    The probability of the noise falls by the factor e^{−ε} once in every Δ, and nowhere else. Use it instead of
    `Laplace` when ε is large.

    Parameters
    ----------
    sensitivity : Number
        Δ > 0, how far one neighbour can move the value, in its unit.
    epsilon : Number
        The privacy budget ε, above 0 and at most 500.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Notes
    -----
    Among all noise that makes one number ε-DP it has the smallest E|noise| (Geng and Viswanath 2014): as good as
    Laplace for small ε, and far better for large ones, where E|noise| falls like e^{−ε/2} instead of 1/ε. On ℤ with Δ =
    1 it is the discrete Laplace distribution. It is exactly ε-DP on either lattice: built for ⌊Δ⌋ on the integers and
    for ⌈Δ/step⌉ steps on the grid of real numbers. It is for one number at a time: coordinates that move together by Δ
    in all would each cost up to ε.

    Examples
    --------
    >>> import dither as dp
    >>> dp.Staircase(sensitivity=10, epsilon=3).expected_error
    2.34821220...
    >>> dp.Laplace(sensitivity=10, epsilon=3).expected_error
    3.33333...
    >>> release = dp.Staircase(sensitivity=10, epsilon=3).release(5000)
    """

    sensitivity: Fraction
    epsilon: Fraction
    adjacency: Adjacency | None

    def __init__(self, *, sensitivity: Number, epsilon: Number, adjacency: Adjacency | None = None) -> None:
        set_fields(
            self,
            sensitivity=rational(sensitivity, "sensitivity"),
            epsilon=rational(epsilon, "epsilon"),
            adjacency=checked(adjacency),
        )
        check.positive(sensitivity=self.sensitivity, epsilon=self.epsilon)
        if self.epsilon > _LARGEST_EPSILON:
            raise ParameterError(f"epsilon must be at most {_LARGEST_EPSILON}, got epsilon={self.epsilon}.")

    def __repr__(self) -> str:
        return described(self, sensitivity=self.sensitivity, epsilon=self.epsilon)

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of coordinates: always 1."""
        return 1

    @property
    def guarantee(self) -> PureDP:
        """Pure ε-DP, for integers and real numbers alike."""
        return PureDP(self.epsilon, adjacency=self.adjacency)

    @property
    def event(self) -> Event:
        """Staircase noise that costs at least as much as that on the integers and that on the grid.

        The nearer the split is to ½, from either side, the higher the cost (proof in `pairs.staircase`).
        """
        events = (noising.event for noising in self._noisings)
        splits = [event.fraction for event in events if isinstance(event, StaircaseNoise)]
        worst = min(max(Fraction(1, 2), min(splits)), max(splits))
        return StaircaseNoise(self.epsilon, worst, self.sensitivity, self.adjacency)

    @once
    def for_integers(self) -> Noising | None:
        """The noise that integers get, with its event and guarantee; None if integers are refused."""
        steps = math.floor(self.sensitivity)
        return self._noising_of(steps, None) if steps else None

    @once
    def for_reals(self) -> Noising:
        """The noise that real numbers get, on a grid, with its event and guarantee."""
        # The noise is about Δ e^{−ε/2} wide: its grid is made for Δ 2^{−⌈ε⌉}.
        grid = Grid.for_scale(self.sensitivity / (1 << math.ceil(self.epsilon)))
        return self._noising_of(grid.l1_steps(self.sensitivity), grid)

    def _noising_of(self, steps: int, grid: Grid | None) -> Noising:
        law = DiscreteStaircase.best(steps, self.epsilon)
        step = Fraction(1) if grid is None else grid.step
        # Half a step inwards: rounded to the lattice, noise on the line with that split is the law of this lattice.
        event = StaircaseNoise(self.epsilon, Fraction(2 * law.step - 1, 2 * steps), steps * step, self.adjacency)
        return Noising(law, grid, event, self.guarantee)

    def _check_integers(self, size: int) -> None:
        if size > 1:
            raise ParameterError("staircase noise is for one number, and the value is an array. Use Laplace.")

    def _mean_magnitude(self, law: Any) -> Ball:
        found: Ball = law.expected_magnitude()
        return found


_LARGEST_EPSILON = 500
