"""C2, C4 to C8 and C10: noise on numbers, Laplace and Gaussian."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
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
from dither.events import LaplaceNoise
from dither.exact import Ball, ball
from dither.guarantees import ZCDP, GaussianDP, to_zcdp
from dither.mechanisms import Gaussian, Histogram, Laplace, normal_tail_bound
from dither.mechanisms.gaussian_calibration import largest_mu_squared, textbook_variance
from dither.noise import DiscreteLaplace
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair

__all__ = ["c2", "c4", "c5", "c6", "c7", "c8", "c10"]

_SMALL_EPSILONS = tuple(Fraction(x) for x in ("0.01", "0.1", "0.5", "0.9", "0.999"))
_DIGITS = Fraction(1, 10**10)


@claim(
    "C2",
    "S0 3.1, S1, S2 0.5, S4 L3",
    "Laplace noise of scale Δ₁/ε on each coordinate is ε-DP, and no smaller scale is: not ε′-DP for any ε′ < ε. The "
    "slide prints the second half with the scale Δ₁/ε′, which is ε′-DP.",
    "b = Δ₁/ε; b = Δ₁/ε′ is not ε′-DP for ε′ < ε  (corrected: b = Δ₁/ε)",
)
def c2(scale: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The largest privacy loss of integer noise, from its exact probabilities; of vectors, by the worst move in ℓ₁."""
    for sensitivity, epsilon in product((1, 3), grid.EPSILONS[::-1]):
        law = DiscreteLaplace(scale * sensitivity / epsilon)
        places = range(-2 * sensitivity, 3 * sensitivity + 1)
        loss = grid.largest(abs((law.pmf(x) / law.pmf(x - sensitivity)).log()) for x in places)
        yield equal("ε", ball(epsilon), loss, ε=epsilon, Δ=sensitivity)
        yield implemented("Pr[noise = 0]", grid.zero(law.scale), law.pmf(0), ε=epsilon, Δ=sensitivity)
        known = Laplace(sensitivity=sensitivity, scale=scale * sensitivity / epsilon)
        yield implemented(
            "ε that the mechanism states", ball(epsilon), known.guarantee.epsilon(0), ε=epsilon, Δ=sensitivity
        )
    law = DiscreteLaplace(scale * 4)
    for moves in ((4, 0, 0), (1, 1, 2), (-2, 1, -1)):
        loss = sum((abs((law.pmf(0) / law.pmf(move)).log()) for move in moves), Ball(0))
        yield equal("ε of a vector, Δ₁ = 4", ball(1), loss, move=moves)
    for epsilon in grid.EPSILONS:
        less = LaplacePair(epsilon).profile(ball(epsilon * (1 - _DIGITS)))
        yield exceeds("δ just below ε: no smaller scale would do", Ball(0), less, ε=epsilon)
        half = 1 - ball(-epsilon / 4).exp()  # δ(ε′) = 1 − e^{(ε′ − ε)/2}, at ε′ = ε/2
        yield implemented(
            "δ(ε/2) that the library states", half, LaplacePair(epsilon).profile(ball(epsilon / 2)), ε=epsilon
        )
        drawn = Laplace(sensitivity=1, epsilon=epsilon).scale
        yield implemented("scale that the mechanism uses", scale / epsilon, drawn, ε=epsilon)
    yield Figure("exact δ at ε/2, where the textbook says nothing (ε = 1)", LaplacePair(Fraction(1)).profile(Ball(0.5)))


