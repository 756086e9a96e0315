"""The worst of several pairs: what covers a mechanism that may do one of several things."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.exact import Ball
from dither.measures.pairs import FloatArray, Pair, Tails

__all__ = ["Either"]


@dataclass(frozen=True)
class Either(Pair):
    """One of `pairs`, chosen by something that does not depend on the data: δ(ε) is the largest of theirs.

    A maximum of profiles is convex in e^ε, falls, and is 1 at e^ε = 0, so it is the profile of a pair again (Zhu, Dong
    and Wang 2022, section 3). Where one of them is the largest, its tails are those of the maximum.
    """

    pairs: tuple[Pair, ...]

    def profile(self, epsilon: Ball) -> Ball:
        """The largest of the profiles."""
        first, *others = (pair.profile(epsilon) for pair in self.pairs)
        for other in others:
            first = first.max(other)
        return first

    def tails(self, losses: FloatArray) -> Tails:
        """At each loss, the tails of the pair with the largest profile."""
        found = [pair.tails(losses) for pair in self.pairs]
        worst = np.argmax([p - scaled_q for p, scaled_q, _ in found], axis=0)
        errors = [np.broadcast_to(error, losses.shape) for _, _, error in found]
        return Tails(
            np.choose(worst, [p for p, _, _ in found]),
            np.choose(worst, [scaled_q for _, scaled_q, _ in found]),
            np.max(errors, axis=0),
        )

    def swapped(self) -> Either:
        """Each pair the other way round."""
        return Either(tuple(pair.swapped() for pair in self.pairs))

    @property
    def infinity(self) -> Fraction:
        """The largest of the infinite masses."""
        return max(pair.infinity for pair in self.pairs)

    @property
    def support(self) -> tuple[float, float]:
        """From the smallest to the largest loss of any pair."""
        ends = [pair.support for pair in self.pairs]
        return min(low for low, _ in ends), max(high for _, high in ends)
