"""Two finite distributions, compared: distances, privacy loss, and the definitions themselves as running code.

A distribution is a mapping from outcomes to probabilities, or a list of probabilities. Probabilities are
exact numbers (floats mean their shortest decimals) that sum to 1, or balls whose sum may be 1. With exact
numbers every yes-or-no question is decided: for rational ε ≠ 0, e^ε is irrational, so P(E) − e^ε Q(E) = δ
only if Q(E) = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError, PrecisionError
from dither.exact import Ball, Number, ball, check, in_words, is_below, rational
from dither.exact.certified import above, exactly_above

__all__ = [
    "Distribution",
    "PrivacyLoss",
    "ThreeForms",
    "hockey_stick",
    "indistinguishable",
    "is_at_most",
    "multiplicative_distance",
    "privacy_loss",
    "pure_three_ways",
    "read_distribution",
    "tail_condition",
    "total_variation",
]

Distribution: TypeAlias = Mapping[Any, Number | Ball] | Sequence[Number | Ball] | NDArray[Any]
"""Outcomes with their probabilities; a list or a vector numbers its outcomes 0, 1, ..."""

_MOST_EVENTS = 16


def multiplicative_distance(p: Distribution, q: Distribution) -> float:
    """Compute d◇ = sup |ln P(E)/Q(E)| over all events E.

    Pure ε-DP means d◇ ≤ ε, and d◇ is a metric (claim D4). A ratio of sums lies between the ratios of its terms, so
    single outcomes suffice.

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers or balls.
    q : mapping or sequence
        The second distribution.

    Returns
    -------
    float
        The distance, never below the truth; ∞ if one excludes what the other allows.

    Examples
    --------
    >>> multiplicative_distance(["3/4", "1/4"], ["1/4", "3/4"])
    1.0986122886681098
    """
    return max((_log_ratio(a, b) for a, b in _pairs(p, q)), default=0.0)


def _log_ratio(a: Fraction | Ball, b: Fraction | Ball) -> float:
    if _is_zero(a) or _is_zero(b):
        return 0.0 if _is_zero(a) and _is_zero(b) else math.inf
    return 0.0 if a is b or (isinstance(a, Fraction) and a == b) else above(lambda: abs((_ball(a) / _ball(b)).log()))


def _log_of(odds: Fraction) -> float:
    """ln of the odds, rounded up."""
    return 0.0 if odds == 1 else above(lambda: ball(odds).log())


def total_variation(p: Distribution, q: Distribution) -> float:
    """Compute the total variation distance sup |P(E) − Q(E)| over all events E (claim D4).

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers or balls.
    q : mapping or sequence
        The second distribution.

    Returns
    -------
    float
        The distance, never below the truth.

    Examples
    --------
    >>> total_variation(["3/4", "1/4"], ["1/4", "3/4"])
    0.5
    """
    return hockey_stick(p, q, 0)


def hockey_stick(p: Distribution, q: Distribution, epsilon: Number) -> float:
    """Compute the hockey-stick divergence δ(ε) = sup P(E) − e^ε Q(E) over all events E, in this direction only.

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers or balls.
    q : mapping or sequence
        The second distribution.
    epsilon : Number
        ε ≥ 0.

    Returns
    -------
    float
        δ(ε), never below the truth (claim D3).

    Examples
    --------
    >>> hockey_stick(["3/4", "1/4"], ["1/4", "3/4"], 1)
    0.07042954288...
    """
    exact, pairs = _loss(epsilon), _pairs(p, q)
    if any(isinstance(mass, Ball) for both in pairs for mass in both):
        return min(1.0, max(0.0, above(lambda: _positive_part(pairs, exact))))
    p_mass, q_mass = _best_event(pairs, exact)
    if isinstance(p_mass, Fraction) and isinstance(q_mass, Fraction) and not (exact and q_mass):
        return exactly_above(p_mass - q_mass)
    return above(lambda: _ball(p_mass) - ball(exact).exp() * _ball(q_mass))


def _positive_part(pairs: Pairs, epsilon: Fraction) -> Ball:
    """Σ (p − e^ε q)₊ in balls: a term of unknown sign counts with its positive part, which is a ball as well."""
    odds, total = ball(epsilon).exp(), Ball(0)
    for a, b in pairs:
        total += (_ball(a) - odds * _ball(b)).max(Ball(0))
    return total


def _best_event(pairs: Pairs, epsilon: Fraction) -> tuple[Fraction | Ball, Fraction | Ball]:
    """P(E) and Q(E) of the event {p > e^ε q}, which maximises P(E) − e^ε Q(E)."""
    gains = [(a, b) for a, b in pairs if not is_at_most(a, b, epsilon)]
    return _sum(a for a, _ in gains), _sum(b for _, b in gains)


def indistinguishable(p: Distribution, q: Distribution, epsilon: Number, delta: Number = 0) -> bool:
    """Decide whether P(E) ≤ e^ε Q(E) + δ and Q(E) ≤ e^ε P(E) + δ for every event E (claim D2).

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers or balls.
    q : mapping or sequence
        The second distribution.
    epsilon : Number
        ε ≥ 0.
    delta : Number, default 0
        δ between 0 and 1.

    Returns
    -------
    bool
        Decided exactly for exact numbers.

    Raises
    ------
    PrecisionError
        If balls are too wide to decide.

    Examples
    --------
    >>> indistinguishable(["3/4", "1/4"], ["1/4", "3/4"], "1.0986"), indistinguishable([1, 0], [0, 1], 5)
    (False, False)
    >>> indistinguishable(["3/4", "1/4"], ["1/4", "3/4"], "1.0987")
    True
    """
    exact, bound, pairs = _loss(epsilon), rational(delta, "delta"), _pairs(p, q)
    check.probability(delta=bound)
    return all(_stays_below(ordered, exact, bound) for ordered in (pairs, _swapped(pairs)))


def _stays_below(pairs: Pairs, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether Σ (p − e^ε q)₊ ≤ δ."""
    p_mass, q_mass = _best_event(pairs, epsilon)
    if isinstance(p_mass, Fraction) and isinstance(q_mass, Fraction) and not (epsilon and q_mass):
        return p_mass - q_mass <= delta
    return not _exceeds(lambda: _ball(p_mass) - ball(epsilon).exp() * _ball(q_mass), lambda: ball(delta))


