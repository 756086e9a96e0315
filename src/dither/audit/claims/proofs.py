"""C31 to C35: expectations, tails, and the steps of the lectures' proofs, each as a statement that can be false."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import ceil, isqrt
from typing import Literal

from flint import acb

from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, counterexample, equal, implemented
from dither.exact import Ball, ball
from dither.guarantees import hockey_stick, indistinguishable, loss_of, multiplicative_distance, total_variation
from dither.mechanisms import NoisyMax, exponential_tail, normal_tail, normal_tail_bound
from dither.mechanisms.selection import NoiseName
from dither.noise import DiscreteGaussian

__all__ = ["c31", "c32", "c33", "c34", "c35"]


@claim(
    "C31",
    "S4 Th 6",
    "E[q_max − q(Y)] ≤ 2Δ(ln d + 1)/ε for report noisy max and the exponential mechanism. The notes say O(Δ ln d/ε).",
    "E[q_max − q(Y)] = O(Δ ln d/ε)",
)
def c31(factor: Fraction = Fraction(2), more: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """∫ e^{−t} dt of C16's tail. The worst scores put all others x below the best: then the mean is x·Pr[it loses]."""
    for noise, count in product(_NOISES, (2, 10, 1000)):
        mechanism = NoisyMax(sensitivity=1, epsilon=1, candidates=count, noise=noise)
        largest = grid.largest(_mean_error(mechanism, x, count) for x in _places(noise, count))
        bound = ball(factor) * (Ball(count).log() + ball(more))
        yield at_most("E[q_max − q(Y)]", bound, largest, noise=noise, d=count)
        yield implemented("scale that the mechanism uses", Fraction(2), mechanism.scale, noise=noise, d=count)
        stated = mechanism.expected_error
        yield at_most("E[q_max − q(Y)] ≤ what the mechanism states", stated, largest, noise=noise, d=count)
        if noise != "laplace":  # of which the mechanism states a bound
            yield at_most("what the mechanism states, hardly more", largest * ball(1 + _COARSE), stated, d=count)
    yield Figure("2(ln d + 1) over the exact worst mean, exponential noise, d = 1000", bound / largest)


_NOISES: tuple[NoiseName, ...] = ("laplace", "gumbel", "exponential")
_COARSE = Fraction(1, 1000)
"""How far the best of `_places` may be below the worst case: the mean is flat there."""


def _places(noise: str, count: int) -> Iterator[Fraction]:
    """Distances of the others, in the unit of the scores, near the worst place: a grid of eighths."""
    if noise == "laplace":
        return iter((Fraction(2), Fraction(4)))
    steps = {2: range(16, 28), 10: range(20, 40), 1000: range(76, 96)}[count]
    return (Fraction(step, 8) for step in steps)


def _mean_error(mechanism: NoisyMax, x: Fraction, count: int) -> Ball:
    """The mean error for scores 0 and d − 1 times −x, from the exact probabilities."""
    scores = [Fraction(0)] + [-x] * (count - 1)
    return ball(x) * (1 - mechanism.probabilities(scores)[0])


