"""How much noise smooth sensitivity asks for: by the three formulas of claim C19, and as little as (ε, δ) allows.

Proofs: smooth_sensitivity.md. Each answer is checked in balls, lattice included, at the very numbers that are returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import SmoothNoise
from dither.exact import Ball, ball, precision
from dither.exact.certified import at_most, fraction_above
from dither.mechanisms.gaussian_calibration import rounded_up
from dither.noise import DiscreteGaussian, DiscreteLaplace, PowerLaw, Steepest
from dither.noise.law import SymmetricLaw
from dither.noise.steepest import LARGEST_INDEX
from dither.pairs.rescaled import largest_loss, rescaled_profile, steepest_loss, worst_profile

__all__ = ["FLOOR_STEPS", "SMALLEST_EPSILON", "Scaling", "textbook", "tight"]

FLOOR_STEPS = 1 << 43
"""The smallest smooth sensitivity that is used, in lattice steps: then the lattice is very close to the line."""
SMALLEST_EPSILON = Fraction(1, 10**6)

_EXCESS = Fraction(1, 10**11)  # of ln S, more than `smooth_sensitivity` may be off by for two neighbours
_FARTHEST_GAUSSIAN = 1 << 12  # standard deviations, beyond which less than e^{−2^20} of the noise lies
_HALVINGS = 44
_DIGITS = 14
_BITS = 128


@dataclass(frozen=True)
class Scaling:
    """Noise s·S·Z with a law for Z: s = `scale`, S the `smoothness`-smooth sensitivity (β), of at least 2^43 steps."""

    noise: str
    smoothness: Fraction
    scale: Fraction
    exponent: Fraction | None = None

    def event(self, adjacency: Adjacency | None = None) -> SmoothNoise:
        """What happens on the lattice, stated for the law on the line.

        S as computed is smooth up to a factor 1 + 2^-40, so β grows by 1e-11. Rounding moves the value by up to one
        step more, S/2^43 at most, so s shrinks by 2^-43 of it. The rest is `lattice_loss` = 2L/t, with L the steepest
        slope of ln g and t = 2^43 s the smallest scale in steps.
        """
        slope = self.exponent if self.exponent is not None else Fraction(_SLOPES[self.noise])
        loss = rounded_up(2 * slope / (self.scale * FLOOR_STEPS))
        scale = _rounded_down(self.scale * (1 - Fraction(1, FLOOR_STEPS)))
        return SmoothNoise(self.noise, self.smoothness + _EXCESS, scale, self.exponent, loss, adjacency)

    def keeps(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether (ε, δ) is certain for all neighbours, lattice included."""
        event, tail = self.event(), self.exponent
        extra = event.lattice_loss or Fraction(0)
        if tail is not None:
            return at_most(
                lambda: largest_loss(self.noise, tail, event.smoothness, event.scale).upper(), epsilon - extra
            )

        def worst() -> Ball:
            found = worst_profile(self.noise, ball(epsilon - extra), event.smoothness, event.scale)
            return found.upper() * ball(extra).exp()

        return extra < epsilon and delta > 0 and at_most(worst, delta)

    def law(self, scale: Fraction) -> SymmetricLaw:
        """The noise on the lattice, where s·S is `scale` steps."""
        if self.noise == "steepest":
            assert self.exponent is not None
            return Steepest(scale, int(self.exponent) - 1)
        if self.noise == "polynomial":
            assert self.exponent is not None
            return PowerLaw(scale, self.exponent)
        return DiscreteLaplace(scale) if self.noise == "laplace" else DiscreteGaussian(scale**2)

    def mean_magnitude(self) -> Ball:
        """E|Z|; infinite for polynomial noise of exponent 2 or less."""
        if self.noise == "steepest":
            assert self.exponent is not None
            return ball(_steepest_mean(int(self.exponent) - 1))
        if self.noise == "polynomial":
            assert self.exponent is not None
            # ∫ z/(1 + z^γ) over ∫ 1/(1 + z^γ) is sin(π/γ)/sin(2π/γ).
            return 1 / (2 * (Ball.pi() / ball(self.exponent)).cos()) if self.exponent > 2 else Ball.pos_inf()
        return Ball(1) if self.noise == "laplace" else (2 / Ball.pi()).sqrt()


