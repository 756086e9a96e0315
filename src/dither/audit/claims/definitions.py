"""D1 to D4 and D7: the definitions, as statements that can be false.

Each is compared with a second way to the same number: every event of a finite pair, every pair of neighbours in a
small world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations, product

from flint import acb

from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, at_most, claim, equal, implemented
from dither.exact import Ball, ball
from dither.guarantees import (
    hockey_stick,
    indistinguishable,
    multiplicative_distance,
    privacy_loss,
    pure_three_ways,
    total_variation,
)
from dither.pairs.gaussian import GaussianPair
from dither.sensitivity import world

__all__ = ["d1", "d2", "d3", "d4", "d7"]

_NUDGE = Fraction(1, 10**9)


@claim(
    "D1",
    "S0 1.1",
    "Pure DP in its three forms (every event, every output, privacy loss at most ε) is one and the same promise.",
    "P(E) ≤ e^ε P′(E) for all E  ⇔  P(y) ≤ e^ε P′(y) for all y  ⇔  L ≤ ε",
)
def d1(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """All three turn from false to true at one ε: the largest |ln p(y)/p′(y)|."""
    for name, p, q in grid.FINITE_PAIRS:
        turn = Fraction(multiplicative_distance(p, q)) * exponent
        every_event = grid.largest(abs((ball(a) / ball(b)).log()) for a, b in grid.events(p, q))
        yield equal("smallest ε", every_event, ball(turn), pair=name)
        above, below = (pure_three_ways(p, q, turn * (1 + nudge)) for nudge in (_NUDGE, -_NUDGE))
        yield equal("forms that hold", 3, sum(above), pair=name, at="just above that ε")
        yield equal("forms that hold", 0, sum(below), pair=name, at="just below that ε")


@claim(
    "D2",
    "S1, S3, S4",
    "(ε, δ)-DP: P(E) ≤ e^ε P′(E) + δ for every event E, in both directions.",
    "P(E) ≤ e^ε P′(E) + δ",
)
def d2(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The smallest δ over all events, both ways round, is where `indistinguishable` turns."""
    for (name, p, q), epsilon in product(grid.FINITE_PAIRS, (Fraction(0), *grid.EPSILONS[1:4])):
        odds = ball(exponent * epsilon).exp()
        smallest = grid.largest(ball(a) - odds * ball(b) for pair in ((p, q), (q, p)) for a, b in grid.events(*pair))
        found = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        yield equal("smallest δ", smallest, found, pair=name, ε=epsilon)
        if found:
            delta = Fraction(found)
            answers = [indistinguishable(p, q, epsilon, delta * (1 + nudge)) for nudge in (_NUDGE, -_NUDGE)]
            yield equal("kept just above, not just below", 1, int(answers == [True, False]), pair=name, ε=epsilon)


