"""The privacy loss of two laws on finitely many outcomes, exactly."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple, Self

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, once, rational
from dither.exact.certified import above, exactly_above, exactly_below, refined
from dither.guarantees.finite import PrivacyLoss, is_at_most, privacy_loss
from dither.guarantees.loss import BadSet, Loss, LossTails, level_of

__all__ = ["FiniteLoss"]


class _ByOdds(NamedTuple):
    """Outcomes by falling odds, those odds as pairs, and the masses of the first so many under both laws."""

    order: list[int]
    odds: list[tuple[Fraction, Fraction]]
    p: list[Fraction]
    q: list[Fraction]

    def count(self, epsilon: Fraction) -> int:
        """How many have odds above e^ε: they come first."""
        return bisect_left(self.odds, True, key=lambda odds: is_at_most(odds[0], odds[1], epsilon))


@dataclass(frozen=True)
class FiniteLoss(Loss):
    """The privacy loss of two laws on finitely many outcomes, exactly.

    `loss_of` makes it. The laws of `dither.noise` have infinitely many outcomes: those left out are in the errors.

    Parameters
    ----------
    outcomes : tuple
        The outcomes.
    p : tuple of Fraction
        The probability of each under P.
    q : tuple of Fraction
        The probability of each under Q.
    p_error : Fraction
        How far the true P may be from `p`, in all outcomes together.
    q_error : Fraction
        How far the true Q may be from `q`, in all outcomes together.
    is_certified : bool
        Whether the errors are proven.
    p_radii : tuple of Fraction, optional
        How far each of `p` may be off. By default `p_error`.
    q_radii : tuple of Fraction, optional
        How far each of `q` may be off. By default `q_error`.
    largest_known : tuple of float, default (∞, ∞)
        What neither L nor −L exceeds, where that is known although outcomes are left out or probabilities are off.
    """

    # For all E, |P(E) − P̂(E)| ≤ p_error and the same for Q: so |δ(ε) − δ̂(ε)| ≤ p_error + e^ε q_error, and a test of
    # type I error α under P has at most α + p_error under P̂.
    outcomes: tuple[Hashable, ...]
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    p_error: Fraction = Fraction(0)
    q_error: Fraction = Fraction(0)
    is_certified: bool = True
    p_radii: tuple[Fraction, ...] | None = None
    q_radii: tuple[Fraction, ...] | None = None
    largest_known: tuple[float, float] = (math.inf, math.inf)

    @once
    def _place(self) -> dict[Hashable, int]:
        return {outcome: at for at, outcome in enumerate(self.outcomes)}

    @once
    def _steps(self) -> _ByOdds:
        return self._ranked(0)

    @once
    def _possible(self) -> _ByOdds:
        """By the largest odds that the radii allow: which outcomes may have L > ε."""
        return self._ranked(1)

    @once
    def _certain(self) -> _ByOdds:
        """By the smallest odds that the radii allow: which outcomes have L > ε for certain."""
        return self._ranked(-1)

    def _ranked(self, side: int) -> _ByOdds:
        """The outcomes by falling p/q, each p moved by `side` of its radius and each q the other way."""
        if side and not (self.p_error or self.q_error):
            return self._steps
        size, zero = len(self.p), Fraction(0)
        p_radii, q_radii = self.p_radii or (self.p_error,) * size, self.q_radii or (self.q_error,) * size
        odds = {
            at: (max(zero, self.p[at] + side * p_radii[at]), max(zero, self.q[at] - side * q_radii[at]))
            for at in range(size)
            if self.p[at]
        }

        def place(at: int) -> tuple[bool, bool, Fraction]:
            a, b = odds[at]
            return a == 0, b != 0, -a / b if b else zero

        order = sorted(odds, key=place)
        p, q = ([*accumulate((law[at] for at in order), initial=zero)] for law in (self.p, self.q))
        return _ByOdds(order, [odds[at] for at in order], p, q)

    def loss(self, outcome: Any) -> float:
        check.distinct(outcome=(outcome,))  # which is hashable, too
        at = self._place.get(outcome)
        if at is None or not (self.p[at] or self.q[at]):
            raise ParameterError(f"outcome must be one that a law allows, got {outcome!r}. See .outcomes.")
        if not (self.p[at] and self.q[at]):
            return math.inf if self.p[at] else -math.inf
        ratio = self.p[at] / self.q[at]
        if self.p_error or self.q_error:
            return float(refined(lambda: ball(ratio).log()))
        return above(lambda: ball(ratio).log()) if ratio != 1 else 0.0

    @property
    def law(self) -> PrivacyLoss | LossTails:
        """The law of the loss: exactly, by odds e^L and their probabilities, or by its tails if errors are stated."""
        return LossTails(self) if self.p_error or self.q_error else privacy_loss(self.p, self.q)

    @property
    def largest(self) -> float:
        """The largest loss; ∞ where an outcome has probability 0 under the second law, or outcomes were left out."""
        if self.p_error or self.q_error or any(p and not q for p, q in zip(self.p, self.q, strict=True)):
            return self.largest_known[0]
        return max(0.0, self.loss(self.outcomes[self._steps.order[0]]))

    def tail_beyond(self, level: Number) -> float:
        exact = rational(level, "level")
        if self._is_beyond_all(exact):
            return 0.0
        steps = self._possible  # an atom at ε that its radius does not tell from one above counts
        return exactly_above(min(steps.p[steps.count(exact)] + self.p_error, Fraction(1)))

    def _is_beyond_all(self, level: Fraction) -> bool:
        """Whether it is known that no loss exceeds ℓ."""
        return math.isfinite(self.largest_known[0]) and level >= rational(self.largest_known[0])

    def bad_set(self, epsilon: Number) -> BadSet:
        level = level_of(epsilon)
        steps = self._certain
        count = steps.count(level)
        outcomes = tuple(self.outcomes[at] for at in sorted(steps.order[:count]))
        return BadSet(float(level), outcomes, steps.p[count], steps.q[count], self.delta(level))

    def delta_bracket(self, epsilon: Number) -> tuple[float, float]:
        level = level_of(epsilon)
        if self._is_beyond_all(level):
            return 0.0, 0.0
        count = self._steps.count(level)
        p, q = self._steps.p[count], self._steps.q[count]
        if not (level or self.p_error or self.q_error) or not (q or self.p_error or self.q_error):
            exact = p - q if not level else p
            return max(0.0, exactly_below(exact)), exactly_above(exact)

        def end(sign: int) -> Ball:
            odds = ball(level).exp()
            return ball(p + sign * self.p_error) - odds * ball(q - sign * self.q_error)

        # δ(ε) ≤ Pr[L > ε]: at a large ε that says more, as e^ε swells the error of Q.
        return max(0.0, -above(lambda: -end(-1))), min(max(0.0, above(lambda: end(1))), self.tail(level))

    def beta(self, alpha: Number) -> float:
        level = rational(alpha, "alpha")
        check.probability(alpha=level)
        left, found = min(level + self.p_error, Fraction(1)), Fraction(1)
        found -= sum((q for p, q in zip(self.p, self.q, strict=True) if not p), Fraction(0))
        for at in reversed(self._steps.order):  # reject where q/p is largest first
            if not left > 0 or not self.q[at]:
                break
            share = min(Fraction(1), left / self.p[at])
            found, left = found - share * self.q[at], left - share * self.p[at]
        return max(0.0, exactly_below(found - self.q_error))

    def swapped(self) -> Self:
        errors, radii = (self.q_error, self.p_error), (self.q_radii, self.p_radii)
        return type(self)(self.outcomes, self.q, self.p, *errors, self.is_certified, *radii, self.largest_known[::-1])

    def __str__(self) -> str:
        return f"the loss of two laws on {len(self.outcomes)} outcomes"
