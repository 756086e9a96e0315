"""The privacy loss L(y) = ln p(y)/q(y) of any two laws: what it answers, whatever the laws are given as."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from dither.exact import Number, check, rational
from dither.views import views

__all__ = ["BadSet", "Loss", "LossTails", "level_of"]

_HALVINGS = 60
_LARGEST_LOSS = 700.0


@dataclass(frozen=True)
class BadSet:
    """The outcomes that reveal too much at some ε: {y : L(y) > ε}, with their probabilities.

    `Loss.bad_set` and `Loss.witness` return it. Of all events it has the largest P(E) − e^ε Q(E).

    Parameters
    ----------
    epsilon : float
        ε.
    outcomes : tuple
        The outcomes of finite laws; for densities, intervals (low, high).
    p : Fraction or float
        P(E).
    q : Fraction or float
        Q(E).
    excess : float
        P(E) − e^ε Q(E) = δ(ε), never below the truth.
    is_swapped : bool
        Whether p is the probability under the second law and q that under the first.
    """

    epsilon: float
    outcomes: tuple[Any, ...]
    p: Fraction | float
    q: Fraction | float
    excess: float
    is_swapped: bool = False


class Loss(ABC):
    """The privacy loss L(y) = ln p(y)/q(y) of two laws P and Q, for y drawn from P (claim D3).

    `loss_of` makes it. δ and β are those of this order, P against Q; `swapped` is the other one. Answers are on the
    safe side by the error that they state: proven if `is_certified`, else estimated by two quadratures that must
    agree.

    Attributes
    ----------
    adjacency : None
        Two laws know of no datasets.
    is_certified : bool
        Whether the sides are proven: the laws are rational, or laws of `dither.noise`.
    """

    adjacency: ClassVar[None] = None
    is_certified: bool

    @abstractmethod
    def loss(self, outcome: Any) -> float:
        """Compute L(y) at one outcome.

        Parameters
        ----------
        outcome : Any
            y: an outcome of finite laws, or a number.

        Returns
        -------
        float
            ln p(y)/q(y): ∞ where the second law excludes y, −∞ where the first does.
        """

    @abstractmethod
    def tail_beyond(self, level: Number) -> float:
        """Compute Pr[L > ℓ] for any ℓ, negative ones too.

        Parameters
        ----------
        level : Number
            ℓ.

        Returns
        -------
        float
            The probability, rounded up as `tail` is.
        """

    @property
    @abstractmethod
    def law(self) -> Any:
        """The law of the loss: `PrivacyLoss` where it is known exactly, else `LossTails`, its tails."""

    def tail(self, epsilon: Number) -> float:
        """Compute Pr[L > ε].

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            The probability, rounded up by the stated error: a loss that may be above ε and is not certainly at most
            ε counts. Of densities, parts between all points that are looked at are missed.
        """
        return self.tail_beyond(level_of(epsilon))

    @abstractmethod
    def bad_set(self, epsilon: Number) -> BadSet:
        """Find the outcomes with L(y) > ε.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        BadSet
            The outcomes whose loss is certainly above ε, or intervals of them as far as they are found, and their
            probability under both laws, without its error.
        """

    @abstractmethod
    def delta_bracket(self, epsilon: Number) -> tuple[float, float]:
        """Compute bounds around δ(ε) = sup P(E) − e^ε Q(E), in this order.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        tuple of float
            A lower and an upper bound; their distance is twice the stated error.
        """

    @abstractmethod
    def beta(self, alpha: Number) -> float:
        """Compute the smallest type II error of any test of P against Q at type I error `alpha`.

        Parameters
        ----------
        alpha : Number
            The type I error P(reject), between 0 and 1.

        Returns
        -------
        float
            Q(accept) of the best test, rounded down by the stated error.
        """

    @abstractmethod
    def swapped(self) -> Self:
        """Return the loss of Q against P.

        Returns
        -------
        Loss
            L with its sign changed, for y drawn from Q.
        """

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest loss that is known to bound all others; ∞ if there is none."""

    def delta(self, epsilon: Number) -> float:
        """Compute δ(ε) = E[(1 − e^{ε−L})₊], in this order.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε), rounded up by the stated error.
        """
        return self.delta_bracket(epsilon)[1]

    def epsilon(self, delta: Number) -> float:
        """Compute the smallest ε ≥ 0 with δ(ε) ≤ `delta`, in this order.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1.

        Returns
        -------
        float
            ε(δ), rounded up; ∞ if δ is not reached, which an error above δ also hinders where no largest loss is known.
        """
        bound = rational(delta, "delta")
        check.probability(delta=bound)
        low, high = 0.0, min(self.largest, _LARGEST_LOSS)
        if Fraction(self.delta(low)) <= bound:
            return low
        if not Fraction(self.delta(high)) <= bound:
            return self.largest  # no loss exceeds it, so δ is 0 there, whatever the errors
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if Fraction(self.delta(middle)) <= bound else (middle, high)
        return high

    def witness(self, epsilon: Number, delta: Number = 0) -> BadSet | None:
        """Find an event that breaks (ε, δ), in either order.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.
        delta : Number, default 0
            δ between 0 and 1.

        Returns
        -------
        BadSet or None
            The event of the larger excess over both orders; None if none certainly exceeds δ.
        """
        bound = rational(delta, "delta")
        check.probability(delta=bound)
        there, back = self.delta_bracket(epsilon)[0], self.swapped().delta_bracket(epsilon)[0]
        if not Fraction(max(there, back)) > bound:
            return None
        if there >= back:
            return self.bad_set(epsilon)
        found = self.swapped().bad_set(epsilon)
        return BadSet(found.epsilon, found.outcomes, found.p, found.q, found.excess, is_swapped=True)

    def plot(self, kind: str = "loss", epsilon: Number | None = None) -> Any:
        """Draw the loss.

        Parameters
        ----------
        kind : {"loss", "outcomes", "profile", "tradeoff"}, default "loss"
            The law of the loss; both laws and the loss by outcome; δ(ε); or β(α).
        epsilon : Number, optional
            The ε whose bad set is shaded among the outcomes.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        if kind == "outcomes":
            return views.plots.outcomes(self, epsilon)
        return views.plots.draw(kind, self)


@dataclass(frozen=True)
class LossTails:
    """The law of a privacy loss that is known by its tails; `Loss.law` returns it.

    Parameters
    ----------
    of : Loss
        The loss.
    """

    of: Loss

    def tail(self, level: Number) -> float:
        """Compute Pr[L > ℓ].

        Parameters
        ----------
        level : Number
            ℓ, also a negative one.

        Returns
        -------
        float
            The probability, rounded up by the error that the loss states.
        """
        return self.of.tail_beyond(level)

    def delta(self, epsilon: Number) -> float:
        """Compute δ(ε) = E[(1 − e^{ε−L})₊].

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε), rounded up by the error that the loss states.
        """
        return self.of.delta(epsilon)

    def quantile(self, probability: Number) -> float:
        """Find the smallest ℓ with Pr[L ≤ ℓ] ≥ `probability`, by halving.

        Parameters
        ----------
        probability : Number
            A number between 0 and 1.

        Returns
        -------
        float
            The quantile between −700 and 700, rounded up as the tail is; ∞ beyond.
        """
        share = rational(probability, "probability")
        check.probability(probability=share)
        low, high = -_LARGEST_LOSS, _LARGEST_LOSS
        if not self._reaches(high, share):
            return math.inf
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._reaches(middle, share) else (middle, high)
        return high

    def _reaches(self, level: float, share: Fraction) -> bool:
        return 1 - Fraction(self.of.tail_beyond(level)) >= share


def level_of(epsilon: Number) -> Fraction:
    """ε as an exact number, checked."""
    exact = rational(epsilon, "epsilon")
    check.nonnegative(epsilon=exact)
    return exact
