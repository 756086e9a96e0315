"""C20 and C21: propose-test-release, and what it does for data without bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.special import ndtri

from dither.accounting import compose
from dither.audit.claims import grid
from dither.audit.claims.claim import (
    Evidence,
    Figure,
    at_most,
    claim,
    counterexample,
    equal,
    exceeds,
    implemented,
    refused,
)
from dither.estimators.unbounded import default_blocks, unbounded_mean, unbounded_median
from dither.exact import Ball, ball
from dither.mechanisms import NoAnswer, ProposeTestRelease
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.pair import Pair
from dither.pairs.tested import TestedPair
from dither.sensitivity import Median, distance_to_sensitivity

__all__ = ["c20", "c21"]

_BUDGETS = [(Fraction(e), Fraction(d)) for e in ("1", "0.5") for d in ("1e-6", "1e-3")]


@claim(
    "C20",
    "S1",
    "Propose-test-release: answer f(D) + (ηa/ε)Z₂ when distance + (a/ε)Z₁ > 1 + b/ε, the distance being that to the "
    "nearest dataset whose local sensitivity exceeds η. Laplace noise, a = 1, b = ln(2/δ): (2ε, δ), and "
    "b = ln(1/(2δ)) − ε suffices; Gaussian noise, a = √(2 ln(1.25/δ)), b = a²: (2ε, 2e^ε δ + δ²). With the distance "
    "to a dataset whose value differs by more than η, as printed, it is not private.",
    "(2ε, δ) with b = ln(2/δ); (2ε, 2e^ε δ + δ²)",
)
def c20(
    numerator: Fraction = Fraction(2),
    gaussian: Fraction = Fraction(5, 4),
    tight: Fraction = Fraction(1, 2),
    move: int = 1,
) -> Iterator[Evidence]:
    """The exact joint cost of test and answer, over all distances; the 301 records on which the printed count jumps."""
    for epsilon, delta in _BUDGETS:
        bound = ball(numerator / delta).log()
        exact = _laplace(epsilon, bound)
        yield at_most("δ, Laplace noise", ball(delta), exact, ε=epsilon, δ=delta)
        tightest = _laplace(epsilon, ball(tight / delta).log() - ball(epsilon))
        yield equal("δ, Laplace noise and b = ln(1/(2δ)) − ε", ball(delta), tightest, ε=epsilon, δ=delta)
    for epsilon, delta in _BUDGETS:
        promise = 2 * ball(epsilon).exp() * ball(delta) + ball(delta) ** 2
        square = 2 * ball(gaussian / delta).log()
        yield at_most("δ, Gaussian noise", promise, _gaussian(epsilon, square), ε=epsilon, δ=delta)
    yield from _parts()
    yield from _of_the_library()
    yield from _own_parameters()
    yield from _textbook_laplace(numerator)
    yield from _textbook_gaussian(gaussian)
    yield from _tight_tests()
    yield from _neighbours(move)
    yield Figure("threshold 1 + b/ε, textbook over tight, ε = 1/2, δ = 1e-6", _thresholds("textbook", "tight"))


def _parts() -> Iterator[Evidence]:
    """What the joint cost is made of, from its definition: profiles of the answer, and distances."""
    for noise, rule in product(("laplace", "gaussian"), ("tight", "textbook")):
        no = refused(lambda noise=noise, rule=rule: _median(noise, rule))  # type: ignore[misc]
        yield equal("refused by the library's own check", 0, no, noise=noise, b=rule)
    for loss in (Fraction(1, 4), Fraction(1, 2)):
        exact, stated = 1 - ball((loss - 1) / 2).exp(), LaplacePair(Fraction(1)).profile(ball(loss))
        yield implemented("δ(ε) of an answer with Laplace noise", exact, stated, ε=loss)
        exact, stated = grid.gaussian_delta(Ball(1), ball(loss)), GaussianPair(Fraction(1)).profile(ball(loss))
        yield implemented("δ(ε) of an answer with Gaussian noise", exact, stated, ε=loss)
    a = ball(Fraction(-1, 2)).exp()  # of test and answer at ε = ½ each: nothing is left but the answer at distance 0
    joint = TestedPair(DiscreteLaplacePair(Fraction(2)), 30, LaplacePair(Fraction(1, 2))).profile(Ball(1))
    yield implemented("δ(ε) of test and answer", a**31 / (1 + a), joint, T=30)
    yield from _evenly_spaced()


def _evenly_spaced() -> Iterator[Evidence]:
    """Records 1 apart: t of them changed leave a gap of t + 1 at the median, so that η is exceeded at t = η."""
    for limit in (1, 5, 40):
        found = distance_to_sensitivity(Median((-1000, 1000)), range(101), limit)
        yield implemented("distance that the library states", limit, int(found), η=limit)


def _of_the_library() -> Iterator[Evidence]:
    """What accounting makes of the events of all four kinds, and what is outside the range of its theorem."""
    for noise, threshold in product(("laplace", "gaussian"), ("tight", "textbook")):
        mechanism = _median(noise, threshold)
        found = compose([mechanism.event]).delta(1)
        yield at_most("δ that accounting reads from an event", ball(mechanism.delta), found, noise=noise, b=threshold)
        if noise == "laplace":  # all losses of test and answer are at most 2ε: what is left is the answer at distance 0
            a = ball(-mechanism.split.test).exp()
            leak = a ** (mechanism.split.threshold + 1) / (1 + a)
            yield implemented("δ that accounting reads, whole distances", leak, found, b=threshold)
    yield equal("textbook Gaussian noise refused at 2ε = 2", 1, refused(lambda: _median("gaussian", "textbook", 2)))


def _own_parameters() -> Iterator[Evidence]:
    """a and b of one's own: those of the theorem give its test, a tenth less of either noise is refused."""
    delta = Fraction(1, 10**6)
    b = Fraction(float(ball(2 / delta).log()))

    def built(a: Fraction) -> ProposeTestRelease:
        return ProposeTestRelease(Median((0, 10)), limit=5, epsilon=1, delta=delta, a=a, b=b)

    made, printed = built(Fraction(1)), _median("laplace", "textbook")
    yield implemented("T for a = 1 and b = ln(2/δ)", printed.split.threshold, made.split.threshold)
    yield implemented("mean error for a = 1", ball(10), made.expected_error)
    yield equal("a = 0.9 is refused", 1, refused(lambda: built(Fraction(9, 10))))


