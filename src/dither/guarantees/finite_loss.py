"""The privacy loss of two laws on finitely many outcomes, exactly."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, Self

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, once, rational
from dither.exact.certified import above, exactly_above, exactly_below, refined
from dither.guarantees.finite import PrivacyLoss, is_at_most, privacy_loss
from dither.guarantees.loss import BadSet, Loss, level_of

__all__ = ["FiniteLoss"]


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
    """

    # For all E, |P(E) − P̂(E)| ≤ p_error and the same for Q: so |δ(ε) − δ̂(ε)| ≤ p_error + e^ε q_error, and a test of
    # type I error α under P has at most α + p_error under P̂.
    outcomes: tuple[Hashable, ...]
    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    p_error: Fraction = Fraction(0)
    q_error: Fraction = Fraction(0)
    is_certified: bool = True

    @once
    def _place(self) -> dict[Hashable, int]:
        return {outcome: at for at, outcome in enumerate(self.outcomes)}

    @once
    def _steps(self) -> tuple[list[int], list[Fraction], list[Fraction]]:
        """Outcomes by falling p/q, and the masses of the first so many of them under both laws."""
        order = [at for at in range(len(self.p)) if self.p[at]]
        order.sort(key=lambda at: (self.q[at] != 0, -self.p[at] / self.q[at] if self.q[at] else 0))
        zero = [Fraction(0)]
        return order, *([*accumulate((law[at] for at in order), initial=zero[0])] for law in (self.p, self.q))  # type: ignore[return-value]

    def _count(self, epsilon: Fraction) -> int:
        """How many outcomes have p > e^ε q: they come first."""
        order = self._steps[0]
        return bisect_left(order, True, key=lambda at: is_at_most(self.p[at], self.q[at], epsilon))

    def loss(self, outcome: Any) -> float:
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
    def law(self) -> PrivacyLoss:
        """The exact law of the loss: its values, as odds e^L, and their probabilities."""
        if self.p_error or self.q_error:
            raise ParameterError("the law of the loss has infinitely many values here. Ask for tail(epsilon).")
        return privacy_loss(self.p, self.q)

    @property
    def largest(self) -> float:
        """The largest loss; ∞ where an outcome has probability 0 under the second law, or outcomes were left out."""
        if self.p_error or any(p and not q for p, q in zip(self.p, self.q, strict=True)):
            return math.inf
        return max(0.0, self.loss(self.outcomes[self._steps[0][0]]))

    def tail(self, epsilon: Number) -> float:
        return exactly_above(min(self._steps[1][self._count(level_of(epsilon))] + self.p_error, Fraction(1)))

    def bad_set(self, epsilon: Number) -> BadSet:
        level = level_of(epsilon)
        order, p, q = self._steps
        count = self._count(level)
        outcomes = tuple(self.outcomes[at] for at in sorted(order[:count]))
        return BadSet(float(level), outcomes, p[count], q[count], self.delta(level))

    def delta_bracket(self, epsilon: Number) -> tuple[float, float]:
        level = level_of(epsilon)
        count = self._count(level)
        p, q = self._steps[1][count], self._steps[2][count]
        if not (level or self.p_error or self.q_error) or not (q or self.p_error or self.q_error):
            return exactly_below(p - q if not level else p), exactly_above(p - q if not level else p)

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
        for at in reversed(self._steps[0]):  # reject where q/p is largest first
            if not left > 0 or not self.q[at]:
                break
            share = min(Fraction(1), left / self.p[at])
            found, left = found - share * self.q[at], left - share * self.p[at]
        return max(0.0, exactly_below(found - self.q_error))

    def swapped(self) -> Self:
        return type(self)(self.outcomes, self.q, self.p, self.q_error, self.p_error, self.is_certified)

    def __str__(self) -> str:
        return f"the loss of two laws on {len(self.outcomes)} outcomes"
