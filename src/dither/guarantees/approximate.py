"""Pure and approximate differential privacy, and stability in total variation.

All three are the same promise at different parameters: (ε₀, δ₀)-DP with δ₀ = 0, both, or ε₀ = 0. The worst pair
is known: with probability δ₀ it gives the data away, else it is randomized response of parameter ε₀. Everything
(ε₀, δ₀)-DP is a post-processing of it (Kairouz, Oh and Viswanath 2015, proof of Theorem 3.3). Hence, exactly,

    δ(ε) = δ₀ + (1 − δ₀)(e^{ε₀} − e^ε)₊ / (e^{ε₀} + 1),
    β(α) = max(0, 1 − δ₀ − e^{ε₀} α, e^{−ε₀}(1 − δ₀ − α)).

What was stated comes back as it was stated: at ε ≥ ε₀ the answer is the float that means δ₀, at δ₀ that of ε₀.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

from dither.adjacency import Adjacency, checked, common
from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, rational, set_fields
from dither.exact.certified import above, at_most, below, exactly_below, fraction_above, named
from dither.guarantees.guarantee import Guarantee

__all__ = ["ApproxDP", "PureDP", "TVStable"]


class _WorstIsKnown(Guarantee):
    """The shared answers, in terms of ε₀ = `_loss` and δ₀ = `_failure`."""

    __slots__ = ()

    @property
    def _loss(self) -> Fraction:
        return Fraction(0)

    @property
    def _failure(self) -> Fraction:
        return Fraction(0)

    def _profile(self, epsilon: Fraction) -> Ball:
        failure = ball(self._failure)
        if epsilon >= self._loss:
            return failure
        # Divided by e^{ε₀}, so that nothing overflows.
        response = -(ball(epsilon - self._loss).expm1()) / (1 + ball(-self._loss).exp())
        return failure + (1 - failure) * response

    def _delta(self, epsilon: Fraction) -> float:
        if epsilon >= self._loss:
            return named(self._failure)
        return above(lambda: self._profile(epsilon))

    def _epsilon(self, delta: Fraction) -> float:
        """δ = δ₀ + (1 − δ₀)t is met by e^ε = e^{ε₀}(1 − t) − t."""
        if delta < self._failure:
            return math.inf
        if delta == self._failure:
            return named(self._loss)
        rest = (delta - self._failure) / (1 - self._failure)
        if at_most(lambda: (ball(self._loss) / 2).tanh(), rest):
            return 0.0
        return above(lambda: ball(self._loss) + (ball(1 - rest) - ball(rest) * ball(-self._loss).exp()).log())

    def _beta(self, alpha: Fraction) -> float:
        rest = 1 - self._failure - alpha
        if rest <= 0:
            return 0.0
        if not alpha or not self._loss:
            return exactly_below(rest)
        steep = below(lambda: 1 - ball(self._failure) - ball(self._loss).exp() * ball(alpha))
        return max(steep, below(lambda: ball(-self._loss).exp() * ball(rest)))

    def _renyi(self, order: Fraction) -> float:
        """D_α = ln(cosh((α − ½)ε₀) / cosh(ε₀/2)) / (α − 1) of randomized response; infinite if δ₀ > 0."""
        if self._failure:
            return math.inf
        return above(lambda: _renyi_of_response(self._loss, order))

    def is_perfect(self) -> bool:
        """Decide whether both parameters are 0.

        Returns
        -------
        bool
            Whether ε₀ = δ₀ = 0.
        """
        return not self._loss and not self._failure


def _renyi_of_response(epsilon: Fraction, order: Fraction) -> Ball:
    """ln cosh x = x + ln(1 + e^{−2x}) − ln 2 keeps large ε finite."""
    wide, narrow = ball((order - Fraction(1, 2)) * epsilon), ball(epsilon / 2)
    bent = (-2 * wide).exp().log1p() - (-2 * narrow).exp().log1p()
    return ball(epsilon) + bent / ball(order - 1)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP(_WorstIsKnown):
    """Pure ε-differential privacy: no event is more than e^ε times likelier on a neighbouring dataset.

    Use it as a budget, or to account for a mechanism of somebody else. All guarantees answer `epsilon(delta)`,
    `delta(epsilon)`, `tv()`, `beta(alpha)` and `renyi(order)`, and can be composed with `dp.compose`.

    Parameters
    ----------
    epsilon : Number
        ε ≥ 0: an int, Fraction, Decimal, decimal string or float; a float means its shortest decimal, so 0.1 is 1/10.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Attributes
    ----------
    stated_epsilon : Fraction
        ε₀ of the formulas below, exactly as given.

    Notes
    -----
    Claim D1. δ(ε) = (e^{ε₀} − e^ε)₊ / (e^{ε₀} + 1) and β(α) = max(0, 1 − e^{ε₀} α, e^{−ε₀}(1 − α)): randomized response
    is the worst case (Kairouz, Oh and Viswanath 2015, proof of Theorem 3.3).

    Examples
    --------
    >>> import dither as dp
    >>> dp.PureDP(1).delta(0.5), dp.PureDP(1).epsilon(0.1)
    (0.28764913664..., 0.85290510136...)
    """

    stated_epsilon: Fraction
    adjacency: Adjacency | None

    def __init__(self, epsilon: Number, *, adjacency: Adjacency | None = None) -> None:
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        set_fields(self, stated_epsilon=exact, adjacency=checked(adjacency))

    @property
    def _loss(self) -> Fraction:
        return self.stated_epsilon

    def _is_implied_by(self, other: Guarantee) -> bool:
        if isinstance(other, _WorstIsKnown):
            return not other._failure and other._loss <= self.stated_epsilon
        largest = other._epsilon(Fraction(0))
        return largest < math.inf and Fraction(largest) <= self.stated_epsilon

    def _group(self, size: int) -> PureDP:
        return PureDP(size * self.stated_epsilon)

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.stated_epsilon, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        return {"epsilon": self.stated_epsilon}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP(_WorstIsKnown):
    """(ε, δ)-differential privacy: P(E) ≤ e^ε Q(E) + δ for every event E.

    Use it as a budget, or to account for a mechanism of somebody else.

    Parameters
    ----------
    epsilon : Number
        ε ≥ 0.
    delta : Number
        δ between 0 and 1, far below 1/(number of people), such as 1e-6.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.
    done : event or mechanism, optional
        What keeps it, under the same adjacency or an unstated one: `dp.compose` then takes what that costs, which is
        less than the worst case of many promises. If it certainly costs more than is promised, it is ignored. It
        decides nothing else: guarantees with the same parameters are equal.

    Attributes
    ----------
    stated_epsilon : Fraction
        ε₀ of the formulas below, exactly as given.
    stated_delta : Fraction
        δ₀ of the formulas below, exactly as given.

    Notes
    -----
    Claim D2. The worst case reveals the data with probability δ₀, and else is randomized response of parameter ε₀
    (Kairouz, Oh and Viswanath 2015, proof of Theorem 3.3): δ(ε) = δ₀ + (1 − δ₀)(e^{ε₀} − e^ε)₊ / (e^{ε₀} + 1) and β(α)
    = max(0, 1 − δ₀ − e^{ε₀} α, e^{−ε₀}(1 − δ₀ − α)).

    Examples
    --------
    >>> import dither as dp
    >>> dp.ApproxDP(1, 1e-6).tv(), dp.ApproxDP(1, 1e-6).epsilon(1e-7)
    (0.46211769514..., inf)
    >>> dp.ApproxDP(0.3, 1e-6).delta(0.3), dp.ApproxDP(0.3, 1e-6).epsilon(1e-6)
    (1e-06, 0.3)
    """

    stated_epsilon: Fraction
    stated_delta: Fraction
    adjacency: Adjacency | None
    done: object = field(default=None, compare=False)

    def __init__(
        self, epsilon: Number, delta: Number, *, adjacency: Adjacency | None = None, done: object = None
    ) -> None:
        loss, failure = rational(epsilon, "epsilon"), rational(delta, "delta")
        check.nonnegative(epsilon=loss)
        check.probability(delta=failure)
        set_fields(self, stated_epsilon=loss, stated_delta=failure, adjacency=checked(adjacency), done=done)
        if done is not None:
            self._check_done()

    def _check_done(self) -> None:
        """Whether `done` can be what keeps it: an event or a mechanism, about the same neighbours."""
        if isinstance(self.done, Guarantee) or not hasattr(self.done, "adjacency"):
            raise ParameterError(
                f"done must be the event or the mechanism that keeps it, got {type(self.done).__name__}. Leave it out "
                "if there is none."
            )
        if (known := self.done.adjacency) is not None:
            common([self.adjacency, known])

    @property
    def _loss(self) -> Fraction:
        return self.stated_epsilon

    @property
    def _failure(self) -> Fraction:
        return self.stated_delta

    def _is_implied_by(self, other: Guarantee) -> bool:
        if self.stated_delta == 1:
            return True
        if isinstance(other, _WorstIsKnown) and other._loss <= self.stated_epsilon:
            return other._failure <= self.stated_delta
        return at_most(lambda: other._profile(self.stated_epsilon), self.stated_delta)

    def _group(self, size: int) -> ApproxDP:
        """P₀(E) ≤ e^ε P₁(E) + δ ≤ e^{2ε} P₂(E) + (1 + e^ε)δ ≤ …: δ times 1 + e^ε + … + e^{(k−1)ε}."""
        epsilon, failure = self.stated_epsilon, self.stated_delta

        def total() -> Ball:
            steps = ball(size * epsilon).expm1() / ball(epsilon).expm1() if epsilon else Ball(size)
            return (ball(failure) * steps).min(Ball(1))  # beyond the floats for large groups

        grown = failure if size == 1 or not failure else fraction_above(total)
        return ApproxDP(size * epsilon, grown)

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.stated_epsilon, self.stated_delta, adjacency=adjacency, done=self.done)

    def _parameters(self) -> Mapping[str, object]:
        return {"epsilon": self.stated_epsilon, "delta": self.stated_delta}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TVStable(_WorstIsKnown):
    """Stability in total variation: |P(E) − Q(E)| ≤ tv for every event E. It is (0, tv)-DP.

    Parameters
    ----------
    tv : Number
        The total variation distance, between 0 and 1.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Attributes
    ----------
    stated_tv : Fraction
        The distance, exactly as given.

    Notes
    -----
    Claim D4. δ(ε) = tv for every ε, as the difference may be a certain disclosure.

    Examples
    --------
    >>> import dither as dp
    >>> stable = dp.TVStable(0.25)
    >>> stable.delta(3), stable.beta(0.5), stable.epsilon(0.1)
    (0.25, 0.25, inf)
    """

    stated_tv: Fraction
    adjacency: Adjacency | None

    def __init__(self, tv: Number, *, adjacency: Adjacency | None = None) -> None:
        exact = rational(tv, "tv")
        check.probability(tv=exact)
        set_fields(self, stated_tv=exact, adjacency=checked(adjacency))

    @property
    def _failure(self) -> Fraction:
        return self.stated_tv

    def _is_implied_by(self, other: Guarantee) -> bool:
        if self.stated_tv == 1 or (isinstance(other, TVStable) and other.stated_tv <= self.stated_tv):
            return True
        return at_most(lambda: other._profile(Fraction(0)), self.stated_tv)

    def _group(self, size: int) -> TVStable:
        return TVStable(min(Fraction(1), size * self.stated_tv))

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.stated_tv, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        return {"tv": self.stated_tv}
