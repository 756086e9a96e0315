"""The privacy profile of a pair of distributions, as a guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.exact import Ball, ball, set_fields
from dither.exact.certified import below
from dither.guarantees.guarantee import Guarantee
from dither.pairs.groups import grouped
from dither.pairs.pair import Pair
from dither.pairs.subsampled import either

__all__ = ["ProfileOf"]

_POINTS = 200
_ZOOMS = 4
_LARGEST_LOSS = 700.0


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ProfileOf(Guarantee):
    """The privacy profile of a pair of distributions: neighbours are at most as far apart as it, in either order.

    Parameters
    ----------
    pair : Pair
        The dominating pair (P, Q). A `ChoicePair` promises that one of its two dominates, fixed in advance.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Notes
    -----
    δ(ε) is the larger of the profiles of (P, Q) and (Q, P), exact wherever the pair is the worst one. The
    trade-off curve is the upper envelope of its supporting lines (Dong, Roth and Su 2022, Proposition 2.12),

        β(α) = sup over ε ≥ 0 of max(1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)).

    Rényi divergences are not derived from a pair: `renyi` answers ∞.
    """

    pair: Pair
    adjacency: Adjacency | None

    def __init__(self, pair: Pair, *, adjacency: Adjacency | None = None) -> None:
        if not isinstance(pair, Pair):
            raise ParameterError(f"pair must be a pair of distributions, got the type {type(pair).__name__}.")
        set_fields(self, pair=pair, adjacency=checked(adjacency))

    def _directions(self) -> tuple[Pair, ...]:
        return (self.pair,) if self.pair.is_symmetric else (self.pair, self.pair.swapped())

    def _profile(self, epsilon: Fraction) -> Ball:
        first, *others = (pair.profile(ball(epsilon)) for pair in self._directions())
        for other in others:
            first = first.max(other)
        return first

    def _epsilon(self, delta: Fraction) -> float:
        return max(pair.epsilon(delta) for pair in self._directions())

    def _beta(self, alpha: Fraction) -> float:
        if alpha == 1:
            return 0.0
        epsilon, is_steep = self._touching(float(alpha))
        return below(lambda: self._line(alpha, Fraction(epsilon), is_steep))

    def _line(self, alpha: Fraction, epsilon: Fraction, is_steep: bool) -> Ball:
        """One of the two supporting lines at ε. It is a valid bound, whatever ε is."""
        kept, odds = 1 - self._profile(epsilon), ball(epsilon).exp()
        return kept - odds * ball(alpha) if is_steep else (kept - ball(alpha)) / odds

    def _touching(self, alpha: float) -> tuple[float, bool]:
        """The ε and the line that touch the curve at α, about; floats zoom into the best of many ε."""
        pairs = self._directions()
        low, high = 0.0, max(min(pair.support[1], _LARGEST_LOSS) for pair in pairs)
        for _ in range(_ZOOMS):
            losses = np.linspace(low, high, _POINTS)
            tails = (pair.tails(losses) for pair in pairs)
            kept = 1 - np.max([p - scaled_q for p, scaled_q, _ in tails], axis=0) - self._infinity
            lines = np.stack([kept - np.exp(losses) * alpha, np.exp(-losses) * (kept - alpha)])
            line, best = divmod(int(lines.argmax()), _POINTS)
            low, high = float(losses[max(best - 1, 0)]), float(losses[min(best + 1, _POINTS - 1)])
        return float(losses[best]), line == 0

    @property
    def _infinity(self) -> float:
        return float(max(pair.infinity for pair in self._directions()))

    def _renyi(self, order: Fraction) -> float:
        return math.inf

    def _is_implied_by(self, other: Guarantee) -> bool:
        return isinstance(other, ProfileOf) and other.pair == self.pair

    def _group(self, size: int) -> Guarantee:
        """What follows from the pair of one step; tight for noise that is added.

        Of several steps each may go in its own direction, as where one record comes and another one goes.
        """
        return type(self)(grouped(either(self.pair), size))

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.pair, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        return {"pair": self.pair}

    def is_perfect(self) -> bool:
        """Decide whether both distributions are the same.

        Returns
        -------
        bool
            Whether δ(0) = 0.
        """
        return all(bool(pair.profile(Ball(0)) == 0) for pair in self._directions())