@claim(
    "D3",
    "S0",
    "Privacy loss L = ln p/p′, its distribution, and the profile δ(ε) = E[(1 − e^{ε−L})₊].",
    "δ(ε) = E[(1 − e^{ε−L})₊]",
)
def d3(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The mean over the loss against the best event: a sum for finite pairs, a certified integral for normal ones."""
    for (name, p, q), epsilon in product(grid.FINITE_PAIRS, grid.EPSILONS[1:4]):
        expected = Ball(0)
        for odds, probability in privacy_loss(p, q).atoms:
            assert odds is not None, "these pairs have finite losses"
            part = 1 - (ball(exponent) * (ball(epsilon) - ball(odds).log())).exp()
            expected += ball(probability) * part.max(Ball(0))
        yield equal("δ(ε)", expected, hockey_stick(p, q, epsilon), pair=name, ε=epsilon)
    for mu, epsilon in product((Fraction(1, 2), Fraction(1), Fraction(3)), grid.EPSILONS[1:5]):
        yield equal(
            "δ(ε)", _gaussian_mean(mu, epsilon, exponent), GaussianPair(mu**2).profile(ball(epsilon)), μ=mu, ε=epsilon
        )


def _gaussian_mean(mu: Fraction, epsilon: Fraction, exponent: Fraction) -> Ball:
    """∫ (1 − e^{c(ε−ℓ)}) dN(μ²/2, μ²)(ℓ) over ℓ > ε, up to 16 deviations; the rest is below 1e-56."""
    mean, deviation, start = ball(mu**2 / 2), ball(mu), ball(epsilon)

    def integrand(x: acb, _: bool) -> acb:
        density = (-((x - mean) ** 2) / (2 * deviation**2)).exp() / (deviation * (2 * Ball.pi()).sqrt())
        return (1 - (ball(exponent) * (start - x)).exp()) * density

    inside: Ball = acb.integral(integrand, acb(start), acb(start + mean + 16 * deviation)).real
    return inside + Ball(0).union(Ball(10) ** -56)


@claim(
    "D4",
    "S2",
    "d◇ = sup |ln P(E)/P′(E)| makes pure DP a metric; total variation is sup |P(E) − P′(E)|.",
    "d◇(P, R) ≤ d◇(P, Q) + d◇(Q, R)",
)
def d4(weight: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The triangle inequality, with equality along randomized response; both suprema over every event."""
    odds = [Fraction(2) ** n for n in (-2, -1, 0, 1, 2)]
    coins = [(odd / (1 + odd), 1 / (1 + odd)) for odd in odds]
    for p, q, r in permutations(coins, 3):
        way = ball(weight) * (Ball(multiplicative_distance(p, q)) + Ball(multiplicative_distance(q, r)))
        direct = grid.largest_loss([ball(x) for x in p], [ball(x) for x in r])
        yield at_most("d◇", way, direct, P=p[0], Q=q[0], R=r[0])
    for name, p6, q6 in grid.FINITE_PAIRS:
        both = list(grid.events(p6, q6))
        ratio = grid.largest(abs((ball(a) / ball(b)).log()) for a, b in both)
        yield equal("d◇ over all events", ball(weight) * ratio, multiplicative_distance(p6, q6), pair=name)
        gap = max(abs(a - b) for a, b in both)
        yield equal("TV over all events", ball(gap), total_variation(p6, q6), pair=name)


@claim(
    "D7",
    "S2, S3",
    "A statistical query is the mean over n records of φ: X → [0, 1]: replacing one record moves it by at most 1/n, "
    "each of a workload of k alike.",
    "Δ = 1/n",
)
def d7(reach: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Three queries on a universe of four kinds of record, all datasets of up to three records."""
    universe = range(4)
    queries: dict[str, Callable[[int], Fraction]] = {
        "is it 0?": lambda x: Fraction(int(x == 0)),
        "x/3": lambda x: Fraction(x, 3),
        "half or none": lambda x: Fraction(x % 2, 2),
    }
    for n in range(1, 4):
        moves = {name: Fraction(0) for name in queries}
        for data in grid.datasets(universe, n):
            for other in grid.replacements(data, universe):
                for name, query in queries.items():
                    gap = abs(sum((query(x) - query(y) for x, y in zip(data, other, strict=True)), Fraction(0))) / n
                    moves[name] = max(moves[name], gap)
        everything = world(universe, n)
        for name, move in moves.items():
            yield at_most("Δ", reach / n, move, query=name, n=n)
            stated = everything.sensitivity(partial(_mean, queries[name]))
            yield implemented("Δ that the library finds", move, stated, query=name, n=n)
        together = everything.sensitivity(lambda data: [_mean(query, data) for query in queries.values()])
        yield at_most("Δ₁ of a workload of three", 3 * reach / n, Fraction(together), n=n)


def _mean(query: Callable[[int], Fraction], data: Sequence[int]) -> Fraction:
    return sum(map(query, data), Fraction(0)) / len(data)
