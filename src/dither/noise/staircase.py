"""The staircase law: the noise with the smallest expected magnitude under pure privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import index

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, is_below, once, precision, rational, set_fields
from dither.exact.search import first_integer
from dither.noise.bernoulli import Coin
from dither.noise.entropy import BitSource
from dither.noise.geometric import Geometric
from dither.noise.law import WORKING_BITS, Integers, SymmetricLaw, lattice_scale
from dither.noise.uniform import UniformBelow

__all__ = ["DiscreteStaircase"]

_INT64_ROOM = 1 << 62


@dataclass(frozen=True, init=False)
class DiscreteStaircase(SymmetricLaw):
    """Staircase noise on the integers: its probability falls by e^{−ε} at |x| = r, r + Δ, r + 2Δ and so on.

    Parameters
    ----------
    sensitivity : int
        Δ ≥ 1, how far one neighbour can move the value.
    epsilon : Number
        ε > 0.
    step : int
        r, from 1 to Δ: where the first stair ends. `best` finds the one with the smallest error.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    P[X = x] = a e^{−kε} with k = ⌊(|x| + Δ − r)/Δ⌋ and a = (1 − b)/(2r + 2b(Δ − r) − (1 − b)), b = e^{−ε} (Geng and
    Viswanath 2014, the discrete staircase mechanism). Added to an integer that one neighbour changes by at most Δ it is
    ε-DP; for the right r, no other ε-DP noise has a smaller E|X|. Sampled exactly: noise/staircase.md has the proof.

    Examples
    --------
    >>> DiscreteStaircase.best(sensitivity=10, epsilon=1)
    DiscreteStaircase(sensitivity=10, epsilon=Fraction(1, 1), step=4)
    """

    sensitivity: int
    epsilon: Fraction
    step: int

    def __init__(self, sensitivity: int, epsilon: Number, step: int) -> None:
        check.count(sensitivity=sensitivity, step=step)
        if not step <= sensitivity:
            raise ParameterError(f"step must be at most the sensitivity {sensitivity}, got step={step}.")
        set_fields(self, sensitivity=index(sensitivity), epsilon=rational(epsilon, "epsilon"), step=index(step))
        check.positive(epsilon=self.epsilon)
        lattice_scale(1 / self.epsilon, "1/epsilon")

    @classmethod
    def best(cls, sensitivity: int, epsilon: Number) -> DiscreteStaircase:
        """Find the law with the smallest E|X|.

        Parameters
        ----------
        sensitivity : int
            Δ ≥ 1.
        epsilon : Number
            ε > 0.

        Returns
        -------
        DiscreteStaircase
            The law with the best `step`.

        Notes
        -----
        E|X| falls with the step up to the best one and rises after it.
        """
        check.count(sensitivity=sensitivity)

        def rises(step: int) -> bool:
            here, next_ = cls(sensitivity, epsilon, step), cls(sensitivity, epsilon, step + 1)
            return is_below(here.expected_magnitude, next_.expected_magnitude)

        return cls(sensitivity, epsilon, first_integer(rises, 1, index(sensitivity)))

    def _pmf(self, x: int) -> Ball:
        """P[X = x] = a b^k."""
        with precision(WORKING_BITS):
            stair = (abs(x) + self.sensitivity - self.step) // self.sensitivity
            return self._height() * self._fall(stair)

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] for x ≥ 0: the rest of the stair of x + 1, and the Δ/(1 − b) of all stairs below it."""
        stair, place = divmod(x + 1 + self.sensitivity - self.step, self.sensitivity)
        below = self._fall(1) * self.sensitivity / self._drop()
        return self._height() * self._fall(stair) * (self.sensitivity - place + below)

    def expected_magnitude(self) -> Ball:
        """Compute E|X|.

        Returns
        -------
        Ball
            A ball that contains it.

        Notes
        -----
        It is a (2Δb(r + b(Δ − r))/(1 − b)² + (r(r − 1) + b(Δ − r)(Δ + r − 1))/(1 − b)).
        """
        width, r, b, drop = self.sensitivity, self.step, self._fall(1), self._drop()
        inner = (r + b * (width - r)) * b * (2 * width) / drop
        return self._height() * (inner + r * (r - 1) + b * ((width - r) * (width + r - 1))) / drop

    def _height(self) -> Ball:
        """a, the probability of 0."""
        return self._drop() / (2 * self.step - 1 + self._fall(1) * (2 * (self.sensitivity - self.step) + 1))

    def _fall(self, stairs: int) -> Ball:
        """b^stairs = e^{−ε · stairs}."""
        return ball(-self.epsilon * stairs).exp()

    def _drop(self) -> Ball:
        """1 − b."""
        return -ball(-self.epsilon).expm1()

    # ---------------------------------------------------------------- sampling

    # Either |X| < r, uniform among 2r − 1 points, or |X| = r + Δ·K + U with K geometric, U uniform below Δ, fair sign.

    @once
    def _parts(self) -> tuple[_OnTop, UniformBelow, Geometric, UniformBelow]:
        return (
            _OnTop(self),
            UniformBelow(2 * self.step - 1),
            Geometric(1 / self.epsilon),
            UniformBelow(2 * self.sensitivity),
        )

    def _draw(self, source: BitSource) -> int:
        on_top, top, stairs, place = self._parts
        if on_top._draw(source):
            return top._draw(source) - self.step + 1
        where, sign = divmod(place._draw(source), 2)
        distance = self.step + self.sensitivity * stairs._draw(source) + where
        return -distance if sign else distance

    def _draw_many(self, source: BitSource, count: int) -> Integers:
        on_top, top, stairs, place = self._parts
        flags = on_top._draw_many(source, count) == 1
        many = int(flags.sum())
        tops = top._draw_many(source, many)
        steps, places = stairs._draw_many(source, count - many), place._draw_many(source, count - many)
        farthest = self.step + self.sensitivity * (int(max(steps, default=0)) + 1)
        if farthest >= _INT64_ROOM:  # Python integers
            tops, steps, places = tops.astype(object), steps.astype(object), places.astype(object)
        out = np.empty_like(tops, shape=count)
        out[flags] = tops - (self.step - 1)
        distances = self.step + self.sensitivity * steps + places // 2
        out[~flags] = np.where(places % 2 == 0, distances, -distances)
        return out


@dataclass(frozen=True)
class _OnTop(Coin):
    """Whether |X| < r."""

    law: DiscreteStaircase

    def chance(self) -> Ball:
        """P[|X| < r] = (2r − 1) a."""
        return (2 * self.law.step - 1) * self.law._height()