def _textbook_laplace(numerator: Fraction) -> Iterator[Evidence]:
    """Threshold, both noises, and the chance of an answer at each distance, as the mechanism has them."""
    for epsilon in (Fraction(1), Fraction(1, 50)):
        delta, part, at = Fraction(1, 10**6), epsilon / 2, {"noise": "laplace", "2ε": epsilon}
        made = ProposeTestRelease(Median((0, 10)), limit=5, epsilon=epsilon, delta=delta, threshold="textbook")
        threshold = _whole(1 + ball(numerator / delta).log() / ball(part))
        yield implemented("T that the test uses", threshold, made.split.threshold, **at)
        yield implemented("ε of the test", part, made.split.test, **at)
        yield implemented("ε of the answer", part, made.split.answer, **at)
        yield implemented("mean error of the answer", ball(5 / part), made.expected_error, **at)
        a = ball(-part).exp()
        for ahead in (0, 3, 40):  # P[X₁ > −k] = 1 − a^k/(1 + a) for k ≥ 0
            passes = 1 - a**ahead / (1 + a)
            found = made.answer_probability(threshold + ahead)
            yield implemented("probability of an answer", passes, found, beyond_T=ahead, **at)
        needed = made.needed_distance("0.05")
        for distance, point in ((needed, exceeds), (needed - 1, at_most)):
            passes = 1 - a ** (distance - threshold) / (1 + a)
            yield point("probability of an answer at the distance that is needed", Fraction(19, 20), passes, **at)


