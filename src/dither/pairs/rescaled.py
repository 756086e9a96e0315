"""Noise whose scale depends on the data: one law, moved and rescaled (claim C19).

An answer f(D) + s·S(D)·Z, with S smooth, becomes for a neighbour the law of e^v Z + u in units of s·S(D), where

    |v| ≤ β and |u| ≤ U(v) = min(1, e^v)/s,   β = `smoothness`, s = `scale`.

The set of these pairs holds both orders: in other units (e^v Z + u, Z) is (Z, e^{−v}Z − ue^{−v}), |ue^{−v}| ≤ U(−v).
Z has a symmetric density g that falls on both sides, so two facts settle the worst case. Proofs:
mechanisms/smooth_sensitivity.md.

* In u it is |u| = U(v): the overlap ∫ min(p, e^ε q) is an integral of lengths of intersections of two symmetric
  intervals, which shrink as one of them is moved away.
* In v, for the largest loss, it is v ∈ {−β, 0, β} if −z (ln g)′(z) never decreases: the loss is convex in v on both
  sides of 0. For δ(ε) all v are searched: on [v₁, v₂] the density of Q is at least e^{v₁−v₂} times that at v₁, for the
  same u.

Every answer is a ball: its upper end is never below the truth, its lower end is attained by neighbours.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once, precision, upper
from dither.exact.certified import normal_cdf
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import unfolded
from dither.pairs.pair import FloatArray, Pair, Tails

__all__ = ["RescaledPair", "largest_loss", "polynomial_loss", "rescaled_profile", "steepest_loss", "worst_profile"]

_TOLERANCE = Fraction(1, 1 << 12)
_COARSE = Fraction(1, 1 << 6)
_MOST_CELLS = 1 << 14


# ------------------------------------------------------------------- largest loss


def largest_loss(noise: str, exponent: Fraction, smoothness: Fraction, scale: Fraction) -> Ball:
    """The largest loss of noise with a polynomial tail: "steepest" or "polynomial", of density ~ |z|^{−`exponent`}."""
    if noise == "steepest":
        return steepest_loss(int(exponent) - 1, smoothness, scale)
    return polynomial_loss(exponent, smoothness, scale)


def steepest_loss(index: int, smoothness: Fraction, scale: Fraction) -> Ball:
    """The largest loss for g(w) = (1 − w)^{a−1} up to w = 1/a and ∝ (1 + w)^{−a−1} beyond, a = `index`: exactly.

    ln g(z) − ln g(λz + c) + v, the loss at z ≥ 0, is monotone in z where both places lie on the same part of g, and
    concave where z lies on the first and λz + c on the second; so the ends of these pieces and the flat point are
    enough. (Where λz + c < z the loss is at most v, less than at z = 0.)
    """
    a, joint = index, ball(Fraction(1, index))

    def fall(w: Ball) -> Ball:
        """−ln g(w)."""
        tail = (1 + w.max(joint)).log() - (1 + joint).log()
        return (a + 1) * tail - (a - 1) * (1 - w.min(joint)).log()

    def at(v: Fraction, factor: Ball, offset: Ball) -> Ball:
        flat = ((a + 1) * factor - (a - 1) * (1 + offset)) / (2 * a * factor)
        places = (Ball(0), joint, (joint - offset) / factor, flat)
        largest = -a * ball(v)  # far out
        for place in (place.max(Ball(0)) for place in places):
            largest = largest.max(fall(factor * place + offset) - fall(place) + ball(v))
        return largest

    return _largest_of_three(at, smoothness, scale)


def polynomial_loss(exponent: Fraction, smoothness: Fraction, scale: Fraction) -> Ball:
    """The largest loss for g(z) ∝ 1/(1 + |z|^γ), γ = `exponent`, to 2^-12 of it.

    ln (1 + y^γ) − ln (1 + z^γ) + v with y = λz + c is searched over z ≥ 0: on [z₁, z₂] it is at most its value with y
    at z₂ and z at z₁, and at most its value inside plus the width times its steepest slope (the mean value theorem);
    beyond z₁ it is at most γ max(0, ln(λ + c/z₁)) + v.
    """
    gamma = ball(exponent)

    def fall(w: Ball) -> Ball:
        return (w**gamma).log1p() if w > 0 else Ball(0)

    def slope(w: Ball) -> Ball:
        return gamma * w ** (gamma - 1) / (1 + w**gamma)

    def at(v: Fraction, factor: Ball, offset: Ball) -> Ball:
        def place(share: Fraction) -> Ball:
            return ball(share / (1 - share))

        def value(share: Fraction) -> Ball:
            if share == 1:
                return (1 - gamma) * ball(v)
            return fall(factor * place(share) + offset) - fall(place(share)) + ball(v)

        def bound(low: Fraction, high: Fraction) -> Ball:
            if high < 1:
                far = fall(factor * place(high) + offset) - fall(place(low)) + ball(v)
                if low == 0:
                    return far
                inside = place(low).union(place(high))
                steepest = abs(factor * slope(factor * inside + offset) - slope(inside))
                middle = value((low + high) / 2)
                return far.min(middle + (place(high) - place(low)) * steepest)
            if low == 0:
                return Ball.pos_inf()
            return gamma * (factor + offset / place(low)).log().max(Ball(0)) + ball(v)

        return _searched(value, bound, [Fraction(0), Fraction(1, 2), Fraction(1)], _TOLERANCE)

    return _largest_of_three(at, smoothness, scale)


def _largest_of_three(at: Callable[[Fraction, Ball, Ball], Ball], smoothness: Fraction, scale: Fraction) -> Ball:
    """The largest over v ∈ {−β, 0, β}; the neighbour's place is λz + c, with λ = e^{−v} and c = U(v)e^{−v}."""
    check.positive(smoothness=smoothness, scale=scale)
    beta, move = ball(smoothness), ball(1 / scale)
    wider = at(smoothness, (-beta).exp(), (-beta).exp() * move)
    return at(-smoothness, beta.exp(), move).max(wider).max(at(Fraction(0), Ball(1), move))


