"""C28: stable answers to adaptively chosen questions hold on the population."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dither.adaptive.routes import GaussianRoute, Splitting, rows_needed
from dither.adaptive.transfer import printed
from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, equal, exceeds, implemented
from dither.exact import Ball, ball
from dither.guarantees import PureDP

__all__ = ["c28"]

_BETA = Fraction(1, 20)
_COARSE = ball(Fraction(1001, 1000))
"""How far the best ε of a grid may be from the best of all, and a route from both by rounding."""


@claim(
    "C28",
    "S2, S4",
    "DP and TV stability imply generalisation: adaptively chosen statistical queries answered through the mechanism "
    "are accurate on the population, within ES_β(noise) + tanh(ε/4) + 2δ(ε)/((1 + e^{ε/2})β) for every ε, except with "
    "probability β.",
    "q(posterior) − q(population) ≤ e^ε − 1 + 2d except with probability δ/d",
)
def c28(
    growth: Fraction = Fraction(1),
    rate: Fraction = Fraction(1, 4),
    leak: Fraction = Fraction(1),
    stable: Fraction = Fraction(1, 2),
) -> Iterator[Evidence]:
    """One row, shown by randomized response, or as it is with probability δ; and one whole promise, computed."""
    for epsilon in (Fraction(x) for x in ("0.01", "0.1", "0.5", "1", "2", "5")):
        moved = _moved_by_a_response(epsilon)
        yield at_most("q(posterior) − q(population)", ball(growth) * ball(epsilon).expm1(), moved, ε=epsilon)
        yield equal("the same, exactly", ball(rate * epsilon).tanh(), moved, ε=epsilon)
        yield from _by_total_variation(epsilon, stable)
        for delta, kinds in ((Fraction(1, 10**6), 10**3), (Fraction(1, 10), 2), (Fraction(1, 2), 10**6)):
            shown = ball(delta * (1 - Fraction(1, kinds)))  # the row is told: q = 1 on its kind, and 1/kinds before
            bound = ball(rate * epsilon).tanh() * ball(delta) + ball(leak) * 2 * ball(delta) / (
                1 + ball(epsilon / 2).exp()
            )
            yield at_most("the same, summed over what gives a row away", bound, shown, ε=epsilon, δ=delta, kinds=kinds)
    yield from _one_question()
    yield from _figures()


def _moved_by_a_response(epsilon: Fraction) -> Ball:
    """P(one | one was told) − p, p being the share of ones in the population where this is largest, 1/(1 + e^{ε/2})."""
    odds, share = ball(epsilon).exp(), 1 / (1 + ball(epsilon / 2).exp())
    return share * odds / (share * odds + 1 - share) - share


def _by_total_variation(epsilon: Fraction, stable: Fraction) -> Iterator[Evidence]:
    """The mean of |q(posterior) − q(population)| over the answers, against half the total variation of the answers.

    A row is 1 with probability p, and is told by randomized response: Σ P(y)·|P(1 | y) − p| = 2p(1 − p)·TV, and 1/2 of
    TV at p = 1/2. TV is summed over the outcomes, and is what the guarantee states.
    """
    odds = ball(epsilon).exp()
    one, zero = (odds / (1 + odds), 1 / (1 + odds)), (1 / (1 + odds), odds / (1 + odds))
    distance = sum((abs(a - b) for a, b in zip(one, zero, strict=True)), Ball(0)) / 2
    yield implemented("TV that the guarantee states", distance, PureDP(epsilon).tv(), ε=epsilon)
    for p in (Fraction(1, 2), Fraction(1, 10)):
        moved = Ball(0)
        for a, b in zip(one, zero, strict=True):
            seen = ball(p) * a + ball(1 - p) * b
            moved += abs(ball(p) * a / seen - ball(p)) * seen
        yield at_most("mean of |q(posterior) − q(population)|", ball(stable) * distance, moved, ε=epsilon, p=p)


def _one_question() -> Iterator[Evidence]:
    """A share p of the population has a property: the exact chance that an answer misses p by more than promised."""
    rows = 400
    route = GaussianRoute.best(rows, 1, _BETA)
    bound, spread = ball(Fraction(route.error(_BETA))), ball(route.mean.scale) * Ball(2).sqrt()
    yield from _by_formula(bound, route.mean.scale, rows)
    for p in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)):
        missed, chance = Ball(0), ball(1 - p) ** rows
        for count in range(rows + 1):
            off = ball(Fraction(count, rows) - p)
            missed += chance * (((bound - off) / spread).erfc() + ((bound + off) / spread).erfc()) / 2
            chance *= ball(Fraction(rows - count, count + 1) * p / (1 - p))
        yield at_most("chance that an answer misses the population", ball(_BETA), missed, p=p, n=rows)


def _by_formula(stated: Ball, sigma: Fraction, rows: int) -> Iterator[Evidence]:
    """σ·ES_β(|Z|) + min over ε of tanh(ε/4) + 2δ(ε)/((1 + e^{ε/2})β): ES_β = 2φ(z)/β of one answer, Pr[|Z| > z] = β."""
    z = Ball(2).sqrt() * ball(_BETA).erfcinv()
    shortfall = 2 * (-(z**2) / 2).exp() / (2 * Ball.pi()).sqrt() / ball(_BETA)
    variance = ball((rows * sigma) ** 2)  # of noise on a value of sensitivity 1
    steps = (Ball(i) / (40 * variance.sqrt()) for i in range(400))
    gaps = [(e / 4).tanh() + 2 * grid.gaussian_delta(variance, e) / ((1 + (e / 2).exp()) * ball(_BETA)) for e in steps]
    promised = ball(sigma) * shortfall + min(gaps, key=float)
    yield at_most("what the route promises, hardly more", promised * _COARSE, stated, n=rows)
    yield at_most("what the route promises, hardly less", stated * _COARSE, promised, n=rows)


def _figures() -> Iterator[Evidence]:
    asked, queries = Fraction(1, 20), 1000
    needed, split = (rows_needed(way, asked, _BETA, queries) for way in (GaussianRoute, Splitting))
    assert needed is not None
    assert split is not None
    promised = GaussianRoute.best(needed, queries, _BETA).error(_BETA)
    yield at_most("accuracy from the rows that suffice", asked, promised, n=needed, k=queries)
    fewer = GaussianRoute.best(needed * 99 // 100, queries, _BETA).error(_BETA)
    yield exceeds("accuracy from one in a hundred fewer", asked, fewer, n=needed * 99 // 100, k=queries)
    yield exceeds("accuracy by the printed theorem", promised, printed(needed, queries, _BETA), n=needed, k=queries)
    yield Figure("rows for 1,000 queries within 0.05, 95 %", needed)
    yield Figure("rows that splitting needs", split)
    yield Figure("accuracy that the printed theorem promises from the former", printed(needed, queries, _BETA))