def _textbook_gaussian(gaussian: Fraction) -> Iterator[Evidence]:
    """a² = 2 ln(1.25/δ₁) with 2e^{ε₁}δ₁ + δ₁² = δ, for the test and for the answer."""
    for epsilon in (Fraction(1), Fraction(1, 50)):
        delta, part, at = Fraction(1, 10**6), epsilon / 2, {"noise": "gaussian", "2ε": epsilon}
        made = ProposeTestRelease(
            Median((0, 10)), limit=5, epsilon=epsilon, delta=delta, noise="gaussian", threshold="textbook"
        )
        odds = ball(part).exp()
        square = 2 * (ball(gaussian) / ((odds**2 + ball(delta)).sqrt() - odds)).log()
        sigma = square.sqrt() / ball(part)
        yield implemented("T that the test uses", _whole(1 + square / ball(part)), made.split.threshold, **at)
        yield implemented("σ² of the test", sigma**2, ball(made.split.test), **at)
        yield implemented("1/σ² of the answer", 1 / sigma**2, ball(made.split.answer), **at)
        yield implemented("mean error of the answer", 5 * sigma * (2 / Ball.pi()).sqrt(), made.expected_error, **at)


def _tight_tests() -> Iterator[Evidence]:
    """What leaks at distance 0 is at most δ, and a smaller threshold, or a little less noise, would break (ε, δ)."""
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    split = _median("laplace", "tight").split
    yield at_most("δ that leaks at distance 0", delta, DiscreteLaplacePair(1 / split.test).tail(split.threshold))
    less = DiscreteLaplacePair(2 / epsilon).tail(split.threshold - 1)
    yield exceeds("δ that leaks at a threshold of one less", delta, less, noise="laplace")
    yield equal("ε of test and answer", epsilon, split.test + split.answer, noise="laplace")
    split = _median("gaussian", "tight").split
    test = DiscreteGaussianPair(split.test)
    yield implemented("Pr[noise > T]", _beyond(split.threshold, split.test), test.tail(split.threshold))
    yield at_most("δ that leaks at distance 0", delta, test.tail(split.threshold))
    kept, broken = (
        TestedPair(test, split.threshold, GaussianPair(split.answer * more)).profile(ball(epsilon))
        for more in (1, Fraction(102, 100))
    )
    yield at_most("δ of test and answer", delta, kept, noise="gaussian")
    yield exceeds("δ with 1 % less noise on the answer", delta, broken, noise="gaussian")


def _whole(value: Ball) -> int:
    """⌊value⌋, where it is certain."""
    found = value.floor().unique_fmpz()
    assert found is not None
    return int(found)


def _median(noise: str, threshold: str, epsilon: int = 1) -> ProposeTestRelease:
    return ProposeTestRelease(Median((0, 10)), limit=5, epsilon=epsilon, delta="1e-6", noise=noise, threshold=threshold)


def _thresholds(first: str, second: str) -> Fraction:
    tests = [_median("laplace", rule).split.threshold for rule in (first, second)]
    return Fraction(tests[0], tests[1])


def _beyond(far: int, variance: Fraction) -> Ball:
    """Pr[X > far] of integer noise ∝ e^{−x²/2σ²}, summed to 20 deviations; the rest is below 10⁻⁸⁰."""
    weights = [ball(-(x**2) / (2 * variance)).exp() for x in range(20 * math.isqrt(math.ceil(variance)) + 20)]
    return sum(weights[far + 1 :], Ball(0)) / (2 * sum(weights, Ball(0)) - 1)


