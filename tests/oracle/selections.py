"""Who is selected, with which probability, by the definition of each mechanism.

Slow and naive on purpose. Shares no code with dither: fractions and python-flint. A law takes scores, and gives the
chance of each output in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations
from math import factorial

from flint import arb

from tests.oracle.exponentials import cdf, density, line_integral, survival
from tests.oracle.finite import at_full_precision, real

__all__ = [
    "Law",
    "answers_of",
    "exponential",
    "laplace_max",
    "one_sequence",
    "peeled",
    "permute_and_flip",
    "sparse_vector",
]

Numbers = tuple[Fraction, ...]
Law = Callable[[Numbers], list[arb]]


def exponential(scale: Fraction, weights: Sequence[Fraction] | None = None) -> Law:
    """Pr[y] ∝ w(y) e^{q(y)/b}."""

    @at_full_precision
    def law(scores: Numbers) -> list[arb]:
        base = [Fraction(1)] * len(scores) if weights is None else weights
        shares = [real(w) * real((q - max(scores)) / scale).exp() for w, q in zip(base, scores, strict=True)]
        return [share / sum(shares, arb(0)) for share in shares]

    return law


def permute_and_flip(scale: Fraction) -> Law:
    """In a random order, each is taken with probability e^{−gap/b}, or the next one is asked."""

    @at_full_precision
    def law(scores: Numbers) -> list[arb]:
        kept = [real((q - max(scores)) / scale).exp() for q in scores]
        chances = [arb(0)] * len(scores)
        for order in permutations(range(len(scores))):
            left = arb(1) / factorial(len(scores))
            for i in order:
                chances[i] += left * kept[i]
                left *= 1 - kept[i]
        return chances

    return law


def laplace_max(scale: Fraction) -> Law:
    """Pr[qᵢ + Laplace noise is the largest]."""

    def law(scores: Numbers) -> list[arb]:
        return [
            line_integral([(density if j == i else cdf)(q, scale) for j, q in enumerate(scores)])
            for i in range(len(scores))
        ]

    return law


def peeled(law: Law, count: int) -> Law:
    """The winners of `count` rounds, each among those who are left: all ordered choices."""

    @at_full_precision
    def chances(scores: Numbers) -> list[arb]:
        return [_in_rounds(law, scores, chosen) for chosen in permutations(range(len(scores)), count)]

    return chances


def _in_rounds(law: Law, scores: Numbers, chosen: Sequence[int]) -> arb:
    left, chance = list(range(len(scores))), arb(1)
    for i in chosen:
        chance *= law(tuple(scores[j] for j in left))[left.index(i)]
        left.remove(i)
    return chance


# ------------------------------------------------------------- sparse vector


def answers_of(questions: int, cap: int) -> list[tuple[bool, ...]]:
    """All sequences of answers that stop with the `cap`-th above, or after so many questions."""
    if not questions or not cap:
        return [()]
    return [(is_above, *rest) for is_above in (False, True) for rest in answers_of(questions - 1, cap - is_above)]


def sparse_vector(threshold_scale: Fraction, query_scale: Fraction, cap: int) -> Law:
    """The chance of each sequence of answers, in the order of `answers_of`, with the threshold at 0."""

    def law(values: Numbers) -> list[arb]:
        return [_above(threshold_scale, query_scale, values, answers) for answers in answers_of(len(values), cap)]

    return law


def one_sequence(threshold_scale: Fraction, query_scale: Fraction, answers: Sequence[bool]) -> Law:
    """The chance of these answers, and that of all others together."""

    @at_full_precision
    def law(values: Numbers) -> list[arb]:
        chance = _above(threshold_scale, query_scale, values, answers)
        return [chance, 1 - chance]

    return law


def _above(threshold_scale: Fraction, query_scale: Fraction, values: Numbers, answers: Sequence[bool]) -> arb:
    """Whether qᵢ + νᵢ ≥ ρ, as the answers say: ρ of scale b₁ is drawn once, and νᵢ of scale b₂ for each value."""
    factors = [density(Fraction(0), threshold_scale)]
    for q, is_above in zip(values, answers, strict=False):  # after the last answer nothing is asked
        factors.append((survival if is_above else cdf)(q, query_scale))
    return line_integral(factors)