@claim(
    "C4",
    "S0 4.1",
    "Gaussian tail: Pr[|Z| > tσ] ≤ 2/(t√(2π)) e^{−t²/2}.",
    "2/(t√(2π)) e^{−t²/2}",
)
def c4(factor: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """Against erfc(t/√2), which is exact."""
    for t in (Fraction(x) for x in ("0.1", "0.5", "1", "2", "3", "5", "10", "20")):
        bound = ball(factor) / (ball(t) * (2 * Ball.pi()).sqrt()) * ball(-(t**2) / 2).exp()
        yield at_most("Pr[|Z| > tσ]", bound, 2 * grid.normal_tail(ball(t)), t=t)
        yield implemented("bound that the library states", bound, normal_tail_bound(t), t=t)
        if t == 1:
            yield Figure("bound over truth at t = 1", bound / (2 * grid.normal_tail(ball(t))))


@claim(
    "C5",
    "S0 4.2",
    "σ² = 2Δ² ln(2/δ)/ε² gives (ε, δ)-DP for 0 < ε ≤ 1 and 0 < δ ≤ 1/2; refused outside that range.",
    "σ² = 2Δ² ln(2/δ)/ε²",
)
def c5(factor: Fraction = Fraction(2), numerator: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """The exact δ of that much noise. At ε = 8, δ = 0.1 it would be 1.41 times the promise; refused."""

    def variance(epsilon: Fraction, delta: Fraction) -> Ball:
        return ball(factor) * ball(numerator / delta).log() / ball(epsilon**2)

    for epsilon, delta in product((*_SMALL_EPSILONS, Fraction(1)), grid.DELTAS):
        noise = variance(epsilon, delta)
        yield at_most("δ", delta, grid.gaussian_delta(noise, ball(epsilon)), ε=epsilon, δ=delta)
        used = textbook_variance("tail-bound", Fraction(1), epsilon, delta)
        yield implemented("σ² that the library uses", noise, ball(used), ε=epsilon, δ=delta)
    outside, delta = Fraction(8), Fraction(1, 10)
    truth = grid.gaussian_delta(variance(outside, delta), ball(outside))
    yield counterexample("δ", delta, truth, ε=outside, δ=delta)
    yield from _refuses("tail-bound", ("8", "0.1"), ("1.001", "1e-6"), ("1", "0.501"), but=("1", "0.5"))
    yield Figure("true δ over promised δ at ε = 8, δ = 0.1", truth / ball(delta))
    yield from _saved("tail-bound")


@claim(
    "C6",
    "S1",
    "σ = cΔ₂/ε with c² > max(9/4, 2 ln(1.25/δ)) gives (ε, δ)-DP for 0 < ε < 1; refused outside that range.",
    "c² = max(9/4, 2 ln(1.25/δ))",
)
def c6(
    floor: Fraction = Fraction(9, 4), factor: Fraction = Fraction(2), numerator: Fraction = Fraction(5, 4)
) -> Iterator[Evidence]:
    """The exact δ of that much noise. At ε = 16, δ = 1e-6 it would be 32 times the promise; refused."""

    def variance(epsilon: Fraction, delta: Fraction) -> Ball:
        return ball(floor).max(ball(factor) * ball(numerator / delta).log()) / ball(epsilon**2)

    # At δ = 0.5 and above the 9/4 is the larger of the two.
    for epsilon, delta in product(_SMALL_EPSILONS, (Fraction("0.99"), *grid.DELTAS)):
        noise = variance(epsilon, delta)
        yield at_most("δ", delta, grid.gaussian_delta(noise, ball(epsilon)), ε=epsilon, δ=delta)
        used = textbook_variance("dwork-roth", Fraction(1), epsilon, delta)
        yield implemented("σ² that the library uses", noise, ball(used), ε=epsilon, δ=delta)
    outside, delta = Fraction(16), Fraction(1, 10**6)
    truth = grid.gaussian_delta(variance(outside, delta), ball(outside))
    yield counterexample("δ", delta, truth, ε=outside, δ=delta)
    yield from _refuses("dwork-roth", ("16", "1e-6"), ("1", "1e-6"), but=("0.999", "1e-6"))
    yield Figure("true δ over promised δ at ε = 16, δ = 1e-6", truth / ball(delta))
    yield from _saved("dwork-roth")


def _refuses(name: str, *budgets: tuple[str, str], but: tuple[str, str]) -> Iterator[Evidence]:
    for epsilon, delta in (*budgets, but):
        build = lambda e=epsilon, d=delta: Gaussian(sensitivity=1, epsilon=e, delta=d, calibration=name)  # noqa: E731
        yield equal("refused", int((epsilon, delta) != but), refused(build), ε=epsilon, δ=delta)


def _saved(name: str) -> Iterator[Evidence]:
    """How much wider than needed the noise of a formula is, near the edge of its range."""
    epsilon, delta = Fraction(999, 1000), Fraction(1, 10**6)
    formula, least = textbook_variance(name, Fraction(1), epsilon, delta), 1 / largest_mu_squared(epsilon, delta)
    yield implemented("δ of the smallest σ²", ball(delta), grid.gaussian_delta(ball(least), ball(epsilon)), ε=epsilon)
    yield Figure("σ over the smallest σ at ε = 0.999, δ = 1e-6", ball(formula / least).sqrt())


@claim(
    "C7",
    "S3",
    "N(0, Δ₂²/ρ · I) is (ε, δ)-DP with ε = ρ/2 + √(2ρ ln(1/δ)) for every δ > 0; it is (ρ/2)-zCDP and √ρ-GDP.",
    "ε = ρ/2 + √(2ρ ln(1/δ))",
)
def c7(half: Fraction = Fraction(1, 2), factor: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """The exact δ at that ε. Already Pr[L > ε] is about a tenth of the promise, and δ(ε) is less again."""
    for rho, delta in product((Fraction(x) for x in ("0.01", "0.1", "1", "4", "25")), grid.DELTAS):
        epsilon = ball(half * rho) + (ball(factor * rho) * -ball(delta).log()).sqrt()
        exact = grid.gaussian_delta(1 / ball(rho), epsilon)
        yield at_most("δ", delta, exact, ρ=rho, δ=delta)
        yield implemented("δ(ε) that the library states", exact, GaussianPair(rho).profile(epsilon), ρ=rho, δ=delta)
    for rho in (Fraction(1, 10), Fraction(1), Fraction(4)):
        yield equal("ρ of zCDP", ball(half * rho), ball(to_zcdp(GaussianDP.from_square(rho)).rho), ρ=rho)
        implied = GaussianDP.from_square(rho).implies(ZCDP(half * rho))
        yield equal("√ρ-GDP implies it", 1, int(implied), ρ=rho)
    used = textbook_variance("zcdp", Fraction(1), Fraction(1), Fraction(1, 10**6))
    back = 1 / (2 * ball(used)) + (2 / ball(used) * Ball(10**6).log()).sqrt()
    yield implemented("ε of the library's σ², δ = 1e-6", Ball(1), back, ε=1)
    yield from _c7_shares(Fraction(1), Fraction(1, 10**6))


def _c7_shares(rho: Fraction, delta: Fraction) -> Iterator[Figure]:
    """L is N(ρ/2, ρ), so Pr[L > ε] = P[N(0, 1) > √(2 ln(1/δ))] whatever ρ."""
    far = (-2 * ball(delta).log()).sqrt()
    epsilon = ball(rho / 2) + ball(rho).sqrt() * far
    yield Figure("Pr[L > ε] over the claimed δ = 1e-6", grid.normal_tail(far) / ball(delta))
    yield Figure("Pr[L > ε] over the claimed δ = 0.1", grid.normal_tail((2 * Ball(10).log()).sqrt()) * 10)
    yield Figure("true δ over the claimed δ = 1e-6 at ρ = 1", GaussianPair(rho).profile(epsilon) / ball(delta))


@claim(
    "C8",
    "S1, S3",
    "No Gaussian noise gives pure DP: the loss is unbounded, so δ(ε) > 0 for every ε. In ℝᵏ it is "
    "n‖f(D₁) − f(D₂)‖²/(2σ²) at xₙ = ½(n(f(D₁) − f(D₂)) + f(D₁) + f(D₂)); the slide has the other sign.",
    "ln p₁/p₂ = ⟨f(D₂) − f(D₁), 2x − f(D₁) − f(D₂)⟩/(2σ²)  (corrected: f(D₁) − f(D₂) in place of the first)",
)
def c8(power: int = 2) -> Iterator[Evidence]:
    """The exact profile of noise ∝ e^{−|x|^power}, power 2: positive at every ε. (With power 1 it is 0 from ε₀ on.)"""
    for mu, epsilon in product((Fraction(1), Fraction(1, 100), Fraction(10)), (10, 0, 1, 100, 1000)):
        exact = grid.gaussian_delta(1 / ball(mu**2), Ball(epsilon)) if power == 2 else _laplace_delta(mu, epsilon)
        yield exceeds("δ(ε) > 0", Ball(0), exact, μ=mu, ε=epsilon)
        stated = (GaussianPair(mu**2) if power == 2 else LaplacePair(mu)).profile(Ball(epsilon))
        yield implemented("δ(ε) that the library states", exact, stated, μ=mu, ε=epsilon)
    for mu in (Fraction(1, 100), Fraction(1)):
        outcome = 10**6 * mu  # the loss there is μ²/2 + μx, or at most μ
        loss = ball(mu**2 / 2 + mu * outcome) if power == 2 else ball(mu)
        yield exceeds("loss at one outcome", 20 * mu, loss, μ=mu, x=outcome)
    yield from _along_the_slide(power)
    yield Figure("log₁₀ δ(ε) at μ = 1, ε = 100", GaussianPair(Fraction(1)).profile(Ball(100)).log() / Ball(10).log())


def _along_the_slide(power: int) -> Iterator[Evidence]:
    """The points xₙ at σ = 2, f(D₁) = (1, 0, −2) and f(D₂) = (2, 2, 0), so that the square of their distance is 9."""
    here, there = (1, 0, -2), (2, 2, 0)
    for n in (1, 10, 1000):
        place = [Fraction(n * (a - b) + a + b, 2) for a, b in zip(here, there, strict=True)]
        loss = sum(abs(x - b) ** power - abs(x - a) ** power for x, a, b in zip(place, here, there, strict=True)) / 8
        yield equal("loss at xₙ in ℝ³", Fraction(9 * n, 8), loss, n=n)


def _laplace_delta(top: Fraction, epsilon: int) -> Ball:
    """δ(ε) = 1 − e^{(ε − ε₀)/2} for ε < ε₀ = `top`, 0 beyond."""
    return (1 - ((ball(epsilon) - ball(top)) / 2).exp()) if epsilon < top else Ball(0)


@claim(
    "C10",
    "S1",
    "A histogram has Δ₁ = 1 under add/remove and 2 under replace-one (Δ₂ = 1 and √2); noise per bin; rounding is "
    "post-processing.",
    "Δ₁ = 1 (add/remove), 2 (replace-one)",
)
def c10(added: int = 1, replaced: int = 2) -> Iterator[Evidence]:
    """All datasets of up to four records in three bins, and all their neighbours."""
    bins = range(3)
    everyone = [data for n in range(1, 5) for data in grid.datasets(bins, n)]
    moves = {
        ADD_REMOVE: {_move(d, d[:-1]) for d in everyone},
        REPLACE_ONE: {_move(d, e) for d in everyone for e in grid.replacements(d, bins)},
    }
    for (name, seen), promised in zip(moves.items(), (added, replaced), strict=True):
        yield equal("Δ₁", promised, max(sum(map(abs, move)) for move in seen), neighbours=name)
        yield equal("Δ₂²", promised, max(sum(x * x for x in move) for move in seen), neighbours=name)
        law = DiscreteLaplace(Fraction(promised))
        yield implemented("Pr[noise = 0]", grid.zero(promised), law.pmf(0), neighbours=name)
        loss = grid.largest(sum((abs((law.pmf(0) / law.pmf(x)).log()) for x in m), Ball(0)) for m in seen)
        yield equal("ε of noise of scale Δ₁/ε in each bin", Ball(1), loss, neighbours=name)
        event = Histogram(bins=3, epsilon=1, adjacency=name).event
        assert isinstance(event, LaplaceNoise)
        yield implemented("scale that the mechanism uses, ε = 1", promised, event.scale, neighbours=name)
    yield from _rounding(Fraction(4))


def _move(data: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(data.count(x) - other.count(x) for x in range(3))


def _rounding(scale: Fraction) -> Iterator[Evidence]:
    """Noise on quarters, rounded down to whole numbers: cells of four outcomes, whose losses can only shrink."""
    law = DiscreteLaplace(scale)
    cells = [range(4 * n, 4 * n + 4) for n in range(-8, 9)]
    for shift in (1, 2, 3, 4):
        before = [sum((law.pmf(x) for x in cell), Ball(0)) for cell in cells]
        after = [sum((law.pmf(x - shift) for x in cell), Ball(0)) for cell in cells]
        yield at_most(
            "ε after rounding", ball(shift / scale), grid.largest_loss(before, after), shift=Fraction(shift, 4)
        )
