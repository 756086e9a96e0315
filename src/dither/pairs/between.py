"""A pair that is known to lie between two others, both of them exact: noise that is nearly continuous, mostly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact import Ball
from dither.pairs.pair import FloatArray, Pair, Tails

__all__ = ["BetweenPair"]


@dataclass(frozen=True)
class BetweenPair(Pair):
    """Whatever it is, `above` dominates it and it dominates `below`: two pairs without infinite losses, and alike.

    What rounds up reads `above`, what rounds down `below`. Each of them is exact, so lattices serve it as they serve an
    exact pair; what they cannot close is the gap between the two.
    """

    above: Pair
    below: Pair

    def profile(self, epsilon: Ball) -> Ball:
        return self.below.profile(epsilon).union(self.above.profile(epsilon))

    def tails(self, losses: FloatArray) -> Tails:
        return self.below.tails(losses)

    def dots(self, losses: FloatArray) -> FloatArray:
        return self.above.dots(losses)

    def swapped(self) -> BetweenPair:
        return BetweenPair(self.above.swapped(), self.below.swapped())

    @property
    def is_symmetric(self) -> bool:
        return self.above.is_symmetric and self.below.is_symmetric

    @property
    def support(self) -> tuple[float, float]:
        (a, b), (c, d) = self.above.support, self.below.support
        return min(a, c), max(b, d)

    def delta_bracket(self, epsilon: float | Fraction) -> tuple[float, float]:
        return self.below.delta_bracket(epsilon)[0], self.above.delta_bracket(epsilon)[1]

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        return self.below.bracket(delta)[0], self.above.bracket(delta)[1]
