"""Brackets of compositions against brute force: never on the wrong side, and narrow."""

import warnings
from collections.abc import Iterator
from fractions import Fraction
from math import isfinite

import pytest
from flint import arb, ctx

from dither.accounting import Bracket, Composition, WideBracket, of_pairs
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.subsampled import poisson
from dither.pairs.two_point import TwoPointPair
from tests.oracle import compositions as oracle
from tests.oracle.points import Points, stream

pytestmark = pytest.mark.property

WIDE = 0.2
"""Brackets may be this wide here: what is tested is on which side they err."""


@pytest.fixture(autouse=True)
def wide_brackets_are_fine() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)
        yield


def both_ways(groups: list[tuple[Pair, int]], **options: float) -> Composition:
    return of_pairs(groups, relative_width=options.get("width", WIDE))


def check(composed: Composition, profiles: list[oracle.Profile], delta: Fraction) -> Bracket:
    """The bracket on ε holds for the larger of all profiles; so does the one on δ at its upper end."""
    found = composed.bracket(delta)

    def worst(epsilon: arb) -> arb:
        values = [profile(epsilon) for profile in profiles]
        return values[0] if len(values) == 1 else values[0].max(values[1])

    if not isfinite(found.upper):
        return found
    assert found.lower <= found.upper
    assert oracle.is_bracket(worst, delta, found.lower, found.upper), (found, delta)
    where = Fraction(found.upper) * Fraction(7, 8)
    low, high = composed.delta_bracket(where)
    with ctx.workprec(oracle.BITS):
        truth = worst(oracle.real(where))
    assert not truth < arb(low), (low, truth)
    assert not truth > arb(high), (high, truth)
    return found


def finite_case(points: Points) -> None:
    groups: list[tuple[Pair, int]] = []
    masses = []
    for _ in range(2):
        p, q = points.masses(3), points.masses(3)
        times = int(points.size(0, 0.7))
        groups.append((FinitePair(tuple(p), tuple(q)), times))
        masses.append((p, q, times))
    profiles = [oracle.finite_product(masses), oracle.finite_product([(q, p, times) for p, q, times in masses])]
    check(both_ways(groups), profiles, points.size(-12, -1))


def response_case(points: Points) -> None:
    odds, times = 1 + points.size(-3, 1), int(points.size(0, 2.3))
    delta = points.size(-15, -1)
    found = check(both_ways([(TwoPointPair(odds=odds), times)], width=1e-4), [oracle.responses(odds, times)], delta)
    assert found.upper - found.lower <= 1e-4 * found.upper


def mixed_case(points: Points) -> None:
    """Laplace and Gaussian noise together: an atom at each end, and a tail."""
    largest, mu = points.size(-2, 0.5), points.size(-1.5, 0.3)
    profile = oracle.laplace_then(largest, oracle.gaussian(mu))
    check(both_ways([(LaplacePair(largest), 1), (GaussianPair(mu**2), 1)]), [profile], points.size(-12, -2))


def sampled_case(points: Points) -> None:
    mu, rate, other = points.size(-0.5, 0.4), points.probability(-3), points.size(-0.7, 0.2)
    rest = oracle.gaussian(other)
    profiles = [oracle.sampled_gaussian_then(mu, rate, rest, add=add) for add in (False, True)]
    check(
        both_ways([(poisson(GaussianPair(mu**2), rate), 1), (GaussianPair(other**2), 1)]), profiles, points.size(-9, -2)
    )


CASES = {"finite": finite_case, "responses": response_case, "mixed": mixed_case, "sampled": sampled_case}
FEW = {"finite": 30, "responses": 20, "mixed": 10, "sampled": 5}


@pytest.mark.parametrize("name", CASES)
def test_a_bracket_is_on_the_right_sides(name: str) -> None:
    for points in stream(f"composition {name}", FEW[name]):
        CASES[name](points)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_many_brackets_are_on_the_right_sides(name: str) -> None:
    for points in stream(f"nightly composition {name}", 50 * FEW[name]):
        CASES[name](points)
