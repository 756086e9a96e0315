"""Gaussian noise on a lattice, dominated by continuous Gaussian noise. Theorem and proof: lattice_gaussian.md."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dither.exact import Ball, ball, precision

__all__ = ["dominating_mu_squared", "smallest_variance"]

_LOOSEST, _TIGHTEST = 3, 58  # ζ from 2^-3 to 2^-58
_WIDE = 64  # much more than any width: that of the tightest ζ is about 3
_FAR = 20
_OF_GRIDS = Fraction(1, 1 << _TIGHTEST)
_STRETCH = (1 + _OF_GRIDS) ** 2
_BITS = 192


@lru_cache(maxsize=256)
def dominating_mu_squared(variance: Fraction, distance_squared: Fraction, coordinates: int) -> Fraction | None:
    """A μ′² such that N(μ′, 1) against N(0, 1) dominates lattice noise; None if this theorem offers nothing.

    V = `variance` and D² = `distance_squared` are counted in steps; k = `coordinates` of them may move at once.
    Never below the truth; above D²/V by about 2/V relatively, and by at least 2^-57.
    """
    near = (_dominating(variance, distance_squared, coordinates, zeta) for zeta in _zetas(variance))
    return min((square for square in near if square is not None), default=None)


def _dominating(variance: Fraction, distance_squared: Fraction, coordinates: int, zeta: Fraction) -> Fraction | None:
    """The μ′² of one ζ."""
    if zeta == _OF_GRIDS and (found := _from_octave(variance, distance_squared, coordinates)) is not None:
        return found
    width, mu_squared = Fraction(0), distance_squared / variance * (1 + zeta) ** 2
    for _ in range(4):  # the width that is needed depends, hardly, on the μ that it leads to
        width = max(width, _first_width(mu_squared, zeta, coordinates)) * Fraction(17, 16)
        if not width < variance:
            break
        mu_squared = distance_squared / (variance - width) * (1 + zeta) ** 2
        if _holds(mu_squared, zeta, coordinates, width):  # the proof; how the width was found does not matter
            return mu_squared
    return None


def _from_octave(variance: Fraction, distance_squared: Fraction, coordinates: int) -> Fraction | None:
    """The same on a grid, by a width for all μ′² of this size; None if μ′² turns out to be larger, or V no wider.

    There the width is a part in 2^70 of the variance: that another one would do for this μ′² makes no difference.
    """
    # One fraction, made at the end: these have hundreds of digits.
    above, below = distance_squared.numerator * variance.denominator, distance_squared.denominator
    octave = above.bit_length() - (below * variance.numerator).bit_length()
    width, largest = _width_for_all(octave, coordinates)
    rest = variance.numerator * width.denominator - width.numerator * variance.denominator
    if not rest > 0:
        return None
    mu_squared = Fraction(above * width.denominator * _STRETCH.numerator, below * rest * _STRETCH.denominator)
    return mu_squared if mu_squared <= largest else None


@lru_cache(maxsize=1024)
def _width_for_all(octave: int, coordinates: int) -> tuple[Fraction, Fraction]:
    """A width that holds for every μ′² from 2^(octave − 1) to 2^(octave + 1), and the largest of these.

    In `_holds`, c falls with the width, and μ φ(μ/2) has one top, at μ = 2: between two μ′² it is at least the
    smaller of its values there.
    """
    ends = Fraction(2) ** (octave - 1), Fraction(2) ** (octave + 1)
    return max(_width(end, _OF_GRIDS, coordinates) for end in ends), ends[1]


def _zetas(variance: Fraction) -> tuple[Fraction, ...]:
    """Those near the best one; each is a proof of its own, so that the choice costs tightness at most.

    A ζ of 2^-b costs 2ζ and, as the width grows by ln 2/(2π²) with each b, b·ln 2/(2π²V), relatively: together least
    at 2^b = 4π²V. Where the width itself counts against V, looser ones do better.
    """
    best = round(math.log2(variance.numerator) - math.log2(variance.denominator) + math.log2(4 * math.pi**2))
    if best > _TIGHTEST + _FAR:  # on a grid: the width costs 2^-20 of what another halving of ζ would gain
        return (_OF_GRIDS,)
    best = min(max(best, _LOOSEST + 1), _TIGHTEST - 1)
    first = best - 1 if variance > _WIDE else _LOOSEST
    return tuple(Fraction(1, 1 << bits) for bits in range(first, best + 2))


@lru_cache(maxsize=256)
def smallest_variance(mu_squared: Fraction, distance_squared: Fraction, coordinates: int) -> Fraction:
    """A V for which N(μ, 1) against N(0, 1) dominates lattice noise, with μ² = `mu_squared`; never too small."""
    return min(
        distance_squared / mu_squared * (1 + zeta) ** 2 + _width(mu_squared, zeta, coordinates)
        for zeta in _zetas(distance_squared / mu_squared)
    )


def _width(larger_squared: Fraction, zeta: Fraction, coordinates: int) -> Fraction:
    """The smallest s² (a multiple of 1/256) for which the conditions of the theorem hold, given μ′² and ζ."""
    width = _first_width(larger_squared, zeta, coordinates)
    while not _holds(larger_squared, zeta, coordinates, width):
        width += Fraction(1, 256)
    return width


def _first_width(larger_squared: Fraction, zeta: Fraction, coordinates: int) -> Fraction:
    """Where to start: h ≈ 2 e^{−2π²s²} and c ≈ 2kh tell about the s² that is needed; a multiple of 1/256."""
    mu = math.sqrt(larger_squared) / (1 + float(zeta))
    goal = math.log(64 * coordinates) - math.log(zeta) - math.log(mu) + float(larger_squared) / 8 + 1
    return Fraction(max(math.ceil(256 * goal / (2 * math.pi**2)), 64), 256)


def _holds(larger_squared: Fraction, zeta: Fraction, coordinates: int, width: Fraction) -> bool:
    """c ≤ 1/10 and 16c ≤ ζ μ φ(μ′/2), with c = k ln((1 + h)/(1 − h)), h = 2q/(1 − q), q = e^{−2π²s²}."""
    with precision(_BITS):
        q = (-2 * Ball.pi() ** 2 * ball(width)).exp()
        h = 2 * q / (1 - q)
        c = coordinates * (h.log1p() - (-h).log1p())
        density = (-ball(larger_squared) / 8).exp() / (2 * Ball.pi()).sqrt()
        room = ball(zeta / (1 + zeta)) * ball(larger_squared).sqrt() * density
        return bool(q < 0.25) and bool(c <= 0.1) and bool(16 * c <= room)
