"""Intervals for quantiles. Each end is a private quantile whose rank is shifted outwards.

*Claim.* The lower end is above the q-quantile of the data with probability `miss` or less, whatever the data are.

*Proof.* Let x be the ⌈qn⌉-th smallest record and t the shift. The mechanism sees the data and t public records at the
lower bound, and aims at rank qn of these n + t. A place y wholly above x has ⌈qn⌉ records and t public ones below it:
its loss is t ranks or more. The places of the record of rank qn (or of the first) have loss 0 and weigh at least
e^{−R} of all, R = `log_weight_ratio`. So P[y wholly above x] ≤ e^{R − t/b} with b the scale in ranks, and t = ⌈b(R +
ln 1/miss)⌉ will do. A y that is not wholly above x is at most x + w(x); `_outwards` gives back more than w. The upper
end is the mirror image.

The population's q-quantile ξ is between the quantiles of the data at ranks qn ± √(n ln(1/m)/2), each side except with
probability m, since the number of records below ξ (or at most ξ) is binomial (Hoeffding 1963). The shift grows by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.adjacency import Adjacency
from dither.estimators.answer import Spent
from dither.estimators.ranks import Base, Target, quantile_sensitivity, released_place
from dither.estimators.records import Bounds, Floats, is_replace
from dither.estimators.sampling import released_size
from dither.mechanisms import Exponential

__all__ = ["QuantileBars"]

_SPREAD_BITS = 6
_COUNT_SHARE = Fraction(1, 10)
_MOST_SHIFT = 10**7


@dataclass(frozen=True)
class QuantileBars:
    """What the intervals of one query are to hold, and how surely."""

    bounds: Bounds
    adjacency: Adjacency
    level: Fraction
    population: bool

    def released(
        self, values: Floats, answers: dict[Fraction, float], epsilon: Fraction, spent: Spent
    ) -> dict[Fraction, Bounds]:
        """Both ends for each answer; each pair holds with probability `level` or more."""
        miss, sampling = 1 - self.level, 0
        if self.population:
            # An eighth of the miss for sampling on each side, a quarter for the count, a quarter for each end.
            share = Fraction(0) if is_replace(self.adjacency) else epsilon * _COUNT_SHARE
            _, most = released_size(len(values), self.adjacency, share, spent).between(miss / 4)
            epsilon -= share
            sampling = math.ceil(math.sqrt(most * -math.log(miss / 8) / 2) * (1 + 1e-9)) + 1
            miss /= 2
        each = epsilon / (2 * len(answers))
        found: dict[Fraction, Bounds] = {}
        for q, answer in answers.items():
            base = Base(self.bounds, answer, decay=1, spread_bits=_SPREAD_BITS)
            sensitivity = quantile_sensitivity(q, self.adjacency)
            mechanism = Exponential(sensitivity=sensitivity, epsilon=each, adjacency=self.adjacency)
            spent.record("interval", 2 * each, mechanism.event)
            spent.events.append(mechanism.event)
            scale_in_ranks = mechanism.scale / q.denominator
            certainty = Fraction(base.log_weight_ratio - math.log(miss / 2) + 1e-9)
            shift = math.ceil(scale_in_ranks * certainty) + sampling
            found[q] = self._ends(values, q, base, mechanism, shift)
        return found

    def _ends(self, values: Floats, q: Fraction, base: Base, mechanism: Exponential, shift: int) -> Bounds:
        """Both ends; the bounds themselves if the shift, which is public, is beyond any reasonable data."""
        low, high = self.bounds
        if shift > _MOST_SHIFT:
            return low, high
        count, p, d = len(values), q.numerator, q.denominator
        at_low, at_high = np.full(shift, low), np.full(shift, high)
        lower = Target(d, above=(d - p) * count + d * shift, below=p * count)
        upper = Target(d, above=(d - p) * count, below=p * count + d * shift)
        first = released_place(np.concatenate([at_low, values]), base, lower, mechanism).value
        last = released_place(np.concatenate([values, at_high]), base, upper, mechanism).value
        return max(low, self._outwards(first, base, -1)), min(high, self._outwards(last, base, 1))

    def _outwards(self, place: float, base: Base, side: int) -> float:
        """Further out by more than the spread of any record that reaches the place.

        Let s = 2^-6, f the flat width, D the record's distance from the origin: it reaches the place if they are at
        most s·max(D, f) apart. D is at most the place's distance plus s·max(D, f), so s·max(D, f) is at most
        2s·max(the place's distance, f).
        """
        reach = 2 * float(np.max(base.spread(np.array([place]))))
        return math.nextafter(place + side * reach * (1 + 2.0**-40), side * math.inf)