# --------------------------------------------------------------------- profiles


Profile: TypeAlias = Callable[[Ball, Ball, Fraction], Ball]
"""δ(ε) of Z against e^v Z + u, from ε, u ≥ 0 and v ≠ 0."""


def _laplace_profile(epsilon: Ball, u: Ball, v: Fraction) -> Ball:
    """p > e^ε q where |z − u|λ − |z| − k > 0, with λ = e^{−v} and k = ε − v: a line on each side of 0 and of u."""
    factor, rest = ball(-v).exp(), epsilon - ball(v)
    zero, slope = Ball(0), factor - 1

    def mass(first: Ball, length: Ball | None) -> Ball:
        """∫ e^{−x}/2 from first ≥ 0 on, over a length or to the end."""
        start = (-first).exp() / 2
        return start if length is None else -start * (-length).expm1()

    def scaled(length: Ball | None) -> Ball | None:
        return None if length is None else length * factor

    # Distances to the left of 0 and to the right of u: beyond them for v < 0, up to them for v > 0.
    left, right = ((rest - u * factor) / slope).max(zero), ((rest + u) / slope).max(zero)
    (x, across), (y, along) = ((left, None), (right, None)) if v < 0 else ((zero, left), (zero, right))
    middle = ((u * factor - rest) / (factor + 1)).max(zero).min(u)
    p = mass(x, across) + mass(zero, middle) + mass(u + y, along)
    q = mass((x + u) * factor, scaled(across)) + mass(y * factor, scaled(along))
    q = q + mass((u - middle) * factor, middle * factor)
    return p - epsilon.exp() * q


def _gaussian_profile(epsilon: Ball, u: Ball, v: Fraction) -> Ball:
    """p > e^ε q where (λ² − 1)z² − 2uλ²z + u²λ² + 2(v − ε) > 0, λ = e^{−v}: outside the roots for v < 0, else between.

    Where there are no roots, the two are taken to be one: then everything lies outside, and nothing between.
    """
    square = ball(-2 * v).exp()
    lead, half, last = square - 1, u * square, u * u * square + 2 * (ball(v) - epsilon)
    spread = (half * half - lead * last).max(Ball(0)).sqrt()
    low, high = sorted(((half - spread) / lead, (half + spread) / lead), key=float)
    factor, odds = ball(-v).exp(), epsilon.exp()

    def mass(scaled: Callable[[Ball], Ball]) -> Ball:
        below, above = scaled(low), scaled(high)
        if v < 0:
            return normal_cdf(below) + normal_cdf(-above)
        return normal_cdf(above) - normal_cdf(below)

    return mass(lambda z: z) - odds * mass(lambda z: (z - u) * factor)


_PROFILES: dict[str, tuple[Profile, Callable[[Fraction], Pair]]] = {
    "laplace": (_laplace_profile, LaplacePair),
    "gaussian": (_gaussian_profile, lambda move: GaussianPair(move**2)),
}


def rescaled_profile(noise: str, epsilon: Ball, smoothness: Fraction, scale: Fraction) -> Ball:
    """δ(ε) where S differs by e^v, v = `smoothness` (of either sign, or 0), and the value by as much as it may."""
    profile, moved = _PROFILES[noise]
    if not smoothness:
        return moved(1 / scale).profile(epsilon)
    return profile(epsilon, _move(smoothness, scale), smoothness)


def _move(v: Fraction, scale: Fraction) -> Ball:
    """U(v) = min(1, e^v)/s."""
    return ball(min(v, Fraction(0))).exp() / ball(scale)


def worst_profile(
    noise: str, epsilon: Ball, smoothness: Fraction, scale: Fraction, tolerance: Fraction = _TOLERANCE
) -> Ball:
    """The largest δ(ε) over all neighbours, to `tolerance` of it: its upper end is never below the truth.

    On [v₁, v₂], on one side of 0, it is at most δ(ε − (v₂ − v₁)) at v₁ with the largest U on the way.
    """
    profile, _ = _PROFILES[noise]

    def value(v: Fraction) -> Ball:
        return rescaled_profile(noise, epsilon, v, scale).max(Ball(0))

    def bound(low: Fraction, high: Fraction) -> Ball:
        # A cell that starts at v₁ = 0, where the pieces of the profile have no slope, starts just before it instead.
        start = low or -high / (1 << 40)
        return profile(epsilon - ball(high - start), _move(high, scale), start).max(Ball(0))

    check.positive(smoothness=smoothness, scale=scale)
    return _searched(value, bound, [-smoothness, Fraction(0), smoothness], tolerance)


