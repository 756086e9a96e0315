"""The parameters at which claims are checked, and small worlds that can be searched to the last corner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from dither.exact import Ball, ball

__all__ = [
    "DELTAS",
    "EPSILONS",
    "FINITE_PAIRS",
    "Masses",
    "datasets",
    "events",
    "excess",
    "gaussian_delta",
    "largest",
    "largest_loss",
    "normal_tail",
    "normalised",
    "replacements",
    "root",
    "zero",
]

EPSILONS = tuple(Fraction(x) for x in ("0.01", "0.1", "0.5", "1", "2", "5"))
DELTAS = tuple(Fraction(x) for x in ("0.5", "0.1", "1e-3", "1e-6", "1e-10"))

Masses: TypeAlias = tuple[Fraction, ...]


def _masses(text: str) -> Masses:
    return tuple(Fraction(x) for x in text.split())


FINITE_PAIRS: tuple[tuple[str, Masses, Masses], ...] = (
    ("a fair and a biased coin", _masses("1/2 1/2"), _masses("3/4 1/4")),
    ("randomized response", _masses("3/4 1/4"), _masses("1/4 3/4")),
    ("three of many", _masses("1/2 1/4 1/8 1/8"), _masses("1/8 1/2 1/4 1/8")),
    ("a rare outcome", _masses("999/1000 1/2000 1/2000"), _masses("998/1000 1/2000 3/2000")),
    ("six outcomes", _masses("1/21 2/21 3/21 4/21 5/21 6/21"), _masses("6/21 5/21 4/21 3/21 2/21 1/21")),
)
"""Pairs of exact distributions with finite losses, small enough to try every event."""


def events(p: Masses, q: Masses) -> Iterator[tuple[Fraction, Fraction]]:
    """P(E) and Q(E) of every event but the empty one."""
    for chosen in product((False, True), repeat=len(p)):
        if any(chosen):
            inside = [i for i, is_in in enumerate(chosen) if is_in]
            yield sum((p[i] for i in inside), Fraction(0)), sum((q[i] for i in inside), Fraction(0))


def excess(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction], epsilon: Fraction) -> tuple[Fraction, Ball]:
    """Pr[L > ε] and δ(ε) = Σ (p − e^ε q)₊, outcome by outcome."""
    odds = ball(epsilon).exp()
    bad = [y for y, a in p.items() if ball(a) > odds * ball(q.get(y, Fraction(0)))]
    tail, other = (sum((law.get(y, Fraction(0)) for y in bad), Fraction(0)) for law in (p, q))
    return tail, ball(tail) - odds * ball(other)


def datasets(universe: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Every list of `size` records from the universe."""
    return product(universe, repeat=size)


def replacements(data: tuple[int, ...], universe: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every dataset in which one record is replaced."""
    for place, record in product(range(len(data)), universe):
        yield (*data[:place], record, *data[place + 1 :])


def largest_loss(p: Sequence[Ball], q: Sequence[Ball]) -> Ball:
    """max |ln p/q| over outcomes, for unnormalised or normalised weights as given."""
    return largest(abs((a / b).log()) for a, b in zip(p, q, strict=True))


def largest(values: Iterable[Ball]) -> Ball:
    """The largest of some balls, as a ball."""
    found = Ball(0)
    for value in values:
        found = found.max(value)
    return found


def normalised(weights: Sequence[Ball]) -> list[Ball]:
    """Weights as probabilities."""
    total = sum(weights, Ball(0))
    return [weight / total for weight in weights]


def normal_tail(x: Ball) -> Ball:
    """P[N(0, 1) > x]."""
    return (x / Ball(2).sqrt()).erfc() / 2


def gaussian_delta(variance: Ball, epsilon: Ball) -> Ball:
    """δ(ε) of N(0, σ²) on a value of Δ₂ = 1: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = 1/σ."""
    mu = 1 / variance.sqrt()
    return normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)


def zero(scale: Fraction | int) -> Ball:
    """Pr[noise = 0] of integer noise ∝ e^{−|x|/scale}: (1 − q)/(1 + q), q = e^{−1/scale}."""
    return (1 / (2 * ball(scale))).tanh()


def root(square: Fraction | int) -> Ball:
    """√square."""
    return ball(square).sqrt()
