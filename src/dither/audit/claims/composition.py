"""C1, C3, C25, C29 and C30: many answers at once, and how their costs and errors grow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from dither.accounting import compose
from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, equal, exceeds, implemented
from dither.estimators.solving import solve
from dither.events import LaplaceNoise, Repeated, SparseVectorRun
from dither.exact import Ball, ball
from dither.guarantees import PureDP, hockey_stick, indistinguishable, privacy_loss, tail_condition
from dither.mechanisms import Gaussian, Laplace, SparseVector
from dither.mechanisms.gaussian_calibration import largest_mu_squared
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.noise import Law as NoiseLaw
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair

__all__ = ["c1", "c3", "c25", "c29", "c30"]

Law: TypeAlias = Mapping[Any, Fraction]

_NUDGE = Fraction(1, 10**9)


@claim(
    "C1",
    "S0 1.2",
    "If Pr[L > ε] ≤ δ in both directions, then (ε, δ)-DP.",
    "δ = Pr[L > ε]",
)
def c1(share: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The exact δ(ε) = E[(1 − e^{ε−L})₊] is smaller; equal only where the loss is infinite."""
    record = Fraction(1, 4)
    mine: Law = {0: record, 1: record, 2: record, 3: record}
    moved: Law = {0: record, 1: record, 2: record, "other": record}
    for epsilon in (Fraction(0), *grid.EPSILONS):
        yield from _by_tail(share, mine, moved, epsilon, pair="one of four records published", ε=epsilon)
    for (name, p, q), epsilon in product(grid.FINITE_PAIRS, grid.EPSILONS[:4]):
        here, there = dict(enumerate(p)), dict(enumerate(q))
        yield from _by_tail(share, here, there, epsilon, pair=name, ε=epsilon)
        # `tail_condition` turns from false to true at that tail, and what it allows is indeed indistinguishable.
        tail = max(grid.excess(here, there, epsilon)[0], grid.excess(there, here, epsilon)[0])
        for delta, holds in ((tail, 1), (tail * (1 - _NUDGE), int(not tail))):
            found = tail_condition(p, q, epsilon, delta)
            yield implemented("tail condition", holds, int(found), pair=name, ε=epsilon, δ=delta)
            implied = not found or indistinguishable(p, q, epsilon, delta)
            yield equal("what the tail condition implies", 1, int(implied), pair=name, ε=epsilon, δ=delta)
    for mu, epsilon in product((Fraction(1, 10), Fraction(1), Fraction(5)), grid.EPSILONS):
        exact, stated = grid.gaussian_delta(ball(1 / mu**2), ball(epsilon)), GaussianPair(mu**2).profile(ball(epsilon))
        at: dict[str, object] = {"pair": "Gaussian", "μ": mu, "ε": epsilon}
        yield at_most("δ(ε)", ball(share) * grid.normal_tail(ball(epsilon / mu - mu / 2)), exact, **at)
        yield implemented("δ(ε) that the library states", exact, stated, **at)
    for top, part in product((Fraction(1), Fraction(4)), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))):
        reached, at = ball((part - 1) * top / 2).exp(), {"pair": "Laplace", "ε0": top, "ε": part * top}
        yield at_most("δ(ε)", ball(share) * (1 - reached / 2), 1 - reached, **at)
        stated = LaplacePair(top).profile(ball(part * top))
        yield implemented("δ(ε) that the library states", 1 - reached, stated, **at)
    gain = grid.normal_tail(Ball(4.5)) / GaussianPair(Fraction(1)).profile(Ball(5))
    yield Figure("Pr[L > 5] over δ(5) for Gaussian noise, μ = 1", gain)


def _by_tail(share: Fraction, p: Law, q: Law, epsilon: Fraction, **at: object) -> Iterator[Evidence]:
    """Both directions, outcome by outcome, and what the library states of each."""
    for here, there in ((p, q), (q, p)):
        tail, exact = grid.excess(here, there, epsilon)
        yield at_most("δ(ε)", ball(share * tail), exact, **at)
        yield implemented("Pr[L > ε] that the library states", tail, privacy_loss(here, there).tail(epsilon), **at)
        yield implemented("δ(ε) that the library states", exact, hockey_stick(here, there, epsilon), **at)