def _searched(
    value: Callable[[Fraction], Ball],
    bound: Callable[[Fraction, Fraction], Ball],
    ends: list[Fraction],
    tolerance: Fraction,
) -> Ball:
    """The maximum over all of `ends`: branch and bound, until the bounds are within `tolerance` of a value."""
    best = Ball(0)
    for end in ends:
        best = best.max(value(end))
    enough = 1 + ball(tolerance)
    cells = [_cell(bound, low, high) for low, high in pairwise(ends)]
    heapq.heapify(cells)
    while len(cells) < _MOST_CELLS:
        _, low, high, top = cells[0]
        if top <= best.upper() * enough:
            break
        middle = (low + high) / 2
        best = best.max(value(middle))
        heapq.heapreplace(cells, _cell(bound, low, middle))
        heapq.heappush(cells, _cell(bound, middle, high))
    largest = best.upper()
    for _, _, _, top in cells:
        largest = largest.max(top)
    return best.union(largest)


def _cell(
    bound: Callable[[Fraction, Fraction], Ball], low: Fraction, high: Fraction
) -> tuple[float, Fraction, Fraction, Ball]:
    top = bound(low, high).upper()
    return -upper(top), low, high, top


# ------------------------------------------------------------------- accounting


@dataclass(frozen=True)
class RescaledPair(Pair):
    """Laplace or Gaussian noise (`noise`) whose scale depends on data: all neighbours of C19 at once, known by bounds.

    From above, `worst_profile`, joined by chords: a profile is convex in e^ε. From below, neighbours of equal S.
    `lattice_loss` κ is what a lattice adds: δ(ε) is at most e^κ times that of the law on the line at ε − κ.
    """

    noise: str
    smoothness: Fraction
    scale: Fraction
    lattice_loss: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.noise not in _PROFILES:
            raise ParameterError(f"noise must be one of {', '.join(_PROFILES)}; got {self.noise!r}.")
        check.positive(smoothness=self.smoothness, scale=self.scale)
        check.nonnegative(lattice_loss=self.lattice_loss)

    @once
    def _example(self) -> Pair:
        return _PROFILES[self.noise][1](1 / self.scale)

    def profile(self, epsilon: Ball) -> Ball:
        if not epsilon >= 0:
            # Both orders have the same profile: δ(−ε) = 1 − e^{−ε}(1 − δ(ε)).
            if epsilon < 0:
                return 1 - epsilon.exp() * (1 - self.profile(-epsilon))
            return Ball(0).union(Ball(1))
        return self._worst(epsilon, _TOLERANCE).union(self._example.profile(epsilon))

    def _worst(self, epsilon: Ball, tolerance: Fraction) -> Ball:
        extra = ball(self.lattice_loss)
        worst = worst_profile(self.noise, epsilon - extra, self.smoothness, self.scale, tolerance)
        return (worst * extra.exp()).min(Ball(1))

    @once
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        return _nodes(self)

    def dots(self, losses: FloatArray) -> FloatArray:
        places, values = self._nodes
        size = np.abs(losses)
        index = np.minimum(np.searchsorted(places, size, side="right") - 1, len(places) - 2)
        start, end = places[index], places[index + 1]
        place = np.minimum(size, end)
        # A share of either end of the chord, both positive: nothing cancels, and nothing overflows.
        of_start = np.expm1(place - end) / np.expm1(start - end)
        of_end = np.exp(place - end) * np.expm1(start - place) / np.expm1(start - end)
        return unfolded(losses, (of_start * values[index] + of_end * values[index + 1]) * (1 + _ROUNDING))

    def tails(self, losses: FloatArray) -> Tails:
        return self._example.tails(losses)

    @property
    def is_exact(self) -> bool:
        return False

    def swapped(self) -> RescaledPair:
        return self


_ROUNDING = 2.0**-36
_NODES = 256
_NEGLIGIBLE = 1e-40
_LARGEST_LOSS = 500.0


@lru_cache(maxsize=16)
def _nodes(pair: RescaledPair) -> tuple[FloatArray, FloatArray]:
    """Places from 0 to where δ is negligible, equally far apart, and upper bounds on δ there."""

    def above(epsilon: float) -> float:
        with precision(256):
            return min(upper(pair._worst(ball(Fraction(epsilon)), _COARSE)), 1.0)

    last = 2 * float(1 / pair.scale)
    while above(last) > _NEGLIGIBLE and last < _LARGEST_LOSS:
        last *= 1.5
    places = np.linspace(0.0, last, _NODES)
    values = np.minimum.accumulate(np.array([above(place) for place in places.tolist()]))
    return places, values