_SLOPES = {"laplace": 1, "gaussian": _FARTHEST_GAUSSIAN}


def _steepest_mean(index: int) -> Fraction:
    """E|Z| for g(w) = (1 − w)^{a−1} up to 1/a and C(1 + w)^{−a−1} beyond, a = `index`."""
    a, w = index, Fraction(1, index)
    join = (1 - w) ** (a - 1) * (1 + w) ** (a + 1)
    whole = (1 - (1 - w) ** a) / a + join / (a * (1 + w) ** a)
    core = (1 - (1 - w) ** a) / a - (1 - (1 - w) ** (a + 1)) / (a + 1)
    tail = join * (1 / ((a - 1) * (1 + w) ** (a - 1)) - 1 / (a * (1 + w) ** a))
    return (core + tail) / whole


# --------------------------------------------------------------------- textbook


def textbook(noise: str, epsilon: Fraction, delta: Fraction | None, exponent: Fraction | None) -> Scaling:
    """β and s of claim C19, β rounded down and s up; refused where they cannot be certified.

    "polynomial": β = ε/(2(γ + 1)), s = 2(γ + 1)/ε. "laplace": β = ε/(2 ln(2/δ)), s = 2/ε.
    "gaussian": β = ε/(4(1 + ln(2/δ))), s = 5√(2 ln(2/δ))/ε. "printed": Lap(1) with the same two.
    """
    if noise == "polynomial":
        assert exponent is not None
        found = Scaling(noise, _short(epsilon / (2 * (exponent + 1))), 2 * (exponent + 1) / epsilon, exponent)
    else:
        assert delta is not None
        tail = fraction_above(lambda: ball(2 / delta).log())
        if noise == "laplace":
            found = Scaling(noise, _short(epsilon / (2 * tail)), 2 / epsilon)
        else:
            scale = fraction_above(lambda: 5 * (2 * ball(2 / delta).log()).sqrt() / ball(epsilon))
            law = "laplace" if noise == "printed" else noise
            found = Scaling(law, _short(epsilon / (4 * (1 + tail))), scale)
    if not found.keeps(epsilon, delta or Fraction(0)):
        raise ParameterError(
            f"the formula for {noise} noise could not be certified for epsilon={epsilon} and delta={delta or 0}. "
            'Use noise="tight".'
        )
    return found


def _short(smoothness: Fraction) -> Fraction:
    """β, short, after what the rounding of S costs is taken off."""
    return _rounded_down(smoothness - _EXCESS)


def _rounded_down(value: Fraction) -> Fraction:
    context = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


# ------------------------------------------------------------------------- tight


@lru_cache(maxsize=256)
def tight(epsilon: Fraction, delta: Fraction | None, smoothness: Fraction | None) -> Scaling:
    """The law, β and s with the smallest error for (ε, δ), among `steepest`, and with δ `laplace` and `gaussian`.

    With β given, the smallest s·E|Z|. Without, the smallest s·E|Z|·e^β/β: S_β is in proportion to e^β/β where local
    sensitivity grows in proportion to the distance, max_t e^{−βt}(t + 1) = e^{β−1}/β, as for the median of data with a
    density. That is smallest at β = 1, so β ≤ 1. No data is looked at.
    """
    found = list(_steepest_candidates(epsilon, smoothness))
    if delta is not None:
        found += _light_tailed(epsilon, delta, smoothness)
    if not found:
        raise ParameterError(
            f"no noise can be certified for epsilon={epsilon}, delta={delta or 0} and "
            f"beta={smoothness}. Take beta below epsilon/2, or leave it out."
        )
    return min(found, key=lambda scaling: _score(scaling, smoothness is None))


