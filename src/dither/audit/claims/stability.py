"""C22 to C24, C26 and C27: total variation, workloads, and what an attacker can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product

from dither.adjacency import REPLACE_ONE
from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, counterexample, equal, implemented, refused
from dither.exact import Ball, ball
from dither.guarantees import ApproxDP, GaussianDP, PureDP, best_guess, hockey_stick, largest_posterior
from dither.mechanisms import Gaussian, Histogram
from dither.pairs.gaussian import GaussianPair
from dither.pairs.two_point import approximate
from dither.workloads import Workload

__all__ = ["c22", "c23", "c24", "c26", "c27"]


@claim(
    "C22",
    "S2 0.2",
    "A statistical query on m records answered with N(0, σ²) is TV-stable with 2Φ(1/(2mσ)) − 1 ≤ 1/(√(2π)·m·σ). "
    "The notes print 1/√(2πmσ), which is false for mσ < 1.",
    "1/√(2πmσ)  (corrected: 1/(√(2π)·m·σ))",
)
def c22(factor: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The exact distance is that of N(0, 1) and N(1/(mσ), 1)."""
    root = (2 * Ball.pi()).sqrt()
    for spread in (Fraction(x) for x in ("0.1", "0.5", "1", "2", "10", "1000")):
        exact = 1 - 2 * grid.normal_tail(ball(1 / (2 * spread)))
        yield at_most("TV", ball(factor) / (root * ball(spread)), exact, mσ=spread)
        yield implemented("TV that the library states", exact, GaussianDP(1 / spread).tv(), mσ=spread)
    half = Fraction(1, 2)
    printed = 1 / (2 * Ball.pi() * ball(half)).sqrt()
    truth = 1 - 2 * grid.normal_tail(ball(1 / (2 * half)))
    yield counterexample("TV", printed, truth, mσ=half)
    yield Figure("true TV at mσ = 0.5", truth)
    yield Figure("printed TV at mσ = 0.5", printed)


@claim(
    "C23",
    "S2 0.6",
    "ε-DP implies TV ≤ ½(e^ε − 1); exactly tanh(ε/2), and (e^ε − 1 + 2δ)/(e^ε + 1) with δ.",
    "TV ≤ ½(e^ε − 1)",
)
def c23(half: Fraction = Fraction(1, 2), tight: Fraction = Fraction(1, 2)) -> Iterator[Evidence]:
    """Randomized response attains tanh(ε/2); with probability δ it gives the data away, for the other formula."""
    for epsilon in grid.EPSILONS:
        odds = ball(epsilon).exp()
        response = [odds / (1 + odds), 1 / (1 + odds)]
        attained = response[0] - response[1]
        yield at_most("TV", ball(half) * ball(epsilon).expm1(), attained, ε=epsilon)
        yield equal("TV, exactly", ball(tight * epsilon).tanh(), attained, ε=epsilon)
        yield implemented("TV that the library states", ball(tight * epsilon).tanh(), PureDP(epsilon).tv(), ε=epsilon)
        for delta in (Fraction(1, 10**6), Fraction(1, 10)):
            printed = (odds - 1 + 2 * ball(delta)) / (odds + 1)
            worst = approximate(epsilon, delta).profile(Ball(0))
            yield equal("TV with δ", printed, worst, ε=epsilon, δ=delta)
            yield implemented("TV with δ, as stated", printed, ApproxDP(epsilon, delta).tv(), ε=epsilon, δ=delta)
    yield Figure("½(e^ε − 1) over tanh(ε/2) at ε = 1", Ball(1).expm1() / 2 / Ball(0.5).tanh())


