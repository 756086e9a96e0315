"""How far the selected candidate is from the best one, in exact probabilities (claims C14 to C16).

For given scores: the whole distribution. For any scores of d candidates: the worst case, which has all d − 1 others
at the same distance x below the best. (Raising a candidate that is further away to x, or lowering a closer one to x,
can only make it likelier that the winner is x or more below the best, whatever independent noise is added.) With
a = e^{−x/b}, the chance that the best one loses is

    Gumbel       (d − 1)a / (1 + (d − 1)a)
    exponential  1 − (1 − (1 − a)^d)/(da)
    Laplace      1 − (1 − (1 − a/2)^d)/(da) − ½∫ₐ¹ (1 − a/2w)^{d−1} dw − a/(d·2^d).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import acb

from dither.exact import Ball, Number, ball, lower, precision, rational, upper
from dither.exact.certified import above, at_most, exactly_above
from dither.exact.search import farthest
from dither.noise.race import Scores

__all__ = ["ErrorDistribution", "error_distribution", "probabilities", "worst_expected_error", "worst_quantile"]

_BITS = 128
_FAR = 4096  # scales
_CLOSE = 1 + Fraction(1, 10**9)
_STEPS = 48  # of a bisection: the quantile is above the truth by a part in 10^12 at most


@dataclass(frozen=True, eq=False)
class ErrorDistribution:
    """The distribution of q_max − q(Y), the error of a selection, for given scores.

    Parameters
    ----------
    errors : tuple of Fraction
        The possible errors, in increasing order.
    probabilities : tuple of Ball
        For each error a ball (certified interval) that contains its probability.
    """

    errors: tuple[Fraction, ...]
    probabilities: tuple[Ball, ...]

    @property
    def expected(self) -> float:
        """The mean error, rounded up."""
        return above(lambda: sum((ball(e) * p for e, p in self._pairs()), Ball(0)))

    def beyond(self, error: Number) -> float:
        """Compute the probability of an error greater than `error`, rounded up.

        Parameters
        ----------
        error : Number
            The limit, in the unit of the scores.

        Returns
        -------
        float
            The probability, at most 1.
        """
        limit = rational(error, "error")
        return min(1.0, above(lambda: sum((p for e, p in self._pairs() if e > limit), Ball(0))))

    def _pairs(self) -> Sequence[tuple[Fraction, Ball]]:
        return list(zip(self.errors, self.probabilities, strict=True))


def error_distribution(noise: str, scale: Fraction, scores: Scores) -> ErrorDistribution:
    """The distribution for these scores. Its cost grows with the number of distinct scores."""
    counts = _weights_by_gap(scores)
    gaps = sorted(counts)
    with precision(_BITS):
        sizes = [counts[gap] for gap in gaps]
        found = _CHANCES[noise]([ball(gap / scale) for gap in gaps], sizes)
    return ErrorDistribution(tuple(gaps), tuple(found))


def probabilities(noise: str, scale: Fraction, scores: Scores) -> tuple[Ball, ...]:
    """Pr[candidate wins], in the order of the scores: candidates of equal score share by their weights, or equally."""
    found = error_distribution(noise, scale, scores)
    totals, by_gap = _weights_by_gap(scores), dict(zip(found.errors, found.probabilities, strict=True))
    shares: dict[tuple[Fraction, Fraction], Ball] = {}
    chances = [Ball(0)] * len(scores)
    with precision(_BITS):
        for i in range(len(scores)) if scores.entrants is None else scores.entrants.tolist():
            gap, weight = scores.gap(i), scores.weight(i)
            if (gap, weight) not in shares:
                shares[gap, weight] = by_gap[gap] * ball(weight / totals[gap])
            chances[i] = shares[gap, weight]
    return tuple(chances)


def _weights_by_gap(scores: Scores) -> dict[Fraction, Fraction]:
    """How much weight (how many candidates, without weights) stands at each distance below the best."""
    entrants = range(len(scores)) if scores.entrants is None else scores.entrants.tolist()
    total: Counter[Fraction] = Counter()
    if scores.weights is None:
        chosen = scores.values if scores.entrants is None else scores.values[scores.entrants]
        distinct, counts = np.unique(chosen, return_counts=True)
        for score, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            total[Fraction(scores.best) - Fraction(score)] += count
    else:
        for i in entrants:
            total[scores.gap(i)] += scores.weight(i)  # type: ignore[assignment]
    return {gap: Fraction(weight) for gap, weight in total.items()}


def _gumbel(gaps: Sequence[Ball], weights: Sequence[Fraction]) -> list[Ball]:
    shares = [ball(weight) * (-gap).exp() for gap, weight in zip(gaps, weights, strict=True)]
    total = sum(shares, Ball(0))
    return [share / total for share in shares]


def _exponential(gaps: Sequence[Ball], counts: Sequence[Fraction]) -> list[Ball]:
    """mₖaₖ ∫₀¹ (1 − aₖu)^{mₖ−1} Πⱼ (1 − aⱼu)^{mⱼ} du over j ≠ k, with aₖ = e^{−gapₖ} and u = e^{−x}."""
    a, m = [(-gap).exp() for gap in gaps], [int(count) for count in counts]
    return [
        m[k] * a[k] * _integral(_product([(-a[j], m[j] - (j == k)) for j in range(len(a))]), Ball(0), Ball(1))
        for k in range(len(a))
    ]


def _product(factors: Sequence[tuple[Ball, int]]) -> Callable[[acb], acb]:
    """u ↦ Π (1 + cu)^m."""

    def value(u: acb) -> acb:
        out = acb(1)
        for c, m in factors:
            out *= (1 + c * u) ** m
        return out

    return value


def _laplace(gaps: Sequence[Ball], counts: Sequence[Fraction]) -> list[Ball]:
    """∫ mₖ f(x + gₖ) F(x + gₖ)^{mₖ−1} Πⱼ F(x + gⱼ)^{mⱼ} dx over j ≠ k, cut where a branch of F changes."""
    m = [int(count) for count in counts]
    return [m[k] * _laplace_chance(gaps, [n - (j == k) for j, n in enumerate(m)], k) for k in range(len(m))]


def _laplace_chance(gaps: Sequence[Ball], m: Sequence[int], k: int) -> Ball:
    a = [(-gap).exp() for gap in gaps]
    # x > 0, with u = e^{−x}: every F is 1 − au/2.
    total = a[k] / 2 * _integral(_product([(-c / 2, n) for c, n in zip(a, m, strict=True)]), Ball(0), Ball(1))
    for upto in range(1, len(gaps)):
        # −g[upto] < x < −g[upto − 1]: the first `upto` candidates are on the rising branch ½e^{x+g}.
        low = -gaps[upto]
        if not low > -_FAR:
            # The best candidate falls that low with probability e^{−_FAR}/2, and only then can the largest value.
            total += _integral(_laplace_piece(gaps, m, k, upto), Ball(-_FAR), -gaps[upto - 1])
            return total + Ball(0).union(Ball(-_FAR).exp() / 2)
        total += _integral(_laplace_piece(gaps, m, k, upto), low, -gaps[upto - 1])
    # Below −g[last] all are on it: ∫ (½)^d e^{dx + Σ g} dx.
    size = sum(m) + 1
    lift = sum((n * gap for n, gap in zip(m, gaps, strict=True)), gaps[k]) - size * gaps[-1]
    return total + lift.exp() / (size * Ball(2) ** size)


def _laplace_piece(gaps: Sequence[Ball], m: Sequence[int], k: int, upto: int) -> Callable[[acb], acb]:
    def value(x: acb) -> acb:
        out = ((x + gaps[k]) if k < upto else -(x + gaps[k])).exp() / 2
        for j, gap in enumerate(gaps):
            out *= ((x + gap).exp() / 2 if j < upto else 1 - (-(x + gap)).exp() / 2) ** m[j]
        return out

    return value


_CHANCES = {"gumbel": _gumbel, "exponential": _exponential, "laplace": _laplace}


def _integral(function: Callable[[acb], acb], low: Ball, high: Ball) -> Ball:
    """The integral of an entire function, certified (Johansson 2018)."""
    return acb.integral(lambda z, _: function(z), acb(low), acb(high)).real


# ---------------------------------------------------------------- any scores


def _loses(noise: str, count: int, x: Fraction) -> Ball:
    """The chance that the best of `count` loses to one of the others, all of them x scales below it."""
    a = ball(-x).exp()
    if noise == "gumbel":
        return (count - 1) * a / (1 + (count - 1) * a)
    if noise == "exponential":
        return 1 - (1 - (1 - a) ** count) / (count * a)
    between = _integral(lambda w: (1 - a / (2 * w)) ** (count - 1), a, Ball(1)) / 2 if x else Ball(0)
    return 1 - (1 - (1 - a / 2) ** count) / (count * a) - between - a / (count * Ball(2) ** count)


def worst_quantile(noise: str, scale: Fraction, count: int, beta: Fraction) -> float:
    """The smallest x with Pr[q_max − q(Y) > x] ≤ `beta` for all scores of `count` candidates, rounded up."""

    def is_enough(x: Fraction) -> bool:
        return at_most(lambda: _loses(noise, count, x), beta)

    if count == 1 or beta >= Fraction(count - 1, count):
        return 0.0
    low, high = Fraction(0), Fraction(1)
    while not is_enough(high):
        low, high = high, 2 * high
    return exactly_above(farthest(is_enough, high, low, _STEPS) * scale)


def worst_expected_error(noise: str, scale: Fraction, count: int) -> float:
    """The largest E[q_max − q(Y)] over all scores of `count` candidates, rounded up; for Laplace noise a bound on it.

    With Gumbel and with exponential noise it is reached where all others stand at one distance x below the best
    (McKenna and Sheldon 2020, on worst-case expected errors), so that it is the largest x times the chance to lose. For
    Gumbel noise that is λ with λe^λ = (d − 1)/e, Lambert's W, at x = 1 + λ. With Laplace noise the error is at most the
    largest of d − 1 positive parts, each below an exponential variable, plus the negative part of one:
    1 + ½ + … + 1/(d − 1) + ½ scales.
    """
    if count == 1:
        return 0.0
    if noise == "laplace":
        # ψ(d) + γ is the harmonic number of d − 1.
        return above(lambda: ball(scale) * (Ball(count).digamma() + Ball.const_euler() + Ball(0.5)))
    if noise == "gumbel":
        return above(lambda: ball(scale) * (Ball(count - 1) / Ball(1).exp()).lambertw())
    return exactly_above(_largest_mean(count) * scale)


@lru_cache(maxsize=256)
def _largest_mean(count: int) -> Fraction:
    """sup over x of m(x) = x·ℓ(x), ℓ the chance to lose with exponential noise: above the truth by a part in 10^9.

    Branch and bound. ℓ falls, so that m ≤ high·ℓ(low) on [low, high]; and m ≤ m(middle) + |m′|·(half the width), with
    m′ on the whole piece as one ball: near the top m′ is small, and a few pieces of each width are left. Beyond the
    last x, m is at most that of Gumbel noise, at most x(d − 1)e^{−x}, which falls from x = 1 on.
    """
    with precision(_BITS):
        last = Fraction(math.ceil(2 * math.log(count)) + 8)
        best = Fraction(lower(_mean(count, Fraction(1))))
        beyond = Fraction(upper(ball(last) * (count - 1) * (-ball(last)).exp()))
        pieces = [(last, Fraction(0), last)]
        while True:
            bound, low, high = max(pieces)
            if bound <= best * _CLOSE:
                return max(bound, beyond)
            pieces.remove((bound, low, high))
            middle = (low + high) / 2
            best = max(best, Fraction(lower(_mean(count, middle))))
            for part in ((low, middle), (middle, high)):
                most = _most_on(count, *part)
                if most >= best:
                    pieces.append((most, *part))


def _mean(count: int, x: Fraction) -> Ball:
    return ball(x) * _loses("exponential", count, x)


def _most_on(count: int, low: Fraction, high: Fraction) -> Fraction:
    """An upper bound on m over a piece."""
    falling = upper(ball(high) * _loses("exponential", count, low))
    x = ball(low).union(ball(high))
    a = (-x).exp()
    # m = x(1 − S) with S = (1 − (1 − a)^d)/(da), and dS/dx = S − (1 − a)^{d−1}.
    wins, others = (1 - (1 - a) ** count) / (count * a), (1 - a) ** (count - 1)
    slope = abs(1 - wins - x * (wins - others))
    level = upper(_mean(count, (low + high) / 2) + slope * ball((high - low) / 2))
    return Fraction(min(falling, level if level > 0 else math.inf))