def _score(scaling: Scaling, with_reference: bool) -> float:
    beta = float(scaling.smoothness)
    with precision(_BITS):
        error = float(scaling.mean_magnitude() * ball(scaling.scale))
    return error * math.exp(beta) / beta if with_reference else error


def _steepest_candidates(epsilon: Fraction, smoothness: Fraction | None) -> Iterator[Scaling]:
    """One for each index a, from the best on until they get worse: aβ ≤ ε, and s as small as it may be."""
    if smoothness is None:
        indices = iter(range(2, LARGEST_INDEX + 1))
    else:
        indices = iter(range(min(math.floor(epsilon / (smoothness + _EXCESS)), LARGEST_INDEX), 1, -1))
    last = math.inf
    for index in indices:
        largest = min(epsilon * (1 - Fraction(1, 1 << 30)) / index, Fraction(1))
        beta = _short(largest) if smoothness is None else smoothness
        found = _smallest_scale(Scaling("steepest", beta, Fraction(1), Fraction(index + 1)), epsilon, Fraction(0))
        if found is None:
            continue
        score = _score(found, smoothness is None)
        if score > last:
            return
        last = score
        yield found


def _light_tailed(epsilon: Fraction, delta: Fraction, smoothness: Fraction | None) -> Iterator[Scaling]:
    for noise in ("laplace", "gaussian"):
        beta = smoothness if smoothness is not None else _best_smoothness(noise, epsilon, delta)
        found = _smallest_scale(Scaling(noise, beta, Fraction(1)), epsilon, delta)
        if found is not None:
            yield found


def _best_smoothness(noise: str, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Where s·e^β/β is smallest: golden-section search over ln β, in floats. A poor answer costs error, not privacy."""

    def score(log_beta: float) -> float:
        beta = _short(Fraction(math.exp(log_beta)) + _EXCESS)
        scale = _root(Scaling(noise, beta, Fraction(1)), epsilon, delta, _FEW_HALVINGS)
        return _score(Scaling(noise, beta, scale), True)

    high = math.log(min(float(epsilon), 1.0))
    low = high - math.log(8 * math.log(4 / float(delta)))
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = score(left), score(right)
    for _ in range(_GOLDEN_STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = score(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = score(right)
    return _short(Fraction(math.exp(low)) + _EXCESS)


_GOLDEN = (math.sqrt(5) - 1) / 2
_GOLDEN_STEPS = 12
_FEW_HALVINGS = 20


def _smallest_scale(shape: Scaling, epsilon: Fraction, delta: Fraction) -> Scaling | None:
    """`shape` with the smallest s that is certain, to 2^-10 of it at worst; None if there is none."""
    root = _root(shape, epsilon, delta)
    if root >= _LARGEST_SCALE / epsilon:
        return None
    ahead = Fraction(1, 1 << 36)
    while ahead < Fraction(1, 1 << 10):
        found = Scaling(shape.noise, shape.smoothness, rounded_up(root * (1 + ahead)), shape.exponent)
        if found.keeps(epsilon, delta):
            return found
        ahead *= 4
    return None


_LARGEST_SCALE = 1 << 20


def _root(shape: Scaling, epsilon: Fraction, delta: Fraction, halvings: int = _HALVINGS) -> Fraction:
    """About the smallest s with (ε, δ) at v ∈ {−β, 0, β}: halving on a logarithmic scale."""
    event = shape.event()
    beta = event.smoothness

    def enough(scale: Fraction) -> bool:
        with precision(_BITS):
            if shape.exponent is not None:
                return bool(steepest_loss(int(shape.exponent) - 1, beta, scale) <= ball(epsilon) * _ALMOST)
            return all(
                bool(rescaled_profile(shape.noise, ball(epsilon), v, scale) <= ball(delta) * _ALMOST)
                for v in (-beta, Fraction(0), beta)
            )

    low, high = Fraction(1, 1 << 10) / epsilon, _LARGEST_SCALE / epsilon
    if not enough(high):
        return high
    for _ in range(halvings):
        middle = Fraction(math.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


_ALMOST = 1 - Ball(2) ** -31
