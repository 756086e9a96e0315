"""What a guarantee means to an attacker: how sure they can become, and how often they can guess right.

The attacker knows everything but one thing: whether the output is from P (the person is in the data) or from Q (they
are not). Before they see the output they believe in P with probability p = `prior`. With L = ln dP/dQ at the output,
Bayes gives

    posterior = p·e^L / (p·e^L + 1 − p).

**How sure.** Under ε-DP L never exceeds ε. Otherwise, for f between 0 and 1 and s = ε(f·c),

    f·c ≥ δ(s) = E_P[(1 − e^{s−L})₊] ≥ P[L > t]·(1 − e^{s−t}),

so that L exceeds t = s − ln(1 − f) with probability c = `chance` at most. Every f gives a bound; the least is taken.

**How often right.** Who says P when the output is in E is right with probability p·P(E) + (1 − p)·(1 − Q(E)). For
p ≤ ½ that is (1 − p) + p·(P(E) − e^s·Q(E)) with e^s = (1 − p)/p ≥ 1, and so at most

    (1 − p) + p·δ(ln((1 − p)/p)),

which some E attains if some pair attains the profile. For p > ½ the two roles change places: the guarantee holds in
both orders. At p = ½ it is (1 + TV)/2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dither.exact import Number, ball, check, rational
from dither.exact.certified import above, below, exactly_above, read_above
from dither.guarantees.guarantee import Guarantee

__all__ = ["best_guess", "largest_posterior"]

_PARTS: Final = tuple(Fraction(part) for part in ("1/1000", "1/100", "1/20", "1/10", "1/4", "1/2", "3/4", "9/10"))
"""The f that are tried."""
_TINY: Final = 1e-300
"""Numbers below are not taken as parameters."""


def largest_posterior(guarantee: Guarantee, prior: Number = 0.5, chance: Number = 0) -> float:
    """Bound how sure an attacker can become that a person is in the data.

    Outputs that are all together seen with probability `chance` or less are left aside: where δ > 0 some output may
    reveal everything, and without leaving it aside the answer is 1.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of what is published.
    prior : Number, default 0.5
        The probability with which the attacker believes it beforehand, strictly between 0 and 1.
    chance : Number, default 0
        The probability of the outputs that are left aside.

    Returns
    -------
    float
        The largest posterior probability, never below the truth.

    Examples
    --------
    >>> from dither.guarantees import ApproxDP, PureDP
    >>> largest_posterior(PureDP(1)), largest_posterior(PureDP(1), prior=0.01)
    (0.73105857863..., 0.02672363...)
    >>> largest_posterior(ApproxDP(1, 1e-6)), largest_posterior(ApproxDP(1, 1e-6), chance=1e-5)
    (1.0, 0.7512...)
    """
    exact, aside = _prior(prior), rational(chance, "chance")
    check.probability(chance=aside)
    loss = _loss(guarantee, aside)
    if loss == math.inf:
        return 1.0
    return min(1.0, above(lambda: 1 / (1 + ball((1 - exact) / exact) * (-ball(read_above(loss))).exp())))


def best_guess(guarantee: Guarantee, prior: Number = 0.5) -> float:
    """Bound how often the best attacker guesses membership right, on average over the outputs.

    Without any output they are right with probability max(prior, 1 − prior).

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee of what is published.
    prior : Number, default 0.5
        The probability that the person is in the data, as the attacker knows it; strictly between 0 and 1.

    Returns
    -------
    float
        The probability of a right guess, never below the truth.

    Examples
    --------
    >>> from dither.guarantees import PureDP
    >>> best_guess(PureDP(1)), best_guess(PureDP(1), prior=0.1)
    (0.73105857863..., 0.9)
    """
    exact = _prior(prior)
    rarer = min(exact, 1 - exact)
    least = below(lambda: ball((1 - rarer) / rarer).log())  # rounded down, as the profile falls
    gain = read_above(guarantee.delta(least if least > _TINY else 0))
    return min(1.0, exactly_above(1 - rarer + rarer * gain))


def _prior(prior: Number) -> Fraction:
    exact = rational(prior, "prior")
    check.between(0, 1, prior=exact)
    return exact


def _loss(guarantee: Guarantee, chance: Fraction) -> float:
    """What the loss exceeds with probability `chance` at most, rounded up."""
    bounds = [guarantee.epsilon(0)]
    if chance:
        bounds += [_plus_tail(guarantee.epsilon(part * chance), part) for part in _PARTS]
    return min(bounds)


def _plus_tail(epsilon: float, part: Fraction) -> float:
    """s − ln(1 − f), rounded up."""
    if epsilon == math.inf:
        return math.inf
    return above(lambda: ball(read_above(epsilon)) - ball(1 - part).log())