@claim(
    "C24",
    "S3",
    "A workload of k counting queries has Δ₁ ≤ k/n and Δ₂ ≤ √k/n under replace-one.",
    "Δ₁ = k/n, Δ₂ = √k/n",
)
def c24(first: Fraction = Fraction(1), second: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The exact sensitivity of a 0/1 matrix: its two columns that differ most. Attained where they differ in all."""
    n = 10
    for name, matrix in _WORKLOADS.items():
        k = len(matrix)
        columns = list(zip(*matrix, strict=True))
        moves = [sum(abs(a - b) for a, b in zip(x, y, strict=True)) for x, y in product(columns, repeat=2)]
        yield at_most("Δ₁", first * k / n, Fraction(max(moves), n), workload=name, k=k, n=n)
        # Entries are 0 or 1, so the squared ℓ₂ distance is the ℓ₁ distance.
        yield at_most("Δ₂²", second**2 * k / n**2, Fraction(max(moves), n**2), workload=name, k=k, n=n)
        yield from _stated(Workload.matrix(matrix), max(moves), name)
        if name == "histogram":
            yield Figure("Δ₁ promised over exact, histogram of eight bins", Fraction(k, max(moves)))
    yield from _stated(Workload.prefix(8), 7, "thresholds and all, as ranges")
    yield from _stated(Workload.marginals((2, 2, 2), 1), 6, "bits and their complements, as marginals")


def _stated(workload: Workload, exact: int, name: str) -> Iterator[Evidence]:
    yield implemented("Δ₁ that the library states", exact, workload.sensitivity(1, REPLACE_ONE), workload=name)
    yield implemented("Δ₂² that the library states", exact, workload.sensitivity_squared(REPLACE_ONE), workload=name)


_WORKLOADS: dict[str, list[list[int]]] = {
    "thresholds": [[int(x <= t) for x in range(8)] for t in range(7)],
    "histogram": [[int(x == bin) for x in range(8)] for bin in range(8)],
    "bits": [[x >> bit & 1 for x in range(8)] for bit in range(3)],
    "parities": [[(x & mask).bit_count() % 2 for x in range(8)] for mask in range(1, 8)],
}


@claim(
    "C26",
    "S1, S3",
    "δ must be far below 1/n: publishing one random record is (0, 1/n)-DP, and no better at any ε; δ ≥ 1/n is refused "
    "unless explicitly allowed.",
    "δ = 1/n",
)
def c26(records: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """One record of n, drawn evenly; on the neighbour the last one is somebody else."""
    for n, epsilon in product((1000, 1, 2, 10), (Fraction(0), Fraction(1), Fraction(10))):
        here = {f"record {i}": Fraction(1, n) for i in range(n)}
        there = {f"record {i}": Fraction(1, n) for i in range(n - 1)} | {"another": Fraction(1, n)}
        exact = max(hockey_stick(here, there, epsilon), hockey_stick(there, here, epsilon))
        yield equal("δ(ε)", ball(records / n), exact, n=n, ε=epsilon)
    built: dict[str, Callable[..., object]] = {
        "histogram": partial(Histogram, epsilon=1),
        "Gaussian noise": partial(Gaussian, sensitivity=1, epsilon=1),
    }
    for name, build in built.items():
        for (delta, n), allowed in product((("0.01", 100), ("1e-6", 10**6), ("0.5", 3)), (False, True)):
            no = refused(partial(build, delta=delta, n=n, allow_large_delta=allowed))
            yield equal("δ ≥ 1/n refused", int(not allowed), no, by=name, δ=delta, n=n, allowed=allowed)
        no = refused(partial(build, delta="0.0099", n=100))
        yield equal("δ < 1/n refused", 0, no, by=name, δ="0.0099", n=100)


@claim(
    "C27",
    "S4",
    "Membership inference: any attack has TPR ≤ e^ε FPR + δ; bad outcomes become at most e^ε times likelier (+δ).",
    "TPR = e^ε·FPR + δ",
)
def c27(odds: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The best attack at each false positive rate, by Neyman and Pearson: the likeliest outcomes first.

    Against the pair that (ε, δ)-DP allows, and against all finite pairs, with their own δ(ε).
    """
    rates = [Fraction(x) for x in ("0.0001", "0.01", "0.1", "0.3", "0.5", "0.9")]
    for epsilon, rate in product((Fraction(1, 10), Fraction(1), Fraction(3)), rates):
        for delta in (Fraction(0), Fraction(1, 10**6), Fraction(1, 20)):
            bound = ball(odds) * ball(epsilon).exp() * ball(rate) + ball(delta)
            best = _best_attack(*_worst_pair(epsilon, delta), ball(rate))
            yield at_most("TPR", bound, best, ε=epsilon, δ=delta, FPR=rate)
            known = ApproxDP(epsilon, delta).true_positive_rate(rate)
            yield implemented("TPR that the library states", best, known, ε=epsilon, δ=delta, FPR=rate)
        for name, p, q in grid.FINITE_PAIRS:
            best = _best_attack([ball(x) for x in p], [ball(x) for x in q], ball(rate))
            exact, stated = grid.excess(dict(enumerate(p)), dict(enumerate(q)), epsilon)[1], hockey_stick(p, q, epsilon)
            bound = ball(odds) * ball(epsilon).exp() * ball(rate) + exact
            yield at_most("TPR against a finite pair", bound, best, pair=name, ε=epsilon, FPR=rate)
            yield implemented("δ(ε) that the library states", exact, stated, pair=name, ε=epsilon)
        exact = grid.gaussian_delta(Ball(1), ball(epsilon))
        bound, known = ball(odds) * ball(epsilon).exp() * ball(rate) + exact, GaussianDP(1).true_positive_rate(rate)
        yield at_most("TPR against Gaussian noise, μ = 1", bound, known, ε=epsilon, FPR=rate)
        threshold = Ball(2).sqrt() * (2 * ball(rate)).erfcinv() if rate <= Fraction(1, 2) else None
        if threshold is not None:  # the best test rejects beyond it
            yield implemented("TPR of the best test, μ = 1", grid.normal_tail(threshold - 1), known, FPR=rate)
        stated_ball = GaussianPair(Fraction(1)).profile(ball(epsilon))
        yield implemented("δ(ε) that the library states", exact, stated_ball, pair="Gaussian, μ = 1", ε=epsilon)
    for epsilon, prior in product((Fraction(1, 10), Fraction(1), Fraction(3)), (Fraction(1, 100), Fraction(1, 2))):
        yield from _beliefs(epsilon, prior)
    yield Figure("best TPR at FPR 1 %, ε = 1 (bound e/100)", PureDP(1).true_positive_rate(Fraction(1, 100)))


def _worst_pair(epsilon: Fraction, delta: Fraction) -> tuple[list[Ball], list[Ball]]:
    """With probability δ the truth is told; otherwise randomized response. Likeliest under P first."""
    odds, leak, none = ball(epsilon).exp(), ball(delta), Ball(0)
    often, seldom = (1 - leak) * odds / (1 + odds), (1 - leak) / (1 + odds)
    return [leak, often, seldom, none], [none, seldom, often, leak]


def _best_attack(p: list[Ball], q: list[Ball], rate: Ball) -> Ball:
    """The largest P(test) with Q(test) = rate: outcomes by falling p/q, the last one by chance."""
    found, left = Ball(0), rate
    for a, b in sorted(zip(p, q, strict=True), key=lambda both: -float(both[0] / both[1]) if both[1] > 0 else -1e300):
        if not b > 0:
            found += a
            continue
        share = (left / b).min(Ball(1)).max(Ball(0))
        found, left = found + share * a, left - share * b
    return found


def _beliefs(epsilon: Fraction, prior: Fraction) -> Iterator[Evidence]:
    """By Bayes, for each outcome of randomized response: what the attacker may conclude, and how often rightly."""
    (member, other), at = _response(epsilon), {"ε": epsilon, "prior": prior}
    shares = [(ball(prior) * a, ball(1 - prior) * b) for a, b in zip(member, other, strict=True)]
    surest = grid.largest(a / (a + b) for a, b in shares)
    yield implemented("posterior", surest, largest_posterior(PureDP(epsilon), prior), **at)
    right = sum((a.max(b) for a, b in shares), Ball(0))
    yield implemented("how often the best guess is right", right, best_guess(PureDP(epsilon), prior), **at)


def _response(epsilon: Fraction) -> tuple[list[Ball], list[Ball]]:
    odds = ball(epsilon).exp()
    member = [odds / (1 + odds), 1 / (1 + odds)]
    return member, member[::-1]
