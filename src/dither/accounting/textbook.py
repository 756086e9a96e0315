"""Composition as in the textbooks, for comparison. Each is valid and none is tight; `compose` is.

All bounds are rounded up. k = `releases`, each (ε, δ)-DP.
"""

from __future__ import annotations

from fractions import Fraction

from dither.exact import Ball, Number, ball, check, precision, rational, upper
from dither.exact.inverse import root_bracket

__all__ = ["advanced", "basic", "optimal_homogeneous"]

_BITS = 128


def basic(epsilon: Number, releases: int, delta: Number = 0) -> tuple[Fraction, Fraction]:
    """(kε, kδ): Dwork, McSherry, Nissim and Smith 2006; claim C3.

    >>> basic("0.1", 100)
    (Fraction(10, 1), Fraction(0, 1))
    """
    each, leak = _checked(epsilon, releases, delta)
    return each * releases, min(leak * releases, Fraction(1))


def advanced(epsilon: Number, releases: int, slack: Number, delta: Number = 0) -> tuple[float, Fraction]:
    """(ε√(2k ln(1/δ′)) + kε(e^ε − 1), kδ + δ′), δ′ = `slack`: Dwork, Rothblum and Vadhan 2010, Theorem III.3.

    >>> advanced("0.1", 100, "1e-6")
    (6.30823..., Fraction(1, 1000000))
    """
    each, leak = _checked(epsilon, releases, delta)
    prime = rational(slack, "slack")
    check.between(0, 1, slack=prime)
    with precision(_BITS):
        e = ball(each)
        total = e * (2 * releases * -ball(prime).log()).sqrt() + releases * e * e.expm1()
        return upper(total), min(leak * releases + prime, Fraction(1))


def optimal_homogeneous(epsilon: Number, releases: int, target: Number, delta: Number = 0) -> float:
    """The smallest ε′ at δ′ = `target` for k copies of (ε, δ)-DP: Kairouz, Oh and Viswanath 2015, Theorem 3.3.

    1 − δ′ = (1−δ)^k (1 − δ₀(ε′)) with δ₀(ε′) = Σ_j C(k, j) (e^{jε} − e^{ε′ + (k−j)ε})₊ / (1+e^ε)^k. For k copies of one
    guarantee this is exact, and `compose` agrees with it.
    """
    each, leak = _checked(epsilon, releases, delta)
    goal = rational(target, "target")
    check.probability(target=goal)
    kept = (1 - leak) ** releases
    if 1 - kept > goal:
        return float("inf")
    rest = 1 - (1 - goal) / kept if kept else Fraction(1)
    with precision(_BITS + releases // 4):
        return root_bracket(lambda e: _binomial_profile(e, each, releases), rest, upper(ball(each * releases)))[1]


def _binomial_profile(total: Ball, epsilon: Fraction, releases: int) -> Ball:
    odds, u = ball(epsilon).exp(), total.exp()
    coefficient = Ball(1)
    powers = [Ball(1)]
    for _ in range(releases):
        powers.append(powers[-1] * odds)
    found = Ball(0)
    for j in range(releases, -1, -1):
        term = powers[j] - u * powers[releases - j]
        if term <= 0:
            break
        found += coefficient * term.nonnegative_part()
        coefficient = coefficient * j / (releases - j + 1)
    return found / (1 + odds) ** releases


def _checked(epsilon: Number, releases: int, delta: Number) -> tuple[Fraction, Fraction]:
    each, leak = rational(epsilon, "epsilon"), rational(delta, "delta")
    check.nonnegative(epsilon=each)
    check.probability(delta=leak)
    check.count(releases=releases)
    return each, leak
