"""C19: noise in proportion to smooth sensitivity, by the three formulas of the lecture and by the exact worst case."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, counterexample, equal, implemented, refused
from dither.exact import Ball, ball
from dither.exact.certified import fraction_above
from dither.mechanisms import SmoothSensitivity
from dither.mechanisms.smooth_calibration import Scaling
from dither.pairs.rescaled import largest_loss, worst_profile
from dither.sensitivity import Median

__all__ = ["c19"]

_EPSILONS = tuple(Fraction(x) for x in ("0.1", "1"))
_DELTAS = tuple(Fraction(x) for x in ("1e-6", "0.1"))
_MEDIAN = Median(bounds=(0, 1))
_ROUNDING = Fraction(2, 10**11)
_HARDLY_MORE = 1 + Ball(10) ** -9
"""Noise on a lattice, against the same on the line."""
_COARSE = ball(Fraction(1001, 1000))
"""What a grid of places, or a search to 2^-12, may miss."""


@claim(
    "C19",
    "S1",
    "Smooth sensitivity S_β(D) with noise s·S_β(D)·Z. (a) Z ∝ 1/(1+|z|^γ), β = ε/(2(γ+1)), s = 2(γ+1)/ε: ε-DP. "
    "(b) Lap(1), β = ε/(2 ln(2/δ)), s = 2/ε, and (c) N(0, 1), β = ε/(4(1+ln(2/δ))), s = 5√(2 ln(2/δ))/ε: (ε, δ)-DP; "
    "(b) is refused for large ε. The slide prints Lap(1) for (c), which holds too, with far less δ.",
    "s = 2(γ+1)/ε; 2/ε; 5√(2 ln(2/δ))/ε",
)
def c19(
    polynomial: Fraction = Fraction(2), laplace: Fraction = Fraction(2), gaussian: Fraction = Fraction(5)
) -> Iterator[Evidence]:
    """The worst case over all moves and rescalings that neighbours may make, then what the mechanism does about it."""
    for gamma, epsilon in product((Fraction(2), Fraction(3), Fraction(4)), _EPSILONS):
        beta, scale = epsilon / (2 * (gamma + 1)), polynomial * (gamma + 1) / epsilon
        at: dict[str, object] = {"γ": gamma, "ε": epsilon}
        stated, attained = largest_loss("polynomial", gamma, beta, scale).upper(), _attained(gamma, beta, scale)
        yield at_most("ε of (a)", ball(epsilon), stated, **at)
        yield at_most("ε of (a), against outcomes that attain it", stated, attained, **at)
        yield at_most("ε of (a), hardly more than attained", attained * _COARSE, stated, **at)
        certain = Scaling("polynomial", beta, scale, gamma).keeps(epsilon, Fraction(0))
        yield implemented("ε of (a) is certain to the library", 1, int(certain), **at)
    yield from _without_rescaling()
    for epsilon, delta in product(_EPSILONS, _DELTAS):
        tail = _tail(delta)
        exact = _worst("laplace", epsilon, epsilon / (2 * tail), laplace / epsilon)
        yield at_most("δ of (b)", ball(delta), exact, ε=epsilon, δ=delta)
        scale = fraction_above(lambda tail=tail, epsilon=epsilon: ball(gaussian) * _root(2 * tail) / ball(epsilon))  # type: ignore[misc]
        exact = _worst("gaussian", epsilon, epsilon / (4 * (1 + tail)), scale)
        yield at_most("δ of (c)", ball(delta), exact, ε=epsilon, δ=delta)
        printed = _worst("laplace", epsilon, epsilon / (4 * (1 + tail)), scale)
        yield at_most("δ of (c) with Lap(1), as printed", ball(delta), printed, ε=epsilon, δ=delta)
    yield from _out_of_range(laplace)
    for epsilon in _EPSILONS:
        tail, delta = _tail(_DELTAS[0]), _DELTAS[0]
        built = SmoothSensitivity(_MEDIAN, epsilon=epsilon, noise="polynomial", exponent=3)
        yield implemented("s that (a) uses", polynomial * 4 / epsilon, built.scale, ε=epsilon)
        yield from _smoothness("a", epsilon / 8, built)
        built = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, noise="laplace")
        yield implemented("s that (b) uses", laplace / epsilon, built.scale, ε=epsilon)
        yield from _smoothness("b", epsilon / (2 * tail), built)
        built = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, noise="gaussian")
        yield implemented("s that (c) uses", ball(gaussian / epsilon) * _root(2 * tail), ball(built.scale), ε=epsilon)
        yield from _smoothness("c", epsilon / (4 * (1 + tail)), built)
        built = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, noise="printed")
        yield implemented("s that (c) as printed uses", ball(gaussian / epsilon) * _root(2 * tail), ball(built.scale))
        yield from _smoothness("c as printed", epsilon / (4 * (1 + tail)), built)
        yield from _tight(epsilon)


def _attained(gamma: Fraction, beta: Fraction, scale: Fraction) -> Ball:
    """The largest loss at places z of a grid: Z against e^v·Z − U, U = min(1, e^v)/s, v = −β, 0, β."""
    found, power = Ball(0), ball(gamma)
    for v in (ball(-beta), Ball(0), ball(beta)):
        move = v.exp().min(Ball(1)) / ball(scale)
        for step in range(1, 100):
            z = Ball(step) / 25
            found = found.max((1 + ((z + move) / v.exp()) ** power).log() - (1 + z**power).log() + v)
    return found


def _without_rescaling() -> Iterator[Evidence]:
    """With β near 0 only the move is left, of which δ(ε) is known; the library searches to 2^-12 of it."""
    epsilon, none = Fraction(1, 2), Fraction(1, 10**12)
    exact = {"laplace": 1 - ball((epsilon - 1) / 2).exp(), "gaussian": grid.gaussian_delta(Ball(1), ball(epsilon))}
    for noise, delta in exact.items():
        stated = worst_profile(noise, ball(epsilon), none, Fraction(1)).upper()
        yield at_most("δ of a move alone", stated, delta, noise=noise, ε=epsilon)
        yield at_most("δ of a move alone, hardly more", delta * _COARSE, stated, noise=noise, ε=epsilon)


def _smoothness(name: str, printed: Fraction, built: SmoothSensitivity) -> Iterator[Evidence]:
    """β that the mechanism uses: the printed one, from below, less what the rounding of S_β may cost (10⁻¹¹)."""
    yield at_most(f"β that ({name}) uses", printed, built.smoothness)
    yield at_most(f"least β that ({name}) may use", built.smoothness, printed - _ROUNDING)
    # E|Z| is 1/(2 cos(π/γ)) = 1 for γ = 3, 1 for Lap(1), and √(2/π) for N(0, 1).
    magnitude = (2 / Ball.pi()).sqrt() if built.noise == "gaussian" else Ball(1)
    mean, stated = ball(built.scale) * magnitude, Ball(built.expected_error)
    yield at_most(f"mean error that ({name}) states, in units of S_β", mean * _HARDLY_MORE, stated)
    yield at_most(f"mean error of ({name}), in units of S_β", stated * _HARDLY_MORE, mean)


def _out_of_range(factor: Fraction) -> Iterator[Evidence]:
    """(b) for a large ε: the δ that is certain to occur is more than was promised, and the mechanism refuses."""
    epsilon, delta = Fraction(20), Fraction(1, 10**6)
    certain = worst_profile("laplace", ball(epsilon), epsilon / (2 * _tail(delta)), factor / epsilon).lower()
    yield counterexample("δ of (b) beyond its range", ball(delta), certain, ε=epsilon, δ=delta)
    build = lambda: SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, noise="laplace")  # noqa: E731
    yield equal("refused there", 1, refused(build), ε=epsilon, δ=delta)


def _tight(epsilon: Fraction) -> Iterator[Evidence]:
    """Tight noise against each formula, at the same β, and each at its own where S_β is in proportion to e^β/β."""
    for name, noise, delta in (("a", "polynomial", 0), ("b", "laplace", "1e-6"), ("c", "gaussian", "1e-6")):
        printed = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, noise=noise)
        same = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta, beta=printed.smoothness)
        best = SmoothSensitivity(_MEDIAN, epsilon=epsilon, delta=delta)
        ratio = printed.expected_error / same.expected_error
        yield Figure(f"({name}) over tight noise, mean error, ε = {float(epsilon):g}, same β", ratio)
        overall = _reference(printed) / _reference(best)
        yield Figure(f"({name}) over tight noise, mean error, ε = {float(epsilon):g}, S_β ∝ e^β/β", overall)
    drawn = best.event
    assert drawn.exponent is not None
    loss = largest_loss(drawn.noise, drawn.exponent, drawn.smoothness, drawn.scale)
    yield at_most("ε of tight noise", ball(epsilon), loss, ε=epsilon)
    less = Scaling(drawn.noise, best.smoothness, best.scale * Fraction(9, 10), drawn.exponent)
    yield equal("a tenth less noise is not certain", 0, int(less.keeps(epsilon, Fraction(0))), ε=epsilon)


def _reference(mechanism: SmoothSensitivity) -> Ball:
    beta = ball(mechanism.smoothness)
    return Ball(mechanism.expected_error) * beta.exp() / beta


def _worst(noise: str, epsilon: Fraction, smoothness: Fraction, scale: Fraction) -> Ball:
    return worst_profile(noise, ball(epsilon), smoothness, scale).upper()


def _tail(delta: Fraction) -> Fraction:
    """ln(2/δ), rounded up."""
    return fraction_above(lambda: ball(2 / delta).log())


def _root(square: Fraction) -> Ball:
    return ball(square).sqrt()