def is_at_most(a: Fraction | Ball, b: Fraction | Ball, epsilon: Fraction) -> bool:
    """Whether a ≤ e^ε b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction) and (not a or not b or not epsilon):
        return a <= b
    return not _exceeds(lambda: _ball(a), lambda: ball(epsilon).exp() * _ball(b))


def _exceeds(left: Callable[[], Ball], right: Callable[[], Ball]) -> bool:
    try:
        return is_below(right, left)
    except PrecisionError:
        raise PrecisionError("the balls are too wide to decide. Give exact numbers or smaller balls.") from None


class Atom(NamedTuple):
    """A value of the privacy loss, as `odds` = e^L (None for ∞), with its probability."""

    odds: Fraction | None
    probability: Fraction


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """The distribution of the privacy loss L = ln p(y)/q(y) for y drawn from P (claim D3).

    `privacy_loss(p, q)` returns it.

    Parameters
    ----------
    atoms : tuple of Atom
        The values by increasing loss, each as odds e^L (None for ∞) with its probability. Both are exact rationals.
    """

    atoms: tuple[Atom, ...]

    def tail(self, level: Number) -> Fraction:
        """Compute Pr[L > ℓ], exactly.

        Parameters
        ----------
        level : Number
            ℓ, also a negative one; at ε ≥ 0 it is the textbook's δ.

        Returns
        -------
        Fraction
            The probability.
        """
        exact = rational(level, "level")
        beyond = (atom for atom in self.atoms if atom.odds is None or not is_at_most(atom.odds, Fraction(1), exact))
        return sum((atom.probability for atom in beyond), Fraction(0))

    def quantile(self, probability: Number) -> float:
        """Find the smallest ℓ with Pr[L ≤ ℓ] ≥ `probability`.

        Parameters
        ----------
        probability : Number
            A number between 0 and 1.

        Returns
        -------
        float
            A value of the loss, rounded up; ∞ where it is reached only there. At 0 it is the smallest value.
        """
        share = rational(probability, "probability")
        check.probability(probability=share)
        sums = accumulate(atom.probability for atom in self.atoms)
        odds = next(atom.odds for atom, found in zip(self.atoms, sums, strict=True) if found >= share)
        return math.inf if odds is None else _log_of(odds)

    def delta(self, epsilon: Number) -> float:
        """Compute δ(ε) = E[(1 − e^{ε−L})₊].

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε), never below the truth.
        """
        exact = _loss(epsilon)
        return min(1.0, max(0.0, above(lambda: self._expectation(exact))))

    def _expectation(self, epsilon: Fraction) -> Ball:
        odds, total = ball(epsilon).exp() if epsilon else Ball(1), Ball(0)
        for atom in self.atoms:
            kept = Ball(1) if atom.odds is None else (1 - odds / ball(atom.odds)).max(Ball(0))
            total += ball(atom.probability) * kept
        return total


def privacy_loss(p: Distribution, q: Distribution) -> PrivacyLoss:
    """Compute the distribution of the privacy loss of two exact distributions.

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers, not balls.
    q : mapping or sequence
        The second distribution.

    Returns
    -------
    PrivacyLoss
        The distribution of ln p(y)/q(y) for y drawn from p.

    Examples
    --------
    >>> privacy_loss(["3/4", "1/4"], ["1/4", "3/4"]).tail(1)
    Fraction(3, 4)
    """
    masses: dict[Fraction | None, Fraction] = {}
    for a, b in _exact_pairs(p, q):
        if a:
            odds = a / b if b else None
            masses[odds] = masses.get(odds, Fraction(0)) + a
    finite = sorted(odds for odds in masses if odds is not None)
    ordered: list[Fraction | None] = [*finite, *([None] if None in masses else [])]
    return PrivacyLoss(tuple(Atom(odds, masses[odds]) for odds in ordered))


def tail_condition(p: Distribution, q: Distribution, epsilon: Number, delta: Number) -> bool:
    """Decide whether Pr[L > ε] ≤ δ in both directions, which implies (ε, δ)-indistinguishability (claim C1).

    It is sufficient, not necessary: δ(ε) = E[(1 − e^{ε−L})₊] ≤ Pr[L > ε].

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers, not balls.
    q : mapping or sequence
        The second distribution.
    epsilon : Number
        ε ≥ 0.
    delta : Number
        δ between 0 and 1.

    Returns
    -------
    bool
        Whether the condition holds.
    """
    bound = rational(delta, "delta")
    check.probability(delta=bound)
    return all(privacy_loss(*both).tail(epsilon) <= bound for both in ((p, q), (q, p)))


class ThreeForms(NamedTuple):
    """The three forms of pure DP; for two distributions they are all true or all false.

    Parameters
    ----------
    events : bool
        P(E) ≤ e^ε Q(E) for each event.
    outputs : bool
        The same for each outcome.
    loss : bool
        |L| ≤ ε with probability 1.
    """

    events: bool
    outputs: bool
    loss: bool


def pure_three_ways(p: Distribution, q: Distribution, epsilon: Number) -> ThreeForms:
    """Check ε-DP of two exact distributions in its three equivalent forms, each by itself (claim D1).

    All in both directions. The 2ⁿ events are enumerated, so there may be at most 16 outcomes.

    Parameters
    ----------
    p : mapping or sequence
        The first distribution: probabilities by outcome, or a list of probabilities; exact numbers, not balls.
    q : mapping or sequence
        The second distribution.
    epsilon : Number
        ε ≥ 0.

    Returns
    -------
    ThreeForms
        Whether it holds for events, for outputs, and for the privacy loss.
    """
    exact, pairs = _loss(epsilon), _exact_pairs(p, q)
    if len(pairs) > _MOST_EVENTS:
        raise ParameterError(f"events are enumerated for at most {_MOST_EVENTS} outcomes, got {len(pairs)}.")
    both = (pairs, [(b, a) for a, b in pairs])
    return ThreeForms(
        events=all(is_at_most(*masses, exact) for ordered in both for masses in _events(ordered)),
        outputs=all(is_at_most(a, b, exact) for ordered in both for a, b in ordered),
        loss=all(not privacy_loss(*order).tail(exact) for order in ((p, q), (q, p))),
    )


def _events(pairs: ExactPairs) -> Iterator[tuple[Fraction, Fraction]]:
    for size in range(1, len(pairs) + 1):
        for event in combinations(pairs, size):
            yield sum((a for a, _ in event), Fraction(0)), sum((b for _, b in event), Fraction(0))


Pairs: TypeAlias = list[tuple[Fraction | Ball, Fraction | Ball]]
ExactPairs: TypeAlias = list[tuple[Fraction, Fraction]]


def _loss(epsilon: Number) -> Fraction:
    exact = rational(epsilon, "epsilon")
    check.nonnegative(epsilon=exact)
    return exact


def _pairs(p: Distribution, q: Distribution) -> Pairs:
    """The probabilities of each outcome under both, checked; an outcome that one leaves out has probability 0 there."""
    first, second = read_distribution(p, "p"), read_distribution(q, "q")
    outcomes = dict.fromkeys([*first, *second])
    zero = Fraction(0)
    return [(first.get(outcome, zero), second.get(outcome, zero)) for outcome in outcomes]


def _exact_pairs(p: Distribution, q: Distribution) -> ExactPairs:
    pairs = [(a, b) for a, b in _pairs(p, q) if isinstance(a, Fraction) and isinstance(b, Fraction)]
    if len(pairs) < len(_pairs(p, q)):
        raise ParameterError("this question needs exact probabilities, not balls.")
    return pairs


def read_distribution(distribution: Distribution, name: str) -> dict[Hashable, Fraction | Ball]:
    """The probabilities by outcome, checked: they are not negative and sum to 1."""
    if isinstance(distribution, np.ndarray) and distribution.ndim == 1:
        distribution = list(distribution)
    if isinstance(distribution, str) or not isinstance(distribution, Mapping | Sequence):
        raise ParameterError(f"{name} must be a mapping or a list, got the type {type(distribution).__name__}.")
    items = distribution.items() if isinstance(distribution, Mapping) else enumerate(distribution)
    found: dict[Hashable, Fraction | Ball] = {}
    for outcome, value in items:
        found[outcome] = value if isinstance(value, Ball) else rational(value, f"a probability of {name}")
    if not found:
        raise ParameterError(f"{name} must not be empty. Give at least one outcome.")
    _check_mass(list(found.values()), name)
    return found


def _check_mass(values: list[Fraction | Ball], name: str) -> None:
    for value in values:
        if isinstance(value, Ball) and not value.is_finite():
            raise ParameterError(f"each probability of {name} must be finite.")
        if value < 0:
            raise ParameterError(f"each probability of {name} must be 0 or more, got {value}.")
    total = _sum(values)
    if not (total == 1 if isinstance(total, Fraction) else total.contains(Ball(1))):
        raise ParameterError(
            f"the probabilities of {name} must sum to 1, got {_shown(total)}. "
            "Floats that do so but for rounding are made exact by dp.guarantees.normalised."
        )


def _shown(total: Fraction | Ball) -> str:
    return in_words(total) if isinstance(total, Fraction) else str(total)


def _sum(values: Sequence[Fraction | Ball] | Iterator[Fraction | Ball]) -> Fraction | Ball:
    exact, rest = Fraction(0), Ball(0)
    inexact = False
    for value in values:
        if isinstance(value, Fraction):
            exact += value
        else:
            rest, inexact = rest + value, True
    return ball(exact) + rest if inexact else exact


def _ball(value: Fraction | Ball) -> Ball:
    return ball(value) if isinstance(value, Fraction) else value


def _is_zero(value: Fraction | Ball) -> bool:
    return bool(value == 0)


def _swapped(pairs: Pairs) -> Pairs:
    return [(b, a) for a, b in pairs]