@claim(
    "C3",
    "S4 L3",
    "k releases that are ε-DP each cost at most kε.",
    "kε",
)
def c3(factor: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Tight at δ = 0; at δ > 0 the exact cost, through the loss distribution, is far smaller."""
    for epsilon, releases in product((Fraction(1, 10), Fraction(1)), (1, 2, 10, 100)):
        exact = compose([PureDP(epsilon)] * releases).epsilon(0)
        yield equal("ε of all, δ = 0", ball(factor * releases * epsilon), exact, k=releases, ε=epsilon)
    for releases, delta in product((10, 100), (Fraction(1, 10**6), Fraction(1, 100))):
        exact = compose([PureDP(Fraction(1, 10))] * releases).epsilon(delta)
        yield at_most("ε of all at δ", ball(factor * releases / 10), exact, k=releases, ε="0.1", δ=delta)
        if (releases, delta) == (100, Fraction(1, 10**6)):
            yield Figure("ε of 100 releases at 0.1-DP each, δ = 1e-6 (textbook 10)", exact)


@claim(
    "C25",
    "S3",
    "The largest error of k queries is at most α except with probability β once n is large enough: "
    "k ln(k/β)/(εα) for Laplace, √(4k ln(1.25/δ) ln(2k/β))/(εα) for Gaussian noise.",
    "n = k ln(k/β)/(εα), or √(4k ln(1.25/δ) ln(2k/β))/(εα)",
)
def c25(laplace: Fraction = Fraction(1), gaussian: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The exact chance that the largest of k errors is beyond α: 1 − P[|Z| ≤ α]^k. (α and 1/n scale out: α = 1/ε.)"""
    for queries, beta in product((1, 10, 1000), (Fraction(1, 20), Fraction(1, 10**6))):
        # n·εα = k ln(k/β), and the scale is k/(nε): α is ln(k/β) scales.
        far = ball(laplace) * ball(queries / beta).log()
        yield at_most("Pr[max error > α], Laplace", beta, 1 - (1 - (-far).exp()) ** queries, k=queries, β=beta)
    for queries, beta, delta in product((1, 10, 1000), (Fraction(1, 20), Fraction(1, 10**6)), (Fraction(1, 10**6),)):
        # σ = √(2 ln(1.25/δ))·√k/(nε): α is √(2 ln(2k/β)) deviations.
        far = ball(gaussian) * (2 * ball(2 * queries / beta).log()).sqrt()
        missed = 1 - (1 - 2 * grid.normal_tail(far)) ** queries
        yield at_most("Pr[max error > α], Gaussian", beta, missed, k=queries, β=beta, δ=delta)
    for queries, beta in product((1, 30), (Fraction(1, 20), Fraction(1, 10**6))):
        yield from _planned(queries, beta, Fraction(1, 2), Fraction(1, 10**6))
    yield from _sample_sizes(1000, Fraction(1, 20), Fraction(1, 10**6))


def _planned(queries: int, beta: Fraction, epsilon: Fraction, delta: Fraction) -> Iterator[Evidence]:
    """The planner's n for α = 1/10: enough by the law that is drawn, hardly more, and no more than the textbook's."""
    for option in solve(queries, accuracy="0.1", confidence=1 - beta, epsilon=epsilon, delta=delta).options:
        at: dict[str, object] = {"noise": option.noise, "k": queries, "β": beta}
        law: NoiseLaw = DiscreteLaplace(queries / epsilon)
        beyond = ball(-epsilon / queries).exp() ** 6 / (1 + ball(-epsilon / queries).exp())
        if option.noise == "gaussian":
            made = Gaussian(sensitivity_squared=queries, epsilon=epsilon, delta=delta, dimension=queries)
            yield implemented(
                "σ² of the noise", queries / ball(largest_mu_squared(epsilon, delta)), ball(made.variance)
            )
            assert made.for_integers is not None
            law = made.for_integers.law
            assert isinstance(law, DiscreteGaussian)
            beyond = _normal_beyond(law.variance, 5)
        yield implemented("Pr[noise > 5]", beyond, law.tail(5), **at)
        reach = int(option.value) // 10
        missed, nearer = (1 - (1 - 2 * law.tail(far)) ** queries for far in (reach, reach - 2))
        yield at_most("Pr[max error > α] at the planner's n", beta, missed, **at)
        yield exceeds("Pr[max error > α] a little below it", beta, nearer, **at)
        # The textbook speaks of continuous noise, which may be a fraction of a count nearer.
        assert option.textbook is not None
        yield at_most(
            "n of the planner, against the textbook's and one count", option.textbook + 10, option.value, **at
        )


def _normal_beyond(variance: Fraction, far: int) -> Ball:
    """Pr[X > far] of integer noise ∝ e^{−x²/2σ²}, summed to 20 deviations; the rest is below 10⁻⁸⁰."""
    reach = 20 * math.isqrt(math.ceil(variance)) + 20
    weights = {x: ball(-(x**2) / (2 * variance)).exp() for x in range(reach)}
    return sum((weights[x] for x in range(far + 1, reach)), Ball(0)) / (2 * sum(weights.values(), Ball(0)) - 1)


def _sample_sizes(queries: int, beta: Fraction, delta: Fraction) -> Iterator[Figure]:
    """Textbook n over the n that suffices, ε = 1/2: exact quantile of the maximum, and exact noise for (ε, δ)."""
    each = -(ball(1 - beta).log() / queries).expm1()
    yield Figure(
        "n of the textbook over the exact n, Laplace, k = 1000, β = 0.05", ball(queries / beta).log() / -each.log()
    )
    epsilon = Fraction(1, 2)
    printed = (4 * queries * ball(Fraction(5, 4) / delta).log() * ball(2 * queries / beta).log()).sqrt() / ball(epsilon)
    exact = (queries / ball(largest_mu_squared(epsilon, delta))).sqrt() * Ball(2).sqrt() * each.erfcinv()
    yield Figure("n of the textbook over the exact n, Gaussian, k = 1000, β = 0.05, ε = 0.5, δ = 1e-6", printed / exact)


@claim(
    "C29",
    "S0",
    "In dimension k, Gaussian noise grows as √k and Laplace noise as k; with δ > 0, composition is cheaper than kε.",
    "σ ∝ √k against b ∝ k",
)
def c29(gaussian: Fraction = Fraction(1, 2), laplace: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Each of k coordinates moves by at most 1: Δ₂ = √k, Δ₁ = k. Standard deviations at equal ε; exact calibration."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    one = 1 / ball(largest_mu_squared(epsilon, delta)).sqrt()
    for k in (1, 4, 100, 10**4):
        noise = Gaussian(sensitivity_squared=k, epsilon=epsilon, delta=delta).variance
        yield equal("σ in dimension k", one * ball(k) ** ball(gaussian), ball(noise).sqrt(), k=k)
        scale = Laplace(sensitivity=k, epsilon=epsilon).scale
        yield equal("b in dimension k", ball(k) ** ball(laplace) / ball(epsilon), ball(scale), k=k)
    yield implemented("δ of the smallest σ", ball(delta), grid.gaussian_delta(one**2, ball(epsilon)), ε=epsilon)
    alone = ball(epsilon) + 2 * ball(1 - delta).log()  # δ(ε′) = 1 − e^{(ε′ − ε)/2}
    yield implemented(
        "ε of one Laplace release at δ = 1e-6", alone, compose([LaplaceNoise(Fraction(1))]).epsilon(delta)
    )
    for k in (25, 400):
        cost = compose([Repeated(LaplaceNoise(Fraction(k)), k)]).epsilon(delta)
        yield at_most("ε of k Laplace releases at δ = 1e-6", ball(epsilon), cost, k=k)
    cross = crossover(epsilon, delta)
    for k, point in ((cross, at_most), (cross - 1, exceeds)):
        wide = Ball(2).sqrt() * k / ball(epsilon)
        yield point("Gaussian deviation against Laplace's at the cross-over", wide, one * ball(k).sqrt(), k=k)
    yield Figure("cross-over dimension, ε = 1, δ = 1e-6", cross)


def crossover(epsilon: Fraction, delta: Fraction) -> int:
    """The first k in which Gaussian noise has the smaller deviation: σ₁√k ≤ √2·k/ε, that is k ≥ (σ₁ε)²/2."""
    return max(math.ceil(epsilon**2 / (2 * largest_mu_squared(epsilon, delta))), 1)


@claim(
    "C30",
    "S4 notes",
    "Sparse vector: with noise Lap(Δ/ε₁) on the threshold and Lap(2cΔ/ε₂) on each query, everything until the c-th "
    "answer above costs ε₁ + ε₂, however many are below.",
    "ε = Δ/b₁ + 2cΔ/b₂",
)
def c30(per_answer: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """Integer noise, c = 1: the exact probability of each answer sequence, summed over the threshold's noise."""
    for first, second, below in product((1, 2), (1, 4), (0, 1, 8, 40)):
        promised = Fraction(1, first) + per_answer / second
        here, there = [0] * below + [-6], [1] * below + [-7]
        loss = grid.largest_loss([_stops_at_the_end(first, second, here)], [_stops_at_the_end(first, second, there)])
        yield at_most("ε", ball(promised), loss, b1=first, b2=second, below=below)
        # c = 2 (the second above comes last) and monotone values, which drop the 2.
        twice = [_stops_at_the_end(first, second, v, above=v[-1:]) for v in (here, there)]
        promised_twice = Fraction(1, first) + 2 * per_answer / second
        yield at_most("ε, c = 2", ball(promised_twice), grid.largest_loss(twice[:1], twice[1:]), b1=first, b2=second)
        risen = [_stops_at_the_end(first, second, values) for values in ([0] * below + [-7], [1] * below + [-6])]
        promised = Fraction(1, first) + per_answer / 2 / second
        yield at_most("ε, monotone", ball(promised), grid.largest_loss(risen[:1], risen[1:]), b1=first, b2=second)
    for scale in (1, 2, 4):  # what the probabilities are made of, of integer noise: q = e^{−1/scale}
        law, q = DiscreteLaplace(scale), ball(-Fraction(1, scale)).exp()
        yield implemented("Pr[noise = 0]", grid.zero(scale), law.pmf(0), scale=scale)
        yield implemented("Pr[noise ≤ 0]", 1 / (1 + q), law.cdf(0), scale=scale)
        yield implemented("Pr[noise > 0]", q / (1 + q), law.tail(0), scale=scale)
    monotone = compose([SparseVectorRun(Fraction(1), Fraction(4), max_above=2, monotone=True)]).epsilon(0)
    yield implemented("ε that accounting states, c = 2, monotone", ball(1 + per_answer / 4), monotone)
    event = SparseVectorRun(Fraction(1), Fraction(4), max_above=3)
    stated = compose([event]).epsilon(0)
    yield implemented("ε that accounting states, c = 3", ball(1 + per_answer * 3 / 4), stated)
    built = SparseVector(threshold=10, epsilon=1)
    yield implemented("ε that the mechanism states", Ball(1), compose([built.event]).epsilon(0))
    run = built.event
    assert isinstance(run, SparseVectorRun)
    used = 1 / run.threshold_scale + per_answer / run.query_scale
    yield implemented("ε of the scales that the mechanism uses", Fraction(1), used)


def _stops_at_the_end(first: int, second: int, values: Sequence[int], above: Sequence[int] = ()) -> Ball:
    """Pr[all values but the last are below T + ρ, that and those of `above` are not], T = 0; noise on ℤ, b₁ and b₂."""
    threshold, noise = DiscreteLaplace(first), DiscreteLaplace(second)
    reach = 120 * first
    total = Ball(0)
    for rho in range(-reach, reach + 1):
        chance = threshold.pmf(rho) * noise.tail(rho - values[-1] - 1)
        for value in above:
            chance *= noise.tail(rho - value - 1)
        for value in set(values[:-1]):
            chance *= noise.cdf(rho - value - 1) ** values[:-1].count(value)
        total += chance
    # What is left out has probability 2·P[ρ > reach] at most.
    return total + Ball(0).union(2 * threshold.tail(reach))