@claim(
    "C32",
    "S0 4.1, S3, S4",
    "Pr[Z > t] < e^{−t²/2} and Pr[|Z| > t] < 2e^{−t²/2} for normal Z, and ⟨Z, v⟩ is N(0, σ²‖v‖²); |Lap(b)| is "
    "exponential with mean b.",
    "e^{−t²/(2σ²)}, 2e^{−t²/(2σ²)}, e^{−t}",
)
def c32(one: Fraction = Fraction(1), two: Fraction = Fraction(2), rate: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Against erfc; sums of two normal variables by a certified integral; |Lap| by its density on both sides."""
    for t in (Fraction(x) for x in ("0", "0.1", "0.5", "1", "2", "3", "5", "10")):
        power, tail = ball(-(t**2) / 2).exp(), grid.normal_tail(ball(t))
        yield at_most("Pr[Z > t]", ball(one) * power, tail, t=t)
        yield at_most("Pr[|Z| > t]", ball(two) * power, 2 * tail, t=t)
        by_sides: tuple[tuple[Literal[1, 2], Fraction], ...] = ((1, one), (2, two))
        for sides, constant in by_sides:
            bound = normal_tail_bound(t, sides=sides, form="chernoff")
            yield implemented("the bound that the library states", ball(constant) * power, bound, t=t, sides=sides)
            yield implemented("tail that the library states", sides * tail, normal_tail(t, sides=sides), t=t)
        both = _laplace_beyond(t)
        yield equal("Pr[|Lap| > tb]", ball(-rate * t).exp(), both, t=t)
        yield implemented("e^{−t} that the library states", ball(-rate * t).exp(), exponential_tail(t), t=t)
    for first, second in ((Fraction(3), Fraction(4)), (Fraction(1), Fraction(2))):
        for t in (Fraction(1), Fraction(7)):
            exact = grid.normal_tail(ball(t) / grid.root(first**2 + second**2))
            yield equal("Pr[⟨Z, v⟩ > t]", exact, _of_two(first, second, t), v=(int(first), int(second)), t=t)
    yield Figure("½e^{−t²/2} over Pr[Z > t] at t = 1", ball(Fraction(-1, 2)).exp() / 2 / grid.normal_tail(Ball(1)))


def _laplace_beyond(t: Fraction) -> Ball:
    """∫ ½e^{−|y|} dy over |y| > t, up to 130 scales beyond; the rest is below 10⁻⁵⁶."""
    inside: Ball = acb.integral(lambda y, _: (-y).exp() / 2, acb(ball(t)), acb(ball(t + 130))).real
    return 2 * inside + Ball(0).union(2 * ball(-t - 130).exp())


def _of_two(first: Fraction, second: Fraction, t: Fraction) -> Ball:
    """Pr[aZ₁ + bZ₂ > t] = ∫ φ(z) Pr[Z₂ > (t − az)/b] dz, up to 16 deviations; the rest is below 10⁻⁵⁶."""
    a, b, place = ball(first), ball(second), ball(t)

    def integrand(z: acb, _: bool) -> acb:
        density = (-(z**2) / 2).exp() / (2 * Ball.pi()).sqrt()
        return density * ((place - a * z) / (b * Ball(2).sqrt())).erfc() / 2

    inside: Ball = acb.integral(integrand, acb(-16), acb(16)).real
    return inside + Ball(0).union(Ball(10) ** -56)


@claim(
    "C33",
    "S0 4.2, S3 (proofs)",
    "σ² = 2Δ² ln(2/δ)/ε²: the loss at y is at most Δ²/(2σ²) + |y|Δ/σ², which is ε at |y| = σt; the tail there is at "
    "most δ·e^{ε/2 − ε²/(16 ln(2/δ))}/(t√(2π)) ≤ δ, since 1.6487 < 3.4211. In ℝᵏ the loss at z is "
    "‖f − f′‖²/(2σ²) + ⟨z − f, f − f′⟩/σ².",
    "t = √(2 ln(2/δ)) − ε/(2√(2 ln(2/δ))) and e^{1/2} < √(2π)·t",
)
def c33(half: Fraction = Fraction(1, 2), eighth: Fraction = Fraction(1, 16)) -> Iterator[Evidence]:
    """Each step of the chain, at Δ = 1; the first inequality over outcomes on both sides and both directions."""
    for epsilon, delta in product((Fraction(1, 10), Fraction(1, 2), Fraction(1)), grid.DELTAS):
        at: dict[str, object] = {"ε": epsilon, "δ": delta}
        loss, log = ball(epsilon), ball(2 / delta).log()
        sigma = (2 * log).sqrt() / loss
        t = (2 * log).sqrt() - ball(half) * loss / (2 * log).sqrt()
        edge = loss * sigma**2 - ball(half)  # |y| ≤ εσ²/Δ − Δ/2
        yield equal("BAD threshold over σ", t, edge / sigma, **at)
        bound = ball(half) / sigma**2 + edge / sigma**2
        yield equal("bound on the loss at the threshold", loss, bound, **at)
        for place, move in product((-2, -1, 0, 1, 2), (-1, 1)):
            y = place * edge
            exact = ((y - move) ** 2 - y**2) / (2 * sigma**2)  # ln p(y)/p′(y), f(x) = 0 and f(x′) = ±1
            yield at_most(
                "loss at y", (ball(half) + abs(y)) / sigma**2, exact, y=f"{place} thresholds", move=move, **at
            )
        tail = 2 * grid.normal_tail(t)
        by_lemma = 2 / (t * (2 * Ball.pi()).sqrt()) * (-(t**2) / 2).exp()
        printed = ball(delta) / (t * (2 * Ball.pi()).sqrt()) * (loss / 2 - ball(eighth) * loss**2 / log).exp()
        yield equal("δe^{ε/2 − ε²/(16 ln(2/δ))}/(t√(2π))", printed, by_lemma, **at)
        yield at_most("Pr[L > ε] ≤ its bound by lemma 4.1", printed, tail, **at)
        yield at_most("the bound ≤ δ", ball(delta), printed, **at)
        yield at_most("e^{1/2} ≤ t√(2π)", t * (2 * Ball.pi()).sqrt(), Ball(0.5).exp(), **at)
        yield from _bad_set(epsilon, delta)
        if epsilon == 1:
            yield from _of_integers(epsilon, delta, half)
    yield from _of_vectors(half)
    worst = (2 * Ball(4).log()).sqrt()
    yield Figure("e^{1/2}", Ball(0.5).exp())
    yield Figure("√(2π)·t at ε = 1, δ = 1/2", (2 * Ball.pi()).sqrt() * (worst - 1 / (2 * worst)))


def _of_integers(epsilon: Fraction, delta: Fraction, half: Fraction) -> Iterator[Evidence]:
    """The same of noise on the integers, whose losses at whole y are those of the line: what `Loss` states of them."""
    variance = Fraction(float(2 * ball(2 / delta).log() / ball(epsilon**2)))
    law = DiscreteGaussian(variance)
    found, last = loss_of(law, law, shift=1), ceil(half - epsilon * variance) - 1
    bad = found.bad_set(epsilon)
    yield implemented("last outcome of BAD", last, max(bad.outcomes), ε=epsilon, δ=delta)
    yield at_most("Pr[BAD]", ball(delta), ball(Fraction(bad.p)), ε=epsilon, δ=delta)
    yield implemented("Pr[BAD]", _below(last, variance), ball(Fraction(bad.p)), ε=epsilon, δ=delta)
    loss = ball(half - last) / ball(variance)  # at y: (½ − y)/σ²
    yield implemented("loss that the library states", loss, found.loss(last), ε=epsilon, δ=delta)


def _of_vectors(half: Fraction) -> Iterator[Evidence]:
    """The loss of noise on each coordinate, as `Loss` states it and added up, against the inner product."""
    law, here, there = DiscreteGaussian(Fraction(9)), (0, 1, 5), (2, -1, 4)
    apart = [a - b for a, b in zip(here, there, strict=True)]
    each = [loss_of(law, law, shift=-move) for move in apart]
    for place in ((0, 1, 5), (9, -4, 3), (-6, 8, 0)):
        around = [z - a for z, a in zip(place, here, strict=True)]
        stated = sum(Fraction(loss.loss(x)) for loss, x in zip(each, around, strict=True))
        square, inner = (sum(x * y for x, y in zip(apart, other, strict=True)) for other in (apart, around))
        yield implemented("loss at z in ℝ³", (half * square + inner) / 9, ball(stated), z=str(place))


def _below(last: int, variance: Fraction) -> Ball:
    """Pr[X ≤ last] of integer noise ∝ e^{−x²/2σ²}, of which all beyond 20 deviations is below 10⁻⁸⁰."""
    reach = 20 * isqrt(ceil(variance)) + 20
    weights = [ball(-(x**2) / (2 * variance)).exp() for x in range(reach)]
    return sum(weights[-last:], Ball(0)) / (2 * sum(weights, Ball(0)) - 1)


def _bad_set(epsilon: Fraction, delta: Fraction) -> Iterator[Evidence]:
    """Lecture 003: T lies in {⟨z − f, f − f′⟩ρ/Δ² > √(2ρ ln(1/δ))}, of probability Pr[Z > √(2 ln(1/δ))] at most."""
    for rho, reach in product((ball(epsilon), ball(4 * epsilon)), (Fraction(1, 2), Fraction(1))):
        log = -ball(delta).log()
        total = rho / 2 + (2 * rho * log).sqrt()
        distance = ball(reach)  # ‖f(X) − f(X′)‖/Δ₂ ≤ 1
        # The loss is N(d²ρ/2, d²ρ): Pr[T] exactly, and the set that contains it.
        exact = grid.normal_tail((total - distance**2 * rho / 2) / (distance * rho.sqrt()))
        larger = grid.normal_tail((2 * rho * log).sqrt() / (distance * rho.sqrt()))
        yield at_most("Pr[T] ≤ that of the larger set", larger, exact, δ=delta, distance=reach)
        yield at_most("Pr[T] of lecture 003", ball(delta), larger, δ=delta, distance=reach)


@claim(
    "C34",
    "S0 1.1",
    "For δ > 0 it is not enough that P(y) ≤ e^ε P′(y) + δ for each single output y: ten outcomes of probability 1/10 "
    "each, against ten others.",
    "P(y) ≤ e^ε P′(y) + δ for all y  ⇒  (ε, δ)-DP  (corrected: for all events)",
)
def c34(outcomes: int = 10) -> Iterator[Evidence]:
    """Each single output is within δ = 1/10; the event of all ten tells everything."""
    share = Fraction(1, outcomes)
    here = {f"here {i}": share for i in range(outcomes)}
    there = {f"there {i}": share for i in range(outcomes)}
    for epsilon in (Fraction(0), Fraction(1), Fraction(10)):
        single = max(ball(here[y]) - ball(epsilon).exp() * ball(there.get(y, Fraction(0))) for y in here)
        yield equal("largest P(y) − e^ε P′(y)", Fraction(1, 10), single, ε=epsilon)
        yield counterexample("δ(ε)", Fraction(1, 10), Fraction(1), ε=epsilon)
        yield implemented("δ(ε) that the library states", 1, hockey_stick(here, there, epsilon), ε=epsilon)
        yield implemented("(ε, 1/10)-indistinguishable", 0, int(indistinguishable(here, there, epsilon, share)))
        yield implemented("(ε, 1)-indistinguishable", 1, int(indistinguishable(here, there, epsilon, 1)))


@claim(
    "C35",
    "S2 0.2, 0.6 (proofs)",
    "Two normal densities with means 1/m apart cross at μ + 1/(2m), and the half-line to one side attains their total "
    "variation; |D(E) − D′(E)| is the same for E and its complement, one of which has D′ ≤ 1/2.",
    "x = μ + 1/(2m)",
)
def c35(middle: Fraction = Fraction(1, 2), half: Fraction = Fraction(1, 2)) -> Iterator[Evidence]:
    """Densities to both sides of the crossing, half-lines a little to each side of it; every event of finite pairs."""
    for size, sigma in product((1, 10), (Fraction(1, 10), Fraction(1))):
        move = Fraction(1, size)
        cross, at = middle * move, {"m": size, "σ": sigma}
        yield equal("density at the crossing", _normal(cross, sigma), _normal(cross - move, sigma), **at)
        yield at_most("D′ before it", _normal(cross - move / 9, sigma), _normal(cross - move / 9 - move, sigma), **at)
        yield at_most("D beyond it", _normal(cross + move / 9 - move, sigma), _normal(cross + move / 9, sigma), **at)
        best = _half_line(cross, move, sigma)
        exact = 1 - 2 * grid.normal_tail(ball(move / (2 * sigma)))
        yield equal("TV by the half-line up to the crossing", exact, best, **at)
        for aside in (-move / 9, move / 9):
            yield at_most("TV by another half-line", best, _half_line(cross + aside, move, sigma), **at)
    for name, p, q in grid.FINITE_PAIRS:
        both = list(grid.events(p, q))
        distance = grid.largest(abs((ball(a) / ball(b)).log()) for a, b in both)
        yield implemented("d◇ that the library states", distance, multiplicative_distance(p, q), pair=name)
        for a, b in both:
            yield equal("|D(Eᶜ) − D′(Eᶜ)|", abs(a - b), abs((1 - a) - (1 - b)), pair=name)
            smaller = ball(min(b, 1 - b)) * distance.expm1()
            yield at_most("|D(E) − D′(E)| ≤ the smaller of D′(E), D′(Eᶜ), times e^d − 1", smaller, ball(abs(a - b)))
        widest = max(abs(a - b) for a, b in both)
        yield at_most("TV ≤ ½(e^d − 1)", ball(half) * distance.expm1(), ball(widest), pair=name)
        yield implemented("TV that the library states", ball(widest), total_variation(p, q), pair=name)
    # Randomized response has D′(E) = 1/(1 + e^ε) for its best event: ½ in the limit, where the bound is attained.
    close = [Fraction(10**9 + 1, 2 * 10**9), Fraction(10**9 - 1, 2 * 10**9)]
    apart = ball(half) * Ball(multiplicative_distance(close, close[::-1])).expm1()
    yield at_most("TV ≤ ½(e^d − 1)", apart, total_variation(close, close[::-1]), pair="hardly different")


def _normal(x: Fraction, sigma: Fraction) -> Ball:
    """The density of N(0, σ²), without its constant."""
    return ball(-(x**2) / (2 * sigma**2)).exp()


def _half_line(end: Fraction, move: Fraction, sigma: Fraction) -> Ball:
    """Pr[N(0, σ²) ≤ end] − Pr[N(move, σ²) ≤ end]."""
    return grid.normal_tail(ball((end - move) / sigma)) - grid.normal_tail(ball(end / sigma))
