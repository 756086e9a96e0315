"""Finite distributions by brute force: every event is looked at.

Slow and naive on purpose. Shares no code with dither: exact fractions, and python-flint at 600 bits.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import wraps
from itertools import product
from typing import ParamSpec, TypeVar

from flint import arb, ctx, fmpq

BITS = 600

Given = ParamSpec("Given")
Found = TypeVar("Found")

Masses = list[Fraction]


def at_full_precision(compute: Callable[Given, Found]) -> Callable[Given, Found]:
    """Run at `BITS`, and leave the precision as it was: dither must not borrow ours."""

    @wraps(compute)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        with ctx.workprec(BITS):
            return compute(*args, **kwargs)

    return run


def real(value: Fraction | int) -> arb:
    """An exact number as a ball; the caller sets the precision."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def events(p: Masses, q: Masses) -> Iterator[tuple[Fraction, Fraction]]:
    """(P(E), Q(E)) for every event E, the empty one included."""
    for chosen in product((0, 1), repeat=len(p)):
        yield (
            sum((a for a, c in zip(p, chosen, strict=True) if c), Fraction(0)),
            sum((b for b, c in zip(q, chosen, strict=True) if c), Fraction(0)),
        )


@at_full_precision
def delta(p: Masses, q: Masses, epsilon: Fraction) -> arb:
    """max over events of P(E) − e^ε Q(E)."""
    odds = real(epsilon).exp()
    values = [real(a) - odds * real(b) for a, b in events(p, q)]
    best = values[0]
    for value in values[1:]:
        best = best.max(value)
    return best


def worst_delta(p: Masses, q: Masses, epsilon: Fraction) -> arb:
    """The same in both directions."""
    return delta(p, q, epsilon).max(delta(q, p, epsilon))


def tradeoff(p: Masses, q: Masses, alpha: Fraction) -> Fraction:
    """The smallest type II error of a randomized test at type I error alpha, exactly.

    A randomized test mixes two events; the best is on the lower hull of the points (P(E), 1 − Q(E)).
    """
    points = sorted({(a, 1 - b) for a, b in events(p, q)})
    best = min((miss for alarm, miss in points if alarm == alpha), default=Fraction(1))
    left = [point for point in points if point[0] < alpha]
    right = [point for point in points if point[0] > alpha]
    for a, b in left:
        for c, d in right:
            best = min(best, b + (d - b) * (alpha - a) / (c - a))
    return best


@at_full_precision
def renyi(p: Masses, q: Masses, order: Fraction) -> arb:
    """D_α(P‖Q) = ln Σ p^α q^{1−α} / (α − 1), for positive masses."""
    exponent = real(order)
    total = arb(0)
    for a, b in zip(p, q, strict=True):
        if a:
            total += (exponent * real(a).log() + (1 - exponent) * real(b).log()).exp()
    return total.log() / (exponent - 1)