def _laplace(epsilon: Fraction, bound: Ball) -> Ball:
    """δ(2ε) of continuous Laplace noise with a = 1."""

    def tail(x: Ball) -> Ball:
        """P[Z > x]."""
        return (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2

    return _joint(epsilon, lambda d: bound + ball(epsilon * (1 - d)), tail, LaplacePair(epsilon), far=60)


def _gaussian(epsilon: Fraction, square: Ball) -> Ball:
    """δ(2ε) of continuous Gaussian noise with a² = b = `square`; the answer has μ = ε/a, from above."""
    slope = square.sqrt()
    mu_squared = Fraction(float((ball(epsilon) ** 2 / square).upper())) * (1 + Fraction(1, 10**15))
    answer = GaussianPair(mu_squared)
    return _joint(epsilon, lambda d: (square + ball(epsilon * (1 - d))) / slope, grid.normal_tail, answer, far=14)


def _joint(
    epsilon: Fraction, place: Callable[[int], Ball], tail: Callable[[Ball], Ball], answer: Pair, far: int
) -> Ball:
    """The largest δ(2ε) over neighbouring distances: an answer comes at distance d with probability tail(place(d)).

    (m − e^{2ε}m′)₊ + p·δ(2ε + ln p′/p), and p(0) where both are at distance 0; m = 1 − p, without cancellation. Beyond
    place(d) = −far there is no answer with a probability below 1e-26, and the rest is δ(2ε) of the answer.
    """
    total = ball(2 * epsilon)
    best = tail(place(0)).max(answer.profile(total))
    farthest = math.ceil(float(place(0) + far) / float(place(0) - place(1)))
    for d in range(1, farthest):
        for here, there in ((d, d - 1), (d - 1, d)):
            p, q = tail(place(here)), tail(place(there))
            nothing = (tail(-place(here)) - total.exp() * tail(-place(there))).max(Ball(0))
            best = best.max(nothing + p * answer.profile(total + (q / p).log()))
    return best


def _neighbours(move: int) -> Iterator[Evidence]:
    """How far the distance moves: over all small datasets, and for 301 records as printed."""
    median, domain = Median((0, 9)), (0, 1, 4, 9)
    for size, limit in product((3, 4), (1, 3, 5)):
        found = {data: distance_to_sensitivity(median, data, limit) for data in product(domain, repeat=size)}
        largest = max(
            abs(here - found[other])
            for data, here in found.items()
            for other in ((*data[:-1], x) for x in domain)
            if here != found[other]
        )
        yield at_most("distance moves between neighbours", move, int(largest), n=size, η=limit)
    near, far = [0] * 150 + [5] + [10] * 150, [0] * 151 + [10] * 150
    counts = [_printed_count(data, 5) for data in (near, far)]
    yield counterexample("distance moves between neighbours, as printed", 1, abs(counts[0] - counts[1]), n=301, η=5)
    threshold = 1 + ball(2 * Fraction(10**6)).log()
    often = 1 - (threshold - counts[0]).exp() / 2
    seldom = (counts[1] - threshold).exp() / 2
    promised = Ball(2).exp() * seldom + ball(Fraction(1, 10**6))
    yield counterexample("probability of an answer, as printed", promised, often, n=301, η=5, ε=1, δ="1e-06")
    yield Figure("probability of an answer for 301 records, as printed", often)
    yield Figure("and for their neighbours", seldom)
    yield Figure(
        "and for their neighbours with b = ln(1/(2δ))", (counts[1] - 1 - ball(Fraction(10**6, 2)).log()).exp() / 2
    )


def _printed_count(data: list[int], limit: int) -> int:
    """How many records must be replaced for the median to differ by more than η: not what may be tested."""
    records, middle = sorted(data), len(data) // 2
    value = records[middle]
    moved = (max(records[middle + k] - value, value - records[middle - k]) for k in range(1, middle + 1))
    return next((k for k, far in enumerate(moved, start=1) if far > limit), middle + 1)


@claim(
    "C21",
    "S1",
    "Median and mean of unbounded data: the median by propose-test-release with a scale of order 1/n, whatever the "
    "other records are; the mean by the median of k block means, off by more than 2s√(k/n) with probability e^{−k/8} "
    "at most.",
    "e^{−k/8}",
)
def c21(rate: Fraction = Fraction(1, 8), width: Fraction = Fraction(8, 5)) -> Iterator[Evidence]:
    """Chebyshev: a block mean is off with probability 1/4 at most; the median of k only if half of them are."""
    for blocks in (8, 16, 32, 64, 128, 256):
        exact = sum(math.comb(blocks, j) * 3 ** (blocks - j) for j in range((blocks + 1) // 2, blocks + 1))
        yield at_most(
            "P[median of block means is off]", (-ball(rate * blocks)).exp(), Fraction(exact, 4**blocks), k=blocks
        )
    test = _median("laplace", "tight")
    needed = test.needed_distance()
    yield from _evenly_spaced()
    a = ball(-test.split.test).exp()
    for distance, point in ((needed, exceeds), (needed - 1, at_most)):
        answered = 1 - a ** (distance - test.split.threshold) / (1 + a)
        yield point("probability of an answer at the distance that is needed", Fraction(19, 20), answered)
    root = (2 * Ball.pi()).sqrt()
    for n, outliers in product((1_000, 10_000, 100_000), (Fraction(0), Fraction(1, 20))):
        data = ndtri((np.arange(n) + 0.5) / n)
        data[: int(n * outliers / 2)], data[n - int(n * outliers / 2) :] = -1e300, 1e300
        scale = next(x for x in _scales() if distance_to_sensitivity(Median(None), data, x) >= needed)
        # (t + 1)√(2π)/n is the length that t + 1 records of a normal sample take up at the median.
        promise = ball(width * (needed + 1)) * root / n
        yield at_most("η that the test allows, normal data", promise, scale, n=n, far_away=outliers)
    yield from _answers()
    yield Figure("records that must change for an answer in doubt, ε = 1, δ = 1e-6", needed)


def _answers() -> Iterator[Evidence]:
    """Both estimators on records around 10⁶ with two far away: bounds of no use, and an error of a few hundredths.

    An answer may be withheld once in twenty times, and lies beyond the stated reach once in 10⁹: the chance that this
    check fails without cause is below 10⁻⁸.
    """
    n, delta = 20_000, Fraction(1, 10**6)
    data = 10**6 + ndtri((np.arange(n) + 0.5) / n)
    data[0], data[-1] = -1e12, 1e9
    estimators = {"median": (unbounded_median, Fraction(1, 10)), "mean": (unbounded_mean, Fraction(1, 5))}
    for name, (estimator, reach) in estimators.items():
        tries = (estimator(data, epsilon=1, delta="1e-6") for _ in range(_TRIES))
        found = next(each for each in tries if not isinstance(each.value, NoAnswer))
        cost = compose([found.event]).epsilon(delta)
        yield at_most("ε that accounting reads from the event", _ROUNDED, cost, estimator=name)
        yield at_most("least ε that it may read", ball(Fraction(cost) * _ROUNDED), Ball(1), estimator=name)
        yield implemented("δ that the estimate states", ball(delta), found.guarantee.delta(1), estimator=name)
        low, high = found.interval(1 - 1e-9)
        yield at_most("lower end of the interval", Fraction(10**6), Fraction(low), estimator=name)
        yield at_most("truth, against the upper end", Fraction(high), Fraction(10**6), estimator=name)
        # 0.1 are 800 records around the median, 0.2 are 200 block means; the closer look misses by 14 of them.
        yield at_most("|estimate − truth|", reach, abs(Fraction(found.value) - 10**6), estimator=name)
        yield at_most("reach of the interval", Fraction(100), Fraction(high - low), estimator=name)
    for size in (10**6, 10**8):
        blocks = default_blocks(1, "1e-6", "laplace", size)
        yield implemented("blocks for n records: 2√n", 2 * math.isqrt(size), blocks, n=size)


_TRIES = 8
_ROUNDED = 1 + Fraction(1, 10**5)
"""Accounting rounds losses up to a grid."""


def _scales() -> Iterator[Fraction]:
    """2^k and 1.5·2^k, from small to large."""
    for exponent in range(-40, 40):
        yield Fraction(2) ** exponent
        yield Fraction(3, 2) * Fraction(2) ** exponent
